import libcst as cst

from onnxlint.base.records import Fix, Safety
from onnxlint.flow.state.observations import ExportCall
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.engine.site import Site, is_loaded, variables


class RepeatedExampleInput(Rule):
    """Object to one tensor given for two inputs."""

    def on_export_call(self, node: Node, call: ExportCall) -> Objections:
        for example in call.examples or ():
            if example.again:
                name = f"`{example.parameter}`" if example.parameter is not None else "an input"
                message = f"{name} is an earlier input's tensor once more: torch.export takes the two for one"
                yield Objection(message, at=example.span)

    def fix(self, site: Site) -> Fix | None:
        """Safe: the same values in another tensor."""
        node = site.at_span(cst.BaseExpression)
        if node is None:
            return None
        names = [n for n in variables(node) if is_loaded(site, n)]
        again = (n for at, n in enumerate(names) if n.value in {other.value for other in names[:at]})
        repeated = node if isinstance(node, cst.Name) else next(again, None)
        if repeated is None:
            return None
        new = site.expression("{name}.clone()", name=repeated.with_changes(lpar=(), rpar=()))
        return site.fix(f"copy it: `{repeated.value}.clone()`", Safety.SAFE, site.replace(repeated, new))
