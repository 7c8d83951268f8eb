from onnxlint.flow.state.observations import TypeTest
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule


class SizeTypeTest(Rule):
    """Object to a test whether a dynamic size is an `int`, or a tensor with axes."""

    def on_type_test(self, node: Node, seen: TypeTest) -> Objections:
        if seen.tensor:
            message = f"`{seen.text}` is true of a size while TorchScript traces, of a tensor that has no axes"
            advice = "give the function the size itself, in every call"
        else:
            message = f"`{seen.text}` asks whether a dynamic size is an `int`: it is in PyTorch, and in no export"
            advice = "do without the test, or ask for what is no number: `isinstance(size, (tuple, list))`"
        yield Objection(message, advice, effects=seen.outcomes)
