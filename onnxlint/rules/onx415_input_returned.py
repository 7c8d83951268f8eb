import libcst as cst

from onnxlint.base.records import Fix, Safety
from onnxlint.flow.state.observations import Output
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.engine.site import Site


class InputReturned(Rule):
    """Object to an input among the outputs."""

    def on_output(self, node: Node, output: Output) -> Objections:
        if output.what == "input":
            message = f"forward returns its input `{output.name}` as it came: dynamo's file renames the input"
            advice = f"leave `{output.name}` out of the outputs, or return `{output.name}.clone()`"
            yield Objection(message, advice, hints={"inside": int(output.inside)})

    def fix(self, site: Site) -> Fix | None:
        """Safe: the same values."""
        node = site.at_span(cst.Name)
        if node is None or site.number("inside"):
            return None  # a name of the tuple that the input is in has no `.clone()`
        copy = f"{node.value}.clone()"
        return site.fix(f"return `{copy}`", Safety.SAFE, site.replace(node, site.expression(copy)))
