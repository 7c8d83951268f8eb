from onnxlint.base.records import Outcome
from onnxlint.flow.state.observations import ExportCall
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.helpers.export_edits import argument_at


class ExampleMismatch(Rule):
    """Object to example inputs that forward does not take."""

    def on_export_call(self, node: Node, call: ExportCall) -> Objections:
        span = argument_at(node, call, "args")
        if call.listed:
            yield Objection("`args` is a list, which is taken for one input", "write a tuple", at=span)
            return
        if call.examples is None or call.keywords is None or call.required is None or call.parameters is None:
            return
        if call.dict_argument:
            return
        if call.tensor_defaults:
            message = (
                f"the default of `{call.tensor_defaults[0]}` is a tensor that the example does not give: TorchScript"
                " makes it an input of the file, without a name"
            )
            advice = "give it in the example, or register it as a buffer"
            yield Objection(message, advice, at=span, effects={"torchscript": Outcome.RUNTIME_ERROR})
        count, keywords = len(call.examples), set(call.keywords)
        unknown = sorted(keywords - set(call.parameters))
        if unknown and not call.variadic:
            yield Objection(
                f"forward has no parameter `{unknown[0]}`: dynamo raises, TorchScript drops the input without a word",
                f"use the names of forward: {', '.join(f'`{p}`' for p in call.parameters)}",
                at=argument_at(node, call, "kwargs") or span,
                effects={"torchscript": Outcome.WRONG_VALUES, "dynamo": Outcome.EXPORT_ERROR},
            )
            return
        if count > len(call.parameters) and not call.variadic:
            message = f"the example has {count} inputs, and forward takes {len(call.parameters)}"
            yield Objection(message, "give what forward takes; tensors in one list or tuple are one input", at=span)
            return
        missing = [p for p in call.parameters[count : call.required] if p not in keywords]
        if missing:
            message = f"the example lacks {', '.join(f'`{p}`' for p in missing)}, which forward needs"
            yield Objection(message, "give every parameter of forward that has no default", at=span)
