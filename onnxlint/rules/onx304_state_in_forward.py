from onnxlint.base.records import Severity
from onnxlint.flow.state.observations import StateWrite
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule


class StateInForward(Rule):
    """Object to a buffer, counter, attribute or container of the module that forward writes and reads again."""

    def on_state_write(self, node: Node, write: StateWrite) -> Objections:
        if write.kind in ("cache", "global", "class") or not write.read_back:
            return
        message = f"forward writes `self.{write.name}`: an ONNX graph keeps no state from one run to the next"
        severity = Severity.NOTE if write.kind in ("attribute", "memo") else None
        yield Objection(message, severity=severity, about="what forward keeps", among="class")
