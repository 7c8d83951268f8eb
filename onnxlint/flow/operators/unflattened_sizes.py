"""Sizes after `unflatten` and `.data`: TorchScript's exporter takes them for numbers until an operator gives symbols.

Measured: what keeps a shape, moves it, cuts it, reduces over it, or multiplies it with weights passes the numbers on; a
padding, and arithmetic with a tensor whose sizes are symbols, give symbols again.
"""

import ast
from collections.abc import Callable, Sequence

from onnxlint.flow.state.protocols import InContext
from onnxlint.flow.values import shapes
from onnxlint.flow.values.domain import Const, Dim, Extent, Site, Tensor, Value, replace

HIDDEN = "unflatten"  # a size that the trace does not see
READ = "a size after unflatten"  # such a size, read
# Operators and functions that are lowered to an ONNX operator of arithmetic; `where`, `maximum` and `atan2` are not.
OPERATORS = frozenset(("+", "-", "*", "/", "//", "%", "**", "@", "=="))
FUNCTIONS = frozenset(("add", "sub", "rsub", "mul", "div", "pow", "remainder", "lerp", "addcmul", "matmul"))


def lost(engine: InContext, t: Tensor, before: Tensor, node: ast.AST) -> Tensor:
    """What `unflatten` or `.data` gives of `before`: in TorchScript's trace its sizes are numbers from here on."""
    if before.source != "input":
        return t
    if t.dims is None and t.lead is None:
        t = replace(t, lead=shapes.extent_of(t, 0, engine.context.axes))
    return _moved(t, lambda d: d.site is None, engine.site(node, HIDDEN))


def read_at(engine: InContext, t: Tensor, node: ast.AST) -> Tensor:
    """The tensor with its sizes as `.shape` gives them: those that `unflatten` hid become numbers at this place."""
    return _moved(t, _is_hidden, engine.site(node, READ)) if _any(t) else t


def padded(t: Tensor, mode: Value | None) -> Tensor:
    """What a padding gives: symbols, but for a circular one, which is made of slices."""
    circular = isinstance(mode, Const) and mode.literal == "circular"
    return t if circular or not _any(t) else _moved(t, _is_hidden, None)


def combined(t: Tensor, operands: Sequence[Tensor]) -> Tensor:
    """What arithmetic gives: symbols, where the sizes of one operand are."""
    inputs = any(o.parameter != "" and o.dims is None for o in operands)
    symbols = inputs or any(isinstance(d, Dim) for o in operands if not _any(o) for d in o.extents)
    return _moved(t, _is_hidden, None) if _any(t) and symbols else t


def _moved(t: Tensor, test: Callable[[Dim], bool], site: Site | None) -> Tensor:
    """The tensor with another site for those of its sizes that pass a test."""

    def moved(d: Extent) -> Extent:
        return replace(d, site=site) if isinstance(d, Dim) and test(d) else d

    dims = tuple(map(moved, t.dims)) if t.dims is not None else None
    return replace(t, dims=dims, lead=moved(t.lead) if t.lead is not None else None)


def _any(t: Tensor) -> bool:
    return any(isinstance(d, Dim) and _is_hidden(d) for d in t.extents)


def _is_hidden(d: Dim) -> bool:
    return d.site is not None and d.site.how == HIDDEN
