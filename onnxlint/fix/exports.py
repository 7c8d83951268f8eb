"""What the remedies of export calls share: the call around a finding, its names, and its arguments left out."""

from __future__ import annotations

import ast

from onnxlint.fix.calls import drop_argument
from onnxlint.fix.site import Site
from onnxlint.records import Fix, Safety


def export_call(site: Site) -> ast.Call | None:
    """The call that the finding is, or is an argument of."""
    span = site.finding.span
    place = site.page.lines.offset((span.line, span.column))
    for node in site.holding(place):
        if isinstance(node, ast.Call) and "export" in ast.unparse(node.func).rpartition(".")[2]:
            return node
    return None


def keyword_at(site: Site, call: ast.Call) -> ast.keyword | None:
    """The keyword argument that the finding underlines."""
    span = site.finding.span
    start = site.page.lines.offset((span.line, span.column))
    return next((k for k in call.keywords if site.page.offset(k.lineno, k.col_offset) == start), None)


def leave_out(site: Site, safety: Safety) -> Fix | None:
    """Take the argument that the finding underlines out of the call."""
    call = export_call(site)
    keyword = keyword_at(site, call) if call is not None else None
    if call is None or keyword is None or keyword.arg is None:
        return None
    edits = drop_argument(site, call, keyword.arg)
    return site.fix(f"leave out `{keyword.arg}`", safety, *edits) if edits else None


def names(site: Site, hint: str) -> list[str] | None:
    """Names that the check passed along; None where they are not known."""
    return None if hint not in site.finding.hints else [n for n in site.hint(hint).split(",") if n]


def constant(site: Site, node: ast.expr) -> ast.expr | None:
    """A literal, or what a variable is set to once, in the function or at the top of the same piece of the file."""
    if not isinstance(node, ast.Name):
        return node
    assigned = [a for a in site.region.bindings(site.region.tree, node.id) if isinstance(a, ast.Assign)]
    found = [a.value for a in assigned if any(isinstance(t, ast.Name) and t.id == node.id for t in a.targets)]
    return found[0] if len(found) == 1 else None
