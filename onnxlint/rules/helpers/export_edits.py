"""What rules of export calls share: the call around a finding, its arguments and names, and those of the exporters."""

from collections.abc import Iterable

import libcst as cst

from onnxlint.base.records import EXPORTER_NAMES, Fix
from onnxlint.flow.state.observations import POSITIONS, PROGRAM_POSITIONS, AskedDim, Example, ExportCall
from onnxlint.rules.engine.rule import Rule
from onnxlint.rules.engine.site import Site, call_name
from onnxlint.rules.helpers.call_edits import drop_argument


def named(exporters: Iterable[str]) -> str:
    """`the TorchScript exporter and the dynamo exporter`."""
    return " and ".join(f"the {EXPORTER_NAMES[exporter]} exporter" for exporter in exporters)


def example_of(call: ExportCall, dim: AskedDim) -> Example | None:
    """The example input that a dim speaks of."""
    examples = call.examples or ()
    if isinstance(dim.input, int):
        return examples[dim.input] if dim.input < len(examples) else None
    return next((e for e in examples if e.parameter == dim.input), None)


def argument_at(node: cst.CSTNode, call: ExportCall, name: str) -> cst.CSTNode | None:
    """Where an export call gives an argument: `name=value`, or the value alone where it goes by position."""
    arguments = node.args if isinstance(node, cst.Call) else ()
    names = PROGRAM_POSITIONS if call.api == "torch.export.export" else POSITIONS
    front = zip(names, (a for a in arguments if a.keyword is None and a.star != "**"), strict=False)
    by_name = {a.keyword.value: a for a in arguments if a.keyword is not None}
    return by_name.get(name) or next((a if a.star else a.value for n, a in front if n == name), None)


def export_call(site: Site) -> cst.Call | None:
    """The call that the finding is, or is an argument of."""
    nodes = site.tree.holding(site.start)
    return next((n for n in nodes if isinstance(n, cst.Call) and "export" in call_name(n)), None)


def keyword_at(site: Site, call: cst.Call) -> cst.Arg | None:
    """The keyword argument that the finding underlines."""
    return next((a for a in call.args if a.keyword is not None and site.tree.range(a)[0] == site.start), None)


class NeedlessArgument(Rule):
    """A rule whose findings underline an argument of an export call, and whose fix leaves that out."""

    def fix(self, site: Site) -> Fix | None:
        """Take the argument out of the call: safe where that does not export at all, or to a file that does not run."""
        call = export_call(site)
        argument = keyword_at(site, call) if call is not None else None
        if call is None or argument is None or argument.keyword is None:
            return None
        name = argument.keyword.value
        new = drop_argument(call, name)
        return site.fix(f"leave out `{name}`", self.safety, site.replace(call, new)) if new is not None else None


def names(site: Site, hint: str) -> list[str] | None:
    """Names that the rule passed along; None where they are not known."""
    return None if hint not in site.finding.hints else [n for n in site.hint(hint).split(",") if n]


def constant(site: Site, node: cst.BaseExpression) -> cst.BaseExpression | None:
    """A literal, or what a variable is set to once, in the function or at the top of the same piece of the file."""
    if not isinstance(node, cst.Name):
        return node
    bindings = site.bindings(site.tree.module, node.value)
    values = [a.value for a, target in bindings if isinstance(a, cst.Assign) and isinstance(target, cst.Name)]
    return values[0] if len(values) == 1 else None
