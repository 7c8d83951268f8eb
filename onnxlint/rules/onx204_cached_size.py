from onnxlint.flow.state.observations import StateWrite
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule


class CachedSize(Rule):
    """Object to something kept on the module at the size of the input that came by."""

    def on_state_write(self, node: Node, write: StateWrite) -> Objections:
        if write.kind == "cache" and write.read_back:
            message = f"`self.{write.name}` caches what was made at the size of one input; the export keeps that size"
            yield Objection(message, about="caches")
