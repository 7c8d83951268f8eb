"""Arithmetic and comparisons of abstract values: of tensors, sizes, data, numbers and sequences."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from onnxlint.flow.lowering import exporter_support, sizes_as_numbers
from onnxlint.flow.operators import unflattened_sizes
from onnxlint.flow.python import implicit_calls
from onnxlint.flow.python.activation import Activation
from onnxlint.flow.values import shapes
from onnxlint.flow.values.domain import (
    CONFIG,
    COUNT,
    FRACTION,
    MULTIPLE,
    REST,
    SHARE,
    UNKNOWN,
    UNSURE,
    Array,
    Config,
    Const,
    Data,
    Dict,
    Dim,
    Extent,
    Instance,
    Seq,
    Shape,
    Tensor,
    Truth,
    Tuple,
    Unknown,
    Value,
    as_int,
    common_source,
    is_none,
    or_default,
    truth_of,
)
from onnxlint.flow.values.equivalent_code import asks_for_elements
from onnxlint.flow.values.joins import join

_FOLD: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
}
_WHOLE = frozenset(("+", "-", "*", "//", "%"))  # what gives whole numbers of whole numbers

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


class Arithmetic(Activation):
    """The part of a frame that works out binary, unary and comparison operators."""

    def e_binary(self, node: ast.BinOp) -> Value:
        """`a + b` and its like."""
        operator, a, b = OPERATORS[type(node.op)], self.eval(node.left), self.eval(node.right)
        if self.engine.context.tracing and (type(a) is Tensor or type(b) is Tensor):
            exporter_support.arithmetic(self.engine, operator, a, b, node, (node.left, node.right))
        if operator == "**" and all(isinstance(side, ast.Constant) for side in (node.left, node.right)):
            return _power(a, b)
        if operator in ("/", "//") and isinstance(a, Dim) and isinstance(b, Dim) and self._cancels(node):
            return CONFIG
        return self.arithmetic(operator, a, b, node)

    def _cancels(self, node: ast.BinOp) -> bool:
        """True for `a.numel() / b.numel()` of tensors that have the same dynamic axes: always the same number."""
        dims = []
        for side in (node.left, node.right):
            owner = side.func.value if isinstance(side, ast.Call) and isinstance(side.func, ast.Attribute) else None
            t = self.eval(owner) if isinstance(owner, ast.Name) else None
            if not isinstance(t, Tensor) or t.dims is None:
                return False
            # What was computed from an axis is the same size only where one tensor has it from the other.
            dims.append(Counter(d if d.plain and d.sure else id(d) for d in t.dims if isinstance(d, Dim)))
        return dims[0] == dims[1] and all(_counts(side) for side in (node.left, node.right))

    def arithmetic(self, operator: str, a: Value, b: Value, node: ast.AST) -> Value:
        """The result of a binary operator."""
        ta, tb = type(a), type(b)
        if ta is Instance or tb is Instance:
            result = implicit_calls.binary(self.engine, operator, a, b, node)
            if result is not None:
                return result
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
            return self._size_arithmetic(operator, a, b, node)
        return _sequence_arithmetic(operator, a, b)

    def _size_arithmetic(self, operator: str, a: Value, b: Value, node: ast.AST) -> Value:
        dim, other = (a, b) if isinstance(a, Dim) else (b, a)
        assert isinstance(dim, Dim)
        if operator == "*" and isinstance(other, (Tuple, Seq)):  # [0] * n: the length is frozen
            sizes_as_numbers.repeated(self.engine, dim, node, other is a)
            item = other.item if isinstance(other, Seq) else other.items[0] if other.items else UNKNOWN
            return Seq(item, replace(dim, site=dim.site or self.engine.site(node, "list repetition")))
        if operator == "//" and isinstance(node, ast.BinOp):
            sizes_as_numbers.negated_division(self.engine, node, a)
        x, y = (v.example if isinstance(v, Dim) else as_int(v) for v in (a, b))
        folds = operator in _WHOLE and x is not None and y is not None and (y or operator not in "//%")
        folded = int(_FOLD[operator](x, y)) if folds else None
        if operator in ("/", "//") and _is_ratio(a, b):
            return CONFIG
        size = (shapes.times if operator == "*" else shapes.combine)(shapes.from_value(a), shapes.from_value(b), folded)
        if isinstance(size, Dim):
            form = FRACTION if _divides(operator, a, b) else "remainder" if operator == "%" else size.form
            return replace(size, form=form, least=_least(operator, a, b))
        return size

    def _tensor_arithmetic(self, operator: str, a: Value, b: Value, node: ast.AST) -> Value:
        for other in (a, b):
            if not isinstance(other, Tensor):
                self.engine.use(other, f"`{operator}`")
        tensors = [v for v in (a, b) if isinstance(v, Tensor)]
        if len(tensors) == 2:
            if all(t.source == "input" for t in tensors):
                self.attempt(node)
            self.engine.check_operands(tensors[0], tensors[1])
        dims, lead = _matrix_product(tensors) if operator == "@" else shapes.elementwise(tensors)
        source = common_source(tensors)
        trace = next((t.trace for t in tensors if t.source == "input" and t.trace), tensors[0].trace)
        kind = _kind(operator, a, b)
        if operator == "-" and kind != "complex" and isinstance(node, ast.BinOp):
            kind = "signed" if all(exporter_support.spread(self.body, n) for n in (node.left, node.right)) else kind
        made = Tensor(dims, lead, source, kind, None, None, trace, all(t.guessed for t in tensors))
        # `h += x` writes through the view that `h` is: its sizes stay numbers.
        plain = operator in unflattened_sizes.OPERATORS and not isinstance(node, ast.AugAssign)
        return unflattened_sizes.combined(made, tensors) if plain and len(tensors) == 2 else made

    def e_unary(self, node: ast.UnaryOp) -> Value:
        """`-x`, `not x`, `~x`."""
        v = self.eval(node.operand)
        if isinstance(node.op, ast.Not):
            if isinstance(v, Truth):
                return v.negated()
            if isinstance(v, Tensor):
                self.engine.emit_operator(node, v, "not")
                return Data(self.engine.site(node, "not"), v.fixed, False, v.trace)
            if isinstance(v, Const):
                return Const(not v.literal)
            if isinstance(v, Config) and v.default is not None:
                return Config(default=Const(not v.default.literal))
            return v if isinstance(v, (Data, Dim)) else CONFIG
        if isinstance(v, Const) and isinstance(node.op, ast.USub) and isinstance(v.literal, (int, float)):
            return Const(-v.literal)
        if isinstance(v, Tensor):
            kind = "signed" if isinstance(node.op, ast.USub) and v.kind != "complex" else v.kind
            if kind is None and isinstance(node.op, ast.Invert):
                kind = "bool"  # of integers hardly anybody wants the complement
            return replace(v, view=None, kind=kind, given="")
        if isinstance(v, Dim):
            return replace(v, example=None, plain=False, form=v.form if v.form == FRACTION else "", least=REST)
        return v if isinstance(v, (Data, Array)) else CONFIG if isinstance(v, (Const, Config)) else UNKNOWN

    def e_compare(self, node: ast.Compare) -> Value:
        """A comparison; a chained one asks each but the last for its truth."""
        left = self.eval(node.left)
        results: list[Value] = []
        for operator, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.eval(comparator)
            usual = _compare_defaults(operator, left, right)
            results.append(usual or self._compare(operator, left, right, node))
            left = right
        if len(results) > 1:
            for v in results[:-1]:
                if isinstance(v, Tensor) and not self.engine.context.testing:
                    self.engine.emit_operator(node, v, "chained comparison")
        return next((v for v in results if isinstance(v, (Tensor, Data))), results[-1])

    def _compare(self, operator: ast.cmpop, a: Value, b: Value, node: ast.Compare) -> Value:
        if isinstance(operator, (ast.Is, ast.IsNot)):
            return Const(isinstance(operator, ast.Is)) if is_none(a) and is_none(b) else CONFIG
        if isinstance(a, Dim) and as_int(b) == 0 and (_is_length(a) or asks_for_elements(node.left)):
            return CONFIG  # no example is empty
        if isinstance(node.left, ast.Attribute) and node.left.attr == "dtype":
            return _dtype_test(operator, b)
        if _asks_device(node.left):
            return _device_test(operator, b)
        if isinstance(operator, (ast.In, ast.NotIn)):
            return self._contains(a, b, node)
        if isinstance(a, Const) and isinstance(b, Const):
            return _compare_literals(operator, a, b)
        if isinstance(a, Tensor) or isinstance(b, Tensor):
            return self._compare_tensors(a, b, node)
        data = a if isinstance(a, (Data, Array)) else b
        if isinstance(data, (Data, Array)):
            return Data(data.site, data.fixed, isinstance(data, Data) and data.sized, data.trace)
        if isinstance(a, Shape) and isinstance(b, Shape):
            a, b = self._unlike(a, b)
        return _compare_sizes(operator, a, b)

    def _compare_tensors(self, a: Value, b: Value, node: ast.Compare) -> Value:
        other = b if isinstance(a, Tensor) else a
        if is_none(other) or (isinstance(other, Const) and isinstance(other.literal, str)):
            return CONFIG
        result = self._tensor_arithmetic("==", a, b, node)
        assert isinstance(result, Tensor)
        return replace(result, kind="bool")

    def _unlike(self, a: Shape, b: Shape) -> tuple[Value, Value]:
        """The sizes in which two shapes may differ: not the same axis of both, and not two fixed numbers."""
        x, y = a.tensor.dims, b.tensor.dims
        if x is None or y is None:
            unknown = self.engine.context.axes.declared is None and a.tensor.source == b.tensor.source == "input"
            some = Dim(frozenset((UNSURE,)), plain=False, trace=a.trace)
            return (some, some) if unknown else (CONFIG, CONFIG)
        pairs = [p for p in zip(x, y, strict=False) if p[0] != p[1] and any(isinstance(d, Dim) for d in p)]
        return Tuple(tuple(p[0] for p in pairs)), Tuple(tuple(p[1] for p in pairs))

    def _contains(self, a: Value, b: Value, node: ast.AST) -> Value:
        if isinstance(b, Tensor) or (isinstance(a, Tensor) and isinstance(b, (Tuple, Seq))):
            t = b if isinstance(b, Tensor) else a
            assert isinstance(t, Tensor)
            if isinstance(a, Const) and isinstance(a.literal, str):
                return CONFIG  # what is asked for a name is a dict
            if isinstance(b, Tuple) and all(isinstance(i, Const) and isinstance(i.literal, str) for i in b.items):
                return CONFIG  # no tensor is a name
            if not self.engine.context.testing:
                self.engine.emit_operator(node, t, "in")
            return Data(self.engine.site(node, "in"), t.fixed, False, t.trace)
        if isinstance(b, Dict) and isinstance(a, (Dim, Tuple)):
            sizes_as_numbers.looked_up(self.engine, b, a, node, "in")
        if isinstance(a, Dim) and isinstance(b, (Tuple, Seq, Dict)):
            return Dim(a.axes, None, None, False, a.trace)
        return CONFIG


def _matrix_product(tensors: list[Tensor]) -> tuple[shapes.Dims | None, Extent | None]:
    """Dims and first dim of `a @ b`."""
    x, y = (tensors[0].dims or (), tensors[-1].dims or ())
    if len(tensors) == 2 and len(x) >= 2 and len(y) >= 2:
        return (*(shapes.broadcast(x[:-2], y[:-2]) or ()), x[-2], y[-1]), None
    return None, shapes.elementwise(tensors)[1]


def _is_length(dim: Dim) -> bool:
    """True for `len(x)`."""
    return dim.site is not None and dim.site.how == "len()"


def _compare_literals(operator: ast.cmpop, a: Const, b: Const) -> Value:
    compare = _COMPARE.get(type(operator))
    try:
        return Const(compare(a.literal, b.literal)) if compare is not None else CONFIG
    except TypeError:
        return CONFIG


def _compare_defaults(operator: ast.cmpop, left: Value, right: Value) -> Config | None:
    """A comparison with a default: `mode == "x"`, `mode in ("x", "y")`, `mode is None`."""
    a, b = or_default(left), or_default(right)
    if (a is left and b is right) or not isinstance(a, Const):
        return None
    if isinstance(b, Tuple) and isinstance(operator, (ast.In, ast.NotIn)):
        known = all(isinstance(v, Const) for v in b.items)
        return Config(default=Const((a in b.items) is isinstance(operator, ast.In))) if known else None
    if not isinstance(b, Const):
        return None
    if isinstance(operator, (ast.Is, ast.IsNot)):
        return Config(default=Const((a == b) is isinstance(operator, ast.Is)))
    result = _compare_literals(operator, a, b)
    return Config(default=result) if isinstance(result, Const) else None


def _compare_sizes(operator: ast.cmpop, a: Value, b: Value) -> Value:
    """The truth of a comparison of sizes, of single ones or of several: it is dynamic if one of them is."""
    axes: frozenset[str] = frozenset()
    trace = None
    for d in (*_sizes_in(a), *_sizes_in(b)):
        if isinstance(d, Data):
            return Data(d.site, d.fixed, True, d.trace)
        if isinstance(d, Dim):
            axes |= d.axes
            trace = trace or d.trace
    if not axes:
        return CONFIG if not isinstance(a, Unknown) or not isinstance(b, Unknown) else UNKNOWN
    if any(isinstance(x, Dim) and x.least != REST and as_int(y) == 0 for x, y in ((a, b), (b, a))):
        return CONFIG  # an axis without elements: no example has one
    if isinstance(a, Dim) and isinstance(b, Dim) and a.axes == b.axes and a.plain and b.plain:
        return CONFIG  # the same axis of two tensors: always equal
    return Dim(axes, None, None, False, trace, _form(operator, a, b))


def _is_ratio(a: Value, b: Value) -> bool:
    """True for `y.size(0) // x.size(0)` where `y` has an axis of `x` some fixed number of times."""
    axes = isinstance(a, Dim) and isinstance(b, Dim) and a.axes == b.axes and len(a.axes) == 1 and a.sure
    return axes and isinstance(a, Dim) and isinstance(b, Dim) and b.plain and (a.plain or a.form == MULTIPLE)


def _divides(operator: str, a: Value, b: Value) -> bool:
    """True for arithmetic on sizes that gives a float."""
    floats = (isinstance(v, Const) and isinstance(v.literal, float) for v in (a, b))
    return operator == "/" or any(floats) or any(isinstance(v, Dim) and v.form == FRACTION for v in (a, b))


def _power(a: Value, b: Value) -> Value:
    """`10**9`, as it is written."""
    base, exponent = as_int(a), as_int(b)
    if base is None or exponent is None or not 0 <= exponent <= 32 or abs(base) > 1024:
        return CONFIG
    return Const(base**exponent)


def _counts(node: ast.expr) -> bool:
    """True for `x.numel()`."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "numel"


