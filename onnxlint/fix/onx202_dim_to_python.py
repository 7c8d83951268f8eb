"""ONX202: whole-number arithmetic on a size in the place of `int()`, `math` and `len()`."""

from __future__ import annotations

import libcst as cst

from onnxlint.fix.registry import remedy
from onnxlint.records import Fix, Safety
from onnxlint.rules.site import Site, dotted, has_star, indices, keywords, literal, positional, tight
from onnxlint.rules.sizes import axis_of, ceiling, whole
from onnxlint.rules.tree import walk
from onnxlint.rules.values import Values

_FLOORS = ("math.floor", "np.floor")


@remedy("ONX202", Safety.SAFE)
def keep_the_size(site: Site) -> Fix | None:
    """Safe where the rewrite gives the same number for every size; a divisor that is no literal may be no whole one."""
    call = site.at_span(cst.Call)
    if call is None or keywords(call) or has_star(call):
        return None
    size = _rewritten(site, call)
    if size is None:
        return None
    divisions = (n for n in walk(call) if isinstance(n, cst.BinaryOperation) and isinstance(n.operator, cst.Divide))
    division = next(divisions, None)
    safety = Safety.SAFE if division is None or literal(division.right) is not None else Safety.UNSAFE
    title = f"stay with the size: `{site.tree.code(size)}`"
    return site.fix(title, safety, site.replace(call, site.fitted(size, call)))


def _rewritten(site: Site, call: cst.Call) -> cst.BaseExpression | None:
    """The call as an expression of sizes; None where none is known to be equal for every size."""
    values = Values(site)
    match dotted(call.func), positional(call):
        case "int" | "math.floor" | "math.trunc" | "operator.index", [inner]:
            match inner:
                case cst.Call(func=function, args=[cst.Arg(value=value)]) if dotted(function) == "math.ceil":
                    return ceiling(values, value)
                case cst.Call(func=function, args=[cst.Arg(value=value)]) if dotted(function) in _FLOORS:
                    return whole(values, value)
            return whole(values, inner)
        case "math.ceil", [inner]:
            return ceiling(values, inner)
        case "len", [inner]:
            return _length(values, inner)
        case "min", [one, other]:
            for size, bound in ((one, other), (other, one)):
                axis = axis_of(site, size)
                if axis is not None and (axis_of(site, bound) is not None or _is_plain(bound)):
                    return _clipped(site, *axis, bound)
    return None


def _length(values: Values, node: cst.BaseExpression) -> cst.BaseExpression | None:
    if not values.is_tensor(node):
        return None
    match node:
        case cst.Subscript(value=cst.Name() as tensor, slice=[_]) if literal(indices(node)[0]) is not None:
            return values.site.expression("{tensor}.shape[1]", tensor=tensor)
    return values.site.expression("{tensor}.shape[0]", tensor=tight(node))


def _clipped(site: Site, tensor: cst.BaseExpression, axis: int, bound: cst.BaseExpression) -> cst.BaseExpression | None:
    """`min(x.shape[axis], bound)` as the size of a slice, which ends where the tensor does."""
    if axis < 0:
        return None
    template = f"{{tensor}}[{':, ' * axis}: {{bound}}].shape[{axis}]"
    return site.expression(template, tensor=tensor, bound=tight(bound))


def _is_plain(node: cst.BaseExpression) -> bool:
    """A number, a variable or an attribute that is meant to be a positive limit."""
    number = literal(node)
    return number > 0 if number is not None else isinstance(node, (cst.Name, cst.Attribute))
