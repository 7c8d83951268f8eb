"""ONX403: `torch.stack` of tensors, or a copy of one, in the place of a constructor."""

from __future__ import annotations

import ast

from onnxlint.fix.registry import remedy
from onnxlint.fix.site import Site
from onnxlint.fix.values import Values, sizes_of, stripped
from onnxlint.records import Fix, Safety

# Without a dim these give a tensor with no axes.
_REDUCTIONS = frozenset(("sum", "mean", "max", "min", "std", "var", "prod", "amax", "amin", "median", "norm", "numel"))


@remedy("ONX403", Safety.SAFE)
def stack_or_copy(site: Site) -> Fix | None:
    """Safe where each part is known to have no axes: then `stack` gives the same values in the same shape."""
    call = site.at_span(ast.Call)
    return None if call is None else stacked(site, call)


def stacked(site: Site, call: ast.Call) -> Fix | None:
    """`torch.tensor` of tensors, or of the numbers in them, without the way through Python."""
    if len(call.args) != 1 or isinstance(call.args[0], ast.Starred):
        return None
    name = site.source(call.func).rpartition(".")[2]
    options = {k.arg: site.source(k.value) for k in call.keywords}
    if name not in ("tensor", "as_tensor", "FloatTensor", "from_numpy") or set(options) - {"dtype", "device"}:
        return None
    values = Values(site)
    data = call.args[0]
    moved = "".join(f".to({value})" for key, value in options.items() if key == "dtype")
    if name == "FloatTensor":
        moved = ".float()"
    if not isinstance(data, (ast.List, ast.Tuple)):
        inner = stripped(site, data)
        if not values.is_tensor(inner) or (isinstance(inner, ast.Name) and _is_list(site, inner)):
            return None
        copied = "" if name in ("as_tensor", "from_numpy") else ".detach().clone()"
        return site.fix(
            "copy the tensor",
            Safety.SAFE if inner is data and _rank_known(values, inner) else Safety.UNSAFE,
            site.replace(call, f"{site.operand(inner)}{copied}{moved}"),
        )
    items = [stripped(site, e) for e in data.elts]
    if not items or not all(map(values.is_tensor, items)):
        return None
    scalar = all(_has_no_axes(values, item) for item in items)
    text = ", ".join(site.source(item) for item in items)
    same = items == data.elts
    safety = Safety.SAFE if scalar and same else Safety.UNSAFE
    return site.fix(
        "put the tensors together with `torch.stack`", safety, site.replace(call, f"torch.stack([{text}]){moved}")
    )


def _has_no_axes(values: Values, node: ast.expr) -> bool:
    if isinstance(node, ast.Name):
        return sizes_of(values.told(node.id)) == []
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args and not node.keywords:
        return node.func.attr in _REDUCTIONS or _has_no_axes(values, node.func.value)
    return False


def _is_list(site: Site, name: ast.Name) -> bool:
    """Whether a variable is somewhere set to, or grown by, a list: its items are tensors then, not itself."""
    function = site.function(name)
    for node in site.region.bindings(function, name.id) if function is not None else ():
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            mine = any(isinstance(t, ast.Name) and t.id == name.id for t in targets)
            if mine and isinstance(node.value, (ast.List, ast.ListComp, ast.Tuple)):
                return True
    return False


def _rank_known(values: Values, node: ast.expr) -> bool:
    return not isinstance(node, ast.Name) or sizes_of(values.told(node.id)) is not None
