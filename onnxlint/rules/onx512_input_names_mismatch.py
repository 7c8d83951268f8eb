from itertools import pairwise

from onnxlint.base.records import EXPORTERS, Outcome, Severity
from onnxlint.flow.state.observations import ExportCall
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.helpers.export_edits import argument_at


class InputNamesMismatch(Rule):
    """Object to names of inputs and outputs that the graph cannot take as they are."""

    def on_export_call(self, node: Node, call: ExportCall) -> Objections:
        for argument, names in (("input_names", call.input_names), ("output_names", call.output_names)):
            span = argument_at(node, call, argument)
            if isinstance(call.settings.get(argument), str):
                message = f"`{argument}` is a string: each of its letters is taken for a name"
                advice = f'write a list: `{argument}=["{call.settings[argument]}"]`'
                refused = dict.fromkeys(EXPORTERS, Outcome.EXPORT_ERROR)
                yield Objection(message, advice, at=span, severity=Severity.ERROR, effects=refused)
            twice = next((n for i, n in enumerate(names or ()) if n in (names or ())[:i]), None)
            if twice is not None:
                message = f"`{argument}` has `{twice}` twice: dynamo refuses it, TorchScript renames one of the two"
                effects = {"torchscript": Outcome.RUNTIME_ERROR, "dynamo": Outcome.EXPORT_ERROR}
                yield Objection(message, "give every input and output a name of its own", at=span, effects=effects)
        inputs, outputs = argument_at(node, call, "input_names"), argument_at(node, call, "output_names")
        both = sorted(set(call.input_names or ()) & set(call.output_names or ()))
        if both:
            message = (
                f"`{both[0]}` names an input and an output: dynamo's file cannot be loaded, TorchScript renames"
                " the input"
            )
            advice = "give the output another name"
            yield Objection(message, advice, at=outputs, effects=dict.fromkeys(EXPORTERS, Outcome.RUNTIME_ERROR))
        counted = call.examples is not None and call.keywords is not None
        fed = len(call.examples or ()) + len(call.keywords or ()) if counted else None
        plain = call.examples is not None and all(e.sizes is not None for e in call.examples) and not call.keywords
        if plain and fed and call.input_names is not None and len(call.input_names) > fed and not call.variadic:
            surplus = call.input_names[fed]
            yield Objection(
                f"{len(call.input_names)} input names for {fed} inputs: TorchScript gives `{surplus}` to a weight, or"
                " raises; dynamo drops it",
                "name the inputs of the example, and nothing else",
                at=inputs,
                effects={"torchscript": Outcome.EXPORT_ERROR, "dynamo": Outcome.RUNTIME_ERROR},
            )
        yield from _moved_up(node, call)
        swapped = _out_of_order(call)
        if swapped is not None:
            yield Objection(
                f"`input_names` has `{swapped[0]}` before `{swapped[1]}`, forward takes them the other way round:"
                " names go by place, and the file takes what it is fed as one for the other",
                "list the names, and the inputs of the example, in the order of forward's parameters",
                at=inputs,
                severity=Severity.ERROR,
                effects=dict.fromkeys(EXPORTERS, Outcome.WRONG_VALUES),
            )
        if call.outputs is not None and call.output_names is not None and len(call.output_names) > call.outputs:
            given = f"{len(call.output_names)} output names for {call.outputs} output{'s' if call.outputs > 1 else ''}"
            message = f"{given}: TorchScript raises, dynamo drops the rest"
            yield Objection(message, "name the outputs that forward returns, and nothing else", at=outputs)


def _moved_up(node: Node, call: ExportCall) -> Objections:
    """Measured: None is no input of either file, a number none of dynamo's; the names behind it go to other inputs."""
    names, examples = call.input_names or (), call.examples or ()
    if call.keywords or len(names) != len(examples):
        return
    for i, example in enumerate(examples):
        later = next((n for n, e in zip(names[i:], examples[i:], strict=True) if e.kind == "tensor"), None)
        if example.kind in ("none", "number") and later is not None:
            what = "None" if example.kind == "none" else "a number, which dynamo makes a constant"
            yield Objection(
                f"`{names[i]}` names {what}: that is no input of the file, and the names behind it move up:"
                f" `{later}` is called `{names[i]}`",
                "name the tensors of the example only, or give what varies as a tensor",
                at=argument_at(node, call, "input_names"),
                effects={e: Outcome.RUNTIME_ERROR for e in EXPORTERS if what == "None" or e == "dynamo"},
            )
            return


def _out_of_order(call: ExportCall) -> tuple[str, str] | None:
    """Two neighbours among the names that are both parameters of forward, which takes the second one first."""
    names, parameters = call.input_names, call.parameters
    if names is None or parameters is None or call.keywords or not set(names) <= set(parameters):
        return None
    return next(((a, b) for a, b in pairwise(names) if parameters.index(a) > parameters.index(b)), None)
