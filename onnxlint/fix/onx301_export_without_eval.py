"""ONX301: put the model in eval mode before it is exported."""

from __future__ import annotations

import ast

from onnxlint.fix.calls import argument
from onnxlint.fix.registry import remedy
from onnxlint.fix.site import Site
from onnxlint.records import Fix, Safety


@remedy("ONX301", Safety.UNSAFE, changes_output=True)
def put_in_eval_mode(site: Site) -> Fix | None:
    """Unsafe: what dropout and batch norm compute changes, which is the point."""
    call = site.at_span(ast.Call)
    if call is None:
        return None
    model = argument(call, "model", 0) or argument(call, "mod", 0)
    statement = site.statement(call)
    if model is None or statement is None:
        return None
    if isinstance(model, ast.Call):
        end = site.page.range(model)[1]
        return site.fix("call `.eval()` on the model", Safety.UNSAFE, site.splice(end, end, ".eval()"))
    if not isinstance(model, (ast.Name, ast.Attribute)):
        return None
    name = site.source(model)
    start = site.page.range(statement)[0]
    if site.page.text[site.page.lines.start(statement.lineno) : start].strip():
        return None
    return site.fix(
        f"call `{name}.eval()` before the export", Safety.UNSAFE, site.insert_before(statement, f"{name}.eval()")
    )
