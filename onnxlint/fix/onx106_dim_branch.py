"""ONX106: do without the question, where what it guards does nothing otherwise."""

from __future__ import annotations

import ast

from onnxlint.fix.guards import crops_only, pads_only, without_question
from onnxlint.fix.onx101_tensor_branch import branch_of
from onnxlint.fix.registry import remedy
from onnxlint.fix.site import Site
from onnxlint.fix.sizes import axis_of, literal
from onnxlint.records import Fix, Safety


@remedy("ONX106", Safety.SAFE)
def slice_always(site: Site) -> Fix | None:
    """Safe: a slice that ends behind the last element, or begins before the first one, is the tensor itself."""
    branch = branch_of(site)
    if not isinstance(branch, ast.If) or branch.orelse or len(branch.body) != 1:
        return None
    if pads_only(site, branch):
        return without_question(site, branch, "pad always, by an amount that may be zero", Safety.SAFE)
    if crops_only(branch):
        return without_question(site, branch, "cut always: to its own size it changes nothing", Safety.UNSAFE)
    asked = _longer_than(site, branch.test)
    cut = _cut(branch.body[0])
    if asked is None or cut is None:
        return None
    (tensor, axis), bound = asked
    name, at, limit = cut
    if name != tensor or at != axis or site.source(bound) != site.source(limit).removeprefix("-"):
        return None
    number = literal(bound)
    if number is not None and number < 1:
        return None
    return without_question(site, branch, "slice always: it keeps what there is", Safety.SAFE)


def _longer_than(site: Site, test: ast.expr) -> tuple[tuple[str, int], ast.expr] | None:
    """`x.shape[1] > n`, either way round."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    left, right = test.left, test.comparators[0]
    if isinstance(test.ops[0], (ast.Lt, ast.LtE)):
        left, right = right, left
    elif not isinstance(test.ops[0], (ast.Gt, ast.GtE)):
        return None
    axis = axis_of(site, left)
    return None if axis is None or axis_of(site, right) is not None else (axis, right)


def _cut(statement: ast.stmt) -> tuple[str, int, ast.expr] | None:
    """`x = x[:, :n]` or `x = x[:, -n:]`: the variable, the axis, and the one bound."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target, value = statement.targets[0], statement.value
    if not (isinstance(target, ast.Name) and isinstance(value, ast.Subscript) and isinstance(value.value, ast.Name)):
        return None
    if target.id != value.value.id:
        return None
    parts = value.slice.elts if isinstance(value.slice, ast.Tuple) else [value.slice]
    found: list[tuple[int, ast.expr]] = []
    for at, part in enumerate(parts):
        if not isinstance(part, ast.Slice) or part.step is not None:
            return None
        if part.lower is None and part.upper is not None and not _negative(part.upper):
            found.append((at, part.upper))
        elif part.upper is None and part.lower is not None and _negative(part.lower):
            found.append((at, part.lower))
        elif part.lower is not None or part.upper is not None:
            return None
    return (target.id, *found[0]) if len(found) == 1 else None


def _negative(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
