"""Sizes: which axis of which tensor an expression is, and whole-number arithmetic in the place of Python's."""

from __future__ import annotations

import ast

from onnxlint.fix.site import Site
from onnxlint.fix.values import Values, assigned, sizes_of


def axis_of(site: Site, node: ast.expr) -> tuple[str, int] | None:
    """The tensor (as text) and the axis whose size an expression is, through a variable that is set once."""
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
        axis = literal(node.slice)
        return None if axis is None else (site.source(node.value.value), axis)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "size":
        axis = literal(node.args[0]) if len(node.args) == 1 and not node.keywords else None
        return None if axis is None else (site.source(node.func.value), axis)
    if isinstance(node, ast.Name) and len(list(assigned(site, node))) == 1:
        function = site.function(node)
        for other in site.region.bindings(function, node.id) if function is not None else ():
            if isinstance(other, ast.Assign) and len(other.targets) == 1:
                found = _unpacked(site, other, node.id)
                if found is not None:
                    return found
    return None


def _unpacked(site: Site, node: ast.Assign, name: str) -> tuple[str, int] | None:
    target, value = node.targets[0], node.value
    if isinstance(target, ast.Name) and target.id == name and not isinstance(value, ast.Name):
        return axis_of(site, value)
    if not isinstance(target, ast.Tuple) or any(isinstance(e, ast.Starred) for e in target.elts):
        return None
    if isinstance(value, ast.Attribute) and value.attr == "shape":
        tensor = value.value
    elif isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "size":
        tensor = value.func.value
    else:
        return None
    at = next((i for i, e in enumerate(target.elts) if isinstance(e, ast.Name) and e.id == name), None)
    return None if at is None else (site.source(tensor), at)


def literal(node: ast.expr) -> int | None:
    """The number that a literal is, negative ones included."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = literal(node.operand)
        return None if inner is None else -inner
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None


def size_named(site: Site, axis: str, first: str = "") -> str | None:
    """An expression in scope that gives the size of a dynamic axis: `x.shape[0]`; of `first` if it has that axis."""
    names = [first] if first else []
    names += sorted(n[1:] for n in site.finding.hints if n.startswith("$") and n[1:] and n[1:] != first)
    found = [
        (name, at) for name in names for at, size in enumerate(sizes_of(site.hint(f"${name}")) or ()) if size == axis
    ]
    if not found:
        return None
    wanted = [pair for pair in found if pair[0] == first] or _parameters_first(site, found)
    return f"{wanted[0][0]}.shape[{wanted[0][1]}]"


def _parameters_first(site: Site, found: list[tuple[str, int]]) -> list[tuple[str, int]]:
    node = site.at_span(ast.expr)
    function = site.function(node) if node is not None else None
    order = [a.arg for a in (*function.args.posonlyargs, *function.args.args)] if function is not None else []
    return sorted(found, key=lambda pair: (order.index(pair[0]) if pair[0] in order else len(order), pair))


def whole(values: Values, node: ast.expr) -> str | None:
    """Whole-number arithmetic that gives what `int(node)` gives for every size; None where none is known to."""
    site = values.site
    if values.is_size(node):
        return site.source(node)
    if not isinstance(node, ast.BinOp):
        return None
    if isinstance(node.op, ast.Div) and values.is_size(node.left) and (literal(node.right) or 0) > 0:
        return f"{site.operand(node.left)} // {site.source(node.right)}"
    if isinstance(node.op, ast.Mult):
        for size, factor in ((node.left, node.right), (node.right, node.left)):
            number = factor.value if isinstance(factor, ast.Constant) else None
            if isinstance(number, float) and number > 0 and values.is_size(size):
                return _scaled(site.operand(size), number)
    return None


def _scaled(size: str, factor: float) -> str | None:
    if factor.is_integer():
        return f"{size} * {int(factor)}"
    parts = 1 / factor
    exact = parts.is_integer() and int(parts) & (int(parts) - 1) == 0  # a power of two: no rounding on the way
    return f"{size} // {int(parts)}" if exact else None


def ceiling(values: Values, node: ast.expr) -> str | None:
    """What `math.ceil(node)` gives, for a size divided by a number; both exporters round `//` towards zero."""
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and values.is_size(node.left)):
        return None
    left, parts = values.site.operand(node.left), literal(node.right)
    if isinstance(node.right, (ast.Name, ast.Attribute)):  # meant to be whole, as a patch or a stride is
        divisor = values.site.source(node.right)
        return f"({left} + {divisor} - 1) // {divisor}"
    if parts is None or parts < 1:
        return None
    return f"({left} + {parts - 1}) // {parts}"
