from onnxlint.flow.state.observations import AttentionMask
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule


class MaskedRows(Rule):
    """Object to a boolean mask from the inputs in fused attention."""

    def on_attention_mask(self, node: Node, mask: AttentionMask) -> Objections:
        message = "the mask comes from the inputs: for a row that it hides as a whole, dynamo's file gives other values"
        yield Objection(message)
