from onnxlint.base.records import Outcome
from onnxlint.flow.state.observations import Output
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule

WORDS = {
    "number": "the Python number {}",
    "text": "the string {}",
    "scalar": "a Python number read by `{}`",
    "list": "a Python list made by `{}`",
    "array": "a numpy array made by `{}`",
    "keys": "a dict with keys that are no strings, which TorchScript takes for outputs",
    "object": "an object of the class `{}`",
}
# Measured: dynamo drops keys, TorchScript a lone string; dynamo follows a number read by `.item()`.
EFFECTS = {
    "text": {"torchscript": Outcome.OK, "dynamo": Outcome.EXPORT_ERROR},
    "keys": {"torchscript": Outcome.EXPORT_ERROR, "dynamo": Outcome.OK},
    "scalar": {"torchscript": Outcome.EXPORT_ERROR, "dynamo": Outcome.OK},
    "array": {"torchscript": Outcome.EXPORT_ERROR, "dynamo": Outcome.SHAPE_ERROR},
}


class NonTensorOutput(Rule):
    """Object to an output that is no tensor, and holds none in a form that exporters know."""

    def on_output(self, node: Node, output: Output) -> Objections:
        if output.what in WORDS:
            message = f"forward returns {WORDS[output.what].format(output.name)}: outputs of a graph are tensors"
            yield Objection(message, effects=EFFECTS.get(output.what))
