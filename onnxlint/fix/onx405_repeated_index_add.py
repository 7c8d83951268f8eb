"""ONX405: `scatter_add` with an expanded index in the place of `index_add`."""

from __future__ import annotations

import ast

from onnxlint.fix.calls import argument
from onnxlint.fix.registry import remedy
from onnxlint.fix.site import Site
from onnxlint.fix.sizes import literal
from onnxlint.fix.values import sizes_of
from onnxlint.records import Fix, Safety


@remedy("ONX405", Safety.SAFE)
def scatter_instead(site: Site) -> Fix | None:
    """Safe: both add every row in eager, in the same order on one thread."""
    call = site.at_span(ast.Call)
    if call is None or not isinstance(call.func, ast.Attribute) or argument(call, "alpha", 3) is not None:
        return None
    if call.func.attr not in ("index_add", "index_add_") or site.source(call.func.value) == "torch":
        return None
    given = [argument(call, name, at) for at, name in enumerate(("dim", "index", "source"))]
    dim, index, source = given
    sizes = sizes_of(site.hint("$"))
    if dim is None or index is None or source is None or sizes is None or "..." in sizes:
        return None
    axis, rank = literal(dim), len(sizes)
    if axis is None or not -rank <= axis < rank:
        return None
    axis %= rank
    if rank == 1:
        expanded = site.source(index)
    else:
        if not isinstance(source, (ast.Name, ast.Attribute)):
            return None  # its size is needed too, and computing it twice is no fix
        view = "[" + ", ".join(":" if at == axis else "None" for at in range(rank)) + "]"
        expanded = f"{site.operand(index)}{view}.expand_as({site.source(source)})"
    name = call.func.attr.replace("index_add", "scatter_add")
    text = f"{site.source(call.func.value)}.{name}({site.source(dim)}, {expanded}, {site.source(source)})"
    return site.fix("use `scatter_add` with the index expanded", Safety.SAFE, site.replace(call, text))
