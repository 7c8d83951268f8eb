"""Branches that only save work, and so may go; and branches around a statement that is to stay out of the export."""

from collections.abc import Sequence

import libcst as cst

from onnxlint.base.records import Edit, Fix, Safety
from onnxlint.rules.engine.cst_tree import Statement, walk
from onnxlint.rules.engine.site import (
    Site,
    body_of,
    call_name,
    continued,
    elements,
    ended,
    literal,
    names_in,
    positional,
    same,
)
from onnxlint.rules.helpers.value_kinds import assigned


def branch_of(site: Site) -> cst.If | cst.IfExp | None:
    """The branch whose test the finding underlines; an `elif` is part of the `if` above it."""
    inner: cst.CSTNode | None = site.at_span(cst.BaseExpression)
    for outer in site.around(inner) if inner is not None else ():
        if isinstance(outer, (cst.If, cst.IfExp)) and outer.test is inner:
            return _head(site, outer) if isinstance(outer, cst.If) else outer
        if isinstance(outer, (cst.BaseSmallStatement, cst.BaseCompoundStatement)):
            return None
        inner = outer
    return None


def _head(site: Site, node: cst.If) -> cst.If:
    while isinstance(above := site.parent(node), cst.If):
        node = above
    return node


def without_question(
    site: Site, branch: cst.If, title: str, safety: Safety, body: cst.BaseSuite | None = None
) -> Fix | None:
    """The body in the place of the branch, with its comments: the branch's own, or a changed one."""
    block = body or branch.body
    if isinstance(site.parent(branch), cst.If) or branch.orelse or not isinstance(block, cst.IndentedBlock):
        return None
    indent = site.indent(branch)
    first, *rest = continued(ended(block), site.indent(body_of(branch)[0]), indent).body
    comments = site.comments(branch.test, block.header, *first.leading_lines)  # type: ignore[attr-defined]
    first = first.with_changes(leading_lines=[cst.EmptyLine(comment=cst.Comment(text)) for text in comments])
    return site.fix(title, safety, site.splice(*site.tree.range(branch), site.lines_of([first, *rest], branch)))


def under_guard(site: Site, statement: Statement, test: str) -> Edit | None:
    """A statement in an `if` of its own; None for one that shares its line."""
    line, indent = site.parent(statement), site.indent(statement)
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) > 1:
        return None
    line = continued(ended(line), indent, indent + site.tree.module.default_indent).with_changes(leading_lines=())
    guard = cst.If(cst.parse_expression(test), cst.IndentedBlock([line]))
    return site.splice(*site.tree.range(statement), site.lines_of([guard], statement))


def without_shortcut(site: Site, branch: cst.If) -> Fix | None:
    """`if mask.any():` before what only masks: a mask that is empty masks nothing."""
    title = "do without the shortcut: an empty mask masks nothing"
    test, body = branch.test, body_of(branch)
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And):
        mask = _asked_for_any(test.right)
        match test.left:
            case cst.Comparison(cst.Name(name), [cst.ComparisonTarget(cst.IsNot())]) if name == mask:
                pass
            case _:
                return None
        if not _mentions(body, name):
            return None
        return site.fix(title, Safety.UNSAFE, site.replace(test, site.source(test.left)))
    mask = _asked_for_any(test)
    if mask is None or not all(_mentions([s], mask) for s in body):
        return None
    if any(isinstance(n, (cst.Return, cst.Raise, cst.Break, cst.Continue)) for s in body for n in walk(s)):
        return None
    return without_question(site, branch, title, Safety.UNSAFE)


def _asked_for_any(test: cst.BaseExpression) -> str | None:
    """The variable of `mask.any()` or `torch.any(mask)`."""
    match test:
        case cst.Call(cst.Attribute(attr=cst.Name("any")), [cst.Arg(cst.Name(mask), keyword=None)]):
            return str(mask)
        case cst.Call(cst.Attribute(cst.Name(mask), cst.Name("any")), []):
            return str(mask)
    return None


def _mentions(body: Sequence[Statement], name: str) -> bool:
    return any(name in names_in(statement) for statement in body)


