from onnxlint.base.records import Outcome
from onnxlint.flow.state.observations import SizeArgument
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule


class ScaleFromSize(Rule):
    """Object to a resize by a factor that was computed from a size."""

    def on_size_argument(self, node: Node, seen: SizeArgument) -> Objections:
        if seen.op in ("interpolate", "upsample"):
            message = f"the `scale_factor` of `{seen.op}` is computed from a dynamic size: `{seen.text}`"
            effects = None if seen.sure else {"torchscript": Outcome.EXPORT_ERROR}
            yield Objection(message, effects=effects, static_too=True)
