"""Arithmetic and comparisons of abstract values: of tensors, sizes, data, numbers and sequences."""

import ast
from collections.abc import Callable
from operator import add, eq, floordiv, ge, gt, le, lt, mod, mul, ne, sub, truediv
from typing import Any, TypeGuard

from onnxlint.flow.lowering import exporter_support, sizes_as_numbers
from onnxlint.flow.operators import unflattened_sizes
from onnxlint.flow.python import implicit_calls
from onnxlint.flow.python.entry_parameters import is_label
from onnxlint.flow.state import observations
from onnxlint.flow.state.protocols import Running
from onnxlint.flow.values import domain as dom
from onnxlint.flow.values import shapes
from onnxlint.flow.values.domain import replace
from onnxlint.flow.values.equivalent_code import asks_for_elements
from onnxlint.flow.values.joins import concatenated, element
from onnxlint.flow.values.node_places import begins_with_self, last_name
from onnxlint.project.classes import ClassInfo

_FOLD: dict[str, Callable[[Any, Any], Any]] = {"+": add, "-": sub, "*": mul, "/": truediv, "//": floordiv, "%": mod}
_WHOLE = frozenset(("+", "-", "*", "//", "%"))  # what gives whole numbers of whole numbers
_COMPARE = {ast.Eq: eq, ast.NotEq: ne, ast.Lt: lt, ast.LtE: le, ast.Gt: gt, ast.GtE: ge}
_COMPARED = dict(zip(_COMPARE, "== != < <= > >=".split(), strict=True))
_NODES = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.MatMult)
_OF_BITS = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift)
_SIGNS = "+ - * / // % ** @ & | ^ << >>"
OPERATORS: dict[type, str] = dict(zip((*_NODES, *_OF_BITS), _SIGNS.split(), strict=True))
_WORDS = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift"
_METHODS = dict(zip(_SIGNS.split(), _WORDS.split(), strict=True))  # what each calls, without its underscores
_ALONG = ("enumerate", "zip", "reversed", "list")  # what gives the items of its arguments
_HALF = frozenset({"torch.float16", "torch.half", "torch.bfloat16"})

_ABOVE_ZERO = {ast.Gt: True, ast.NotEq: True, ast.Eq: False, ast.LtE: False}  # what a comparison with zero gives


