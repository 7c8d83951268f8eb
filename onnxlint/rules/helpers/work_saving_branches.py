"""Branches that only save work, and so may go; and branches around a statement that is to stay out of the export."""

import libcst as cst

from onnxlint.base.records import Fix, Safety
from onnxlint.rules.engine.cst_tree import Statement
from onnxlint.rules.engine.site import Site, body_of, continued, ended


def branch_of(site: Site) -> cst.If | cst.IfExp | None:
    """The branch whose test the finding underlines; an `elif` is part of the `if` above it."""
    node = site.at_span(cst.BaseExpression)
    branch = asking(site, node) if node is not None else None
    while isinstance(branch, cst.If) and site.source(branch).startswith("elif"):
        branch = site.holder(branch, cst.If)
    return branch


def asking(site: Site, node: cst.BaseExpression) -> cst.If | cst.IfExp | None:
    """The branch in whose test an expression stands."""
    inner: cst.CSTNode = node
    for outer in site.around(node):
        if isinstance(outer, (cst.If, cst.IfExp)) and outer.test is inner:
            return outer
        if isinstance(outer, Statement):
            return None
        inner = outer
    return None


def without_question(
    site: Site, branch: cst.If, title: str, safety: Safety, body: cst.BaseSuite | None = None
) -> Fix | None:
    """The body in the place of the branch, with its comments: the branch's own, or a changed one."""
    block = body or branch.body
    if isinstance(site.parent(branch), cst.If) or branch.orelse or not isinstance(block, cst.IndentedBlock):
        return None
    first, *rest = continued(ended(block), site.indent(body_of(branch)[0]), site.indent(branch)).body
    comments = site.comments(branch.test, block.header, *first.leading_lines)  # type: ignore[attr-defined]
    return site.fix(title, safety, site.replace_lines(branch, branch, [first, *rest], comments))


def under_guard(site: Site, statement: Statement, test: str, title: str) -> Fix | None:
    """Put a statement in an `if` of its own, which changes nothing; None for one that shares its line."""
    line, indent = site.parent(statement), site.indent(statement)
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) > 1:
        return None
    line = continued(ended(line), indent, indent + site.tree.module.default_indent).with_changes(leading_lines=())
    guard = cst.If(site.expression(test), cst.IndentedBlock([line]))
    return site.fix(title, Safety.SAFE, site.replace_lines(statement, statement, [guard], ()))


def only_assignment(branch: cst.CSTNode | None) -> cst.Assign | None:
    """The assignment of one target that is all there is in an `if`."""
    match body_of(branch) if isinstance(branch, cst.If) else []:
        case [cst.Assign([_]) as statement]:
            return statement
    return None


def _asks_for_none(test: cst.BaseExpression) -> bool:
    """`rows.numel() == 0`, `len(rows) == 0`, `rows.shape[0] < 1`: whether nothing was selected."""
    match test:
        case cst.Comparison(
            cst.Subscript(cst.Attribute(attr=cst.Name("shape")))
            | cst.Call(cst.Name("len") | cst.Attribute(attr=cst.Name("numel" | "nelement" | "size"))),
            [cst.ComparisonTarget(sign, cst.Integer(number))],
        ):
            return (type(sign), number) in ((cst.Equal, "0"), (cst.LessThan, "1"))
    return False


def without_guard(site: Site, branch: cst.If | cst.IfExp) -> Fix | None:
    """A test for an empty selection: what is done with it does no harm when nothing is selected."""
    if not isinstance(branch, cst.If) or branch.orelse or not _asks_for_none(branch.test):
        return None
    if [type(statement) for statement in body_of(branch)] != [cst.Continue]:
        return None
    title = "leave out the test: the rest does nothing for an empty selection"
    return site.fix(title, Safety.UNSAFE, site.remove(branch))
