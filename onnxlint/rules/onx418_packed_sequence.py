from onnxlint.flow.state.observations import PackingCall
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule


class PackedSequence(Rule):
    """Object to packing by lengths."""

    def on_packing_call(self, node: Node, call: PackingCall) -> Objections:
        frozen = ", TorchScript keeps the lengths that were read" if "torchscript" in call.outcomes else ""
        text = f"`{call.op.rpartition('.')[2]}` lays the batch out by lengths, which are data: dynamo refuses{frozen}"
        yield Objection(text, effects=call.outcomes, about="packed sequence")
