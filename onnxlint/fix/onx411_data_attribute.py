"""ONX411: `.detach()` in the place of `.data`."""

from __future__ import annotations

import ast
from enum import Enum

from onnxlint.fix.registry import remedy
from onnxlint.fix.site import Site
from onnxlint.records import Fix, Safety

_BINDS = (ast.Assign, ast.AnnAssign, ast.NamedExpr)


@remedy("ONX411", Safety.SAFE)
def detach_instead(site: Site) -> Fix | None:
    """Safe: the same values, cut from the gradient as before.

    Nothing is offered where they are written: autograd does not see a write through `.data`, and after one through
    `.detach()` the backward pass of a training step raises. Unsafe where another function gets them, which may write.
    """
    node = site.at_span(ast.Attribute) or next((n for n in site.inside(ast.Attribute) if n.attr == "data"), None)
    if node is None or node.attr != "data" or not isinstance(node.ctx, ast.Load):
        return None
    use = _use(site, node)
    if use is _Use.WRITTEN:
        return None
    safety = Safety.SAFE if use is _Use.READ else Safety.UNSAFE
    parent = site.region.parents.get(node)
    if isinstance(parent, ast.Attribute) and parent.attr == "detach":
        return site.fix("leave out `.data`", safety, site.replace(node, site.source(node.value)))
    start = site.page.range(node.value)[1]
    end = site.page.range(node)[1]
    at = site.page.text.rfind("data", start, end)
    return site.fix("write `.detach()`", safety, site.splice(at, end, "detach()"))


class _Use(Enum):
    """What becomes of the values that `.data` gives."""

    READ = "read"
    WRITTEN = "written"
    HANDED_ON = "handed on"


def _use(site: Site, node: ast.expr) -> _Use:
    """Follow an expression outwards, through its views, to what is done with it."""
    parent = site.region.parents.get(node)
    if isinstance(parent, (ast.Subscript, ast.Attribute)) and parent.value is node:
        if not isinstance(parent.ctx, ast.Load):
            return _Use.WRITTEN
        call = site.region.parents.get(parent)
        if isinstance(parent, ast.Attribute) and isinstance(call, ast.Call) and call.func is parent:
            return _Use.WRITTEN if _in_place(parent.attr) else _use(site, call)
        return _use(site, parent)
    if isinstance(parent, _BINDS) and parent.value is node:
        return _use_of_names(site, parent)
    if isinstance(parent, ast.keyword):
        if parent.arg == "out":
            return _Use.WRITTEN
        return _use_by(site.region.parents.get(parent))
    if isinstance(parent, (ast.Tuple, ast.List)):
        return _Use.HANDED_ON
    return _use_by(parent)


def _use_by(call: ast.AST | None) -> _Use:
    """What a function does with an argument, as far as its name tells; anything else than a call reads."""
    if not isinstance(call, ast.Call):
        return _Use.READ
    name = ast.unparse(call.func)
    if _in_place(name):
        return _Use.WRITTEN
    reads = name.startswith(("torch.", "F.")) and not name.startswith("torch.distributed.")
    return _Use.READ if reads else _Use.HANDED_ON


def _use_of_names(site: Site, statement: ast.Assign | ast.AnnAssign | ast.NamedExpr) -> _Use:
    """What the function does with the names that the values are assigned to."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    function = site.function(statement)
    if function is None or not all(isinstance(t, ast.Name) for t in targets):
        return _Use.HANDED_ON
    names = {t.id for t in targets if isinstance(t, ast.Name)}
    found = set()
    for again in (again for name in names for again in site.region.bindings(function, name)):
        if isinstance(again, ast.AugAssign) and isinstance(again.target, ast.Name):
            found.add(_Use.WRITTEN)
    for use in (use for name in names for use in site.region.uses(function, name)):
        if isinstance(use.ctx, ast.Load):
            parent = site.region.parents.get(use)
            found.add(_Use.HANDED_ON if isinstance(parent, _BINDS) else _use(site, use))
    return next((use for use in (_Use.WRITTEN, _Use.HANDED_ON) if use in found), _Use.READ)


def _in_place(name: str) -> bool:
    return name.endswith("_") and not name.endswith("__")
