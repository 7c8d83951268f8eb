"""Operators on tensors that an exporter has no form of, or gives another meaning: by kind, layout and arguments."""

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

from onnxlint.base.records import Outcome
from onnxlint.flow.lowering.sizes_as_numbers import along
from onnxlint.flow.lowering.unexportable_calls import emit
from onnxlint.flow.operators.transfer import Call
from onnxlint.flow.state import observations as obs
from onnxlint.flow.state.protocols import Lowering
from onnxlint.flow.tables.operator_table import Op
from onnxlint.flow.values import domain as dom
from onnxlint.flow.values.domain import FRACTION, Const, Dim, Layer, Tensor, Value, as_int, is_none, is_true, size_of
from onnxlint.flow.values.equivalent_code import counts
from onnxlint.flow.values.node_places import Body, argument, assignments

_LENGTHS = re.compile(r"`\w*len(?:gth)?s?`")
_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])")
_BOOL = "Python bool"
_STATIC = frozenset("shape size dtype device dim ndim numel is_cuda data_ptr type new".split())


def operator(engine: Lowering, call: Call, entry: Op | None) -> bool:
    """Look at an operator in traced code; True where a rule of its own says what there is to say."""
    op, curated, t = call.op, engine.table.curated, call.tensor
    if op in curated["sparse"] and (t.source == "input" or op.startswith("sparse_")):
        emit(engine, call.node, obs.SparseCall, call.name, "sparse", op, trace=t.trace)
        return True
    if op in ("pack_padded_sequence", "pack_sequence", "pad_packed_sequence", "unpack_sequence"):
        return True  # where it is packed, that is told
    _by_argument(engine, call)
    if op == "unfold" and call.method:
        _windows(engine, call)
    if op in ("floor_divide", "floor_divide_", "bitwise_right_shift", "bitwise_right_shift_"):
        floor_division(engine, call.args[0] if call.args else t, call.arg(1, "other"), call.node, op.rstrip("_"))
        return True
    if op in curated["size-operand"]:
        by_a_size(engine, call.args[0] if call.args else t, call.arg(1, "other", "exponent"), call.node, call.name)
    if op in curated["interleaved: later"]:
        _interleaved(engine, call)
    if op in curated["no batch"]:
        unbatched(engine, t, op, call.name, call.node)
    if op in curated["input-reshaped"] and t.parameter:
        emit(engine, call.node, obs.InputReshape, call.name, "input-reshaped", op, trace=t.trace, parameter=t.parameter)
    if entry is not None and _by_table(engine, call, entry):
        return True
    if op in curated["complex: real"] and any(v.kind == "complex" and not v.guessed for v in call.tensors()):
        emit(engine, call.node, obs.ComplexCall, call.name, "complex: real", op, trace=t.trace, detail=op)
    return False


def _by_table(engine: Lowering, call: Call, entry: Op) -> bool:
    """Look at what the operator table says of an operator; True where that is all there is to say."""
    outcomes, detail = _wrong(engine, call, entry)
    if outcomes:
        emit(engine, call.node, obs.Call, call.name, outcomes, trace=call.tensor.trace, detail=detail)
    if call.op == "cdist":
        _distances(engine, call)
        return True
    if entry.complex or entry.name.startswith(("fft_irfft", "fft_hfft", "view_as_real")):
        _complex(engine, call, entry)
        return True
    return False


def _of_truths(engine: Lowering, call: Call) -> Mapping[str, Outcome]:
    """Measured: ONNX Runtime has no form of these operators for truth values, and TorchScript none of a literal one."""
    for form in ("of bools: literal", "of bools: positions", "of bools"):
        entry = engine.table.curated[form].get(call.op.rstrip("_"))
        if entry is None or "dtype" in call.kwargs or (entry.limit and engine.context.opset >= entry.limit):
            continue
        if form == "of bools: positions" and not _takes_positions(engine.frames[-1].statement_node):
            continue
        values = [call.arg(*place) for place in entry.arguments]
        tensors = [v for v in values if isinstance(v, Tensor) and v.kind == "bool" and not v.guessed]
        literals = [v for v in values if isinstance(v, Const) and isinstance(v.literal, bool)]
        fits = len(tensors) + len(literals) == len(values) and any(t.source == "input" for t in tensors)
        if fits and (literals or form != "of bools: literal"):
            return entry.outcomes
    return {}


