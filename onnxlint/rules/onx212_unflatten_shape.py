from onnxlint.base.records import Outcome
from onnxlint.flow.state.observations import Escape
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule


class UnflattenShape(Rule):
    """Object to a size read after `unflatten` or `.data`, which TorchScript's trace takes for a number."""

    def on_escape(self, node: Node, escape: Escape) -> Objections:
        if escape.source == "dim" and escape.how == "a size after unflatten":
            of_data = ".data" in escape.text
            yield Objection(
                f"a size read after `{'.data' if of_data else 'unflatten'}` is the example's number in TorchScript's"
                f" trace: `{escape.text}`",
                "leave out `.data`" if of_data else "",
                effects={"torchscript": Outcome.SHAPE_ERROR},
            )
