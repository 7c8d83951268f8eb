from onnxlint.flow.state.observations import ClockRead
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule


class ClockInForward(Rule):
    """Object to the time of day in tensor arithmetic."""

    def on_clock_read(self, node: Node, read: ClockRead) -> Objections:
        yield Objection(f"`{read.text}` reads the clock, and the graph keeps the moment of the export")
