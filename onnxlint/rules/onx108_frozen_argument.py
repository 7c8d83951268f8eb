from onnxlint.flow.state import observations
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule


class FrozenArgument(Rule):
    """Object to a Python number or bool among the example's inputs."""

    def on_frozen_argument(self, node: Node, argument: observations.FrozenArgument) -> Objections:
        number = argument.value[0] in "-.0123456789"
        frozen = "dynamo freezes it, TorchScript what Python decides by it" if number else "the export freezes it"
        message = f"the example passes the Python value {argument.value} for `{argument.name}`; {frozen}"
        advice = f"make `{argument.name}` a constructor argument, or pass a tensor and choose with `torch.where`"
        yield Objection(message, advice)
