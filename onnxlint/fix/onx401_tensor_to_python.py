"""ONX401: leave a value in its tensor."""

from __future__ import annotations

import ast

from onnxlint.fix.freed import takes_tensor
from onnxlint.fix.onx403_tensor_from_tensor import stacked
from onnxlint.fix.registry import remedy
from onnxlint.fix.site import Site
from onnxlint.fix.values import Values, stripped
from onnxlint.records import Fix, Safety


@remedy("ONX401", Safety.UNSAFE)
def stay_with_the_tensor(site: Site) -> Fix | None:
    """Unsafe by a last digit: a Python float is double precision."""
    call = site.at_span(ast.Call)
    if call is None:
        return None
    values = Values(site)
    if isinstance(call.func, ast.Name) and call.func.id == "len" and len(call.args) == 1:
        if not values.is_tensor(call.args[0]):
            return None
        text = f"{site.operand(call.args[0])}.shape[0]"
        return site.fix(f"ask the tensor: `{text}`", Safety.SAFE, site.replace(call, text))
    listed = site.region.parents.get(call)
    made = site.region.parents.get(listed) if isinstance(listed, (ast.List, ast.Tuple)) else None
    if isinstance(made, ast.Call) and site.source(made.func) in ("torch.tensor", "torch.as_tensor"):
        return stacked(site, made)
    inner = stripped(site, call)
    outer: ast.expr = call
    while isinstance(parent := site.region.parents.get(outer), ast.Call) and stripped(site, parent) is inner:
        outer = parent
    if inner is call or not values.is_tensor(inner):
        return _limit(site, values, call)
    if not takes_tensor(site, outer):
        return None
    text = site.source(inner)
    parent = site.region.parents.get(outer)
    loose = isinstance(inner, (ast.BinOp, ast.Compare, ast.UnaryOp, ast.BoolOp, ast.IfExp))
    if loose and isinstance(parent, (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Attribute)):
        text = f"({text})"
    return site.fix("stay with the tensor", Safety.UNSAFE, site.replace(outer, text))


def _limit(site: Site, values: Values, call: ast.Call) -> Fix | None:
    """`torch.arange(int(t))`, and a bound of a slice: whole numbers that these take from a tensor."""
    if not (isinstance(call.func, ast.Name) and call.func.id == "int" and len(call.args) == 1 and not call.keywords):
        return None
    inner = stripped(site, call.args[0])
    parent = site.region.parents.get(call)
    takes = isinstance(parent, ast.Slice) or (
        isinstance(parent, ast.Call) and site.source(parent.func) == "torch.arange" and call in parent.args
    )
    name = inner.func.attr if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) else ""
    root = inner.func.value if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) else inner
    kind = values.told(root.id) if isinstance(root, ast.Name) else ""
    if not takes or not values.is_tensor(inner) or not kind.startswith(("tensor/int", "tensor/index")):
        return None
    if name not in ("max", "min", "sum", "amax", "amin", ""):
        return None
    return site.fix("stay with the tensor", Safety.UNSAFE, site.replace(call, site.source(inner)))
