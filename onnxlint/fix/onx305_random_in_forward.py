"""ONX305: draw in training only."""

from __future__ import annotations

import ast

from onnxlint.fix.calls import argument
from onnxlint.fix.registry import remedy
from onnxlint.fix.site import Site, many_lines
from onnxlint.records import Fix, Safety

_TITLE = "draw in training only"


@remedy("ONX305", Safety.UNSAFE, changes_output=True)
def draw_in_training_only(site: Site) -> Fix | None:
    """Unsafe: in eval mode the output is no longer random, which is the point."""
    call = site.at_span(ast.Call)
    if call is None or not site.is_module(call):
        return None
    owner = site.owner(call)
    if owner is None:
        return None
    mean = _mean(site, call)
    if mean is not None and _is_noise(site, call):
        text = f"{site.source(call)} if {owner}.training else {mean}"
        parent = site.region.parents.get(call)
        alone = isinstance(parent, (ast.Assign, ast.Return, ast.AnnAssign, ast.keyword))
        return site.fix(_TITLE, Safety.UNSAFE, site.replace(call, text if alone else f"({text})"))
    test = _test_of(site, call)
    if test is not None:
        text = f"({site.source(test)})" if isinstance(test, (ast.BoolOp, ast.IfExp)) else site.source(test)
        return site.fix(_TITLE, Safety.UNSAFE, site.replace(test, f"{owner}.training and {text}"))
    return _guarded(site, call, owner)


def _is_noise(site: Site, node: ast.expr) -> bool:
    """Whether what is drawn is added or multiplied in, directly or through a variable: there zero is its mean."""
    parent = site.region.parents.get(node)
    if isinstance(parent, ast.BinOp):
        return isinstance(parent.op, (ast.Add, ast.Sub, ast.Mult, ast.Div))
    if not (isinstance(parent, ast.Assign) and len(parent.targets) == 1 and isinstance(parent.targets[0], ast.Name)):
        return False
    name, function = parent.targets[0].id, site.function(parent)
    named = site.region.uses(function, name) if function is not None else []
    uses = [n for n in named if isinstance(n.ctx, ast.Load)]
    return bool(uses) and all(isinstance(site.region.parents.get(n), ast.BinOp) for n in uses)


def _mean(site: Site, call: ast.Call) -> str | None:
    """What the draws are around, in the same shape: zeros for a normal distribution around zero."""
    name = site.source(call.func)
    inside = site.page.text[site.page.range(call.func)[1] : site.page.range(call)[1]]
    if name == "torch.randn_like":
        return f"torch.zeros_like{inside}"
    if name == "torch.randn" and not any(k.arg == "generator" for k in call.keywords):
        return f"torch.zeros{inside}"
    if name == "torch.normal":
        size = argument(call, "size", 2)
        mean = argument(call, "mean", 0)
        if mean is None:
            return None
        kept = "".join(f", {k.arg}={site.source(k.value)}" for k in call.keywords if k.arg in ("dtype", "device"))
        if size is not None:
            return f"torch.full({site.source(size)}, {_float(site, mean)}{kept})"
        return site.source(mean) if not isinstance(mean, ast.Constant) else None
    return None


def _float(site: Site, mean: ast.expr) -> str:
    """The mean as a float: `torch.full` of an integer would make integers."""
    return (
        f"{float(mean.value)}" if isinstance(mean, ast.Constant) and isinstance(mean.value, int) else site.source(mean)
    )


def _test_of(site: Site, call: ast.Call) -> ast.expr | None:
    """The test of the `if` whose outcome the draw decides."""
    inner: ast.AST = call
    for outer in site.around(call):
        if isinstance(outer, ast.If) and outer.test is inner:
            return None if outer.orelse else outer.test
        if isinstance(outer, ast.IfExp) and outer.test is inner:
            return outer.test
        if isinstance(outer, ast.stmt):
            return None
        inner = outer
    return None


def _guarded(site: Site, call: ast.Call, owner: str) -> Fix | None:
    """`x = x + noise`: a statement that changes a variable by something drawn runs in training only."""
    statement = site.statement(call)
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
        name = statement.targets[0].id
        changes = any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(statement.value))
    else:
        changes = isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name)
    if statement is None or not changes:
        return None
    start, end = site.page.range(statement)
    first = site.page.lines.start(statement.lineno)
    text = site.page.text[start:end]
    if site.page.text[first:start].strip() or many_lines(statement):
        return None
    indent = site.indent(statement)
    body = text.replace("\n", "\n    ")
    return site.fix(_TITLE, Safety.UNSAFE, site.splice(start, end, f"if {owner}.training:\n{indent}    {body}"))
