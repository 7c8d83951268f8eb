from onnxlint.flow.state.observations import AttentionSize
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule


class AttentionLength(Rule):
    """Object to an attention of torch.nn over a dynamic length, which TorchScript's exporter fixes."""

    def on_attention_size(self, node: Node, seen: AttentionSize) -> Objections:
        yield Objection(f"`{seen.op}` over a dynamic length: the TorchScript export takes the example's length alone")