def asked_for(test: cst.BaseExpression) -> cst.BaseExpression | None:
    """What is asked for being other than zero: `n`, `n != 0`, `n > 0`; None for another comparison."""
    if not isinstance(test, cst.Comparison):
        return test
    (target, *more) = test.comparisons
    asks = isinstance(target.operator, (cst.NotEqual, cst.GreaterThan)) and literal(target.comparator) == 0
    return test.left if asks and not more else None


def amounts(test: cst.BaseExpression) -> list[cst.Name] | None:
    """The variables of `p > 0 or q > 0`, `p or q`, `p != 0`; None for any other test."""
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.Or):
        left, right = amounts(test.left), amounts(test.right)
        return None if left is None or right is None else left + right
    amount = asked_for(test)
    return [amount] if isinstance(amount, cst.Name) else None


def is_rest(site: Site, name: cst.Name) -> bool:
    """Whether a variable is what a division leaves, and so never below zero: `-n % k`, `(k - n % k) % k`."""
    values = list(assigned(site, name))
    (value,) = values if len(values) == 1 else (None,)
    return isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.Modulo)


def only_assignment(branch: cst.If) -> cst.Assign | None:
    """The assignment of one target that is all there is in a branch."""
    body = body_of(branch)
    statement = body[0] if len(body) == 1 else None
    return statement if isinstance(statement, cst.Assign) and len(statement.targets) == 1 else None


def pad_in(branch: cst.If) -> cst.BaseExpression | None:
    """The amounts of the one `pad` that a branch does."""
    statement = only_assignment(branch)
    call = statement.value if statement is not None else None
    operands = positional(call) if isinstance(call, cst.Call) and call_name(call) == "pad" else []
    return operands[1] if len(operands) > 1 else None


def pads_only(site: Site, branch: cst.If) -> bool:
    """Whether the body is one `pad` by the amounts that the test asks for, none of which is ever below zero."""
    names, sizes = amounts(branch.test), elements(pad_in(branch)) or []
    padded = names_in(*(size for size in sizes if isinstance(size, cst.Name)))
    return (
        names is not None
        and all(isinstance(size, cst.Name) or literal(size) == 0 for size in sizes)
        and bool(padded)
        and padded <= names_in(*names)
        and all(is_rest(site, name) for name in names)
    )


def crops_only(branch: cst.If) -> bool:
    """Whether the body only cuts a variable to sizes: `x = x[:, :h, :w].contiguous()`."""
    statement = only_assignment(branch)
    if statement is None or amounts(branch.test) is None:
        return False
    value = statement.value
    if isinstance(value, cst.Call) and isinstance(value.func, cst.Attribute) and call_name(value) == "contiguous":
        value = value.func.value
    if not isinstance(value, cst.Subscript) or len(value.slice) < 2:
        return False
    return same(value.value, statement.targets[0].target) and all(_is_end(e.slice) for e in value.slice)


def _is_end(part: cst.BaseSlice) -> bool:
    """`:n`, where `n` is not counted from behind."""
    if not isinstance(part, cst.Slice) or part.lower is not None or part.step is not None:
        return False
    return not isinstance(part.upper, cst.UnaryOperation)


def _asks_for_none(test: cst.BaseExpression) -> bool:
    """`rows.numel() == 0`, `len(rows) == 0`, `rows.shape[0] < 1`: whether nothing was selected."""
    match test:
        case cst.Comparison(count, [cst.ComparisonTarget(cst.Equal(), cst.Integer("0"))]):
            pass
        case cst.Comparison(count, [cst.ComparisonTarget(cst.LessThan(), cst.Integer("1"))]):
            pass
        case _:
            return False
    match count:
        case cst.Subscript(cst.Attribute(attr=cst.Name("shape"))) | cst.Call(cst.Name("len")):
            return True
        case cst.Call(cst.Attribute(attr=cst.Name("numel" | "nelement" | "size"))):
            return True
    return False


def without_guard(site: Site, branch: cst.If | cst.IfExp) -> Fix | None:
    """A test for an empty selection: what is done with it does no harm when nothing is selected."""
    if not isinstance(branch, cst.If) or branch.orelse or not _asks_for_none(branch.test):
        return None
    if [type(statement) for statement in body_of(branch)] != [cst.Continue]:
        return None
    title = "leave out the test: the rest does nothing for an empty selection"
    return site.fix(title, Safety.UNSAFE, site.remove(branch))
