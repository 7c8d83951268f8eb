"""ONX405: `scatter_add` with an expanded index in the place of `index_add`."""

from __future__ import annotations

import libcst as cst

from onnxlint.fix.registry import remedy
from onnxlint.records import Fix, Safety
from onnxlint.rules.site import Site, argument, call_name, dotted, literal, tight
from onnxlint.rules.values import sizes_of


@remedy("ONX405", Safety.SAFE)
def scatter_instead(site: Site) -> Fix | None:
    """Safe: both add every row in eager, in the same order on one thread."""
    call = site.at_span(cst.Call)
    if call is None or not isinstance(call.func, cst.Attribute) or argument(call, "alpha", 3) is not None:
        return None
    tensor, name = call.func.value, call_name(call)
    if name not in ("index_add", "index_add_") or dotted(tensor) == "torch":
        return None
    dim, index, source = (argument(call, name, at) for at, name in enumerate(("dim", "index", "source")))
    sizes = sizes_of(site.hint("$"))
    if dim is None or index is None or source is None or sizes is None or "..." in sizes:
        return None
    axis, rank = literal(dim), len(sizes)
    if axis is None or not -rank <= axis < rank:
        return None
    if rank > 1:
        if not isinstance(source, (cst.Name, cst.Attribute)):
            return None  # its size is needed too, and computing it twice is no fix
        view = ", ".join(":" if at == axis % rank else "None" for at in range(rank))
        index = site.expression(f"{{index}}[{view}].expand_as({{source}})", index=tight(index), source=source)
    scatter = name.replace("index", "scatter")
    template = f"{{tensor}}.{scatter}({{dim}}, {{index}}, {{source}})"
    new = site.expression(template, tensor=tensor, dim=dim, index=index, source=source)
    return site.fix("use `scatter_add` with the index expanded", Safety.SAFE, site.replace(call, new))
