"""Expressions over abstract values: names, arithmetic, comparisons, subscripts, comprehensions, conditions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import libcst as cst

from onnxlint.flow import facts, shapes
from onnxlint.flow.domain import (
    CONFIG,
    NONE,
    UNKNOWN,
    Array,
    Config,
    Const,
    Data,
    Dict,
    Dim,
    Extent,
    External,
    Function,
    Seq,
    Shape,
    Tensor,
    Truth,
    Tuple,
    Unknown,
    Value,
    as_int,
    is_none,
    join,
    reads_data,
    truth_of,
)
from onnxlint.project.classes import FunctionUnit

if TYPE_CHECKING:
    from onnxlint.flow.domain import Scope, Trace
    from onnxlint.flow.frame import Test
    from onnxlint.flow.interpret import Interpreter
    from onnxlint.flow.tree import Body
    from onnxlint.project.modules import ModuleInfo

_FOLD: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
}

_COMPARE: dict[type, Callable[[Any, Any], bool]] = {
    cst.Equal: lambda a, b: a == b,
    cst.NotEqual: lambda a, b: a != b,
    cst.LessThan: lambda a, b: a < b,
    cst.LessThanEqual: lambda a, b: a <= b,
    cst.GreaterThan: lambda a, b: a > b,
    cst.GreaterThanEqual: lambda a, b: a >= b,
}


class Expressions:
    """The expression half of a frame."""

    engine: Interpreter
    module: ModuleInfo
    body: Body
    scope: Scope
    symbol: str
    line: int
    yields: list[Value]

    loop_exits: list[dict[str, Value]]
    globals: set[str]

    def step(self, message: str, parent: Trace | None) -> Trace:
        """A step of a trace at the current statement."""
        raise NotImplementedError

    def narrowing(self, test: cst.BaseExpression) -> Callable[[bool], None]:
        """What a condition says of a name in each arm."""
        raise NotImplementedError

    def assign(self, target: cst.CSTNode, v: Value, augmented: bool = False) -> None:
        """Bind a target."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------------------- evaluation

    def eval(self, node: cst.CSTNode) -> Value:
        """The abstract value of an expression."""
        handler = _EXPRESSIONS.get(type(node))
        return handler(self, node) if handler is not None else UNKNOWN

    def e_name(self, node: cst.Name) -> Value:
        """A variable, a global, or a builtin."""
        found = self.scope.lookup(node.value)
        if found is not None:
            result: Value = found
            return result
        return self.engine.global_value(self.module, node.value)

    def e_ellipsis(self, _node: cst.Ellipsis) -> Value:
        """`...`."""
        return External("builtins.Ellipsis")

    def e_integer(self, node: cst.Integer) -> Value:
        """An integer literal."""
        return Const(int(node.value, 10 if node.value.isdigit() else 0))

    def e_float(self, node: cst.Float) -> Value:
        """A float literal."""
        return Const(float(node.value.replace("_", "")))

    def e_string(self, node: cst.SimpleString) -> Value:
        """A string literal."""
        if node.value[0] in "\"'" and node.value[1:2] != node.value[0] and "\\" not in node.value:
            return Const(node.value[1:-1])  # the plain case, without asking Python's parser
        found = node.evaluated_value
        return Const(found) if isinstance(found, str) else CONFIG

    def e_formatted(self, node: cst.FormattedString) -> Value:
        """An f-string: a dim in it is frozen, which matters when the text is used as a key."""
        for part in node.parts:
            if isinstance(part, cst.FormattedStringExpression):
                v = self.eval(part.expression)
                if isinstance(v, Dim):
                    return Dim(v.axes, None, self.engine.site(node, "f-string"), False, v.trace)
        return CONFIG

    def e_attribute(self, node: cst.Attribute) -> Value:
        """`value.name`."""
        return self.engine.attribute(self.eval(node.value), node.attr.value, node)

    def e_tuple(self, node: cst.Tuple | cst.List) -> Value:
        """A tuple or list display; `*items` of unknown length make the whole of unknown length."""
        kind = "list" if isinstance(node, cst.List) else "tuple"
        items: list[Value] = []
        loose: Value | None = None
        for element in node.elements:
            v = self.eval(element.value)
            if not isinstance(element, cst.StarredElement):
                items.append(v)
            elif isinstance(v, Tuple):
                items.extend(v.items)
            elif isinstance(v, Shape) and v.tensor.dims is not None:
                items.extend(v.tensor.dims)
            else:
                inner = v.item if isinstance(v, Seq) else CONFIG if isinstance(v, (Config, Shape)) else UNKNOWN
                loose = inner if loose is None else join(loose, inner)
        if loose is not None:
            for v in items:
                loose = join(loose, v)
            return Seq(loose)
        return Tuple(tuple(items), kind)

    def e_set(self, node: cst.Set) -> Value:
        """A set display."""
        values = [self.eval(e.value) for e in node.elements]
        joined = values[0]
        for v in values[1:]:
            joined = join(joined, v)
        return Seq(joined)

    def e_dict(self, node: cst.Dict) -> Value:
        """A dict display."""
        result = Dict()
        for element in node.elements:
            v = self.eval(element.value)
            if isinstance(element, cst.DictElement):
                key = self.eval(element.key)
                if isinstance(key, Const):
                    result = Dict(
                        (*((k, o) for k, o in result.items if k != key.literal), (key.literal, v)), result.rest
                    )
                    continue
            elif isinstance(v, Dict):
                result = Dict((*result.items, *v.items), result.rest)
                continue
            result = Dict(result.items, join(result.rest, v) if result.rest is not None else v)
        return result

    def e_binary(self, node: cst.BinaryOperation) -> Value:
        """`a + b` and its like."""
        return self.arithmetic(
            _OPERATORS.get(type(node.operator), "?"), self.eval(node.left), self.eval(node.right), node
        )

    def arithmetic(self, operator: str, a: Value, b: Value, node: cst.CSTNode) -> Value:
        """The result of a binary operator."""
        ta, tb = type(a), type(b)
        if ta is Tensor or tb is Tensor:
            return self._tensor_arithmetic(operator, a, b, node)
        if ta is Const and tb is Const:
            return _fold(operator, a, b)
        if operator == "|" and (ta is Truth or tb is Truth):
            return truth_of(a).either(truth_of(b))
        for x, y in ((a, b), (b, a)):
            if isinstance(x, Array):
                return x
            if isinstance(x, Data):
                return Data(x.site, x.fixed and not isinstance(y, Data), x.sized, x.trace)
        if ta is Dim or tb is Dim:
            sequence = next((v for v in (a, b) if isinstance(v, (Tuple, Seq))), None)
            dim = a if isinstance(a, Dim) else b
            if sequence is not None and isinstance(dim, Dim):  # [0] * n: the length is frozen
                item = (
                    sequence.item if isinstance(sequence, Seq) else (sequence.items[0] if sequence.items else UNKNOWN)
                )
                return Seq(item, replace(dim, site=dim.site or self.engine.site(node, "list repetition")))
            numbers = [v.example if isinstance(v, Dim) else as_int(v) for v in (a, b)]
            folded = None
            if (
                operator in ("+", "-", "*", "//", "%")
                and None not in numbers
                and not (operator in "//%" and numbers[1] == 0)
            ):
                folded = int(_FOLD[operator](numbers[0], numbers[1]))
            return shapes.combine(shapes.from_value(a), shapes.from_value(b), folded)
        if ta in (Tuple, Seq) and tb in (Tuple, Seq) and operator == "+":
            return _concatenate(a, b)
        if ta is Tuple and tb is Const and operator == "*":
            times = as_int(b)
            assert isinstance(a, Tuple)
            return (
                Tuple(a.items * times, a.kind) if times is not None and 0 <= times * len(a.items) <= 32 else _loose(a)
            )
        if ta is Const and tb is Tuple and operator == "*":
            return self.arithmetic(operator, b, a, node)
        if ta is Tuple and operator == "*":
            return _loose(a)
        if ta is Shape or tb is Shape:
            return Seq(CONFIG)
        if isinstance(a, (Const, Config)) and isinstance(b, (Const, Config)):
            return CONFIG
        return UNKNOWN

    def _tensor_arithmetic(self, operator: str, a: Value, b: Value, node: cst.CSTNode) -> Value:
        for other in (a, b):
            if not isinstance(other, Tensor):
                self.engine.use(other, f"`{operator}`")
        tensors = [v for v in (a, b) if isinstance(v, Tensor)]
        if len(tensors) == 2:
            self.engine.check_operands(tensors[0], tensors[1])
        lead: Extent | None
        if operator == "@" and len(tensors) == 2 and all(t.dims is not None and len(t.dims) >= 2 for t in tensors):
            x, y = tensors[0].dims or (), tensors[1].dims or ()
            dims: shapes.Dims | None = (*(shapes.broadcast(x[:-2], y[:-2]) or ()), x[-2], y[-1])
            lead = None
        elif operator == "@":
            dims, lead = None, shapes.elementwise(tensors)[1]
        else:
            dims, lead = shapes.elementwise(tensors)
        source = next((s for s in ("input", "weight") if any(t.source == s for t in tensors)), "made")
        trace = next((t.trace for t in tensors if t.source == "input" and t.trace), tensors[0].trace)
        kinds = {t.kind for t in tensors}
        kind = kinds.pop() if len(kinds) == 1 and operator != "/" else None
        return Tensor(dims, lead, source, kind, None, None, trace, all(t.guessed for t in tensors))

    def e_unary(self, node: cst.UnaryOperation) -> Value:
        """`-x`, `not x`, `~x`."""
        v = self.eval(node.expression)
        if isinstance(node.operator, cst.Not):
            if isinstance(v, Truth):
                return v.negated()
            if isinstance(v, Tensor):
                self.engine.emit_operator(node, v, "not")
                return Data(self.engine.site(node, "not"), v.source != "input", False, v.trace)
            if isinstance(v, Const):
                return Const(not v.literal)
            return v if isinstance(v, (Data, Dim)) else CONFIG
        if isinstance(v, Const) and isinstance(node.operator, cst.Minus) and isinstance(v.literal, (int, float)):
            return Const(-v.literal)
        if isinstance(v, Tensor):
            return replace(v, view=None)
        if isinstance(v, Dim):
            return replace(v, example=None, plain=False)
        return v if isinstance(v, (Data, Array)) else CONFIG if isinstance(v, (Const, Config)) else UNKNOWN

    def e_compare(self, node: cst.Comparison) -> Value:
        """A comparison; a chained one asks each but the last for its truth."""
        left = self.eval(node.left)
        results: list[Value] = []
        for target in node.comparisons:
            right = self.eval(target.comparator)
            results.append(self._compare(target.operator, left, right, node))
            left = right
        if len(results) > 1:
            for v in results[:-1]:
                if isinstance(v, Tensor) and not self.engine.testing:
                    self.engine.emit_operator(node, v, "chained comparison")
        return next((v for v in results if isinstance(v, (Tensor, Data))), results[-1])

    def _compare(self, operator: cst.BaseCompOp, a: Value, b: Value, node: cst.CSTNode) -> Value:
        if isinstance(operator, (cst.Is, cst.IsNot)):
            if is_none(a) and is_none(b):
                return Const(isinstance(operator, cst.Is))
            return CONFIG
        if isinstance(a, Dim) and as_int(b) == 0 and _asks_for_elements(node):
            return CONFIG  # no example is empty
        if (
            isinstance(node, cst.Comparison)
            and isinstance(node.left, cst.Attribute)
            and node.left.attr.value == "dtype"
        ):
            return _dtype_test(operator, b)
        if isinstance(operator, (cst.In, cst.NotIn)):
            return self._contains(a, b, node)
        if isinstance(a, Const) and isinstance(b, Const):
            compare = _COMPARE.get(type(operator))
            try:
                return Const(compare(a.literal, b.literal)) if compare is not None else CONFIG
            except TypeError:
                return CONFIG
        for x, y in ((a, b), (b, a)):
            if isinstance(x, Tensor):
                if is_none(y) or (isinstance(y, Const) and isinstance(y.literal, str)):
                    return CONFIG
                result = self._tensor_arithmetic("==", a, b, node)
                assert isinstance(result, Tensor)
                return replace(result, kind="bool")
        for x in (a, b):
            if isinstance(x, (Data, Array)):
                return Data(x.site, x.fixed, isinstance(x, Data) and x.sized, x.trace)
        axes: frozenset[str] = frozenset()
        trace = None
        for x in (a, b):
            for d in _sizes_in(x):
                if isinstance(d, Dim):
                    axes |= d.axes
                    trace = trace or d.trace
                elif isinstance(d, Data):
                    return Data(d.site, d.fixed, True, d.trace)
        if axes:
            if any(isinstance(x, Dim) and x.plain and as_int(y) == 0 for x, y in ((a, b), (b, a))):
                return CONFIG  # an axis without elements: no example has one
            if isinstance(a, Dim) and isinstance(b, Dim) and a.axes == b.axes and a.plain and b.plain:
                return CONFIG  # the same axis of two tensors: always equal
            return Dim(axes, None, None, False, trace)
        return CONFIG if not isinstance(a, Unknown) or not isinstance(b, Unknown) else UNKNOWN

    def _contains(self, a: Value, b: Value, node: cst.CSTNode) -> Value:
        if isinstance(b, Tensor) or (isinstance(a, Tensor) and isinstance(b, (Tuple, Seq))):
            t = b if isinstance(b, Tensor) else a
            assert isinstance(t, Tensor)
            if not self.engine.testing:
                self.engine.emit_operator(node, t, "in")
            return Data(self.engine.site(node, "in"), t.source != "input", False, t.trace)
        if isinstance(a, Dim) and isinstance(b, (Tuple, Seq, Dict)):
            return Dim(a.axes, None, None, False, a.trace)
        return CONFIG

    def e_boolean(self, node: cst.BooleanOperation) -> Value:
        """`a and b` as a value: its truth is asked of `a`."""
        left = self.eval(node.left)
        word = "and" if isinstance(node.operator, cst.And) else "or"
        if isinstance(left, Const):
            decided = bool(left.literal)
            if decided == (word == "or"):
                return left
            return self.eval(node.right)
        if isinstance(left, Tensor) and not self.engine.testing:
            self.engine.emit_operator(node, left, word)
        if isinstance(left, Truth):
            held = self.engine.exporters
            self.engine.exporters = tuple(e for e in held if left.verdict(e) is not (word == "or"))
            right = self.eval(node.right) if self.engine.exporters else CONFIG
            self.engine.exporters = held
            if isinstance(right, (Const, Config, Unknown, Truth)):
                return _both(word, left, right)
            return right
        right = self.eval(node.right)
        if isinstance(right, Truth) and isinstance(left, (Config, Unknown)):
            return _both(word, left, right)
        if isinstance(left, Tensor):
            # `tensor or default` gives either; what comes out of a comparison is a truth read from data.
            return right if isinstance(right, Tensor) else left
        return join(left, right)

    def e_ternary(self, node: cst.IfExp) -> Value:
        """`a if test else b`."""
        test = self.test(node.test)
        for v, mask in test.reads:
            self.engine.emit_read(facts.Branch, node.test, v, mask, keyword="ternary")
        held = self.engine.exporters
        results: list[Value] = []
        for arm, wanted in ((node.body, True), (node.orelse, False)):
            mask = tuple(e for e in test.may_be(wanted) if e in held)
            if mask:
                self.engine.exporters = mask
                before = dict(self.scope.names)
                self.narrowing(node.test)(wanted)
                results.append(self.eval(arm))
                self.scope.names = before
        self.engine.exporters = held
        result = results[0] if results else UNKNOWN
        for other in results[1:]:
            result = join(result, other)
        return result

    def e_call(self, node: cst.Call) -> Value:
        """A call."""
        return self.engine.call(node)

    def e_await(self, node: cst.Await) -> Value:
        """`await x`."""
        return self.eval(node.expression)

    def e_yield(self, node: cst.Yield) -> Value:
        """`yield x`."""
        if isinstance(node.value, cst.From):
            v = self.eval(node.value.item)
            self.yields.append(v.item if isinstance(v, Seq) else UNKNOWN)
        elif node.value is not None:
            self.yields.append(self.eval(node.value))
        return UNKNOWN

    def e_named(self, node: cst.NamedExpr) -> Value:
        """`(name := value)`."""
        v = self.eval(node.value)
        self.assign(node.target, v)
        return v

    def e_lambda(self, node: cst.Lambda) -> Value:
        """A lambda: called, it evaluates its body in this scope."""
        return self.engine.lambda_value(node)

    def closure(self, beside: ast.FunctionDef | ast.AsyncFunctionDef, qualname: str, node: cst.FunctionDef) -> Value:
        """A nested function."""
        unit = FunctionUnit(self.module, beside, qualname, getattr(self, "unit", None) and self.unit.cls)  # type: ignore[attr-defined]
        return Function(unit, None, self.scope)

    # ----------------------------------------------------------------------------------------- subscripts

    def index_values(self, node: cst.Subscript) -> list[Value]:
        """The values of the indices between the brackets; a slice is the tuple of its bounds with kind `slice`."""
        values: list[Value] = []
        for element in node.slice:
            if isinstance(element.slice, cst.Index):
                values.append(self.eval(element.slice.value))
            elif isinstance(element.slice, cst.Slice):
                parts = [
                    self.eval(p) if p is not None else NONE
                    for p in (element.slice.lower, element.slice.upper, element.slice.step)
                ]
                values.append(Tuple(tuple(parts), "slice"))
        return values

    def e_subscript(self, node: cst.Subscript) -> Value:
        """`value[index]`."""
        owner = self.eval(node.value)
        index = self.index_values(node)
        if len(index) == 1 and isinstance(index[0], Tuple) and index[0].kind == "tuple" and isinstance(owner, Tensor):
            index = list(index[0].items)
        return self.engine.subscript(owner, index, node)

    # --------------------------------------------------------------------------------------- comprehensions

    def e_comprehension(self, node: cst.ListComp | cst.GeneratorExp | cst.SetComp) -> Value:
        """A comprehension: literal sequences item by item, anything else once over its joined item."""
        held = dict(self.scope.names)
        results: list[Value] = []
        size: list[Value | None] = []
        exact = self._comprehend(node.for_in, lambda: results.append(self.eval(node.elt)), size)
        self.scope.names = held
        if exact and not isinstance(node, cst.SetComp):
            return Tuple(tuple(results), "list")
        joined = results[0] if results else UNKNOWN
        for v in results[1:]:
            joined = join(joined, v)
        return Seq(joined, next((s for s in size if s is not None), None))

    def e_dict_comprehension(self, node: cst.DictComp) -> Value:
        """A dict comprehension."""
        held = dict(self.scope.names)
        pairs: list[tuple[Value, Value]] = []
        size: list[Value | None] = []
        exact = self._comprehend(node.for_in, lambda: pairs.append((self.eval(node.key), self.eval(node.value))), size)
        self.scope.names = held
        if exact and all(isinstance(k, Const) for k, _ in pairs):
            return Dict(tuple((k.literal, v) for k, v in pairs if isinstance(k, Const)))
        rest: Value | None = None
        for _, v in pairs:
            rest = v if rest is None else join(rest, v)
        return Dict((), rest)

    def _comprehend(self, part: cst.CompFor, visit: Callable[[], None], size: list[Value | None]) -> bool:
        iterable = self.eval(part.iter)
        self.engine.report_loop(part.iter, iterable)
        items = self.engine.items_of(iterable, part.iter)
        size.append(iterable.size if isinstance(iterable, Seq) else None)
        exact = isinstance(iterable, Tuple) and len(items) == len(iterable.items) and not part.ifs
        for item in items:
            self.assign(part.target, item)
            for condition in part.ifs:
                test = self.test(condition.test)
                for v, mask in test.reads:
                    self.engine.emit_read(facts.Branch, condition.test, v, mask, keyword="comprehension")
            if part.inner_for_in is not None:
                self._comprehend(part.inner_for_in, visit, size)
                exact = False
            else:
                visit()
        return exact

    # ------------------------------------------------------------------------------------------- conditions

    def test(self, node: cst.BaseExpression) -> Test:
        """Evaluate a condition: what it reads under which exporters, and what each exporter makes of it."""
        from onnxlint.flow.frame import Test

        mask = self.engine.exporters
        if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not):
            inner = self.test(node.expression)
            return Test(inner.reads, {e: None if v is None else not v for e, v in inner.verdict.items()})
        if isinstance(node, cst.BooleanOperation):
            left = self.test(node.left)
            stops = isinstance(node.operator, cst.Or)  # `or` stops at True, `and` at False
            self.engine.exporters = tuple(e for e in mask if left.verdict.get(e) is not stops)
            right = self.test(node.right) if self.engine.exporters else Test([], {})
            self.engine.exporters = mask
            verdict: dict[str, bool | None] = {}
            for e in mask:
                a, b = left.verdict.get(e), right.verdict.get(e)
                if a is stops:
                    verdict[e] = stops
                elif a is None:
                    verdict[e] = stops if b is stops else None
                else:
                    verdict[e] = b
            decided = {e for e in mask if verdict[e] is not None and left.verdict.get(e) is None}
            reads = [(v, tuple(e for e in m if e not in decided)) for v, m in left.reads] + right.reads
            return Test([(v, m) for v, m in reads if m], verdict)
        self.engine.testing += 1
        v = self.eval(node)
        self.engine.testing -= 1
        if isinstance(v, Truth):
            return Test([], {e: v.verdict(e) for e in mask})
        if isinstance(v, Const):
            return Test([], dict.fromkeys(mask, bool(v.literal)))
        asks = reads_data(v) or isinstance(v, Dim)
        return Test([(v, mask)] if asks else [], dict.fromkeys(mask, None))


