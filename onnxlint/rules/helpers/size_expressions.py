"""Sizes: which axis of which tensor an expression is, and whole-number arithmetic in the place of Python's."""

import libcst as cst

from onnxlint.rules.engine.site import Site, bare, elements, indices, literal, same, tight
from onnxlint.rules.helpers.value_kinds import Values, assigned, is_shape, parameters, sizes_of

Axis = tuple[cst.BaseExpression, int]


def axis_of(site: Site, node: cst.BaseExpression) -> Axis | None:
    """The tensor and the axis whose size an expression is, through a variable that is set once."""
    match node:
        case cst.Subscript(value=cst.Attribute(value=tensor, attr=cst.Name(value="shape"))) if len(node.slice) == 1:
            axis = literal(indices(node)[0])
            return None if axis is None else (tensor, axis)
        case cst.Call(func=cst.Attribute(value=tensor, attr=cst.Name(value="size")), args=[cst.Arg(keyword=None)]):
            axis = literal(node.args[0].value)
            return None if axis is None else (tensor, axis)
        case cst.Name() if len(list(assigned(site, node))) == 1:
            bindings = (binding for binding, _ in site.bindings(site.function(node), node.value))
            axes = (_unpacked(site, b, node) for b in bindings if isinstance(b, cst.Assign) and len(b.targets) == 1)
            return next((axis for axis in axes if axis is not None), None)
    return None


def _unpacked(site: Site, node: cst.Assign, name: cst.Name) -> Axis | None:
    target, value = node.targets[0].target, node.value
    if isinstance(target, cst.Name) and same(target, name) and not isinstance(value, cst.Name):
        return axis_of(site, value)
    tensor = value.func if isinstance(value, cst.Call) else value
    if not is_shape(value) or not isinstance(tensor, cst.Attribute):
        return None
    at = next((at for at, e in enumerate(elements(target) or ()) if same(e, name)), None)
    return None if at is None else (tensor.value, at)


def size_named(site: Site, axis: str, first: str = "") -> str | None:
    """An expression in scope that gives the size of a dynamic axis: `x.shape[0]`; of `first` if it has that axis."""
    names = [first] if first else []
    names += sorted(n[1:] for n in site.finding.hints if n.startswith("$") and n[1:] and n[1:] != first)
    axes = [(name, at) for name in names for at, size in enumerate(sizes_of(site.value(name)) or ()) if size == axis]
    if not axes:
        return None
    node = site.at_span(cst.Call)
    function = site.function(node) if node is not None else None
    order = [first, *(parameters(function) if function is not None else ())]
    name, at = min(axes, key=lambda pair: (order.index(pair[0]) if pair[0] in order else len(order), pair))
    return f"{name}.shape[{at}]"


def whole(values: Values, node: cst.BaseExpression) -> cst.BaseExpression | None:
    """Whole-number arithmetic that gives what `int(node)` gives for every size; None where none is known to."""
    if values.is_size(node):
        return bare(node)
    if not isinstance(node, cst.BinaryOperation):
        return None
    if isinstance(node.operator, cst.Divide) and values.is_size(node.left) and (literal(node.right) or 0) > 0:
        return values.site.expression("{size} // {parts}", size=tight(node.left), parts=node.right)
    if isinstance(node.operator, cst.Multiply):
        for size, factor in ((node.left, node.right), (node.right, node.left)):
            if isinstance(factor, cst.Float) and factor.evaluated_value > 0 and values.is_size(size):
                return _scaled(values.site, size, factor.evaluated_value)
    return None


def _scaled(site: Site, size: cst.BaseExpression, factor: float) -> cst.BaseExpression | None:
    if factor.is_integer():
        return site.expression(f"{{size}} * {int(factor)}", size=tight(size))
    parts = 1 / factor
    exact = parts.is_integer() and int(parts) & (int(parts) - 1) == 0  # a power of two: no rounding on the way
    return site.expression(f"{{size}} // {int(parts)}", size=tight(size)) if exact else None


def ceiling(values: Values, node: cst.BaseExpression) -> cst.BaseExpression | None:
    """What `math.ceil(node)` gives, for a size divided by a number; both exporters round `//` towards zero."""
    if not isinstance(node, cst.BinaryOperation) or not isinstance(node.operator, cst.Divide):
        return None
    return rounded_up(values, node.left, node.right)


def rounded_up(values: Values, size: cst.BaseExpression, parts: cst.BaseExpression) -> cst.BaseExpression | None:
    """A size divided by a number and rounded up, by a sum that is positive; None where it may be none."""
    if not values.is_size(size):
        return None
    if isinstance(parts, (cst.Name, cst.Attribute)):  # meant to be whole, as a patch or a stride is
        return values.site.expression("({size} + {parts} - 1) // {parts}", size=tight(size), parts=parts)
    number = literal(parts)
    if number is None or number < 1:
        return None
    return values.site.expression(f"({{size}} + {number - 1}) // {number}", size=tight(size))
