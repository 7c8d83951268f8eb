from onnxlint.flow.state.observations import FileWrite
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule


class TensorToFile(Rule):
    """Object to a tensor that forward stores or plots."""

    def on_file_write(self, node: Node, write: FileWrite) -> Objections:
        message = f"`{write.op}` stores a tensor in forward: while dynamo exports, the tensor has no data"
        yield Objection(message, about="stores tensors", among="file")
