"""ONX413: a floor division that both exporters translate right."""

from __future__ import annotations

import ast

from onnxlint.fix.registry import remedy
from onnxlint.fix.site import Site
from onnxlint.records import Fix, Safety


@remedy("ONX413", Safety.SAFE)
def say_how_to_round(site: Site) -> Fix | None:
    """Safe: it is what `//` means for tensors."""
    node = next((n for n in site.inside(ast.BinOp) if isinstance(n.op, ast.FloorDiv)), None)
    if node is not None:
        text = f'torch.div({site.source(node.left)}, {site.source(node.right)}, rounding_mode="floor")'
        return site.fix('write `torch.div(..., rounding_mode="floor")`', Safety.SAFE, site.replace(node, text))
    call = site.at_span(ast.Call)
    if call is None or not ast.unparse(call.func).endswith("floor_divide") or call.keywords:
        return None
    given = [site.source(a) for a in call.args]
    if isinstance(call.func, ast.Attribute) and site.source(call.func.value) != "torch":
        given.insert(0, site.source(call.func.value))
    if len(given) != 2:
        return None
    text = f'torch.div({given[0]}, {given[1]}, rounding_mode="floor")'
    return site.fix('write `torch.div(..., rounding_mode="floor")`', Safety.SAFE, site.replace(call, text))
