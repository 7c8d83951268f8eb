import libcst as cst

from onnxlint.flow.state.observations import ViewWrite
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule


class InplaceThroughView(Rule):
    """Object to an in-place write through a view."""

    def on_view_write(self, node: Node, write: ViewWrite) -> Objections:
        match node:
            case cst.Call(cst.Attribute(target)) | cst.Subscript(target) | cst.AugAssign(target):
                node = target
        base = node
        while isinstance(base, (cst.Subscript, cst.Call)):
            base = base.value if isinstance(base, cst.Subscript) else base.func
        message = f"`{self.source(node)}` is a view, and the write through it is lost in the TorchScript export"
        yield Objection(message, about=f"writes into {self.source(base)}")
