import libcst as cst

from onnxlint.base.records import Fix, Outcome, Safety, Severity
from onnxlint.flow.state.observations import ExportCall
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.engine.site import Site, elements, literal
from onnxlint.rules.helpers.export_edits import argument_at, export_call, keyword_at, names


class DynamicAxesWithDynamo(Rule):
    """Object to `dynamic_axes` given to the dynamo exporter."""

    def on_export_call(self, node: Node, call: ExportCall) -> Objections:
        at = argument_at(node, call, "dynamic_axes")
        if not call.dynamo or not call.has_dynamic_axes or at is None:
            return
        refused, skipped = _refused(call), _skipped(call)
        outcome = Outcome.EXPORT_ERROR if refused else Outcome.WRONG_VALUES
        severity, applied = (None, f"{refused}, and the call raises" if refused else skipped)
        if not applied:
            severity, applied = _misplaced(call)
        if applied:
            yield Objection(
                "the dynamo exporter, the default since torch 2.9, matches the entries of `dynamic_axes` to the inputs"
                f" by position: {applied}",
                at=at,
                severity=severity,
                effects={"dynamo": outcome} if refused or skipped else None,
                about="" if refused else f"the exporter of line {call.statement}",
            )

    def fix(self, site: Site) -> Fix | None:
        """Unsafe: axes that dynamo dropped are dynamic then, which the model has to bear."""
        call = export_call(site)
        keyword = keyword_at(site, call) if call is not None else None
        parameters, ranks = names(site, "parameters"), names(site, "examples")
        if keyword is None or keyword.keyword is None or not isinstance(keyword.value, cst.Dict) or not parameters:
            return None
        if ranks is None or len(ranks) > len(parameters) or site.comments(keyword.value):
            return None
        parameters = parameters[: len(ranks)]
        inputs = names(site, "inputs") or parameters
        axes: dict[str, cst.BaseExpression | None] = {}
        for element in keyword.value.elements:
            if not (isinstance(element, cst.DictElement) and isinstance(element.key, cst.SimpleString)):
                return None
            axes[str(element.key.evaluated_value)] = _as_dict(site, element.value)
        if any(value is None for name, value in axes.items() if name in inputs) or len(inputs) < len(parameters):
            return None
        if not set(axes) <= {*inputs, *(names(site, "outputs") or [])}:
            return None
        shapes = [
            cst.DictElement(cst.SimpleString(f'"{parameter}"'), axes.get(name) or cst.Name("None"))
            for parameter, name in zip(parameters, inputs, strict=False)
        ]
        name, value = cst.Name("dynamic_shapes"), cst.Dict(shapes)
        edits = site.replace(keyword.keyword, name), site.replace(keyword.value, value)
        return site.fix("pass `dynamic_shapes` by the parameters of forward", Safety.UNSAFE, *edits)


def _entries(call: ExportCall) -> tuple[list[str], list[str]] | None:
    """The inputs by the names that the call gives them, and the entries that dynamo matches to them, by position.

    Measured with torch 2.13: entries that name no output, as the dict has them, then the inputs that are not in it.
    """
    named = "input_names" in call.arguments
    inputs = call.input_names if named else call.parameters
    if not call.axes_known or inputs is None or ("output_names" in call.arguments and call.output_names is None):
        return None
    entries = [name for name, _ in call.axes if name not in (call.output_names or ())]
    return list(inputs), entries + [name for name in inputs if named and name not in entries]


def _refused(call: ExportCall) -> str:
    """Why no entry can be matched; what ONX502 says of a name is not said again."""
    if call.wrapping in ("script", "trace", "load"):
        return "a ScriptModule has no signature to match them to"
    matched = _entries(call)
    if matched is None or call.examples is None or call.keywords is None:
        return ""
    inputs, entries = matched
    fed = len(call.examples) + len(call.keywords)
    if set(entries) <= set(inputs) and len(entries) < fed and not any(e.kind == "" for e in call.examples):
        return f"there are {len(entries)} for {fed} inputs"
    axes = dict(call.axes)
    for example, entry in zip(call.examples, entries, strict=False):
        free = axes.get(entry, ())
        if free and example.kind in ("none", "number"):
            return f"`{entry}` is applied to an input that is {'None' if example.kind == 'none' else 'a number'}"
        if example.sizes is not None and any(axis >= len(example.sizes) for axis in free):
            return f"`{entry}` is applied to an input with {len(example.sizes)} axes"
    return ""


def _skipped(call: ExportCall) -> str:
    """Which input that is given by name becomes another: measured, all are passed by position once axes are given."""
    if not call.keywords or call.parameters is None or call.examples is None:
        return ""
    rest = call.parameters[len(call.examples) :]
    passed = [name for name in rest if name in call.keywords]
    return next((f"`{name}` is passed as `{to}`" for name, to in zip(passed, rest, strict=False) if name != to), "")


def _misplaced(call: ExportCall) -> tuple[Severity | None, str]:
    """Which axes come to lie on another input; a note where the names or the axes are not known."""
    matched = _entries(call)
    if matched is None:
        return Severity.NOTE, "it has to list the inputs in the order of forward"
    inputs, entries = matched
    axes = dict(call.axes)
    for name, entry in zip(inputs, entries, strict=False):
        if set(axes.get(name, ())) != set(axes.get(entry, ())):
            moved, to = (entry, f"`{name}`") if entry in axes else (name, "another")
            return None, f"`{moved}` is applied to {to}"
    return None, ""


def _as_dict(site: Site, value: cst.BaseExpression) -> cst.BaseExpression | None:
    """The axes of an input as a dict, on one line."""
    if isinstance(value, cst.Dict):
        return cst.parse_expression(" ".join(site.source(value).split()))
    axes = elements(value)
    if axes is None or any(literal(axis) is None for axis in axes):
        return None
    return cst.Dict([cst.DictElement(axis, cst.SimpleString(f'"axis_{literal(axis)}"')) for axis in axes])
