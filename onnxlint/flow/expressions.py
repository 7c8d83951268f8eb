"""Expressions over abstract values: names, arithmetic, comparisons, subscripts, comprehensions, conditions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

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
    ast.Eq: lambda a, b: a == b,
    ast.NotEq: lambda a, b: a != b,
    ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b,
    ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b,
}

OPERATORS: dict[type, str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
}


class Expressions:
    """The expression half of a frame."""

    engine: Interpreter
    module: ModuleInfo
    body: Body
    scope: Scope
    symbol: str
    unit: FunctionUnit | None
    line: int
    yields: list[Value]

    loop_exits: list[dict[str, Value]]
    globals: set[str]

    def step(self, message: str, parent: Trace | None) -> Trace:
        """A step of a trace at the current statement."""
        raise NotImplementedError

    def narrowing(self, test: ast.expr) -> Callable[[bool], None]:
        """What a condition says of a name in each arm."""
        raise NotImplementedError

    def assign(self, target: ast.expr, v: Value, augmented: bool = False) -> None:
        """Bind a target."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------------------- evaluation

    def eval(self, node: ast.expr) -> Value:
        """The abstract value of an expression."""
        handler = _EXPRESSIONS.get(type(node))
        return handler(self, node) if handler is not None else UNKNOWN

    def e_name(self, node: ast.Name) -> Value:
        """A variable, a global, or a builtin."""
        found = self.scope.lookup(node.id)
        if found is not None:
            result: Value = found
            return result
        return self.engine.global_value(self.module, node.id)

    def e_constant(self, node: ast.Constant) -> Value:
        """A literal: a number, a string, None, `...`."""
        v = node.value
        if v is Ellipsis:
            return External("builtins.Ellipsis")
        if isinstance(v, complex):
            return UNKNOWN
        return CONFIG if isinstance(v, bytes) else Const(v)

    def e_formatted(self, node: ast.JoinedStr) -> Value:
        """An f-string: a dim in it is frozen, which matters when the text is used as a key."""
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                v = self.eval(part.value)
                if isinstance(v, Dim):
                    return Dim(v.axes, None, self.engine.site(node, "f-string"), False, v.trace)
        return CONFIG

    def e_attribute(self, node: ast.Attribute) -> Value:
        """`value.name`."""
        return self.engine.attribute(self.eval(node.value), node.attr, node)

    def e_tuple(self, node: ast.Tuple | ast.List) -> Value:
        """A tuple or list display; `*items` of unknown length make the whole of unknown length."""
        kind = "list" if isinstance(node, ast.List) else "tuple"
        items: list[Value] = []
        loose: Value | None = None
        for element in node.elts:
            if not isinstance(element, ast.Starred):
                items.append(self.eval(element))
                continue
            v = self.eval(element.value)
            if isinstance(v, Tuple):
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

    def e_set(self, node: ast.Set) -> Value:
        """A set display."""
        values = [self.eval(e.value if isinstance(e, ast.Starred) else e) for e in node.elts]
        joined = values[0]
        for v in values[1:]:
            joined = join(joined, v)
        return Seq(joined)

    def e_dict(self, node: ast.Dict) -> Value:
        """A dict display."""
        result = Dict()
        for written, value in zip(node.keys, node.values, strict=True):
            v = self.eval(value)
            if written is not None:
                key = self.eval(written)
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

    def e_binary(self, node: ast.BinOp) -> Value:
        """`a + b` and its like."""
        return self.arithmetic(OPERATORS[type(node.op)], self.eval(node.left), self.eval(node.right), node)

    def arithmetic(self, operator: str, a: Value, b: Value, node: ast.AST) -> Value:
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

    def _tensor_arithmetic(self, operator: str, a: Value, b: Value, node: ast.AST) -> Value:
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

    def e_unary(self, node: ast.UnaryOp) -> Value:
        """`-x`, `not x`, `~x`."""
        v = self.eval(node.operand)
        if isinstance(node.op, ast.Not):
            if isinstance(v, Truth):
                return v.negated()
            if isinstance(v, Tensor):
                self.engine.emit_operator(node, v, "not")
                return Data(self.engine.site(node, "not"), v.source != "input", False, v.trace)
            if isinstance(v, Const):
                return Const(not v.literal)
            return v if isinstance(v, (Data, Dim)) else CONFIG
        if isinstance(v, Const) and isinstance(node.op, ast.USub) and isinstance(v.literal, (int, float)):
            return Const(-v.literal)
        if isinstance(v, Tensor):
            return replace(v, view=None)
        if isinstance(v, Dim):
            return replace(v, example=None, plain=False)
        return v if isinstance(v, (Data, Array)) else CONFIG if isinstance(v, (Const, Config)) else UNKNOWN

    def e_compare(self, node: ast.Compare) -> Value:
        """A comparison; a chained one asks each but the last for its truth."""
        left = self.eval(node.left)
        results: list[Value] = []
        for operator, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.eval(comparator)
            results.append(self._compare(operator, left, right, node))
            left = right
        if len(results) > 1:
            for v in results[:-1]:
                if isinstance(v, Tensor) and not self.engine.testing:
                    self.engine.emit_operator(node, v, "chained comparison")
        return next((v for v in results if isinstance(v, (Tensor, Data))), results[-1])

    def _compare(self, operator: ast.cmpop, a: Value, b: Value, node: ast.Compare) -> Value:
        if isinstance(operator, (ast.Is, ast.IsNot)):
            if is_none(a) and is_none(b):
                return Const(isinstance(operator, ast.Is))
            return CONFIG
        if isinstance(a, Dim) and as_int(b) == 0 and _asks_for_elements(node):
            return CONFIG  # no example is empty
        if isinstance(node.left, ast.Attribute) and node.left.attr == "dtype":
            return _dtype_test(operator, b)
        if isinstance(operator, (ast.In, ast.NotIn)):
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

    def _contains(self, a: Value, b: Value, node: ast.AST) -> Value:
        if isinstance(b, Tensor) or (isinstance(a, Tensor) and isinstance(b, (Tuple, Seq))):
            t = b if isinstance(b, Tensor) else a
            assert isinstance(t, Tensor)
            if not self.engine.testing:
                self.engine.emit_operator(node, t, "in")
            return Data(self.engine.site(node, "in"), t.source != "input", False, t.trace)
        if isinstance(a, Dim) and isinstance(b, (Tuple, Seq, Dict)):
            return Dim(a.axes, None, None, False, a.trace)
        return CONFIG

    def e_boolean(self, node: ast.BoolOp) -> Value:
        """`a and b` as a value: its truth is asked of `a`."""
        word = "and" if isinstance(node.op, ast.And) else "or"
        left = self.eval(node.values[0])
        for right in node.values[1:]:
            left = self._boolean(word, left, right, node)
        return left

    def _boolean(self, word: str, left: Value, second: ast.expr, node: ast.BoolOp) -> Value:
        if isinstance(left, Const):
            decided = bool(left.literal)
            if decided == (word == "or"):
                return left
            return self.eval(second)
        if isinstance(left, Tensor) and not self.engine.testing:
            self.engine.emit_operator(node, left, word)
        if isinstance(left, Truth):
            held = self.engine.exporters
            self.engine.exporters = tuple(e for e in held if left.verdict(e) is not (word == "or"))
            right = self.eval(second) if self.engine.exporters else CONFIG
            self.engine.exporters = held
            if isinstance(right, (Const, Config, Unknown, Truth)):
                return _both(word, left, right)
            return right
        right = self.eval(second)
        if isinstance(right, Truth) and isinstance(left, (Config, Unknown)):
            return _both(word, left, right)
        if isinstance(left, Tensor):
            # `tensor or default` gives either; what comes out of a comparison is a truth read from data.
            return right if isinstance(right, Tensor) else left
        return join(left, right)

    def e_ternary(self, node: ast.IfExp) -> Value:
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

    def e_call(self, node: ast.Call) -> Value:
        """A call."""
        return self.engine.call(node)

    def e_await(self, node: ast.Await) -> Value:
        """`await x`."""
        return self.eval(node.value)

    def e_yield(self, node: ast.Yield) -> Value:
        """`yield x`."""
        if node.value is not None:
            self.yields.append(self.eval(node.value))
        return UNKNOWN

    def e_yield_from(self, node: ast.YieldFrom) -> Value:
        """`yield from x`."""
        v = self.eval(node.value)
        self.yields.append(v.item if isinstance(v, Seq) else UNKNOWN)
        return UNKNOWN

    def e_named(self, node: ast.NamedExpr) -> Value:
        """`(name := value)`."""
        v = self.eval(node.value)
        self.assign(node.target, v)
        return v

    def e_lambda(self, node: ast.Lambda) -> Value:
        """A lambda: called, it evaluates its body in this scope."""
        return self.engine.lambda_value(node)

    def closure(self, node: ast.FunctionDef | ast.AsyncFunctionDef, qualname: str) -> Value:
        """A nested function."""
        inner = self.engine.trees.in_file(self.body, node)
        assert not isinstance(inner, ast.ClassDef)
        cls = self.unit.cls if self.unit is not None else None
        return Function(FunctionUnit(self.module, inner, qualname, cls), None, self.scope)

    # ----------------------------------------------------------------------------------------- subscripts

    def index_values(self, node: ast.Subscript) -> list[Value]:
        """The values of the indices between the brackets; a slice is the tuple of its bounds with kind `slice`."""
        values: list[Value] = []
        for element in node.slice.elts if isinstance(node.slice, ast.Tuple) else (node.slice,):
            if isinstance(element, ast.Slice):
                bounds = (element.lower, element.upper, element.step)
                values.append(Tuple(tuple(self.eval(p) if p is not None else NONE for p in bounds), "slice"))
            elif isinstance(element, ast.Starred):
                v = self.eval(element.value)
                values.extend(v.items if isinstance(v, Tuple) else (v,))
            else:
                values.append(self.eval(element))
        return values

    def e_subscript(self, node: ast.Subscript) -> Value:
        """`value[index]`."""
        owner = self.eval(node.value)
        index = self.index_values(node)
        if len(index) == 1 and isinstance(index[0], Tuple) and index[0].kind == "tuple" and isinstance(owner, Tensor):
            index = list(index[0].items)
        return self.engine.subscript(owner, index, node)

    # --------------------------------------------------------------------------------------- comprehensions

    def e_comprehension(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp) -> Value:
        """A comprehension: literal sequences item by item, anything else once over its joined item."""
        held = dict(self.scope.names)
        results: list[Value] = []
        size: list[Value | None] = []
        exact = self._comprehend(node.generators, lambda: results.append(self.eval(node.elt)), size)
        self.scope.names = held
        if exact and not isinstance(node, ast.SetComp):
            return Tuple(tuple(results), "list")
        joined = results[0] if results else UNKNOWN
        for v in results[1:]:
            joined = join(joined, v)
        return Seq(joined, next((s for s in size if s is not None), None))

    def e_dict_comprehension(self, node: ast.DictComp) -> Value:
        """A dict comprehension."""
        held = dict(self.scope.names)
        pairs: list[tuple[Value, Value]] = []
        size: list[Value | None] = []
        exact = self._comprehend(
            node.generators, lambda: pairs.append((self.eval(node.key), self.eval(node.value))), size
        )
        self.scope.names = held
        if exact and all(isinstance(k, Const) for k, _ in pairs):
            return Dict(tuple((k.literal, v) for k, v in pairs if isinstance(k, Const)))
        rest: Value | None = None
        for _, v in pairs:
            rest = v if rest is None else join(rest, v)
        return Dict((), rest)

    def _comprehend(
        self, parts: Sequence[ast.comprehension], visit: Callable[[], None], size: list[Value | None]
    ) -> bool:
        part, inner = parts[0], parts[1:]
        iterable = self.eval(part.iter)
        self.engine.report_loop(part.iter, iterable)
        items = self.engine.items_of(iterable, part.iter)
        size.append(iterable.size if isinstance(iterable, Seq) else None)
        exact = isinstance(iterable, Tuple) and len(items) == len(iterable.items) and not part.ifs and not inner
        for item in items:
            self.assign(part.target, item)
            for condition in part.ifs:
                test = self.test(condition)
                for v, mask in test.reads:
                    self.engine.emit_read(facts.Branch, condition, v, mask, keyword="comprehension")
            if inner:
                self._comprehend(inner, visit, size)
            else:
                visit()
        return exact

    # ------------------------------------------------------------------------------------------- conditions

    def test(self, node: ast.expr) -> Test:
        """Evaluate a condition: what it reads under which exporters, and what each exporter makes of it."""
        from onnxlint.flow.frame import Test

        mask = self.engine.exporters
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = self.test(node.operand)
            return Test(inner.reads, {e: None if v is None else not v for e, v in inner.verdict.items()})
        if isinstance(node, ast.BoolOp):
            result = self.test(node.values[0])
            for value in node.values[1:]:
                result = self._test_both(result, value, isinstance(node.op, ast.Or))
            return result
        self.engine.testing += 1
        v = self.eval(node)
        self.engine.testing -= 1
        if isinstance(v, Truth):
            return Test([], {e: v.verdict(e) for e in mask})
        if isinstance(v, Const):
            return Test([], dict.fromkeys(mask, bool(v.literal)))
        asks = reads_data(v) or isinstance(v, Dim)
        return Test([(v, mask)] if asks else [], dict.fromkeys(mask, None))

    def _test_both(self, left: Test, second: ast.expr, stops: bool) -> Test:
        """Two conditions in a row, of which the first one ends the test where it is `stops`: True for `or`."""
        from onnxlint.flow.frame import Test

        mask = self.engine.exporters
        self.engine.exporters = tuple(e for e in mask if left.verdict.get(e) is not stops)
        right = self.test(second) if self.engine.exporters else Test([], {})
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


