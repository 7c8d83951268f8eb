"""ONX301: put the model in eval mode before it is exported."""

from __future__ import annotations

import libcst as cst

from onnxlint.fix.registry import remedy
from onnxlint.records import Fix, Safety
from onnxlint.rules.site import Site, argument


@remedy("ONX301", Safety.UNSAFE, changes_output=True)
def put_in_eval_mode(site: Site) -> Fix | None:
    """Unsafe: what dropout and batch norm compute changes, which is the point."""
    call = site.at_span(cst.Call)
    if call is None:
        return None
    model = argument(call, "model", 0) or argument(call, "mod", 0)
    statement = site.statement(call)
    if model is None or statement is None:
        return None
    if isinstance(model, cst.Call):
        new = site.expression("{model}.eval()", model=model)
        return site.fix("call `.eval()` on the model", Safety.UNSAFE, site.replace_whole(model, new))
    line, column = site.tree.range(statement)[0]
    if not isinstance(model, (cst.Name, cst.Attribute)) or site.page.line(line)[: column - 1].strip():
        return None
    code = f"{site.source(model)}.eval()"
    return site.fix(f"call `{code}` before the export", Safety.UNSAFE, site.insert_before(statement, code))
