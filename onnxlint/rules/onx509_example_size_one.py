import libcst as cst

from onnxlint.base.records import Fix, Outcome, Safety, Severity
from onnxlint.flow.state.observations import ExportCall
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.engine.site import Site, call_name, elements, literal, positional
from onnxlint.rules.helpers.export_edits import constant, example_of

_MAKERS = ("randn", "rand", "zeros", "ones", "empty")


class ExampleSizeOne(Rule):
    """Object to a dynamic axis of size 1 in the example, where the exporter makes a constant of it."""

    def on_export_call(self, node: Node, call: ExportCall) -> Objections:
        program = call.api == "torch.export.export"
        if not program and call.dynamo is False:
            return
        for dim in call.asked:
            if dim.kind not in (("Dim", "AUTO", "DYNAMIC") if program else ("Dim",)):
                continue
            example = example_of(call, dim)
            if example is None or example.sizes is None or not -len(example.sizes) <= dim.axis < len(example.sizes):
                continue
            if example.sizes[dim.axis] == 1:
                refused = program and dim.kind != "AUTO"
                yield Objection(
                    f"axis {dim.axis} of `{dim.input}` is asked for as dynamic, but its size is 1 in the example, which"
                    + (" `torch.export.export` refuses" if refused else " torch.export may take for a constant"),
                    "give the example two rows or more"
                    + ("" if program else f', or name the axis by a string: `{{{dim.axis}: "batch"}}`'),
                    at=example.span,
                    severity=Severity.ERROR if refused else None,
                    effects={"dynamo": Outcome.EXPORT_ERROR if refused else Outcome.SHAPE_ERROR},
                )

    def fix(self, site: Site) -> Fix | None:
        """Unsafe: the example is another one, and so is what a model with one row in mind makes of it."""
        node = site.at_span(cst.BaseExpression)
        if isinstance(node, cst.Tuple) and len(node.elements) == 1:
            node = node.elements[0].value
        made = constant(site, node) if node is not None else None
        if not isinstance(made, cst.Call) or call_name(made) not in _MAKERS or not positional(made):
            return None
        first = positional(made)[0]
        first = (elements(first) or [first])[0]
        if literal(first) != 1:
            return None
        return site.fix("give the example two rows", Safety.UNSAFE, site.replace(first, cst.Integer("2")))