_HALF = frozenset({"torch.float16", "torch.half", "torch.bfloat16"})


def _asks_for_elements(node: cst.CSTNode) -> bool:
    """True for `x.numel() > 0` and its like."""
    left = node.left if isinstance(node, cst.Comparison) else None
    return isinstance(left, cst.Call) and isinstance(left.func, cst.Attribute) and left.func.attr.value == "numel"


def _dtype_test(operator: cst.BaseCompOp, wanted: Value) -> Value:
    """`x.dtype == torch.float16`: models are exported in single precision unless somebody says otherwise."""
    names = [getattr(v, "name", "") for v in (wanted.items if isinstance(wanted, Tuple) else (wanted,))]
    if not names or not all(n in _HALF for n in names):
        return CONFIG
    return Const(isinstance(operator, (cst.NotEqual, cst.NotIn, cst.IsNot)))


def _both(word: str, left: Value, right: Value) -> Truth:
    a, b = truth_of(left), truth_of(right)
    return a.either(b) if word == "or" else a.negated().either(b.negated()).negated()


def _sizes_in(v: Value) -> Iterator[Extent]:
    if isinstance(v, Dim):
        yield v
    elif isinstance(v, Shape):
        yield from v.tensor.dims or ()
    elif isinstance(v, Tuple):
        yield from (i for i in v.items if isinstance(i, (Dim, Data)))
    elif isinstance(v, Seq) and isinstance(v.size, (Dim, Data)):
        yield v.size