def _takes_positions(statement: ast.stmt | None) -> bool:
    """True for `values, positions = mask.max(1)`: these are found by an ArgMax, which takes no truth values."""
    match statement:
        case ast.Assign(targets=[ast.Tuple(elts=[_, ast.Name(id=name)])], value=ast.Call()):
            return name.strip("_") != ""
    return False


def _distances(engine: Lowering, call: Call) -> None:
    """Measured: dynamo lowers a product of matrices alone, which torch takes for Euclid's distance of over 25 rows."""
    a, b, p, mode = call.arg(0, "x1"), call.arg(1, "x2"), call.arg(2, "p"), call.arg(3, "compute_mode")
    if not isinstance(a, Tensor) or not isinstance(b, Tensor):
        return

    def tell(case: str, detail: str, sure: bool = True) -> None:
        fields: dict[str, Any] = {"trace": call.tensor.trace, "sure": sure, "detail": detail}
        emit(engine, call.node, obs.Call, call.name, f"distances: {case}", "cdist", **fields)

    if a.dims is not None and b.dims is not None and len(a.dims) != len(b.dims):
        tell("unequal ranks", "sides of unequal rank")
    way = mode.literal if isinstance(mode, Const) else None
    if isinstance(p, Const) and p.literal not in (2, 2.0):
        tell("p", f"p={p.literal!r}")
    elif (p is not None and not isinstance(p, Const)) or (mode is not None and way is None):
        return
    elif way == "donot_use_mm_for_euclid_dist":
        tell("compute_mode", f"compute_mode={way!r}")
    elif way != "use_mm_for_euclid_dist":
        rows, limit = [_rows(t) for t in (a, b)], engine.table.curated["distances: few"]["cdist"].limit
        if all(count is not None and count <= limit for count, _ in rows):
            tell("few", f"at most {limit} rows on either side", sure=all(sure for _, sure in rows))


def _rows(t: Tensor) -> tuple[int | None, bool]:
    """The rows of the matrices of a tensor, None where nothing tells; and whether that is known rather than likely."""
    if t.dims is None or len(t.dims) < 2:
        return None, False
    rows = t.dims[-2]
    if size_of(rows) is None and isinstance(rows, Dim) and rows.plain and len(t.dims) == 2:
        return 1, False  # the batch: an example has few
    return size_of(rows), True


def _complex(engine: Lowering, call: Call, entry: Op) -> None:
    """What makes or takes complex numbers. Numbers that no input is part of are folded into a constant."""
    tensors = call.tensors()
    if tensors and all(t.source == "made" and not t.axes for t in tensors):
        return
    outcomes: Mapping[str, Outcome] = entry.refusals(engine.context.opset) if call.op != "stft" else {}
    if call.op == "stft" and is_true(call.kwargs.get("return_complex")):
        outcomes = engine.table.outcomes("complex: return_complex", "stft")
    emit(engine, call.node, obs.ComplexCall, call.name, outcomes, trace=call.tensor.trace)


def indexed(engine: Lowering, t: Tensor, index: Sequence[Value], node: ast.AST) -> None:
    """`t[...]` of complex numbers: dynamo lowers plain slices of them alone."""
    if t.kind == "complex" and not t.guessed and engine.context.tracing:
        for v in index:
            if is_none(v) or isinstance(v, Tensor) or as_int(v) is not None:
                emit(engine, node, obs.ComplexCall, "index", "complex: real", trace=t.trace, detail="an index")
                return


def _by_argument(engine: Lowering, call: Call) -> None:
    """What depends on one argument of an operator, whatever the others are."""
    if call.op == "scaled_dot_product_attention":
        _attention(engine, call)
    elif call.op in engine.table.curated["reduced: mean"] and call.arg(4, "reduce") == Const("mean"):
        emit(engine, call.node, obs.Call, call.name, "reduced: mean", call.op, detail="reduce='mean'")


@cache
def _filled_after(mask: str) -> re.Pattern[str]:
    """What the attention gives, under a name by which `masked_fill` is called with this mask afterwards."""
    return re.compile(rf"\b(\w+) = [\w.]*attention\((?s:.)*\b\1\.masked_fill_?\([^,\n]*\b{mask}\b")