class Arithmetic(Running):
    """The part of a frame that works out binary, unary and comparison operators. A frame is one activation of a
    function, of a module's statements, or of a lone expression."""

    scope: dom.Scope
    yields: list[dom.Value]
    loop_exits: list[dict[str, dom.Value]]
    nonlocals: set[str]
    attempted: list[ast.AST] | None  # operators in the `try` that runs which sizes may fail; None outside of one

    @property
    def owner(self) -> ClassInfo | None:
        """The class whose method this is."""
        return self.unit.cls if self.unit is not None else None

    def step(self, message: str, parent: dom.Trace | None) -> dom.Trace:
        """A step of a trace at the current statement."""
        return dom.Trace(self.module.path, self.line, message, parent)

    def looks_up(self, container: ast.expr, key: ast.expr) -> bool:
        """True where the function has `container[key]`, of a key that is asked for or taken from there: of a dict."""
        text = self.unit.text if self.unit is not None and isinstance(key, (ast.Name, ast.Attribute)) else ""
        return text != "" and f"{ast.unparse(container)}[{ast.unparse(key)}]" in text

    def iterated(self, loop: ast.For | ast.AsyncFor | ast.comprehension) -> dom.Value:
        """What a loop runs over: keys, where the function looks them up."""
        v, call = self.eval(loop.iter), loop.iter
        over = call.args if isinstance(call, ast.Call) and last_name(call.func) in _ALONG else [call]
        if any(map(begins_with_self, over)):
            self.scope.parts.update(n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name))
        return dom.CONFIG if isinstance(v, dom.Tensor) and self.looks_up(loop.iter, loop.target) else v

    def attempt(self, node: ast.AST) -> None:
        """An operator runs that sizes may fail: it counts in a `try`."""
        if self.attempted is not None:
            self.attempted.append(node)

    def e_binary(self, node: ast.BinOp) -> dom.Value:
        """`a + b` and its like."""
        operator, a, b = OPERATORS[type(node.op)], self.eval(node.left), self.eval(node.right)
        if self.engine.context.tracing and (type(a) is dom.Tensor or type(b) is dom.Tensor):
            exporter_support.arithmetic(self.engine, operator, a, b, node, (node.left, node.right))
        if operator == "**" and all(isinstance(side, ast.Constant) for side in (node.left, node.right)):
            return _power(a, b)
        return self.arithmetic(operator, a, b, node)

    def arithmetic(self, operator: str, a: dom.Value, b: dom.Value, node: ast.AST) -> dom.Value:
        """The result of a binary operator."""
        ta, tb = type(a), type(b)
        if ta is dom.Instance or tb is dom.Instance:
            result = implicit_calls.binary(self.engine, operator, a, b, node)
            if result is not None:
                return result
        if ta is dom.Tensor or tb is dom.Tensor:
            return self._fed(self._tensor_arithmetic(operator, a, b, node), a, b)
        if isinstance(a, dom.Const) and isinstance(b, dom.Const):
            return _fold(operator, a, b)
        if operator == "|" and (ta is dom.Truth or tb is dom.Truth):
            return dom.truth_of(a).either(dom.truth_of(b))
        for x, y in ((a, b), (b, a)):
            if isinstance(x, dom.Array):
                return x
            if isinstance(x, dom.Data) and not (x.fixed and isinstance(y, (dom.Dim, dom.Data))):
                return dom.Data(x.site, x.fixed, x.sized, x.trace)
            if isinstance(x, dom.Data):  # a constant of the model, which says nothing of the size or the value
                left, right = (dom.CONFIG, y) if x is a else (y, dom.CONFIG)
                return self.arithmetic(operator, left, right, node)
        if ta is dom.Dim or (tb is dom.Dim and (operator, ta) != ("%", dom.Unknown)):  # what that leaves is no size
            return self._size_arithmetic(operator, a, b, node)
        return _sequence_arithmetic(operator, a, b)

    def _size_arithmetic(self, operator: str, a: dom.Value, b: dom.Value, node: ast.AST) -> dom.Value:
        dim, other = (a, b) if isinstance(a, dom.Dim) else (b, a)
        assert isinstance(dim, dom.Dim)
        if operator == "*" and isinstance(other, (dom.Tuple, dom.Seq)):  # [0] * n: the length is frozen
            sizes_as_numbers.repeated(self.engine, dim, node, other is a)
            return dom.Seq(element(other), replace(dim, site=dim.site or self.engine.site(node, "list repetition")))
        if operator == "//" and isinstance(node, ast.BinOp):
            sizes_as_numbers.negated_division(self.engine, node, a)
        x, y = dom.size_of(a), dom.size_of(b)
        folds = operator in _WHOLE and x is not None and y is not None and (y or operator not in "//%")
        folded = int(_FOLD[operator](x, y)) if folds else None
        if operator in ("/", "//") and _is_ratio(a, b):
            return dom.CONFIG
        size = (shapes.times if operator == "*" else shapes.combine)(shapes.from_value(a), shapes.from_value(b), folded)
        if isinstance(size, dom.Dim):
            form = dom.FRACTION if _divides(operator, a, b) else "remainder" if operator == "%" else size.form
            return replace(size, form=form, least=_least(operator, a, b))
        return size

    def _tensor_arithmetic(self, operator: str, a: dom.Value, b: dom.Value, node: ast.AST) -> dom.Value:
        if self.engine.watched and operator in _METHODS:
            self._watched(operator, node)
        for other in (a, b):
            if not isinstance(other, dom.Tensor):
                self.engine.use(other, f"`{operator}`")
            if operator == "*" and isinstance(other, (dom.Tuple, dom.Seq)):  # [0] * n, of a tensor n
                return dom.Seq(element(other))
        tensors = [v for v in (a, b) if isinstance(v, dom.Tensor)]
        if len(tensors) == 2:
            if all(t.source == "input" for t in tensors):
                self.attempt(node)
            self.engine.check_operands(tensors[0], tensors[1])
        dims, lead = _matrix_product(tensors) if operator == "@" else shapes.elementwise(tensors)
        source = dom.common_source(tensors)
        trace = next((t.trace for t in tensors if t.source == "input" and t.trace), tensors[0].trace)
        kind = _kind(operator, a, b)
        if operator == "-" and kind != "complex" and isinstance(node, ast.BinOp):
            kind = "signed" if all(exporter_support.spread(self.body, n) for n in (node.left, node.right)) else kind
        made = dom.Tensor(dims, lead, source, kind, None, None, trace, all(t.guessed for t in tensors))
        # `h += x` writes through the view that `h` is: its sizes stay numbers.
        plain = operator in unflattened_sizes.OPERATORS and not isinstance(node, ast.AugAssign)
        return unflattened_sizes.combined(made, tensors) if plain and len(tensors) == 2 else made

    def _fed(self, made: dom.Value, a: dom.Value, b: dom.Value) -> dom.Value:
        """The result; of a weight and something unknown, one of any shape that may depend on the inputs."""
        held = isinstance(made, dom.Tensor) and made.source == "weight" and self.engine.context.tracing
        fed = held and dom.UNKNOWN in (a, b)
        return replace(made, dims=None, lead=None, source="sizes", guessed=True) if fed else made

    def _watched(self, operator: str, node: ast.AST) -> None:
        """Record `x @ y` where a rule watches `torch.matmul`, and `x += y` where one watches `torch.add_`."""
        method = _METHODS[operator]
        inplace = self.engine.table.method(f"__i{method}__") if isinstance(node, ast.AugAssign) else None
        entry = inplace or self.engine.table.method(f"__{method}__")
        name = f"torch.{entry.name}" if entry is not None else ""
        if name in self.engine.watched:
            self.engine.emit(observations.Call, node, op=name)

    def e_unary(self, node: ast.UnaryOp) -> dom.Value:
        """`-x`, `not x`, `~x`."""
        v = self.eval(node.operand)
        if isinstance(node.op, ast.Not):
            if isinstance(v, dom.Truth):
                return v.negated()
            if isinstance(v, dom.Tensor):
                self.engine.emit_operator(node, v)
                return dom.Data(self.engine.site(node, "not"), v.fixed, False, v.trace)
            if isinstance(v, dom.Const):
                return dom.Const(not v.literal)
            if isinstance(v, dom.Config) and v.default is not None:
                return dom.Config(default=dom.Const(not v.default.literal))
            return v if isinstance(v, (dom.Data, dom.Dim)) else dom.CONFIG
        if isinstance(v, dom.Const) and isinstance(node.op, ast.USub) and isinstance(v.literal, (int, float)):
            return dom.Const(-v.literal)
        if isinstance(v, dom.Tensor):
            kind = "signed" if isinstance(node.op, ast.USub) and v.kind != "complex" else v.kind
            if kind is None and isinstance(node.op, ast.Invert):
                kind = "bool"  # of integers hardly anybody wants the complement
            return replace(v, view=None, kind=kind, parameter="")
        if isinstance(v, dom.Dim):
            return replace(v, example=None, plain=False, form=v.form if v.form == dom.FRACTION else "", least=dom.REST)
        if isinstance(v, (dom.Data, dom.Array)):
            return v
        return dom.CONFIG if isinstance(v, (dom.Const, dom.Config)) else dom.UNKNOWN

    def e_compare(self, node: ast.Compare) -> dom.Value:
        """A comparison; a chained one asks each but the last for its truth."""
        left = self.eval(node.left)
        results: list[dom.Value] = []
        for operator, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.eval(comparator)
            results.append(_compare_defaults(operator, left, right) or self._compare(operator, left, right, node))
            left = right
        for v in results[:-1]:
            if isinstance(v, dom.Tensor) and not self.engine.context.testing:
                self.engine.emit_operator(node, v)
        return next((v for v in results if isinstance(v, (dom.Tensor, dom.Data))), results[-1])

    def _compare(self, operator: ast.cmpop, a: dom.Value, b: dom.Value, node: ast.Compare) -> dom.Value:
        if isinstance(operator, (ast.Is, ast.IsNot)):
            return _is_none(operator, a, node.left) if dom.is_none(b) else dom.CONFIG
        if (
            isinstance(a, dom.Dim)
            and dom.as_int(b) == 0
            and (getattr(a.site, "how", "") == "len()" or asks_for_elements(node.left))
        ):
            return dom.CONFIG  # no example is empty
        if isinstance(node.left, ast.Attribute) and (
            node.left.attr == "dtype" or (node.left.attr == "type" and last_name(node.left.value) == "device")
        ):
            return _ask_setting(node.left.attr, operator, b)
        if isinstance(operator, (ast.In, ast.NotIn)):
            return self._contains(a, b, node)
        if isinstance(a, dom.Const) and isinstance(b, dom.Const):
            return _compare_literals(operator, a, b)
        if isinstance(a, dom.Tensor) or isinstance(b, dom.Tensor):
            return self._compare_tensors(a, b, node)
        data = a if isinstance(a, (dom.Data, dom.Array)) else b
        if isinstance(data, (dom.Data, dom.Array)):
            return dom.Data(data.site, data.fixed, isinstance(data, dom.Data) and data.sized, data.trace)
        if isinstance(a, dom.Shape) and isinstance(b, dom.Shape):
            a, b = self._unlike(a, b)
        return _compare_sizes(operator, a, b)

    def _compare_tensors(self, a: dom.Value, b: dom.Value, node: ast.Compare) -> dom.Value:
        other = b if isinstance(a, dom.Tensor) else a
        if dom.is_none(other) or dom.is_text(other):
            return dom.CONFIG
        if self.engine.context.tracing and len(node.ops) == 1:
            exporter_support.by_a_bool(self.engine, a, b, node, _COMPARED[type(node.ops[0])])
        result = self._tensor_arithmetic("==", a, b, node)
        assert isinstance(result, dom.Tensor)
        return replace(result, kind="bool")

    def _unlike(self, a: dom.Shape, b: dom.Shape) -> tuple[dom.Value, dom.Value]:
        """The sizes in which two shapes may differ: not the same axis of both, and not two fixed numbers."""
        x, y = a.tensor.dims, b.tensor.dims
        if x is None or y is None:
            unknown = self.engine.context.axes.declared is None and a.tensor.source == b.tensor.source == "input"
            some = dom.Dim(frozenset((dom.UNSURE,)), plain=False, trace=a.trace)
            return (some, some) if unknown else (dom.CONFIG, dom.CONFIG)
        pairs = [p for p in zip(x, y, strict=False) if p[0] != p[1] and any(isinstance(d, dom.Dim) for d in p)]
        return dom.Tuple(tuple(p[0] for p in pairs)), dom.Tuple(tuple(p[1] for p in pairs))

    def _are_keywords(self, v: dom.Value, node: ast.expr) -> TypeGuard[dom.Dict]:
        """True for the `**kwargs` of traced code beside other parameters, where every key that it is passed is known. A
        model that is exported is passed none but those of its example inputs."""
        a = self.unit.args if self.unit is not None else None
        if a is None or a.kwarg is None or not isinstance(node, ast.Name) or node.id != a.kwarg.arg:
            return False
        others = a.vararg is not None or len(a.args) > 1
        return others and self.engine.context.tracing and isinstance(v, dom.Dict) and v.rest is None and not v.merged

    def _contains(self, a: dom.Value, b: dom.Value, node: ast.Compare) -> dom.Value:
        if isinstance(a, dom.Const) and self._are_keywords(b, node.comparators[-1]):
            return dom.Const((b.get(a.literal) is not None) is isinstance(node.ops[-1], ast.In))
        if self.engine.context.tracing and _is_label_of_input(a, b):
            return dom.Const(isinstance(node.ops[-1], ast.NotIn))  # an exported model is given none
        if isinstance(b, dom.Tensor) or (isinstance(a, dom.Tensor) and isinstance(b, (dom.Tuple, dom.Seq))):
            t = b if isinstance(b, dom.Tensor) else a
            assert isinstance(t, dom.Tensor)
            if dom.is_text(a) or self.looks_up(node.comparators[-1], node.left):
                return dom.CONFIG  # what is asked for a name, or for a key that is looked up in it, is a dict
            if isinstance(b, dom.Tuple) and all(dom.is_text(i) for i in b.items):
                return dom.CONFIG  # no tensor is a name
            if not self.engine.context.testing:
                self.engine.emit_operator(node, t)
            return dom.Data(self.engine.site(node, "in"), t.fixed, False, t.trace)
        if isinstance(b, dom.Dict) and isinstance(a, (dom.Dim, dom.Tuple)):
            sizes_as_numbers.looked_up(self.engine, b, a, node, "in")
        if isinstance(a, dom.Dim) and isinstance(b, (dom.Tuple, dom.Seq, dom.Dict)):
            return dom.Dim(a.axes, None, None, False, a.trace)
        return dom.CONFIG


