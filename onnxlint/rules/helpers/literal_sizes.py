"""Literals in the sizes that a call is given, where the size of a dynamic axis belongs."""

from collections.abc import Sequence

import libcst as cst

from onnxlint.base.records import Fix, Safety
from onnxlint.flow.state.observations import ShapeLiteral
from onnxlint.rules.engine.cst_tree import walk
from onnxlint.rules.engine.rule import Rule
from onnxlint.rules.engine.site import Site, call_name, dotted, is_name, keywords, literal
from onnxlint.rules.helpers.size_expressions import size_named


class LiteralSize(Rule):
    """A rule whose findings are calls with such a literal, and whose fix takes the size from a tensor."""

    def fix(self, site: Site) -> Fix | None:
        """Safe where eager takes no other size with the literal; beside a `-1` eager computes something else."""
        call = site.at_span(cst.Call)
        position, number = site.number("position"), site.number("literal")
        if call is None or position is None:
            return None
        argument = _size_argument(site, call, position)
        if argument is None or literal(argument) != number:
            return None
        if number == 1 and position > 0 and site.hint("call") in ("view", "reshape"):
            return None  # an axis of its own, to broadcast along
        receiver = call.func.value if isinstance(call.func, cst.Attribute) else None
        named = size_named(site, site.hint("axis"), receiver.value if isinstance(receiver, cst.Name) else "")
        size = named or _leading(site, call, receiver)
        if size is None:
            return None
        infers = any(literal(size_argument.value) == -1 for size_argument in size_arguments(call))
        repeats = site.hint("call") in ("expand", "repeat", "tile", "repeat_interleave")
        safety = Safety.SAFE if named and not (infers or repeats or number == 1) else Safety.UNSAFE
        change = site.replace(argument, site.expression(size))
        return site.fix(f"take the size from the tensor: `{size}`", safety, change)


def literal_hints(shape: ShapeLiteral) -> dict[str, str | int]:
    """Which literal it is, and of which axis it takes the place."""
    return {"call": shape.call, "literal": shape.literal, "axis": shape.axis, "position": shape.position}


def _leading(site: Site, call: cst.Call, receiver: cst.BaseExpression | None) -> str | None:
    """The first size of the tensor itself, or of the first input of the forward that it is computed in."""
    if site.hint("call") == "fixed state":
        return _of_input(site, call) if site.hint("axis") == "batch" and _batch_first(site) else None
    if site.hint("call") not in ("view", "reshape") or receiver is None or site.number("position") != 0:
        return None
    return f"{receiver.value}.shape[0]" if isinstance(receiver, cst.Name) else _of_input(site, call)


def _of_input(site: Site, call: cst.Call) -> str | None:
    function = site.function(call)
    if function is None or function.name.value != "forward":
        return None
    names = [p.name.value for p in (*function.params.posonly_params, *function.params.params)][1:2]
    return f"{names[0]}.shape[0]" if names and site.value(names[0]).startswith("tensor") else None


def _batch_first(site: Site) -> bool:
    """Whether no recurrent layer of the class has its batch on another axis than the first."""
    site = site.in_class()
    cls = next((n for n in site.tree.holding(site.start) if isinstance(n, cst.ClassDef)), None)
    return cls is None or site.tree.once(_layers_batch_first, cls)


def _layers_batch_first(cls: cst.ClassDef) -> bool:
    layers = [n for n in walk(cls) if isinstance(n, cst.Call) and call_name(n) in ("LSTM", "GRU", "RNN")]
    return all(is_name(keywords(layer).get("batch_first"), "True") for layer in layers)


def size_arguments(call: cst.Call) -> Sequence[cst.Arg | cst.BaseElement]:
    """The sizes that a call is given: as a tuple, or one by one."""
    for argument in call.args:
        named = argument.keyword is None or argument.keyword.value in ("size", "shape", "sizes")
        if named and not argument.star and isinstance(argument.value, (cst.Tuple, cst.List)):
            return argument.value.elements
    return [a for a in call.args if a.keyword is None and a.star != "**"]


def _size_argument(site: Site, call: cst.Call, position: int) -> cst.BaseExpression | None:
    sizes = size_arguments(call)
    if any(isinstance(s, cst.StarredElement) or (isinstance(s, cst.Arg) and s.star) for s in sizes):
        return None
    of_torch = isinstance(call.func, cst.Attribute) and dotted(call.func.value) == "torch"
    if of_torch and site.hint("call") in ("view", "reshape") and sizes and isinstance(sizes[0], cst.Arg):
        return None  # torch.reshape(x, 4, 64) is no call that runs
    return sizes[position].value if position < len(sizes) else None