def _attention(engine: Lowering, call: Call) -> None:
    """A query that has not four axes; a mask from the inputs, of which a row may be masked as a whole."""
    query, mask = call.arg(0, "query"), call.arg(3, "attn_mask")
    if isinstance(query, Tensor) and query.dims is not None and len(query.dims) != 4:
        axes: dict[str, Any] = {"detail": f"a query of {len(query.dims)} axes", "sure": not query.guessed}
        emit(engine, call.node, obs.Call, call.name, "attention: axes", call.op, trace=query.trace, **axes)
    if not isinstance(mask, Tensor) or mask.source != "input" or mask.kind != "bool":
        return  # a bias of finite numbers hides no row as a whole
    node = argument(call.node, "attn_mask", 3)
    named = isinstance(node, ast.Name) and any_bound(engine.frames[-1].body, node.id, _unites)
    if named or (node is not None and _unites(node)):
        return  # `mask | rows_without_any`, or a column put in front: every row sees something
    unit = engine.frames[-1].unit
    if unit is not None and isinstance(node, ast.Name) and _filled_after(node.id).search(unit.text):
        return  # rows that see nothing are set to a number of their own
    lengths = mask.trace is not None and _LENGTHS.match(mask.trace.root.message) is not None  # of which none is zero
    sure = not (mask.guessed or lengths)
    emit(engine, call.node, obs.AttentionMask, call.name, "attention mask", call.op, trace=mask.trace, sure=sure)


def _windows(engine: Lowering, call: Call) -> None:
    """Measured: TorchScript counts a negative dimension of `unfold` with the axis of the windows already added."""
    axis, t = call.int_arg(1, "dimension"), call.tensor
    if axis is None or axis >= 0:
        return
    sure = t.dims is not None and -axis <= len(t.dims)
    size = t.dims[axis] if t.dims is not None and sure else along(engine, t, axis)
    if not (isinstance(size, Dim) and size.sure):  # else it refuses so many windows, which another rule tells
        fields: dict[str, Any] = {"trace": t.trace, "sure": sure, "detail": f"dimension={axis}"}
        emit(engine, call.node, obs.Call, call.name, "windows: negative dimension", "unfold", **fields)


def spread(body: Body, node: ast.expr) -> bool:
    """True for `x[:, None]` and `x.unsqueeze(1)`, also by a name: what is combined with another, each with each."""
    return _has_new_axis(node) or (isinstance(node, ast.Name) and any_bound(body, node.id, _has_new_axis))


def _has_new_axis(node: ast.expr) -> bool:
    if isinstance(node, ast.Subscript):
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return any(isinstance(p, ast.Constant) and p.value is None for p in parts)
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "unsqueeze"


def bound(body: Body, name: str) -> list[ast.expr]:
    """What a name is assigned in a function."""
    return [] if body.of_file else assignments(body.function).get(name, [])


def any_bound(body: Body, name: str, test: Callable[[ast.expr], bool]) -> bool:
    """True where something that passes a test, which takes no name, is assigned to a name in a function."""
    return not body.of_file and _any_bound(body.function, name, test)


@lru_cache(maxsize=1024)  # a name may be assigned as often as it is read
def _any_bound(function: ast.AST, name: str, test: Callable[[ast.expr], bool]) -> bool:
    return any(map(test, assignments(function).get(name, ())))


def _unites(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.BitOr)
    method = node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
    return method in ("logical_or", "bitwise_or", "where", "masked_fill", "pad")


def _wrong(engine: Lowering, call: Call, entry: Op) -> tuple[Mapping[str, Outcome], str]:
    """What exporters make of this call that lower it to something else, and the argument that makes them."""
    if call.op in ("index_put", "index_put_"):
        wrong = engine.table.outcomes("index_put: accumulate", "index_put")
        return (wrong, "accumulate=True") if is_true(call.arg(3, "accumulate")) else ({}, "")
    outcomes, detail = dict.fromkeys(entry.wrong, Outcome.WRONG_VALUES), ""
    curated = engine.table.curated["argument"].get(entry.name)
    for position, name in curated.arguments if curated is not None else ():
        v = call.arg(position, name)
        if curated is not None and isinstance(v, Const) and v.literal not in (None, 2, 2.0):
            outcomes |= curated.outcomes
            detail = f"{name}={v.literal!r}"
    truths = _of_truths(engine, call) if call.op.rstrip("_") in engine.table.curated["of bools"] else None
    if truths:
        return truths, "of bools"
    literal = engine.table.curated[_BOOL].get(call.op)
    if literal is not None and any(_is_bool(call.arg(position, name)) for position, name in literal.arguments):
        return literal.outcomes, "a Python bool"
    return outcomes, detail


