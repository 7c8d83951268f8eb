from onnxlint.flow.state.observations import StateWrite
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule


class GlobalState(Rule):
    """Object to state that outlives the call in a global, a class or a container of the module's file."""

    def on_state_write(self, node: Node, write: StateWrite) -> Objections:
        if write.kind in ("global", "class") and write.read_back:
            owner = "the global" if write.kind == "global" else "the class attribute"
            yield Objection(
                f"forward changes {owner} `{write.name}`, which the next call reads: a graph keeps nothing between runs"
            )
