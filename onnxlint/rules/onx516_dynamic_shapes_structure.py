from functools import partial

from onnxlint.base.records import Outcome, Severity
from onnxlint.flow.state.observations import AskedDim, ExportCall
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.helpers.export_edits import argument_at, example_of

REFUSED = {"torchscript": Outcome.EXPORT_ERROR, "dynamo": Outcome.EXPORT_ERROR}


class DynamicShapesStructure(Rule):
    """Object to dynamic shapes that do not fit the inputs, and to dynamic axes that have no names to hold on to."""

    def on_export_call(self, node: Node, call: ExportCall) -> Objections:
        at = argument_at(node, call, "dynamic_shapes")
        if call.has_dynamic_shapes and call.dynamo is False:
            message = "the TorchScript exporter takes no `dynamic_shapes`"
            advice = "pass `dynamic_axes`, or use the dynamo exporter"
            yield Objection(message, advice, at=at, effects={"torchscript": Outcome.EXPORT_ERROR})
            return
        if call.has_dynamic_axes and call.dynamo is False and "dynamic_axes" in call.arguments:
            yield from _axes(node, call)
        if not call.has_dynamic_shapes or call.dict_argument or call.model.startswith("torch.export"):
            return
        yield from _inputs(node, call)
        yield from _sizes(node, call)


def _axes(node: Node, call: ExportCall) -> Objections:
    """`dynamic_axes` as the TorchScript exporter reads them."""
    at = argument_at(node, call, "dynamic_axes")
    if "input_names" not in call.arguments and call.axes and call.axes_known:
        message = "`dynamic_axes` goes by the names of `input_names`, which the call does not give: the axes stay fixed"
        yield Objection(message, "give `input_names`", at=at, effects={"torchscript": Outcome.SHAPE_ERROR})
    for name, axes in call.axes:
        if any(a < 0 for a in axes):
            yield Objection(
                f"the TorchScript exporter does not count axes of `{name}` from the end: another axis becomes dynamic",
                "count from 0",
                at=call.axes_spans.get(name, at),
                effects={"torchscript": Outcome.SHAPE_ERROR},
            )


def _inputs(node: Node, call: ExportCall) -> Objections:
    """As many entries as inputs, under the names of forward's parameters."""
    refusal = partial(Objection, at=argument_at(node, call, "dynamic_shapes"), effects=REFUSED)
    if call.examples is None or call.keywords is None or call.variadic or call.required is None:
        return
    fed = len(call.examples) + len(call.keywords)
    if call.shapes_form == "tuple" and call.shapes_size != fed:
        yield refusal(
            f"`dynamic_shapes` has {call.shapes_size} entries for {fed} inputs",
            "give one entry per input, None for an input without dynamic axes",
        )
    if call.shapes_form == "dict" and call.parameters is not None:
        names = [e.parameter for e in call.examples if e.parameter is not None] + list(call.keywords)
        missing = [n for n in names if n not in call.shapes_keys]
        surplus = [n for n in call.shapes_keys if n in call.parameters and n not in names]
        if missing and all(n in call.parameters for n in call.shapes_keys):
            yield refusal(
                f"`dynamic_shapes` lacks {_list(missing)}: torch.export wants an entry for every input",
                f'add `"{missing[0]}": None`',
            )
        if surplus:
            yield refusal(
                f"`dynamic_shapes` names {_list(surplus)}, which the example does not give",
                "give it in the example, or leave it out of `dynamic_shapes`",
            )


def _sizes(node: Node, call: ExportCall) -> Objections:
    """What is asked of single axes against the sizes of the example."""
    refusal = partial(Objection, at=argument_at(node, call, "dynamic_shapes"), effects=REFUSED)
    first: dict[str, tuple[AskedDim, int]] = {}
    for dim in call.asked:
        where = f"axis {dim.axis} of `{dim.input}`"
        example = example_of(call, dim)
        rank = len(example.sizes) if example is not None and example.sizes is not None else None
        if rank is not None and not -rank <= dim.axis < rank:
            yield refusal(f"{where} does not exist: the example has {rank} axes", "count axes from 0")
            continue
        if dim.kind == "name" and call.api == "torch.export.export":
            yield refusal(f"`torch.export.export` takes no string for {where}", f'write `Dim("{dim.label}")`')
        elif dim.kind == "name" and dim.axis < 0:
            message = f"a string for {where}, counted from the end, is passed over without a word: the axis stays fixed"
            yield refusal(message, "count from 0", effects={"dynamo": Outcome.SHAPE_ERROR})
        size = example.sizes[dim.axis] if example is not None and example.sizes is not None else None
        if size is None or dim.kind != "Dim":
            continue
        low, high = dim.low, dim.high
        if (low is not None and size < low) or (high is not None and size > high):
            yield refusal(
                f"{where} is {size} in the example, outside of the range of its `Dim`",
                "choose an example inside of the range",
            )
        before = first.setdefault(dim.label, (dim, size))
        if before[1] != size:
            yield refusal(
                f"{where} shares one `Dim` with axis {before[0].axis} of `{before[0].input}`, but they are {size} and"
                f" {before[1]} in the example",
                "make a `Dim` for each, or an example in which they are equal",
                severity=Severity.ERROR,
            )


def _list(names: list[str]) -> str:
    return ", ".join(f"`{n}`" for n in names)
