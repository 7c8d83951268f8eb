import libcst as cst

from onnxlint.base.records import Fix, Safety
from onnxlint.flow.state.observations import SizeAttribute
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.engine.site import Site, argument, call_name, indices, literal, same, tight
from onnxlint.rules.helpers.value_kinds import is_shape

_POOLS = {f"{kind}_pool{n}d": (name, n) for kind, name in (("avg", "mean"), ("max", "amax")) for n in (1, 2, 3)}


class DimAsAttribute(Rule):
    """Object to a size where an ONNX operator has a constant."""

    def on_size_attribute(self, node: Node, seen: SizeAttribute) -> Objections:
        message = f"`{seen.parameter}` of `{seen.op}` is a dynamic size, and a constant in the file: `{seen.text}`"
        yield Objection(message, effects=seen.outcomes, about=f"`{seen.parameter}` of `{seen.op}`")

    def fix_call(self, site: Site, call: cst.Call) -> Fix | None:
        """Unsafe by a last digit: a mean adds in another order than a pooling."""
        if len(call.args) != 2 or call_name(call) not in _POOLS:
            return None
        name, count = _POOLS[call_name(call)]
        tensor, window = argument(call, "input", 0), argument(call, "kernel_size", 1)
        if tensor is None or window is None or not _spatial(window, tensor, count):
            return None
        axes = ", ".join(str(axis) for axis in range(-count, 0))
        template = f"{{tensor}}.{name}({axes if count == 1 else f'({axes})'}, keepdim=True)"
        new = site.expression(template, tensor=tight(tensor))
        return site.fix(f"reduce over the axes: `{name}`", Safety.UNSAFE, site.replace(call, new))


def _spatial(window: cst.BaseExpression, tensor: cst.BaseExpression, count: int) -> bool:
    """`x.shape[-2:]`, `x.shape[2:]`, `x.size()[2:]`, and `x.shape[-1]` for one axis."""
    if not isinstance(window, cst.Subscript) or len(window.slice) != 1 or not is_shape(window.value):
        return False
    shape = window.value.func if isinstance(window.value, cst.Call) else window.value
    if not isinstance(shape, cst.Attribute) or not same(shape.value, tensor):
        return False
    (index,) = indices(window)
    if isinstance(index, cst.Slice):
        return literal(index.lower) in (-count, 2) and index.upper is None and index.step is None
    return count == 1 and literal(index) in (-1, 2)
