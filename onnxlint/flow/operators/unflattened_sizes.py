"""Sizes after `unflatten`: TorchScript's exporter takes them for numbers until an operator gives symbols again.

Measured: what keeps a shape, moves it, cuts it, reduces over it, or multiplies it with weights passes the numbers on; a
padding, and arithmetic with a tensor whose sizes are symbols, give symbols again.
"""

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from onnxlint.flow.state.protocols import InContext
from onnxlint.flow.values import shapes
from onnxlint.flow.values.domain import Const, Dim, Extent, Tensor, Value

HIDDEN = "unflatten"  # a size that the trace does not see
READ = "a size after unflatten"  # such a size, read
_SOME = TypeVar("_SOME", bound="Extent | None")
# Operators and functions that are lowered to an ONNX operator of arithmetic; `where`, `maximum` and `atan2` are not.
OPERATORS = frozenset(("+", "-", "*", "/", "//", "%", "**", "@", "=="))
FUNCTIONS = frozenset(("add", "sub", "rsub", "mul", "div", "pow", "remainder", "lerp", "addcmul", "matmul"))


def lost(engine: InContext, t: Tensor, before: Tensor, node: ast.AST) -> Tensor:
    """What `unflatten` gives of `before`: in TorchScript's trace its sizes are numbers from here on."""
    if before.source != "input":
        return t
    site = engine.site(node, HIDDEN)

    def hidden(d: Extent) -> Extent:
        return replace(d, site=site) if isinstance(d, Dim) and d.site is None else d

    if t.dims is not None:
        return replace(t, dims=tuple(map(hidden, t.dims)))
    return replace(t, lead=hidden(shapes.extent_of(t, 0, engine.context.axes)) if t.lead is None else hidden(t.lead))


def read_at(engine: InContext, t: Tensor, node: ast.AST) -> Tensor:
    """The tensor with its sizes as `.shape` gives them: those that `unflatten` hid become numbers at this place."""
    if not _any(t):
        return t
    site = engine.site(node, READ)
    dims = tuple(replace(d, site=site) if isinstance(d, Dim) and _is_hidden(d) else d for d in t.dims or ())
    lead = replace(t.lead, site=site) if isinstance(t.lead, Dim) and _is_hidden(t.lead) else t.lead
    return replace(t, dims=dims if t.dims is not None else None, lead=lead)


def padded(t: Tensor, mode: Value | None) -> Tensor:
    """What a padding gives: symbols, but for a circular one, which is made of slices."""
    circular = isinstance(mode, Const) and mode.literal == "circular"
    return t if circular or not _any(t) else _regained(t)


def combined(t: Tensor, operands: Sequence[Tensor]) -> Tensor:
    """What arithmetic gives: symbols, where the sizes of one operand are."""
    return _regained(t) if _any(t) and any(_symbolic(o) for o in operands) else t


def _regained(t: Tensor) -> Tensor:
    dims = tuple(map(_seen, t.dims)) if t.dims is not None else None
    return replace(t, dims=dims, lead=_seen(t.lead))


def _seen(d: _SOME) -> _SOME:
    return replace(d, site=None) if isinstance(d, Dim) and _is_hidden(d) else d


def _symbolic(t: Tensor) -> bool:
    """True for a tensor that has a dynamic axis, as an input has, and none that `unflatten` hid."""
    extents = t.dims if t.dims is not None else (t.lead,)
    return (t.given != "" and t.dims is None) or (any(isinstance(d, Dim) for d in extents) and not _any(t))


def _any(t: Tensor) -> bool:
    return any(isinstance(d, Dim) and _is_hidden(d) for d in (t.dims if t.dims is not None else (t.lead,)))


def _is_hidden(d: Dim) -> bool:
    return d.site is not None and d.site.how == HIDDEN
