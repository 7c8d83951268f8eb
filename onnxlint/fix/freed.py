"""Variables that hold a Python number read out of a tensor: the tensor itself in their place, where that works."""

from __future__ import annotations

import ast

from onnxlint.fix.site import FunctionNode, Site
from onnxlint.fix.values import Values, assigned, stripped
from onnxlint.records import Edit


def free_names(site: Site, expression: ast.expr) -> dict[str, Edit] | None:
    """The edits that make tensors of the variables of an expression which hold numbers read out of tensors.

    None where one of them cannot be made a tensor; empty where there is none.
    """
    found: dict[str, Edit] = {}
    for name in (n for n in ast.walk(expression) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)):
        if site.hint(f"${name.id}") != "data" or name.id in found:
            continue
        values = list(assigned(site, name))
        function = site.function(name)
        if len(values) != 1 or values[0] is None or function is None:
            return None
        inner = stripped(site, values[0])
        if inner is values[0] or not Values(site).is_tensor(inner) or not only_computes(site, function, name.id):
            return None
        found[name.id] = site.replace(values[0], site.source(inner))
    return found


def only_computes(site: Site, function: FunctionNode, name: str) -> bool:
    """Whether a variable is only used where a zero-dimensional tensor does as well as a number."""
    return all(takes_tensor(site, node) for node in site.region.uses(function, name) if isinstance(node.ctx, ast.Load))


def takes_tensor(site: Site, node: ast.expr) -> bool:
    """Whether a zero-dimensional tensor may stand where this expression stands: arithmetic, tests, torch operators."""
    parent = site.region.parents.get(node)
    if isinstance(parent, ast.UnaryOp):
        return takes_tensor(site, parent)
    if isinstance(parent, ast.BinOp):
        other = parent.right if parent.left is node else parent.left
        return not _is_text(parent) and (Values(site).is_tensor(other) or takes_tensor(site, parent))
    if isinstance(parent, ast.Compare):
        return all(isinstance(op, (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)) for op in parent.ops)
    if isinstance(parent, ast.Assign):
        targets = parent.targets
        function = site.function(parent)
        if len(targets) != 1 or not isinstance(targets[0], ast.Name) or function is None:
            return False
        return only_computes(site, function, targets[0].id)
    if isinstance(parent, ast.Call):
        return _call_takes_tensor(parent, node)
    if isinstance(parent, ast.keyword):
        return False
    return isinstance(parent, (ast.AugAssign, ast.Return, ast.IfExp, ast.If))


def _is_text(node: ast.BinOp) -> bool:
    return isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant) and isinstance(node.left.value, str)


# Operators whose argument at this position may be a tensor with no axes where it may be a number.
_TENSOR_ARGUMENTS = frozenset(
    (
        *("where", "maximum", "minimum", "clamp_min", "clamp_max", "clamp", "mul", "div", "add", "sub", "pow", "lerp"),
        *("true_divide", "remainder", "fmod", "masked_fill", "eq", "ne", "lt", "le", "gt", "ge", "exp", "log", "sqrt"),
    )
)


def _call_takes_tensor(call: ast.Call, node: ast.expr) -> bool:
    if call.func is node:
        return False
    if isinstance(call.func, ast.Attribute):
        return call.func.attr in _TENSOR_ARGUMENTS
    return isinstance(call.func, ast.Name) and call.func.id in ("float", "abs")