def _is_none(operator: ast.Is | ast.IsNot, v: dom.Value, node: ast.expr) -> dom.Value:
    """`x is None`; of an attribute nobody knows what has been put there meanwhile."""
    if dom.is_none(v):
        return dom.Const(isinstance(operator, ast.Is))
    decided = dom.is_no_none(v) and not isinstance(node, ast.Attribute)
    return dom.Const(isinstance(operator, ast.IsNot)) if decided else dom.CONFIG


def _is_label_of_input(key: dom.Value, v: dom.Value) -> bool:
    """True for the name of what is learned from, asked of a dict whose keys the caller chooses."""
    if not isinstance(key, dom.Const) or not is_label(str(key.literal)):
        return False
    given = isinstance(v, dom.Dict) and (v.rest is None or any(name == key.literal for name, _ in v.items))
    return isinstance(v, (dom.Dict, dom.Tensor)) and not given


def _matrix_product(tensors: list[dom.Tensor]) -> tuple[shapes.Dims | None, dom.Extent | None]:
    x, y = (tensors[0].dims or (), tensors[-1].dims or ())
    if len(tensors) == 2 and len(x) >= 2 and len(y) >= 2:
        return (*(shapes.broadcast(x[:-2], y[:-2]) or ()), x[-2], y[-1]), None
    return None, shapes.elementwise(tensors)[1]


