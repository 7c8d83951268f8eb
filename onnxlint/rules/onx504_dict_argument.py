import libcst as cst

from onnxlint.base.records import Fix, Outcome, Safety
from onnxlint.flow.state.observations import ExportCall
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.engine.site import Site, argument
from onnxlint.rules.helpers.export_edits import argument_at, export_call


class DictArgument(Rule):
    """Object to a dict in the place of the tuple of arguments."""

    def on_export_call(self, node: Node, call: ExportCall) -> Objections:
        if call.dict_argument:
            yield Objection("a dict in the place of `args` is taken for keyword arguments, not for one argument")
        elif call.bare_dict and call.dynamo is not False:
            message = "the dynamo exporter takes no dict in the place of `args`: the call raises a KeyError"
            effects = {"dynamo": Outcome.EXPORT_ERROR}
            advice = "put it into a tuple, `(inputs,)`, or pass it as `kwargs=`"
            yield Objection(message, advice, at=argument_at(node, call, "args"), effects=effects)
        if any(example.kind == "numbered" for example in call.examples or ()):
            message = "the TorchScript exporter takes no dict with numbers for keys: the call raises a KeyError"
            advice = "use strings for the keys, or a list"
            effects = {"torchscript": Outcome.EXPORT_ERROR}
            yield Objection(message, advice, at=argument_at(node, call, "args"), effects=effects)

    def fix(self, site: Site) -> Fix | None:
        """Unsafe: the call does something else than before. An empty dict at the end stands for keyword arguments."""
        call = export_call(site)
        inputs = argument(call, "args", 1) if call is not None else None
        empty = cst.Element(cst.Dict([]))
        if isinstance(inputs, cst.Tuple):
            if len(inputs.elements) != 1 or not inputs.lpar:
                return None
            comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
            new = inputs.with_changes(elements=[inputs.elements[0].with_changes(comma=comma), empty])
            return site.fix("end the tuple with an empty dict", Safety.UNSAFE, site.replace(inputs, new))
        if not isinstance(inputs, (cst.Name, cst.Dict, cst.Attribute)):
            return None
        new = cst.Tuple([cst.Element(inputs.with_changes(lpar=(), rpar=())), empty])
        return site.fix("pass it in a tuple, with an empty dict behind it", Safety.UNSAFE, site.replace(inputs, new))
