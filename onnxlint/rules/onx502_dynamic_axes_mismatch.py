import difflib

import libcst as cst

from onnxlint.base.records import Fix, Safety, Severity
from onnxlint.flow.state.observations import ExportCall
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.engine.site import Site, literal
from onnxlint.rules.helpers.export_edits import argument_at


class DynamicAxesMismatch(Rule):
    """Object to dynamic axes of an input that does not exist, or of an axis that the model fixes."""

    def on_export_call(self, node: Node, call: ExportCall) -> Objections:
        if not call.axes_known:
            return
        argument = "dynamic_axes" if call.has_dynamic_axes else "dynamic_shapes"
        at = argument_at(node, call, argument)
        for name, axis, why in call.fixed_axes:
            message = f"axis {axis} of `{name}` is asked for as dynamic, but {why}"
            hints = {"fixed": axis, "rank": _rank(call, name)}
            yield Objection(message, at=call.axes_spans.get(name, at), hints=hints)
        yield from _part_of_a_batch(node, call)
        names = _names(call)
        if names is None:
            return
        for name, _ in call.axes:
            if name not in names:
                near = difflib.get_close_matches(name, names, 1)
                if not near and call.dynamo is False and "output_names" not in call.arguments:
                    continue  # an output without a name, which TorchScript passes over
                hint = f"write `{near[0]}`" if near else f"use one of {', '.join(f'`{k}`' for k in names)}"
                message = f"`{argument}` names `{name}`, which is no input or output of the export"
                meant = {"name": name, "near": near[0] if near else ""}
                yield Objection(message, hint, at=call.axes_spans.get(name, at), hints=meant)

    def fix(self, site: Site) -> Fix | None:
        """Unsafe: which name or axis was meant is a guess, though a near one."""
        for node in reversed(site.tree.holding(site.start)):
            if isinstance(node, cst.DictElement) and isinstance(node.value, cst.Dict):
                whole = site.parent(node)
                if isinstance(node.key, cst.SimpleString) and isinstance(whole, cst.Dict):
                    return _renamed(site, node.key) or _shifted(site, whole, node.value)
        return None


def _rank(call: ExportCall, name: str) -> int:
    """How many axes the example of an input has; of anything else, as many as the example of the first input."""
    names = call.input_names or call.parameters or ()
    at = names.index(name) if name in names else 0
    sizes = call.examples[at].sizes if call.examples is not None and at < len(call.examples) else None
    return len(sizes) if sizes is not None else 0


def _names(call: ExportCall) -> tuple[str, ...] | None:
    """Every name that the axes may use; None where that is not known."""
    if not call.has_dynamic_axes:
        return call.parameters
    named, outputs = "input_names" in call.arguments, "output_names" in call.arguments
    inputs = call.input_names if named else call.parameters
    if inputs is None or (outputs and call.output_names is None) or not (named or outputs):
        return None
    return (*inputs, *(call.output_names or ()))


def _part_of_a_batch(node: cst.CSTNode, call: ExportCall) -> Objections:
    """Inputs of one batch size in the example of which some may have another one, and some not."""
    names = call.input_names if call.has_dynamic_axes else call.parameters
    if names is None or call.examples is None or call.keywords:
        return
    axes = dict(call.axes)
    inputs = [(n, e.sizes) for n, e in zip(names, call.examples, strict=False) if e.kind == "tensor" and e.sizes]
    free = {sizes[0]: name for name, sizes in reversed(inputs) if 0 in axes.get(name, ())}
    for name, sizes in inputs:
        size = sizes[0]
        if name in free.values() or 0 in axes.get(name, ()) or len(sizes) < 2 or size is None or size not in free:
            continue
        if size > 1 or name in axes:
            yield Objection(
                f"axis 0 of `{free[size]}` is dynamic, and of `{name}`, which is {size} in the example too, it is not:"
                " the batch cannot vary",
                f'write `"{name}": {{0: ...}}` as well',
                at=argument_at(node, call, "dynamic_axes" if call.has_dynamic_axes else "dynamic_shapes"),
                severity=Severity.WARNING if size > 1 else Severity.NOTE,
            )


def _renamed(site: Site, key: cst.SimpleString) -> Fix | None:
    near, quote = site.hint("near"), key.quote[-1]
    if not near or key.evaluated_value != site.hint("name"):
        return None
    return site.fix(f"write `{near}`", Safety.UNSAFE, site.replace(key, cst.SimpleString(f"{quote}{near}{quote}")))


def _shifted(site: Site, whole: cst.Dict, axes: cst.Dict) -> Fix | None:
    """Axes that count from one behind the batch: each but the first moves on by one, and with it its like elsewhere."""
    fixed, rank = site.number("fixed"), site.number("rank")
    numbers = _numbers(axes)
    if fixed is None or rank is None or numbers is None or fixed not in numbers or fixed == 0:
        return None
    if numbers != list(range(len(numbers))) or numbers[-1] + 1 >= rank:
        return None
    alike = [e.value for e in whole.elements if isinstance(e.value, cst.Dict) and _numbers(e.value) == numbers]
    keys = [(key, number) for other in alike for key in _keys(other) if (number := literal(key)) is not None]
    edits = [site.replace(key, cst.Integer(str(number + 1))) for key, number in keys if number >= fixed]
    return site.fix(f"count the axes from 0: axis {fixed} has a fixed size", Safety.UNSAFE, *edits)


def _keys(axes: cst.Dict) -> list[cst.BaseExpression]:
    return [e.key for e in axes.elements if isinstance(e, cst.DictElement)]


def _numbers(axes: cst.Dict) -> list[int] | None:
    numbers = sorted(number for number in map(literal, _keys(axes)) if number is not None and number >= 0)
    return numbers if len(numbers) == len(axes.elements) else None