_HALF = frozenset({"torch.float16", "torch.half", "torch.bfloat16"})


def _asks_for_elements(node: ast.Compare) -> bool:
    """True for `x.numel() > 0` and its like."""
    left = node.left
    return isinstance(left, ast.Call) and isinstance(left.func, ast.Attribute) and left.func.attr == "numel"


def _dtype_test(operator: ast.cmpop, wanted: Value) -> Value:
    """`x.dtype == torch.float16`: models are exported in single precision unless somebody says otherwise."""
    names = [getattr(v, "name", "") for v in (wanted.items if isinstance(wanted, Tuple) else (wanted,))]
    if not names or not all(n in _HALF for n in names):
        return CONFIG
    return Const(isinstance(operator, (ast.NotEq, ast.NotIn, ast.IsNot)))


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


_EXPRESSIONS: dict[type, Callable[..., Value]] = {
    ast.Name: Expressions.e_name,
    ast.Constant: Expressions.e_constant,
    ast.JoinedStr: Expressions.e_formatted,
    ast.Attribute: Expressions.e_attribute,
    ast.Tuple: Expressions.e_tuple,
    ast.List: Expressions.e_tuple,
    ast.Set: Expressions.e_set,
    ast.Dict: Expressions.e_dict,
    ast.BinOp: Expressions.e_binary,
    ast.UnaryOp: Expressions.e_unary,
    ast.Compare: Expressions.e_compare,
    ast.BoolOp: Expressions.e_boolean,
    ast.IfExp: Expressions.e_ternary,
    ast.Call: Expressions.e_call,
    ast.Await: Expressions.e_await,
    ast.Yield: Expressions.e_yield,
    ast.YieldFrom: Expressions.e_yield_from,
    ast.NamedExpr: Expressions.e_named,
    ast.Lambda: Expressions.e_lambda,
    ast.Subscript: Expressions.e_subscript,
    ast.ListComp: Expressions.e_comprehension,
    ast.GeneratorExp: Expressions.e_comprehension,
    ast.SetComp: Expressions.e_comprehension,
    ast.DictComp: Expressions.e_dict_comprehension,
}
