"""ONX512 input-names-mismatch. Contract: rules/ONX512-input-names-mismatch.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import ExportCall
from onnxlint.records import Outcome, Severity


@check("ONX512")
def input_names_mismatch(call: ExportCall) -> Iterator[Objection]:
    """Object to names of inputs and outputs that the graph cannot take as they are."""
    for argument, names in (("input_names", call.input_names), ("output_names", call.output_names)):
        span = call.argument_spans.get(argument)
        if isinstance(call.settings.get(argument), str):
            yield Objection(
                f"`{argument}` is a string: each of its letters is taken for a name",
                f'write a list: `{argument}=["{call.settings[argument]}"]`',
                span=span,
                severity=Severity.ERROR,
                effects={"torchscript": Outcome.EXPORT_ERROR, "dynamo": Outcome.EXPORT_ERROR},
            )
        twice = next((n for i, n in enumerate(names or ()) if n in (names or ())[:i]), None)
        if twice is not None:
            yield Objection(
                f"`{argument}` has `{twice}` twice: dynamo refuses it, TorchScript renames one of the two",
                "give every input and output a name of its own",
                span=span,
                effects={"torchscript": Outcome.RUNTIME_ERROR, "dynamo": Outcome.EXPORT_ERROR},
            )
    both = sorted(set(call.input_names or ()) & set(call.output_names or ()))
    if both:
        yield Objection(
            f"`{both[0]}` names an input and an output: dynamo's file cannot be loaded, TorchScript renames the input",
            "give the output another name",
            span=call.argument_spans.get("output_names"),
            effects={"torchscript": Outcome.RUNTIME_ERROR, "dynamo": Outcome.RUNTIME_ERROR},
        )
    fed = len(call.examples) + len(call.keywords) if call.examples is not None and call.keywords is not None else None
    plain = call.examples is not None and all(e.sizes is not None for e in call.examples) and not call.keywords
    if plain and fed and call.input_names is not None and len(call.input_names) > fed and not call.variadic:
        surplus = call.input_names[fed]
        yield Objection(
            f"{len(call.input_names)} input names for {fed} inputs: TorchScript gives `{surplus}` to a weight, or"
            " raises; dynamo drops it",
            "name the inputs of the example, and nothing else",
            span=call.argument_spans.get("input_names"),
            effects={"torchscript": Outcome.EXPORT_ERROR, "dynamo": Outcome.RUNTIME_ERROR},
        )
    if call.outputs is not None and call.output_names is not None and len(call.output_names) > call.outputs:
        yield Objection(
            f"{len(call.output_names)} output names for {call.outputs} output{'s' if call.outputs > 1 else ''}:"
            " TorchScript raises, dynamo drops the rest",
            "name the outputs that forward returns, and nothing else",
            span=call.argument_spans.get("output_names"),
        )