def _compare_literals(operator: ast.cmpop, a: dom.Const, b: dom.Const) -> dom.Value:
    try:
        return dom.Const(_COMPARE[type(operator)](a.literal, b.literal))
    except (KeyError, TypeError):
        return dom.CONFIG


def _compare_defaults(operator: ast.cmpop, left: dom.Value, right: dom.Value) -> dom.Config | None:
    """A comparison with a default: `mode == "x"`, `mode in ("x", "y")`, `mode is None`."""
    a, b = dom.or_default(left), dom.or_default(right)
    apart = isinstance(b, dom.Const) and ("flash" in str(b.literal) or b.literal in ("train", "training"))
    if apart and isinstance(a, (dom.Config, dom.Unknown)):  # kernels and a mode of which no file is made
        return dom.Config(default=dom.Const(isinstance(operator, ast.NotEq)))
    if (a is left and b is right) or not isinstance(a, dom.Const):
        return None
    if isinstance(b, dom.Tuple) and isinstance(operator, (ast.In, ast.NotIn)):
        decided = all(isinstance(v, dom.Const) for v in b.items)
        return dom.Config(default=dom.Const((a in b.items) is isinstance(operator, ast.In))) if decided else None
    if isinstance(b, dom.Const) and isinstance(operator, (ast.Is, ast.IsNot)):
        return dom.Config(default=dom.Const((a == b) is isinstance(operator, ast.Is)))
    result = _compare_literals(operator, a, b) if isinstance(b, dom.Const) else None
    return dom.Config(default=result) if isinstance(result, dom.Const) else None


