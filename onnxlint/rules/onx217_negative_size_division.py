import libcst as cst

from onnxlint.base.records import Fix, Safety
from onnxlint.flow.state.observations import SizeDivision
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.engine.site import Site, literal
from onnxlint.rules.helpers.size_expressions import rounded_up
from onnxlint.rules.helpers.tables import TABLES
from onnxlint.rules.helpers.value_kinds import Values

WORDS = TABLES["ONX217"]


class NegativeSizeDivision(Rule):
    """Object to a division of sizes that ONNX rounds otherwise."""

    def on_size_division(self, node: Node, seen: SizeDivision) -> Objections:
        match node, self.parent(node):
            case cst.BinaryOperation(cst.UnaryOperation(), _, cst.Attribute()), cst.Slice(lower) if lower is node:
                return  # `x[-x.shape[0] // self.parts :]` is the last of so many equal parts: no rest is left
        yield Objection(f"`{seen.op}` on a dynamic size: {WORDS[seen.op]}: `{seen.text}`", effects=seen.outcomes)

    def fix(self, site: Site) -> Fix | None:
        """Safe: the same number for every size."""
        for node in (*site.inside(cst.UnaryOperation), *site.inside(cst.BinaryOperation)):
            outer = site.parent(node) if isinstance(node, cst.BinaryOperation) else node
            match outer:
                case cst.UnaryOperation(
                    cst.Minus(), cst.BinaryOperation(cst.UnaryOperation(cst.Minus(), size), cst.FloorDivide(), by)
                ):
                    new = rounded_up(Values(site), size, by) if literal(by) is not None else None
                    if new is not None:
                        title = f"round up with a positive sum: `{site.tree.code(new)}`"
                        return site.fix(title, Safety.SAFE, site.replace(outer, new))
        return None