def layer(engine: Lowering, called: Layer, args: Sequence[Value], node: ast.AST) -> None:
    """Look at the call of a torch.nn module in traced code."""
    if called.name in engine.watched:
        engine.emit(obs.Call, node, op=called.name)
    short = called.name.rpartition(".")[2]
    op = _WORDS.sub("_", short).lower()
    if "_pool" in op and op in engine.table.curated["no batch"] and args and isinstance(args[0], Tensor):
        unbatched(engine, args[0], op, called.name, node)
    entry = engine.table.curated["argument: layer"].get(short)
    for position, name in entry.arguments if entry is not None else ():
        v = called.arg(position, name)
        if entry is not None and isinstance(v, Const) and not is_none(v):
            emit(engine, node, obs.Call, called.name, entry.outcomes, detail=f"{name}={v.literal!r}")


def arithmetic(engine: Lowering, operator: str, a: Value, b: Value, node: ast.AST, sides: Sequence[ast.expr]) -> None:
    """Look at a binary operator on tensors, in traced code."""
    if operator in ("//", ">>") and not counts(sides[0]):
        floor_division(engine, a, b, node, operator)
    if operator in engine.table.curated["size-operand"]:
        by_a_size(engine, a, b, node, operator)
    if operator in engine.table.curated["small addend"]:
        _small_addend(engine, a, b, node, operator)
    if not isinstance(node, ast.AugAssign):
        by_a_bool(engine, a, b, node, operator)
    if operator == "+" and all(isinstance(v, Tensor) and v.kind == "bool" and not v.guessed for v in (a, b)):
        emit(engine, node, obs.Call, "+", "of bools", detail="of bools")
    if isinstance(a, Tensor) and isinstance(node, ast.AugAssign) and f"{operator}=" in engine.table.curated["in place"]:
        emit(engine, node, obs.Call, f"{operator}=", "in place", trace=a.trace, sure=not a.guessed)
    imaginary = any(isinstance(n, ast.Constant) and isinstance(n.value, complex) for n in sides)
    if imaginary and operator in engine.table.curated["complex: imaginary"]:
        emit(engine, node, obs.ComplexCall, operator, "complex: imaginary", literal=True)
    elif operator == "**" and isinstance(a, Tensor) and a.kind == "complex":
        emit(engine, node, obs.ComplexCall, operator, "complex: real", trace=a.trace, detail="pow")


def by_a_bool(engine: Lowering, a: Value, b: Value, node: ast.AST, how: str) -> None:
    """`mask == False`. Measured: TorchScript writes an operator for it that it then knows nothing of.

    What `if flag == True` asks is a flag, whatever is known of it.
    """
    t, literal = (a, b) if isinstance(a, Tensor) else (b, a)
    flag = getattr(engine.frames[-1].statement_node, "test", None) is node
    if isinstance(t, Tensor) and not flag and _is_bool(dom.or_default(literal)) and how in engine.table.curated[_BOOL]:
        sure = not t.guessed and isinstance(literal, Const)
        emit(engine, node, obs.Call, how, _BOOL, trace=t.trace, sure=sure, detail="a Python bool")


def _is_bool(v: Value | None) -> bool:
    return isinstance(v, Const) and isinstance(v.literal, bool)


def _small_addend(engine: Lowering, a: Value, b: Value, node: ast.AST, how: str) -> None:
    """`x + eps` or `x - eps` on what inputs make; what is taken from a number stays, measured."""
    t, number = (b, a) if how == "+" and isinstance(b, Tensor) else (a, b)
    number = dom.or_default(number)
    if isinstance(t, Tensor) and t.source == "input" and isinstance(number, Const) and dom.is_lost(number.literal):
        emit(engine, node, obs.SmallAddend, how, "small addend", trace=t.trace, sure=not t.guessed)


def floor_division(engine: Lowering, a: Value | None, b: Value | None, node: ast.AST, how: str) -> None:
    """`a // b` and its like on tensors: TorchScript rounds to zero, which shows where the quotient is negative.

    Most of what is divided so are lengths, positions and counts. What speaks for a sign is a difference of each with
    each or a result of a layer among the operands, a minus in front of one, or a negative divisor.
    """
    tensors = [v for v in (a, b) if isinstance(v, Tensor)]
    if any(_signed(v) for v in (a, b)) and any(t.source == "input" or t.axes for t in tensors):
        trace, sure = next((t.trace for t in tensors if t.trace), None), not any(t.guessed for t in tensors)
        emit(engine, node, obs.FloorDivide, how, "floor-division", trace=trace, sure=sure)