def has_elements(v: dom.Value) -> bool:
    """True for the size of an axis that nothing is done to: none is empty."""
    return isinstance(v, dom.Dim) and v.plain and v.least == dom.COUNT and not v.optional


def _compare_sizes(operator: ast.cmpop, a: dom.Value, b: dom.Value) -> dom.Value:
    """The truth of a comparison of sizes, of single ones or of several: it is dynamic if one of them is."""
    axes: frozenset[str] = frozenset()
    trace = site = None
    for d in (*shapes.sizes_in(a), *shapes.sizes_in(b)):
        if isinstance(d, dom.Data):
            return dom.Data(d.site, d.fixed, True, d.trace)
        if isinstance(d, dom.Dim):
            axes, trace, site = axes | d.axes, trace or d.trace, site or d.site
    if not axes:
        return dom.CONFIG if not isinstance(a, dom.Unknown) or not isinstance(b, dom.Unknown) else dom.UNKNOWN
    if has_elements(a) and dom.as_int(b) == 0 and type(operator) in _ABOVE_ZERO:
        return dom.Const(_ABOVE_ZERO[type(operator)])
    if any(isinstance(x, dom.Dim) and x.least != dom.REST and dom.as_int(y) == 0 for x, y in ((a, b), (b, a))):
        return dom.CONFIG  # an axis without elements: no example has one
    if isinstance(a, dom.Dim) and isinstance(b, dom.Dim) and a.axes == b.axes and a.plain and b.plain:
        return dom.CONFIG  # the same axis of two tensors: always equal
    form = _form(operator, a, b)
    return dom.Dim(axes - _on_both_sides(a, b) if form == "equal" else axes, None, site, False, trace, form)


