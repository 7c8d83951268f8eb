import libcst as cst

from onnxlint.base.records import Fix, Safety
from onnxlint.flow.state.observations import ExportCall
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.engine.site import Site
from onnxlint.rules.helpers.export_edits import argument_at


class ParallelWrapper(Rule):
    """Object to the export of a model inside of DataParallel."""

    def on_export_call(self, node: Node, call: ExportCall) -> Objections:
        if call.wrapping == "parallel":
            message = "the model is wrapped for several devices: TorchScript refuses it, and dynamo sees `*inputs` only"
            yield Objection(message, at=argument_at(node, call, "model"))

    def fix(self, site: Site) -> Fix | None:
        """Unsafe: the parallel wrapper is left out of the export."""
        node = site.at_span(cst.BaseExpression)
        if not isinstance(node, (cst.Name, cst.Attribute)):
            return None
        new = site.expression("{model}.module", model=node.with_changes(lpar=(), rpar=()))
        return site.fix("export `model.module`", Safety.UNSAFE, site.replace(node, new))
