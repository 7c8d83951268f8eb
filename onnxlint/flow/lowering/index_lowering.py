"""Indices that an exporter lowers wrong or not: positions below zero or apart, a mask beside another index."""

import ast
from collections.abc import Callable, Sequence
from functools import lru_cache

from onnxlint.flow.lowering.exporter_support import bound
from onnxlint.flow.lowering.unexportable_calls import emit
from onnxlint.flow.state.observations import Call
from onnxlint.flow.state.protocols import Lowering
from onnxlint.flow.values.domain import Config, Const, Data, Tensor, Tuple, Value, is_ellipsis
from onnxlint.flow.values.node_places import Body

# What they give counts from zero, so that one less may be -1.
_FROM_ZERO = frozenset(("argmax", "argmin", "arange", "searchsorted", "bucketize"))
_CASTS = ("long", "int", "to")


def read(engine: Lowering, t: Tensor, index: Sequence[Value], node: ast.Subscript) -> None:
    """`t[rows, last - 1]`. Measured: TorchScript makes one position of several, and one below zero lands elsewhere."""
    if not engine.context.tracing or t.source != "input" or sum(map(_gathers, index)) < 2:
        return
    written = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if len(written) != len(index):
        return
    if any(_gathers(v) and _below_zero(engine.frames[-1].body, e) for v, e in zip(index, written, strict=True)):
        emit(engine, node, Call, "index", "index: below zero", trace=t.trace, detail="a position below zero")


def write(engine: Lowering, t: Tensor, index: Sequence[Value], node: ast.Subscript, written: Value) -> None:
    """`t[mask, 2] = v`. Measured: TorchScript mixes the axes up after a mask; dynamo has no mask behind a slice.

    Of `t[rows] = 0` with a mask of fewer axes than `t`, TorchScript makes a Where that holds the mask against the last
    axes. Of as many rows as the mask counts, and of sums (`t[rows] += 1`), it makes a scatter, which is right.
    """
    fed = any(getattr(v, "source", "") == "input" for v in (t, written, *index))
    if engine.context.tracing and fed and _parted(index):
        form, detail = "index_put: a slice between", "a slice between tensors"
        emit(engine, node, Call, "index_put", form, trace=t.trace, detail=detail)
    masks = ((i, v) for i, v in enumerate(index) if isinstance(v, Tensor) and v.kind == "bool" and v.dims != ())
    at, mask = next(masks, (0, None))
    if mask is None or not engine.context.tracing:
        return
    if t.kind == "bool" and not t.guessed:  # measured: also where both are constants
        emit(engine, node, Call, "index_put", "of bools", trace=mask.trace, detail="of bools")
    if "input" not in (t.source, mask.source):
        return

    def tell(place: str) -> None:
        emit(engine, node, Call, "index_put", f"index_put: a mask {place}", trace=mask.trace, detail=f"a mask {place}")

    if any(not is_ellipsis(v) for v in index[at + 1 :]):
        tell("before another index")
    elif at == 0 and _spread(t, mask, written):
        tell("of fewer axes")
    if any(is_ellipsis(v) for v in index[:at]):
        tell("after `...`")
    elif any(isinstance(v, Tuple) and v.kind == "slice" for v in index[:at]):
        tell("after a slice")


def _parted(index: Sequence[Value]) -> bool:
    """True for `x[rows, :, columns]`, no masks. Measured: TorchScript writes positions that follow on each other."""
    at = [i for i, v in enumerate(index) if isinstance(v, Tensor) and v.dims != ()]
    between = index[at[0] : at[-1]] if at else []
    masked = any(isinstance(v, Tensor) and v.kind == "bool" for v in index)
    return not masked and any(is_ellipsis(v) or (isinstance(v, Tuple) and v.kind == "slice") for v in between)


def _spread(t: Tensor, mask: Tensor, written: Value) -> bool:
    """True where a mask counts rows of `t`, and each gets the same numbers."""
    more = len(t.dims) - len(mask.dims) if t.dims is not None and mask.dims is not None else 0
    if isinstance(written, Tensor):
        return written.dims is not None and len(written.dims) <= more and more > 0
    return isinstance(written, (Const, Config, Data)) and more > 0


def _gathers(v: Value) -> bool:
    return isinstance(v, Tensor) and v.kind != "bool" and v.dims != ()


def _below_zero(body: Body, node: ast.expr) -> bool:
    """True for `x.argmax(-1) - 1` and its like, also by a name that nothing else is given to but plain numbers."""
    if isinstance(node, ast.Name):
        return _name_is(body, node.id, _below_zero, (ast.Constant, ast.UnaryOp))
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Sub) or not isinstance(node.right, ast.Constant):
        return False
    less = node.right.value
    return isinstance(less, int) and less > 0 and _counts_from_zero(body, node.left)


def _counts_from_zero(body: Body, node: ast.expr) -> bool:
    """True for the position that a search gives, also by a name, or as an integer of another width."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CASTS:
        node = node.func.value
    if isinstance(node, ast.Name):
        return _name_is(body, node.id, _counts_from_zero)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    started = node.func.attr == "arange" and len(node.args) > 1  # from a number of its own
    return node.func.attr in _FROM_ZERO and not started


@lru_cache(maxsize=256)  # a name may be assigned as often as it is read
def _name_is(body: Body, name: str, test: Callable[[Body, ast.expr], bool], but: tuple[type, ...] = ()) -> bool:
    """True where all that a name is assigned, but for nodes of some kinds, is no other name and passes a test."""
    values = [v for v in bound(body, name) if not isinstance(v, but)]
    return bool(values) and all(not isinstance(v, ast.Name) and test(body, v) for v in values)