def _least(operator: str, a: Value, b: Value) -> int:
    """What the result of arithmetic on sizes is at least: a sum or product of counts is one, a difference may be 0."""
    if operator not in ("+", "*"):
        return REST
    known = [v.least for v in (a, b) if isinstance(v, Dim)]
    for v in (a, b):
        if isinstance(v, Const) and isinstance(v.literal, (int, float)):
            nothing = v.literal < 0 if operator == "+" else v.literal <= 0
            known.append(REST if nothing else COUNT if isinstance(v.literal, int) else SHARE)
        elif not isinstance(v, Dim):
            known.append(REST if operator == "+" else SHARE)  # a setting: an offset, which may be negative, or a ratio
    return max(known)


_HALF = frozenset({"torch.float16", "torch.half", "torch.bfloat16"})


def _dtype_test(operator: ast.cmpop, wanted: Value) -> Value:
    """`x.dtype == torch.float16`: models are exported in single precision unless somebody says otherwise."""
    names = [getattr(v, "name", "") for v in (wanted.items if isinstance(wanted, Tuple) else (wanted,))]
    if not names or not all(n in _HALF for n in names):
        return CONFIG
    return Const(isinstance(operator, (ast.NotEq, ast.NotIn, ast.IsNot)))


def _form(operator: ast.cmpop, a: Value, b: Value) -> str:
    """What a comparison of sizes asks: whether two are equal, or what a division leaves."""
    if isinstance(operator, (ast.Eq, ast.NotEq)) and all(any(True for _ in _sizes_in(v)) for v in (a, b)):
        return "equal"
    return "remainder" if any(isinstance(v, Dim) and v.form == "remainder" for v in (a, b)) else ""