def _fold(operator: str, a: Value, b: Value) -> Value:
    assert isinstance(a, Const)
    assert isinstance(b, Const)
    fold = _FOLD.get(operator)
    numbers = all(isinstance(v.literal, (int, float)) for v in (a, b))
    if fold is None or not (numbers or (operator == "+" and isinstance(a.literal, str) and isinstance(b.literal, str))):
        return CONFIG
    try:
        result = fold(a.literal, b.literal)
    except (ArithmeticError, ValueError):
        return CONFIG
    return Const(result) if not isinstance(result, int) or abs(result) < 1 << 62 else CONFIG


def _loose(v: Value) -> Value:
    joined: Value = UNKNOWN
    for i, item in enumerate(v.items if isinstance(v, Tuple) else ()):
        joined = item if i == 0 else join(joined, item)
    return Seq(joined)


def _concatenate(a: Value, b: Value) -> Value:
    if isinstance(a, Tuple) and isinstance(b, Tuple):
        return (
            Tuple((*a.items, *b.items), a.kind)
            if len(a.items) + len(b.items) <= 64
            else _loose(Tuple((*a.items, *b.items)))
        )
    items = [v.item if isinstance(v, Seq) else _item(v) for v in (a, b)]
    size = next((v.size for v in (a, b) if isinstance(v, Seq) and v.size is not None), None)
    known = [i for i in items if i is not None]
    return Seq(join(known[0], known[1]) if len(known) == 2 else known[0] if known else UNKNOWN, size)


