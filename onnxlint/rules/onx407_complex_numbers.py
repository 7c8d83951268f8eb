from onnxlint.flow.state.observations import ComplexCall
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.helpers.export_edits import named


class ComplexNumbers(Rule):
    """Object to an operator on complex numbers that an exporter has no real form of."""

    def on_complex_call(self, node: Node, call: ComplexCall) -> Objections:
        what = f"`{call.detail}` of complex numbers" if call.detail else f"the complex numbers of `{call.op}`"
        if call.literal:
            what = f"a complex number of Python in `{call.text}`"
        message = f"{named(call.exporters)} cannot lower {what}"
        yield Objection(message, effects=call.outcomes, about="complex numbers", among="class")
