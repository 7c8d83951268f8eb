"""ONX501: leave the batch of every input free."""

from __future__ import annotations

from onnxlint.fix.calls import add_argument
from onnxlint.fix.exports import export_call, names
from onnxlint.fix.registry import remedy
from onnxlint.fix.site import Site
from onnxlint.records import Fix, Safety


@remedy("ONX501", Safety.UNSAFE)
def free_the_batch(site: Site) -> Fix | None:
    """Unsafe: the file is another one, and an input whose first axis is no batch has to be told from the others."""
    call = export_call(site)
    dynamo = site.number("dynamo")
    if call is None or dynamo is None or any(k.arg is None for k in call.keywords):
        return None
    ranks = site.hint("examples").split(",") if "examples" in site.finding.hints else []
    if not ranks or not all(r.isdigit() and int(r) > 1 for r in ranks):
        return None  # only of inputs with several axes is the first one taken for the batch
    known = names(site, "parameters") if dynamo else names(site, "inputs")
    if known is None or len(known) < len(ranks):
        return None
    inputs = known[: len(ranks)]
    if not dynamo:
        inputs += names(site, "outputs") or []
    argument = "dynamic_shapes" if dynamo else "dynamic_axes"
    axes = ", ".join(f'"{name}": {{0: "batch"}}' for name in inputs)
    edits = add_argument(site, call, f"{argument}={{{axes}}}")
    return site.fix(f"leave the batch free with `{argument}`", Safety.UNSAFE, *edits) if edits else None
