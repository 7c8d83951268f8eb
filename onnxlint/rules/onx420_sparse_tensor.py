from onnxlint.flow.state.observations import SparseCall
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule


class SparseTensor(Rule):
    """Object to a sparse or nested layout."""

    def on_sparse_call(self, node: Node, call: SparseCall) -> Objections:
        message = f"`{call.op}` works on a sparse or nested layout: neither exporter can lower it"
        yield Objection(message, about="sparse tensors", among="file")
