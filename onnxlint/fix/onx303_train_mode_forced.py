"""ONX303: leave modules in the mode that the caller chose."""

from __future__ import annotations

import ast

from onnxlint.fix.registry import remedy
from onnxlint.fix.site import Site
from onnxlint.records import Fix, Safety


@remedy("ONX303", Safety.UNSAFE, changes_output=True)
def leave_the_mode(site: Site) -> Fix | None:
    """Unsafe: what the modules compute changes, which is the point."""
    switch = next((n for n in site.inside(ast.stmt) if _switches(n)), None)
    node = switch or site.at_span(ast.expr) or site.at_span(ast.stmt)
    if node is None:
        return None
    statement = site.statement(node)
    if isinstance(statement, ast.Expr) and _switches(statement):
        if site.holder(statement, ast.For) is not None or site.function(statement) is None:
            return None
        return site.fix("leave the modules in the mode they are in", Safety.UNSAFE, site.remove(statement))
    function = statement if isinstance(statement, ast.FunctionDef) else site.function(node)
    return _without_override(site, function) if isinstance(function, ast.FunctionDef) else None


def _switches(node: ast.AST) -> bool:
    """`module.train()` on its own, `train(True)` too."""
    if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        return False
    call = node.value
    if not (isinstance(call.func, ast.Attribute) and call.func.attr == "train" and not call.keywords):
        return False
    return all(isinstance(a, ast.Constant) and a.value is True for a in call.args)


def _without_override(site: Site, function: ast.FunctionDef) -> Fix | None:
    """An `eval()` that calls the inherited one and then undoes it: the inherited one does alone."""
    cls = site.region.parents.get(function)
    if function.name != "eval" or not isinstance(cls, ast.ClassDef) or function.decorator_list or len(cls.body) == 1:
        return None
    calls = [n for n in ast.walk(function) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)]
    if not any(site.source(c.func) == "super().eval" for c in calls):
        return None
    start = site.page.lines.start(function.lineno)
    position = cls.body.index(function)
    if position + 1 < len(cls.body):
        following = cls.body[position + 1]
        end = site.page.lines.start(
            min([following.lineno, *(d.lineno for d in getattr(following, "decorator_list", ()))])
        )
        if any(at >= site.page.range(function)[1] for at, _ in site.comments(start, end)):
            return None
    else:
        end = site.page.lines.start((function.end_lineno or function.lineno) + 1)
        before = cls.body[position - 1].end_lineno or 0
        start = site.page.lines.start(before + 1)
        if site.comments(start, site.page.range(function)[0]):
            return None
    return site.fix("leave out the override: `eval()` means eval mode", Safety.UNSAFE, site.splice(start, end, ""))
