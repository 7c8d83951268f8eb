"""ONX103: keep an assertion out of the export."""

from __future__ import annotations

import ast

from onnxlint.fix.registry import remedy
from onnxlint.fix.site import Site, many_lines
from onnxlint.records import Fix, Safety

_GUARD = "if not torch.onnx.is_in_onnx_export():"


@remedy("ONX103", Safety.SAFE)
def leave_it_to_eager(site: Site) -> Fix | None:
    """Safe: eager asserts as before, and both exporters answer the test with True."""
    node = site.at_span(ast.expr)
    if node is None:
        return None
    statement = site.statement(node)
    if isinstance(statement, ast.If):
        if site.page.text.startswith("elif", site.page.range(statement)[0]):
            return None
        loose = isinstance(statement.test, ast.IfExp) or (
            isinstance(statement.test, ast.BoolOp) and isinstance(statement.test.op, ast.Or)
        )
        test = f"({site.source(statement.test)})" if loose else site.source(statement.test)
        return site.fix(
            "leave the check to eager mode",
            Safety.SAFE,
            site.replace(statement.test, f"not torch.onnx.is_in_onnx_export() and {test}"),
        )
    if not isinstance(statement, ast.Assert):
        return None
    start, end = site.page.range(statement)
    indent = site.indent(statement)
    first = site.page.lines.start(statement.lineno)
    if (
        site.page.text[first:start].strip()
        or ";" in site.page.text[end : site.page.lines.start((statement.end_lineno or 0) + 1)]
    ):
        return None
    lines = site.page.text[start:end].split("\n")
    if many_lines(statement):
        return None
    text = f"{_GUARD}\n{indent}    " + "\n    ".join(lines)
    return site.fix("leave the assertion to eager mode", Safety.SAFE, site.splice(start, end, text))
