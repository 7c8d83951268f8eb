"""ONX211: a pooling over everything, said as a mean or a maximum."""

from __future__ import annotations

import ast

from onnxlint.fix.calls import argument
from onnxlint.fix.registry import remedy
from onnxlint.fix.site import Site
from onnxlint.fix.sizes import literal
from onnxlint.records import Fix, Safety

_POOLS = {f"{kind}_pool{n}d": (name, n) for kind, name in (("avg", "mean"), ("max", "amax")) for n in (1, 2, 3)}


@remedy("ONX211", Safety.UNSAFE)
def reduce_instead(site: Site) -> Fix | None:
    """Unsafe by a last digit: a mean adds in another order than a pooling."""
    call = site.at_span(ast.Call)
    if call is None or len(call.args) + len(call.keywords) != 2:
        return None
    known = _POOLS.get(site.source(call.func).rpartition(".")[2])
    tensor, window = argument(call, "input", 0), argument(call, "kernel_size", 1)
    if known is None or tensor is None or window is None:
        return None
    name, count = known
    if not _spatial(site, window, site.source(tensor), count):
        return None
    axes = ", ".join(str(axis) for axis in range(-count, 0))
    text = f"{site.operand(tensor)}.{name}({axes if count == 1 else f'({axes})'}, keepdim=True)"
    return site.fix(f"reduce over the axes: `{name}`", Safety.UNSAFE, site.replace(call, text))


def _spatial(site: Site, window: ast.expr, tensor: str, count: int) -> bool:
    """`x.shape[-2:]`, `x.shape[2:]`, `x.size()[2:]`, and `x.shape[-1]` for one axis."""
    if not isinstance(window, ast.Subscript):
        return False
    if site.source(window.value) not in (f"{tensor}.shape", f"{tensor}.size()"):
        return False
    if isinstance(window.slice, ast.Slice):
        lower = literal(window.slice.lower) if window.slice.lower is not None else None
        return lower in (-count, 2) and window.slice.upper is None and window.slice.step is None
    return count == 1 and literal(window.slice) in (-1, 2)
