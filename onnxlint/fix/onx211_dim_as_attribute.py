"""ONX211: a pooling over everything, said as a mean or a maximum."""

from __future__ import annotations

import libcst as cst

from onnxlint.fix.registry import remedy
from onnxlint.records import Fix, Safety
from onnxlint.rules.site import Site, argument, call_name, indices, literal, same, tight
from onnxlint.rules.values import is_shape

_POOLS = {f"{kind}_pool{n}d": (name, n) for kind, name in (("avg", "mean"), ("max", "amax")) for n in (1, 2, 3)}


@remedy("ONX211", Safety.UNSAFE)
def reduce_instead(site: Site) -> Fix | None:
    """Unsafe by a last digit: a mean adds in another order than a pooling."""
    call = site.at_span(cst.Call)
    if call is None or len(call.args) != 2 or call_name(call) not in _POOLS:
        return None
    name, count = _POOLS[call_name(call)]
    tensor, window = argument(call, "input", 0), argument(call, "kernel_size", 1)
    if tensor is None or window is None or not _spatial(window, tensor, count):
        return None
    axes = ", ".join(str(axis) for axis in range(-count, 0))
    template = f"{{tensor}}.{name}({axes if count == 1 else f'({axes})'}, keepdim=True)"
    new = site.expression(template, tensor=tight(tensor))
    return site.fix(f"reduce over the axes: `{name}`", Safety.UNSAFE, site.replace(call, new))


def _spatial(window: cst.BaseExpression, tensor: cst.BaseExpression, count: int) -> bool:
    """`x.shape[-2:]`, `x.shape[2:]`, `x.size()[2:]`, and `x.shape[-1]` for one axis."""
    if not isinstance(window, cst.Subscript) or len(window.slice) != 1 or not is_shape(window.value):
        return False
    shape = window.value.func if isinstance(window.value, cst.Call) else window.value
    if not isinstance(shape, cst.Attribute) or not same(shape.value, tensor):
        return False
    (index,) = indices(window)
    if isinstance(index, cst.Slice):
        return literal(index.lower) in (-count, 2) and index.upper is None and index.step is None
    return count == 1 and literal(index) in (-1, 2)
