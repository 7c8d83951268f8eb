"""ONX202: whole-number arithmetic on a size in the place of `int()`, `math` and `len()`."""

from __future__ import annotations

import ast

from onnxlint.fix.registry import remedy
from onnxlint.fix.site import Site
from onnxlint.fix.sizes import axis_of, ceiling, literal, whole
from onnxlint.fix.values import Values
from onnxlint.records import Fix, Safety


@remedy("ONX202", Safety.SAFE)
def keep_the_size(site: Site) -> Fix | None:
    """Safe where the rewrite gives the same number for every size; a divisor that is no literal may be no whole one."""
    call = site.at_span(ast.Call)
    if call is None or call.keywords:
        return None
    text = rewritten(site, call)
    if text is None:
        return None
    quotient = next((n for n in ast.walk(call) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div)), None)
    whole_number = quotient is None or literal(quotient.right) is not None
    safety = Safety.SAFE if whole_number else Safety.UNSAFE
    return site.fix(f"stay with the size: `{text}`", safety, site.replace(call, _placed(site, call, text)))


def rewritten(site: Site, call: ast.Call) -> str | None:
    """The call as an expression of sizes; None where none is known to be equal for every size."""
    values = Values(site)
    name = site.source(call.func)
    if name in ("int", "math.floor", "math.trunc", "operator.index") and len(call.args) == 1:
        inner = call.args[0]
        if isinstance(inner, ast.Call) and site.source(inner.func) == "math.ceil" and len(inner.args) == 1:
            return ceiling(values, inner.args[0])
        if (
            isinstance(inner, ast.Call)
            and site.source(inner.func) in ("math.floor", "np.floor")
            and len(inner.args) == 1
        ):
            inner = inner.args[0]
        return whole(values, inner)
    if name == "math.ceil" and len(call.args) == 1:
        return ceiling(values, call.args[0])
    if name == "len" and len(call.args) == 1:
        return _length(values, call.args[0])
    if name == "min" and len(call.args) == 2:
        for size, bound in (call.args, reversed(call.args)):
            axis = axis_of(site, size)
            if axis is not None and (axis_of(site, bound) is not None or _is_plain(bound)):
                tensor, at = axis
                return _clipped(site, tensor, at, bound)
    return None


def _length(values: Values, node: ast.expr) -> str | None:
    if not values.is_tensor(node):
        return None
    if isinstance(node, ast.Subscript) and literal(node.slice) is not None and isinstance(node.value, ast.Name):
        return f"{values.site.source(node.value)}.shape[1]"
    return f"{values.site.operand(node)}.shape[0]"


def _clipped(site: Site, tensor: str, axis: int, bound: ast.expr) -> str | None:
    """`min(x.shape[axis], bound)` as the size of a slice, which ends where the tensor does."""
    if axis < 0:
        return None
    return f"{tensor}[{':, ' * axis}: {site.operand(bound)}].shape[{axis}]"


def _is_plain(node: ast.expr) -> bool:
    """A number, a variable or an attribute that is meant to be a positive limit."""
    number = literal(node)
    return number > 0 if number is not None else isinstance(node, (ast.Name, ast.Attribute))


def _placed(site: Site, call: ast.Call, text: str) -> str:
    """In parentheses where the text binds weaker than what stands around the call."""
    parent = site.region.parents.get(call)
    loose = not text.replace(".", "").replace("_", "").isalnum() and not text.endswith("]")
    tight = isinstance(parent, (ast.BinOp, ast.UnaryOp, ast.Attribute)) or (
        isinstance(parent, ast.Subscript) and parent.value is call
    )
    return f"({text})" if loose and tight else text
