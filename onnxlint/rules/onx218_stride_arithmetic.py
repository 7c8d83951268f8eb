from onnxlint.flow.state.observations import SizeStride
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule


class StrideArithmetic(Rule):
    """Object to strides that the trace takes for numbers."""

    def on_size_stride(self, node: Node, seen: SizeStride) -> Objections:
        yield Objection(
            f"`{seen.op}` with strides that follow from dynamic sizes: TorchScript keeps the example's: `{seen.text}`",
            "say which elements: an index of `starts[:, None] + torch.arange(size)`, `reshape`, a convolution",
        )