def _asks_device(node: ast.expr) -> bool:
    """True for `x.device.type`."""
    if not isinstance(node, ast.Attribute) or node.attr != "type":
        return False
    return (node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")) == "device"


def _device_test(operator: ast.cmpop, wanted: Value) -> Value:
    """`x.device.type == "mps"`: models are exported on the processor or on a CUDA device."""
    names = [v.literal for v in (wanted.items if isinstance(wanted, Tuple) else (wanted,)) if isinstance(v, Const)]
    if not names or any(not isinstance(n, str) or n in ("cpu", "cuda") for n in names):
        return CONFIG
    return Const(isinstance(operator, (ast.NotEq, ast.NotIn, ast.IsNot)))


def _sizes_in(v: Value) -> Iterator[Extent]:
    if isinstance(v, Dim):
        yield v
    elif isinstance(v, Shape):
        yield from v.tensor.dims or ()
    elif isinstance(v, Tuple):
        yield from (i for i in v.items if isinstance(i, (Dim, Data)))
    elif isinstance(v, Seq) and isinstance(v.size, (Dim, Data)):
        yield v.size


def _kind(operator: str, a: Value, b: Value) -> str | None:
    """The kind of numbers that an operator on tensors gives."""
    kinds = {v.kind for v in (a, b) if isinstance(v, Tensor)}
    if "complex" in kinds:
        return "complex"
    if "signed" in kinds and operator in ("+", "%"):
        return None  # a difference with an offset, or what a division leaves
    if operator == "/" or not kinds <= {"int", "index", "bool"}:
        return kinds.pop() if len(kinds) == 1 and operator != "/" else None
    return _kind_of_integers(operator, a, b, kinds)


def _kind_of_integers(operator: str, a: Value, b: Value, kinds: set[str | None]) -> str:
    if kinds == {"bool"} and (operator in "&|^" or (isinstance(a, Tensor) and isinstance(b, Tensor))):
        return "bool"
    numbers = [v.literal for v in (a, b) if isinstance(v, Const) and isinstance(v.literal, (int, float))]
    if any(isinstance(n, float) for n in numbers):
        return "float"
    if operator == "%" and isinstance(b, Const) and numbers and numbers[-1] > 0:
        return "index"
    grows = operator in ("+", "*", "//", "%", "**", "&", "|", ">>", "<<") and all(n >= 0 for n in numbers)
    return "index" if grows and "int" not in kinds else "int"


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


def _sequence_arithmetic(operator: str, a: Value, b: Value) -> Value:
    """`[a] + [b]`, `[a] * 2`, and what is left."""
    x, y = or_default(a), or_default(b)
    if isinstance(x, Const) and isinstance(y, Const):
        usual = _fold(operator, x, y)
        return Config(default=usual) if isinstance(usual, Const) else usual
    if operator == "+" and isinstance(a, (Tuple, Seq)) and isinstance(b, (Tuple, Seq)):
        return _concatenate(a, b)
    if operator == "*" and isinstance(a, Const) and isinstance(b, Tuple):
        a, b = b, a
    if operator == "*" and isinstance(a, Tuple):
        times = as_int(b)
        return Tuple(a.items * times, a.kind) if times is not None and 0 <= times * len(a.items) <= 32 else _loose(a)
    if isinstance(a, Shape) or isinstance(b, Shape):
        return Seq(CONFIG)
    return CONFIG if isinstance(a, (Const, Config)) and isinstance(b, (Const, Config)) else UNKNOWN


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
