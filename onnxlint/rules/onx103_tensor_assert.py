import libcst as cst

from onnxlint.base.records import Fix, Safety, Severity
from onnxlint.flow.state.observations import Assertion
from onnxlint.rules.engine.observed_file import ValueProvider
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.engine.site import Site, tight, variables
from onnxlint.rules.helpers.work_saving_branches import under_guard

_EAGER = "not torch.onnx.is_in_onnx_export()"
_FIXED = (cst.SimpleString, cst.ConcatenatedString, type(None))
_LOOSE = (cst.IfExp, cst.Lambda, cst.NamedExpr)


class TensorAssert(Rule):
    """Object to an assert, or an `if` that only raises, on tensor data."""

    def on_assertion(self, node: Node, assertion: Assertion) -> Objections:
        if assertion.reads in ("data", "weight"):
            statement = self.parent(node)
            word = "assert" if isinstance(statement, cst.Assert) else "validating `if`"
            kinds, kept = (self.get_metadata(ValueProvider, name, "") for name in variables(node)), False
            match node:  # dynamo's second, strict attempt asserts as it stands what is asked once, in fixed words
                case cst.Comparison(_, [_]) | cst.Call(cst.Attribute(attr=cst.Name("all" | "any")), []):
                    plain = isinstance(statement, cst.Assert) and isinstance(statement.msg, _FIXED)
                    kept = plain and (assertion.sized or not any(k.startswith(("dim", "sizes")) for k in kinds))
            message = f"the {word} reads the value of a tensor: `{self.source(node)}`"
            yield Objection(message, severity=Severity.NOTE if kept else None, about="assertions")

    def fix(self, site: Site) -> Fix | None:
        """Safe: eager asserts as before, and both exporters answer the test with True."""
        node = site.at_span(cst.BaseExpression)
        statement = site.statement(node) if node is not None else None
        if isinstance(statement, cst.If) and not isinstance(site.parent(statement), cst.If):
            test = statement.test.with_changes(lpar=(), rpar=()) if statement.test.lpar else statement.test
            either = isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.Or)
            loose = isinstance(test, _LOOSE) or either
            guarded = site.expression(f"{_EAGER} and {{test}}", test=tight(test) if loose else test)
            return site.fix("leave the check to eager mode", Safety.SAFE, site.replace(statement.test, guarded))
        if not isinstance(statement, cst.Assert):
            return None
        return under_guard(site, statement, _EAGER, "leave the assertion to eager mode")
