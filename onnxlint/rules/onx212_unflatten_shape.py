from onnxlint.base.records import Outcome
from onnxlint.flow.state.observations import Escape
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule


class UnflattenShape(Rule):
    """Object to a size read after `unflatten` or `.data`, which TorchScript's trace takes for a number."""

    def on_escape(self, node: Node, escape: Escape) -> Objections:
        if escape.source == "dim" and escape.how == "a size after unflatten":
            source = ".data" if ".data" in escape.text else "unflatten"
            message = f"a size read after `{source}` is the example's number in TorchScript's trace: `{escape.text}`"
            advice = "leave out `.data`" if source == ".data" else ""
            effects, about = {"torchscript": Outcome.SHAPE_ERROR}, f"sizes after {source}"
            yield Objection(message, advice, effects=effects, about=about, among="file")
