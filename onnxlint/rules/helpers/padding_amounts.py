"""Branches that pad a tensor: by which amounts, and which amounts the test asks for."""

import libcst as cst

from onnxlint.rules.engine.site import Site, call_name, elements, literal, names_in, positional
from onnxlint.rules.helpers.value_kinds import assigned
from onnxlint.rules.helpers.work_saving_branches import only_assignment


def pads_only(site: Site, branch: cst.If) -> bool:
    """Whether the body is one `pad` by the amounts that the test asks for, none of which is ever below zero."""
    names, sizes = amounts(branch.test), elements(padding_in(branch)) or []
    padded = names_in(*(size for size in sizes if isinstance(size, cst.Name)))
    return (
        names is not None
        and all(isinstance(size, cst.Name) or literal(size) == 0 for size in sizes)
        and bool(padded)
        and padded <= names_in(*names)
        and None not in [remainder(site, name) for name in names]
    )


def amounts(test: cst.BaseExpression) -> list[cst.Name] | None:
    """The variables of `p > 0 or q > 0`, `p or q`, `p != 0`; None for any other test."""
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.Or):
        left, right = amounts(test.left), amounts(test.right)
        return None if left is None or right is None else left + right
    amount = asked_for(test)
    return [amount] if isinstance(amount, cst.Name) else None


def asked_for(test: cst.BaseExpression) -> cst.BaseExpression | None:
    """What is asked for being other than zero: `n`, `n != 0`, `n > 0`; None for another comparison."""
    if not isinstance(test, cst.Comparison):
        return test
    (target, *more) = test.comparisons
    asks = isinstance(target.operator, (cst.NotEqual, cst.GreaterThan)) and literal(target.comparator) == 0
    return test.left if asks and not more else None


def remainder(site: Site, node: cst.BaseExpression) -> cst.BinaryOperation | None:
    """What a division leaves, given as it is or by a variable, and so never below zero: `-n % k`, `(k - n % k) % k`."""
    values = list(assigned(site, node)) if isinstance(node, cst.Name) else [node]
    value = values[0] if len(values) == 1 else None
    return value if isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.Modulo) else None


def padding_in(branch: cst.If) -> cst.BaseExpression | None:
    """The amounts of the one `pad` that a branch does."""
    statement = only_assignment(branch)
    call = statement.value if statement is not None else None
    operands = positional(call) if isinstance(call, cst.Call) and call_name(call) == "pad" else []
    return operands[1] if len(operands) > 1 else None
