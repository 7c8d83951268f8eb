from onnxlint.base.records import Outcome, Severity
from onnxlint.flow.state.observations import ExportCall
from onnxlint.rules.engine.rule import Node, Objection, Objections
from onnxlint.rules.helpers.export_edits import NeedlessArgument, argument_at

IGNORED_BY_DYNAMO = ("operator_export_type", "custom_opsets", "export_modules_as_functions", "autograd_inlining")
ONLY_DYNAMO = {
    "verify": ("the file is compared with nothing", Outcome.WRONG_VALUES),
    "custom_translation_table": ("your operators are not translated", Outcome.EXPORT_ERROR),
}


class DeprecatedExportArgument(NeedlessArgument):
    """Object to arguments that the exporter in use ignores, and to operators left untranslated."""

    def on_export_call(self, node: Node, call: ExportCall) -> Objections:
        kind = call.settings.get("operator_export_type")
        if call.dynamo is False and isinstance(kind, str) and kind.startswith(("ONNX_", "RAW")):
            yield Objection(
                f"`OperatorExportTypes.{kind}` puts PyTorch operators in the file that no runtime knows",
                "leave `operator_export_type` out; an operator that cannot be lowered is then an error of the export",
                at=argument_at(node, call, "operator_export_type"),
                effects={"torchscript": Outcome.RUNTIME_ERROR},
            )
        if call.dynamo:
            names = (n for n in IGNORED_BY_DYNAMO if n in call.arguments and call.settings.get(n) != "ONNX")
            ignored = [(n, f"`{n}` is deprecated: the dynamo exporter ignores it", "leave it out") for n in names]
            if call.settings.get("do_constant_folding") is False:
                fault = "`do_constant_folding=False` is deprecated: the dynamo exporter folds constants all the same"
                advice = "leave it out; `optimize=False` keeps the graph as it was captured"
                ignored.append(("do_constant_folding", fault, advice))
            for name, fault, advice in ignored:
                message = f"{fault}, and a later torch refuses it"
                effects = {"dynamo": Outcome.EXPORT_ERROR}
                at = argument_at(node, call, name)
                yield Objection(message, advice, at=at, severity=Severity.NOTE, effects=effects)
        if call.dynamo is False:
            for name in (n for n in ONLY_DYNAMO if n in call.arguments and call.settings.get(n) is not False):
                what, outcome = ONLY_DYNAMO[name]
                message = f"the TorchScript exporter ignores `{name}`: {what}"
                advice = "leave it out, or use the dynamo exporter"
                at = argument_at(node, call, name)
                yield Objection(message, advice, at=at, effects={"torchscript": outcome}, about=f"ignored {name}")
