import libcst as cst

from onnxlint.flow.state.observations import ViewWrite
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule


class InplaceThroughView(Rule):
    """Object to an in-place write through a view."""

    def on_view_write(self, node: Node, write: ViewWrite) -> Objections:
        match node:
            case cst.Call(cst.Attribute(target)) | cst.Subscript(target) | cst.AugAssign(target):
                node = target
        yield Objection(
            f"`{self.source(node)}` is a view, and the write through it is lost in the TorchScript export",
            "compute the new tensor instead: `torch.where`, `torch.cat`, or `index_put` on a clone",
        )