def _on_both_sides(a: dom.Value, b: dom.Value) -> frozenset[str]:
    """The axis that is one side of an equation and a part of the other: `n == n * m` asks for `m` alone."""
    for x, y in ((a, b), (b, a)):
        if isinstance(x, dom.Dim) and isinstance(y, dom.Dim) and x.plain and x.axes < y.axes:
            return x.axes
    return frozenset()


def _is_ratio(a: dom.Value, b: dom.Value) -> bool:
    """True for `y.size(0) // x.size(0)` where `y` has an axis of `x` some fixed number of times."""
    if not (isinstance(a, dom.Dim) and isinstance(b, dom.Dim) and a.axes == b.axes and len(a.axes) == 1):
        return False
    return a.sure and b.plain and (a.plain or a.form == dom.MULTIPLE)


def _divides(operator: str, a: dom.Value, b: dom.Value) -> bool:
    floats = (isinstance(v, dom.Const) and isinstance(v.literal, float) for v in (a, b))
    return operator == "/" or any(floats) or any(isinstance(v, dom.Dim) and v.form == dom.FRACTION for v in (a, b))


def _power(a: dom.Value, b: dom.Value) -> dom.Value:
    """`10**9`, as it is written."""
    base, exponent = dom.as_int(a), dom.as_int(b)
    if base is None or exponent is None or not 0 <= exponent <= 32 or abs(base) > 1024:
        return dom.CONFIG
    return dom.Const(base**exponent)


def _least(operator: str, a: dom.Value, b: dom.Value) -> int:
    """What the result of arithmetic on sizes is at least: a sum or product of counts is one, a difference may be 0."""
    if operator not in ("+", "*"):
        return dom.REST

    def least(v: dom.Value) -> int:
        if isinstance(v, dom.Dim):
            return v.least
        if isinstance(v, dom.Const) and isinstance(v.literal, (int, float)):
            nothing = v.literal < 0 if operator == "+" else v.literal <= 0
            return dom.REST if nothing else dom.COUNT if isinstance(v.literal, int) else dom.SHARE
        return dom.REST if operator == "+" else dom.SHARE  # a setting: an offset, which may be negative, or a ratio

    return max(least(a), least(b))


