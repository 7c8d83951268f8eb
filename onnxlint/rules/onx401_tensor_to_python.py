import libcst as cst

from onnxlint.base.records import Fix, Outcome, Safety, Severity
from onnxlint.flow.state.observations import Escape
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.engine.site import Site, bare, call_name, dotted, has_star, is_name, positional, tight
from onnxlint.rules.helpers.freed_numbers import takes_tensor
from onnxlint.rules.helpers.stacked_tensors import stacked
from onnxlint.rules.helpers.value_kinds import Values, stripped


class TensorToPython(Rule):
    """Object to a tensor read into a Python value that the graph then depends on."""

    def on_escape(self, node: Node, escape: Escape) -> Objections:
        if escape.source != "data" or escape.numpy or escape.how.startswith("math."):
            return
        if escape.weight:
            message = f"`{self.source(node)}` reads a weight into a Python value in forward"
            effects = {"torchscript": Outcome.OK, "dynamo": Outcome.EXPORT_ERROR}
            yield Objection(message, "read it once in `__init__`", severity=Severity.NOTE, effects=effects)
            return
        if escape.how == ".tolist()" and escape.exporters == ("dynamo",):
            message = f"`{self.source(node)}` reads a dynamic axis item by item: dynamo fixes it to the example's size"
            advice = "leave it out of the export, or print the tensor as it is"
            yield Objection(message, advice, effects={"dynamo": Outcome.EXPORT_ERROR})
            return
        yield Objection(
            f"`{escape.how}` reads a tensor into a Python value: `{self.source(node)}`; the trace keeps the example's"
        )

    def fix_call(self, site: Site, call: cst.Call) -> Fix | None:
        """Unsafe by a last digit: a Python float is double precision."""
        values = Values(site)
        if _is_call(call, "len"):
            tensor = call.args[0].value
            if not values.is_tensor(tensor):
                return None
            size = site.expression("{tensor}.shape[0]", tensor=tight(tensor))
            return site.fix(f"ask the tensor: `{site.tree.code(size)}`", Safety.SAFE, site.replace(call, size))
        made = _constructor(site, call)
        if made is not None:
            return stacked(site, made)
        tensor, number = stripped(call), call
        while (outer := _taker(site, number)) is not None and stripped(outer) is tensor:
            number = outer
        if tensor is call or not values.is_tensor(tensor):
            return _limit(site, values, call)
        if not takes_tensor(site, number):
            return None
        return site.fix("stay with the tensor", Safety.UNSAFE, site.replace(number, site.fitted(bare(tensor), number)))


def _taker(site: Site, node: cst.CSTNode) -> cst.Call | None:
    """The call whose argument, by position, a node is."""
    arg = site.parent(node)
    taker = site.parent(arg) if isinstance(arg, cst.Arg) and arg.keyword is None and not arg.star else None
    return taker if isinstance(taker, cst.Call) else None


def _constructor(site: Site, call: cst.Call) -> cst.Call | None:
    """The `torch.tensor` or `torch.as_tensor` of a list that a call is an item of."""
    item = site.parent(call)
    display = site.parent(item) if isinstance(item, cst.Element) else None
    made = _taker(site, display) if isinstance(display, (cst.List, cst.Tuple)) else None
    return made if made is not None and dotted(made.func) in ("torch.tensor", "torch.as_tensor") else None


def _is_call(call: cst.Call, name: str) -> bool:
    """`name(x)`."""
    return is_name(call.func, name) and len(call.args) == len(positional(call)) == 1 and not has_star(call)


def _limit(site: Site, values: Values, call: cst.Call) -> Fix | None:
    """`torch.arange(int(t))`, and a bound of a slice: whole numbers that these take from a tensor."""
    taker = _taker(site, call)
    takes = isinstance(site.parent(call), cst.Slice) or (taker is not None and dotted(taker.func) == "torch.arange")
    if not takes or not _is_call(call, "int"):
        return None
    tensor = stripped(call.args[0].value)
    root = tensor.func.value if isinstance(tensor, cst.Call) and isinstance(tensor.func, cst.Attribute) else tensor
    kind = values.site.value(root.value) if isinstance(root, cst.Name) else ""
    if not values.is_tensor(tensor) or not kind.startswith(("tensor/int", "tensor/index")):
        return None
    if root is not tensor and call_name(tensor) not in ("max", "min", "sum", "amax", "amin"):
        return None
    return site.fix("stay with the tensor", Safety.UNSAFE, site.replace(call, bare(tensor)))
