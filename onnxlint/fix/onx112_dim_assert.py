"""ONX112: keep a check of a size out of TorchScript's trace."""

from __future__ import annotations

import ast

from onnxlint.fix.registry import remedy
from onnxlint.fix.site import Site, many_lines
from onnxlint.records import Fix, Safety


@remedy("ONX112", Safety.SAFE)
def leave_it_out_of_the_trace(site: Site) -> Fix | None:
    """Safe: eager and dynamo check as before."""
    call = site.at_span(ast.Call)
    statement = site.statement(call) if call is not None else None
    if not isinstance(statement, ast.Expr) or statement.value is not call or many_lines(statement):
        return None
    start, end = site.page.range(statement)
    if site.page.text[site.page.lines.start(statement.lineno) : start].strip():
        return None
    body = site.page.text[start:end].replace("\n", "\n    ")
    text = f"if not torch.jit.is_tracing():\n{site.indent(statement)}    {body}"
    return site.fix("leave the check out of TorchScript's trace", Safety.SAFE, site.splice(start, end, text))