def _ask_setting(asked: str, operator: ast.cmpop, wanted: dom.Value) -> dom.Value:
    """`x.dtype == torch.float16`: decided, as models are exported in single precision, on the processor or CUDA."""
    options = wanted.items if isinstance(wanted, dom.Tuple) else (wanted,)
    if asked == "dtype":
        excluded = [getattr(v, "name", "") in _HALF for v in options]
    else:
        excluded = [dom.is_text(v) and v.literal not in ("cpu", "cuda") for v in options if isinstance(v, dom.Const)]
    if not excluded or not all(excluded):
        return dom.CONFIG
    return dom.Const(isinstance(operator, (ast.NotEq, ast.NotIn, ast.IsNot)))


def _form(operator: ast.cmpop, a: dom.Value, b: dom.Value) -> str:
    """What a comparison of sizes asks: whether two are equal, or what a division leaves."""
    if isinstance(operator, (ast.Eq, ast.NotEq)) and all(next(shapes.sizes_in(v), None) is not None for v in (a, b)):
        return "equal"
    return "remainder" if any(isinstance(v, dom.Dim) and v.form == "remainder" for v in (a, b)) else ""


def _kind(operator: str, a: dom.Value, b: dom.Value) -> str | None:
    kinds = {v.kind for v in (a, b) if isinstance(v, dom.Tensor)}
    if "complex" in kinds:
        return "complex"
    if "signed" in kinds and operator in ("+", "%"):
        return None  # a difference with an offset, or what a division leaves
    if operator == "/" or not kinds <= {"int", "index", "bool"}:
        return kinds.pop() if len(kinds) == 1 and operator != "/" else None
    return _kind_of_integers(operator, a, b, kinds)


def _kind_of_integers(operator: str, a: dom.Value, b: dom.Value, kinds: set[str | None]) -> str:
    if kinds == {"bool"} and (operator in "&|^" or (isinstance(a, dom.Tensor) and isinstance(b, dom.Tensor))):
        return "bool"
    numbers = [v.literal for v in (a, b) if isinstance(v, dom.Const) and isinstance(v.literal, (int, float))]
    if any(isinstance(n, float) for n in numbers):
        return "float"
    if operator == "%" and isinstance(b, dom.Const) and numbers and numbers[-1] > 0:
        return "index"
    grows = operator in ("+", "*", "//", "%", "**", "&", "|", ">>", "<<") and all(n >= 0 for n in numbers)
    return "index" if grows and "int" not in kinds else "int"


def _fold(operator: str, a: dom.Const, b: dom.Const) -> dom.Value:
    fold = _FOLD.get(operator)
    numbers = all(isinstance(v.literal, (int, float)) for v in (a, b))
    if fold is None or not (numbers or (operator == "+" and dom.is_text(a) and dom.is_text(b))):
        return dom.CONFIG
    try:
        result = fold(a.literal, b.literal)
    except (ArithmeticError, ValueError):
        return dom.CONFIG
    return dom.Const(result) if not isinstance(result, int) or abs(result) < 1 << 62 else dom.CONFIG


def _sequence_arithmetic(operator: str, a: dom.Value, b: dom.Value) -> dom.Value:
    """`[a] + [b]`, `[a] * 2`, and what is left."""
    x, y = dom.or_default(a), dom.or_default(b)
    if isinstance(x, dom.Const) and isinstance(y, dom.Const):
        usual = _fold(operator, x, y)
        return dom.Config(default=usual) if isinstance(usual, dom.Const) else usual
    if operator == "+" and isinstance(a, (dom.Tuple, dom.Seq)) and isinstance(b, (dom.Tuple, dom.Seq)):
        return concatenated(a, b)
    if operator == "*" and isinstance(a, dom.Const) and isinstance(b, dom.Tuple):
        a, b = b, a
    if operator == "*" and isinstance(a, dom.Tuple):
        times = dom.as_int(b)
        few = times is not None and 0 <= times * len(a.items) <= 32
        return dom.Tuple(a.items * times, a.kind) if few and times is not None else dom.Seq(element(a))
    if isinstance(a, dom.Shape) or isinstance(b, dom.Shape):
        return dom.Seq(dom.CONFIG)
    return dom.CONFIG if all(isinstance(v, (dom.Const, dom.Config)) for v in (a, b)) else dom.UNKNOWN
