"""Variables that hold a Python number read out of a tensor: the tensor itself in their place, where that works."""

import libcst as cst

from onnxlint.base.records import Edit
from onnxlint.flow.tables import NAMES
from onnxlint.rules.engine.site import Site, bare, call_name, is_loaded, variables
from onnxlint.rules.helpers.value_kinds import Values, assigned, stripped


def free_names(site: Site, expression: cst.BaseExpression) -> dict[str, Edit] | None:
    """The edits that make tensors of the variables of an expression which hold numbers read out of tensors.

    None where one of them cannot be made a tensor; empty where there is none.
    """
    edits: dict[str, Edit] = {}
    for name in (n for n in variables(expression) if is_loaded(site, n)):
        if site.value(name.value) != "data" or name.value in edits:
            continue
        values = list(assigned(site, name))
        function = site.function(name)
        if len(values) != 1 or values[0] is None or function is None:
            return None
        inner = stripped(values[0])
        if inner is values[0] or not Values(site).is_tensor(inner) or not only_computes(site, function, name.value):
            return None
        edits[name.value] = site.replace(values[0], bare(inner))
    return edits


def only_computes(site: Site, function: cst.FunctionDef, name: str) -> bool:
    """Whether a variable is only used where a zero-dimensional tensor does as well as a number."""
    return all(takes_tensor(site, node) for node in site.uses(function, name) if is_loaded(site, node))


_TENSOR_ARGUMENTS = frozenset(NAMES["takes-scalar-tensors"])
_ORDERS = (cst.LessThan, cst.LessThanEqual, cst.GreaterThan, cst.GreaterThanEqual, cst.Equal, cst.NotEqual)


def takes_tensor(site: Site, node: cst.BaseExpression) -> bool:
    """Whether a zero-dimensional tensor may stand where this expression stands: arithmetic, tests, torch operators."""
    parent = site.parent(node)
    match site.parent(parent) if isinstance(parent, (cst.Arg, cst.ComparisonTarget)) else parent:
        case cst.UnaryOperation() as outer:
            return takes_tensor(site, outer)
        case cst.BinaryOperation(cst.SimpleString() | cst.ConcatenatedString(), cst.Modulo()):
            return False  # it is formatted
        case cst.BinaryOperation() as outer:
            other = outer.right if outer.left is node else outer.left
            return Values(site).is_tensor(other) or takes_tensor(site, outer)
        case cst.Comparison(comparisons=comparisons):
            return all(isinstance(c.operator, _ORDERS) for c in comparisons)
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))]) as outer:
            function = site.function(outer)
            return function is not None and only_computes(site, function, name)
        case cst.Call() as outer:
            names = _TENSOR_ARGUMENTS if isinstance(outer.func, cst.Attribute) else ("float", "abs")
            return isinstance(parent, cst.Arg) and not (parent.keyword or parent.star) and call_name(outer) in names
        case cst.AugAssign() | cst.Return() | cst.IfExp() | cst.If():
            return True
    return False
