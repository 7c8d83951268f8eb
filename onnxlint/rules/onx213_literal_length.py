import libcst as cst

from onnxlint.base.records import Fix, Safety
from onnxlint.flow.state.observations import ShapeLiteral
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.engine.site import Site, literal
from onnxlint.rules.helpers.literal_sizes import literal_hints, size_arguments
from onnxlint.rules.helpers.size_expressions import size_named


class LiteralLength(Rule):
    """Object to a range or table of the example's length on an axis that was declared dynamic."""

    def on_shape_literal(self, node: Node, shape: ShapeLiteral) -> Objections:
        if shape.call == "literal length":
            yield Objection(
                f"a tensor has the example's length {shape.literal} on the dynamic axis `{shape.axis}`: `{shape.text}`",
                hints=literal_hints(shape),
            )

    def fix_call(self, site: Site, call: cst.Call) -> Fix | None:
        """Safe: eager takes no other length with the literal."""
        size = size_named(site, site.hint("axis"))
        if size is None:
            return None
        literals = [s.value for s in size_arguments(call) if literal(s.value) == site.number("literal")]
        if len(literals) != 1:
            return None
        change = site.replace(literals[0], site.expression(size))
        return site.fix(f"take the length from the tensor: `{size}`", Safety.SAFE, change)