def _item(v: Value) -> Value | None:
    if isinstance(v, Tuple) and v.items:
        loose = _loose(v)
        assert isinstance(loose, Seq)
        return loose.item
    return None


_OPERATORS: dict[type, str] = {
    cst.Add: "+",
    cst.Subtract: "-",
    cst.Multiply: "*",
    cst.Divide: "/",
    cst.FloorDivide: "//",
    cst.Modulo: "%",
    cst.Power: "**",
    cst.MatrixMultiply: "@",
    cst.BitAnd: "&",
    cst.BitOr: "|",
    cst.BitXor: "^",
    cst.LeftShift: "<<",
    cst.RightShift: ">>",
}

_EXPRESSIONS: dict[type, Callable[..., Value]] = {
    cst.Name: Expressions.e_name,
    cst.Ellipsis: Expressions.e_ellipsis,
    cst.Integer: Expressions.e_integer,
    cst.Float: Expressions.e_float,
    cst.SimpleString: Expressions.e_string,
    cst.FormattedString: Expressions.e_formatted,
    cst.Attribute: Expressions.e_attribute,
    cst.Tuple: Expressions.e_tuple,
    cst.List: Expressions.e_tuple,
    cst.Set: Expressions.e_set,
    cst.Dict: Expressions.e_dict,
    cst.BinaryOperation: Expressions.e_binary,
    cst.UnaryOperation: Expressions.e_unary,
    cst.Comparison: Expressions.e_compare,
    cst.BooleanOperation: Expressions.e_boolean,
    cst.IfExp: Expressions.e_ternary,
    cst.Call: Expressions.e_call,
    cst.Await: Expressions.e_await,
    cst.Yield: Expressions.e_yield,
    cst.NamedExpr: Expressions.e_named,
    cst.Lambda: Expressions.e_lambda,
    cst.Subscript: Expressions.e_subscript,
    cst.ListComp: Expressions.e_comprehension,
    cst.GeneratorExp: Expressions.e_comprehension,
    cst.SetComp: Expressions.e_comprehension,
    cst.DictComp: Expressions.e_dict_comprehension,
}
