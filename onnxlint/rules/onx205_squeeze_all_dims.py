import libcst as cst

from onnxlint.base.records import Fix, Safety
from onnxlint.flow.state.observations import Squeeze
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.engine.site import Site, argument, elements, is_name, keywords, literal
from onnxlint.rules.helpers.value_kinds import sizes_of


class SqueezeAllDims(Rule):
    """Object to `squeeze()` without a dim on a tensor that has dynamic axes."""

    def on_squeeze(self, node: Node, squeeze: Squeeze) -> Objections:
        if squeeze.dim is None:
            yield Objection("`squeeze()` without a dim also drops a dynamic axis whenever its size is 1")

    def fix_call(self, site: Site, call: cst.Call) -> Fix | None:
        """Unsafe: with a batch of one the output keeps an axis that it used to lose."""
        if keywords(call):
            return None
        method = isinstance(call.func, cst.Attribute) and not call.args
        axes = _unit_axes(site) or (_keepdim_axes(call) if method else None)
        if axes is None:
            return None
        code = str(axes[0]) if len(axes) == 1 else f"({', '.join(map(str, axes))})"
        new = call.with_changes(args=[*call.args, cst.Arg(cst.parse_expression(code))], lpar=(), rpar=())
        return site.fix(f"name the axes: `squeeze({code})`", Safety.UNSAFE, site.replace(call, new))


def _unit_axes(site: Site) -> list[int] | None:
    """The axes of size one, where every other size is known not to be one."""
    sizes = sizes_of(site.value())
    if not sizes or "..." in sizes or "*" in sizes:
        return None
    axes = [at for at, size in enumerate(sizes) if size == "1"]
    return [-1] if len(axes) == 1 and axes[0] == len(sizes) - 1 else axes or None


def _keepdim_axes(call: cst.Call) -> list[int] | None:
    """`x.mean(dim=(2, 3), keepdim=True).squeeze()`: the axes that were kept on purpose."""
    inner = call.func.value if isinstance(call.func, cst.Attribute) else None
    if not isinstance(inner, cst.Call) or not isinstance(inner.func, cst.Attribute):
        return None
    keep, dims = argument(inner, "keepdim"), argument(inner, "dim", 0)
    if keep is None or dims is None or not is_name(keep, "True"):
        return None
    axes = [literal(axis) for axis in elements(dims) or [dims]]
    return [axis for axis in axes if axis is not None] if None not in axes else None
