"""ONX503: `dynamic_shapes` for the dynamo exporter."""

from __future__ import annotations

import ast

from onnxlint.fix.exports import export_call, keyword_at, names
from onnxlint.fix.registry import remedy
from onnxlint.fix.site import Site
from onnxlint.records import Fix, Safety


@remedy("ONX503", Safety.UNSAFE)
def say_it_for_dynamo(site: Site) -> Fix | None:
    """Unsafe: axes that dynamo dropped are dynamic then, which the model has to bear."""
    call = export_call(site)
    keyword = keyword_at(site, call) if call is not None else None
    parameters = names(site, "parameters")
    if call is None or keyword is None or not isinstance(keyword.value, ast.Dict) or not parameters:
        return None
    ranks = site.hint("examples").split(",") if "examples" in site.finding.hints else None
    if ranks is None or len(ranks) > len(parameters):
        return None
    parameters = parameters[: len(ranks)]
    inputs = names(site, "inputs") or parameters
    axes: dict[str, str] = {}
    for key, value in zip(keyword.value.keys, keyword.value.values, strict=True):
        if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
            return None
        axes[key.value] = _as_dict(site, value) or ""
    meant = dict(zip(parameters, inputs, strict=False))
    if any(text == "" for name, text in axes.items() if name in inputs) or len(inputs) < len(parameters):
        return None
    if not set(axes) <= {*inputs, *(names(site, "outputs") or [])}:
        return None
    told = ", ".join(f'"{p}": {axes.get(meant[p], "None")}' for p in parameters)
    start = site.page.offset(keyword.lineno, keyword.col_offset)
    end = site.page.range(keyword.value)[1]
    if "#" in site.page.text[start:end]:
        return None
    return site.fix(
        "pass `dynamic_shapes` by the parameters of forward",
        Safety.UNSAFE,
        site.splice(start, end, f"dynamic_shapes={{{told}}}"),
    )


def _as_dict(site: Site, value: ast.expr) -> str | None:
    if isinstance(value, ast.Dict):
        return " ".join(site.source(value).split())
    if isinstance(value, (ast.List, ast.Tuple)) and all(isinstance(e, ast.Constant) for e in value.elts):
        return "{" + ", ".join(f'{site.source(e)}: "axis_{site.source(e)}"' for e in value.elts) + "}"
    return None
