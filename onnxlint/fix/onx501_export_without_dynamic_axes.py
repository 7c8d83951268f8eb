"""ONX501: leave the batch of every input free."""

from __future__ import annotations

import libcst as cst

from onnxlint.fix.registry import remedy
from onnxlint.records import Fix, Safety
from onnxlint.rules.calls import add_argument
from onnxlint.rules.exports import export_call, names
from onnxlint.rules.site import Site


@remedy("ONX501", Safety.UNSAFE)
def free_the_batch(site: Site) -> Fix | None:
    """Unsafe: the file is another one, and an input whose first axis is no batch has to be told from the others."""
    call = export_call(site)
    dynamo = site.number("dynamo")
    if call is None or dynamo is None or any(a.star == "**" for a in call.args):
        return None
    ranks = names(site, "examples")
    if not ranks or not all(r.isdigit() and int(r) > 1 for r in ranks):
        return None  # only of inputs with several axes is the first one taken for the batch
    inputs = names(site, "parameters" if dynamo else "inputs")
    if inputs is None or len(inputs) < len(ranks):
        return None
    inputs = inputs[: len(ranks)]
    if not dynamo:
        inputs += names(site, "outputs") or []
    argument = "dynamic_shapes" if dynamo else "dynamic_axes"
    axes = cst.parse_expression('{0: "batch"}')
    new = add_argument(call, argument, cst.Dict([cst.DictElement(cst.SimpleString(f'"{n}"'), axes) for n in inputs]))
    title = f"leave the batch free with `{argument}`"
    return site.fix(title, Safety.UNSAFE, site.replace(call, new)) if new is not None else None
