import libcst as cst

from onnxlint.base.records import Fix, Safety, Severity
from onnxlint.flow.state.observations import ExportCall
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.engine.site import Site
from onnxlint.rules.helpers.call_edits import add_argument
from onnxlint.rules.helpers.export_edits import export_call, names


class ExportWithoutDynamicAxes(Rule):
    """Object to an export that fixes every size to the example's."""

    def on_export_call(self, node: Node, call: ExportCall) -> Objections:
        if call.model.startswith("torch.export") or call.api == "torch.export.export":
            return  # an exported program brings its own dynamic shapes, and may be meant for another backend
        named = call.has_dynamic_axes or {"dynamic_axes", "dynamic_shapes"} & set(call.arguments)
        if call.tensor_inputs and not named and not call.asks_for_fixed_sizes:
            argument = "dynamic_axes" if call.dynamo is False else "dynamic_shapes"
            message = "the export names no dynamic axes: the file takes the example's sizes only, batch included"
            severity = Severity.NOTE if call.takes_one_image else None
            yield Objection(message, f"name what varies: `{argument}={{...}}`", severity=severity)

    def fix(self, site: Site) -> Fix | None:
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
        entries = [cst.DictElement(cst.SimpleString(f'"{n}"'), axes) for n in inputs]
        new = add_argument(call, argument, cst.Dict(entries))
        title = f"leave the batch free with `{argument}`"
        return site.fix(title, Safety.UNSAFE, site.replace(call, new)) if new is not None else None