def by_a_size(engine: Lowering, a: Value | None, b: Value | None, node: ast.AST, how: str) -> None:
    """`positions % n`, `x ** n` and `positions * (n / 2)` with a dynamic size.

    Measured: dynamo wants a number in the first two, but for `%` of floats. A fraction it can make no tensor of, which
    it has to where the other operand holds integers.
    """
    if isinstance(a, Dim) and a.form == FRACTION:
        a, b = b, a
    if not isinstance(a, Tensor) or not isinstance(b, Dim) or b.site is not None:
        return
    op = how.rpartition(".")[2]
    whole, detail = a.kind in ("int", "index"), "a dynamic size"
    if b.form == FRACTION and not op.endswith(("**", "pow")):
        whole, detail = whole or a.kind == "bool", "integers and a fraction of a dynamic size"
    elif op not in ("%", "remainder", "**", "pow"):
        return
    if whole or op.endswith(("**", "pow")):
        sure, doubt = b.sure and not a.guessed, "guess" if a.guessed else "axis"
        fields: dict[str, Any] = {"trace": b.trace, "sure": sure, "doubt": doubt, "detail": detail}
        emit(engine, node, obs.Call, how, "size-operand", op, **fields)


def _interleaved(engine: Lowering, call: Call) -> None:
    """Measured: TorchScript counts the negative dim of `repeat_interleave` from the front, in the constant itself.

    It is the dim of every later operator that says the same number: another axis where the tensor has another rank.
    """
    t, root = call.tensor, engine.frames[0].symbol
    rank = len(t.dims) if t.dims is not None else None
    for v in [*call.args[1:], *call.kwargs.values()]:
        axis = as_int(v)
        before = engine.interleaved.get((root, axis)) if axis is not None and axis < 0 else None
        if before is not None and (rank is None or rank != before.rank or call.op in ("unsqueeze", "stack")):
            sure = rank is not None and before.rank is not None
            fields: dict[str, Any] = {"trace": t.trace, "sure": sure, "detail": f"dim={axis}"}
            emit(engine, before.place, obs.Call, before.name, "interleaved", "repeat_interleave", **fields)
    axis = call.int_arg(2, "dim")
    if call.op == "repeat_interleave" and axis is not None and axis < 0:
        engine.note_interleaved(axis, rank, call.node, call.name)


def unbatched(engine: Lowering, t: Tensor, op: str, name: str, node: ast.AST) -> None:
    """Pooling of a tensor without a batch: TorchScript's form counts the axes from the front."""
    if t.dims is not None and len(t.dims) == int(op[-2]) + 1 and t.source == "input" and not t.guessed:
        emit(engine, node, obs.Call, name, "no batch", op, trace=t.trace, detail="of a tensor without a batch")


def _signed(v: Value | None) -> bool:
    if isinstance(v, Tensor):
        return v.kind in ("signed", "float")
    return isinstance(v, Const) and isinstance(v.literal, (int, float)) and v.literal < 0


def matrix_transpose(engine: Lowering, t: Tensor, name: str, node: ast.AST) -> None:
    """`t.mT` and its like: attributes that the TorchScript exporter has no translation for; `t.T` has one."""
    if t.source != "made" and not t.guessed and engine.context.tracing:
        op = engine.table.method(name)
        outcomes = op.refusals(engine.context.opset) if op is not None else {}
        emit(engine, node, obs.Call, f"torch.Tensor.{name}", outcomes, trace=t.trace)


def data_attribute(engine: Lowering, t: Tensor, node: ast.AST) -> bool:
    """`t.data`: True where more than its shape or its dtype is asked for."""
    statement = engine.frames[-1].statement_node
    more = statement is None or id(node) not in _asked_for_shape(statement)
    if more and t.source not in ("made", "sizes") and engine.context.tracing:
        emit(engine, node, obs.DataRead, "torch.Tensor.data", "data", trace=t.trace, weight=t.source == "weight")
    return more


@lru_cache(maxsize=16)
def _asked_for_shape(statement: ast.stmt) -> frozenset[int]:
    """The ids of the expressions in a statement of which no more than a shape, a dtype or the like is read."""
    return frozenset(id(n.value) for n in ast.walk(statement) if isinstance(n, ast.Attribute) and n.attr in _STATIC)
