"""ONX205: name the axes that squeeze drops."""

from __future__ import annotations

import ast

from onnxlint.fix.calls import argument
from onnxlint.fix.registry import remedy
from onnxlint.fix.site import Site
from onnxlint.fix.values import sizes_of
from onnxlint.records import Fix, Safety


@remedy("ONX205", Safety.UNSAFE)
def name_the_axes(site: Site) -> Fix | None:
    """Unsafe: with a batch of one the output keeps an axis that it used to lose."""
    call = site.at_span(ast.Call)
    if call is None or call.keywords:
        return None
    method = isinstance(call.func, ast.Attribute) and len(call.args) == 0
    axes = _unit_axes(site) or (_kept_axes(site, call) if method else None)
    if axes is None:
        return None
    told = str(axes[0]) if len(axes) == 1 else f"({', '.join(map(str, axes))})"
    end = site.page.range(call)[1] - 1
    edit = site.splice(end, end, told if method else f", {told}")
    return site.fix(f"name the axes: `squeeze({told})`", Safety.UNSAFE, edit)


def _unit_axes(site: Site) -> list[int] | None:
    """The axes of size one, where every other size is known not to be one."""
    sizes = sizes_of(site.hint("$"))
    if not sizes or "..." in sizes or "*" in sizes:
        return None
    axes = [at for at, size in enumerate(sizes) if size == "1"]
    if len(axes) == 1 and axes[0] == len(sizes) - 1:
        return [-1]
    return axes or None


def _kept_axes(site: Site, call: ast.Call) -> list[int] | None:
    """`x.mean(dim=(2, 3), keepdim=True).squeeze()`: the axes that were kept on purpose."""
    inner = call.func.value if isinstance(call.func, ast.Attribute) else None
    if not isinstance(inner, ast.Call) or not isinstance(inner.func, ast.Attribute):
        return None
    keep = argument(inner, "keepdim")
    dims = argument(inner, "dim", 0)
    if not (isinstance(keep, ast.Constant) and keep.value is True) or dims is None:
        return None
    try:
        found = ast.literal_eval(dims)
    except ValueError:
        return None
    axes = [found] if isinstance(found, int) else list(found) if isinstance(found, (tuple, list)) else []
    return axes if axes and all(type(a) is int for a in axes) else None
