import libcst as cst

from onnxlint.base.records import Fix, Outcome, Safety
from onnxlint.flow.state.observations import Call
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.engine.site import Site, argument, dotted, has_star, indices, keywords, literal, positional
from onnxlint.rules.helpers.export_edits import named

_TITLE = "sort, and take the middle"
_ADVICE = {
    "torch.utils.checkpoint.checkpoint": "checkpoint where `self.training` only, or pass `use_reentrant=False`",
    "torch.nn.functional.scaled_dot_product_attention": "unsqueeze a head axis, or flatten what is more into the batch",
}
_BOOL = "a Python bool"
_NO_BOOL = "a mask needs no comparison (`mask`, `~mask`); else pass `int(flag)`, or `torch.ones(..., dtype=torch.bool)`"
_TELL_CAUSAL = "say whether the mask is causal (`is_causal=True` or `False`): torch reads that off its values otherwise"


def _advice(call: Call) -> str:
    if call.detail == _BOOL:
        return _NO_BOOL
    return _TELL_CAUSAL if call.detail.endswith("is_causal=None") else _ADVICE.get(call.op, "")


class UnsupportedOperator(Rule):
    """Object to an operator that an exporter cannot lower at the target opset."""

    def on_call(self, node: Node, call: Call) -> Objections:
        refused = call.exporters_with(Outcome.EXPORT_ERROR)
        if refused and type(call) is Call:  # any other type has a rule of its own
            unloaded = call.exporters_with(Outcome.RUNTIME_ERROR)
            also = f", and {named(unloaded)} writes what ONNX Runtime does not load" if unloaded else ""
            yield Objection(
                f"{named(refused)} cannot lower `{call.op}`{call.form}{also}",
                _advice(call),
                effects={exporter: call.outcomes[exporter] for exporter in (*refused, *unloaded)},
                about=call.detail if call.detail == _BOOL else f"{call.op.rpartition('.')[2]} {call.detail}",
                among="class",
                hints={"op": call.op},
            )

    def fix(self, site: Site) -> Fix | None:
        """The lower of the two middle values, which sorting puts at a known place. Unsafe: NaN is sorted to the end."""
        call = site.at_span(cst.Call) if site.hint("op").endswith(".median") else None
        func = call.func if call is not None else None
        if call is None or has_star(call) or not isinstance(func, cst.Attribute) or func.attr.value != "median":
            return None
        front = positional(call)
        method = dotted(func.value) != "torch"
        tensor = func.value if method or not front else front.pop(0)
        if not isinstance(tensor, (cst.Name, cst.Attribute)):
            return None
        dim = argument(call, "dim", 0 if method else 1)
        if dim is None:
            if front or keywords(call):
                return None
            middle = "{tensor}.flatten().sort().values[({tensor}.numel() - 1) // 2]"
            return site.fix(_TITLE, Safety.UNSAFE, site.replace(call, site.expression(middle, tensor=tensor)))
        parent, axis = site.parent(call), literal(dim)
        keep = argument(call, "keepdim", 1 if method else 2)
        keeps = keep.value if isinstance(keep, cst.Name) else ""
        if parent is None or axis is None or not (keep is None or keeps in ("True", "False")):
            return None
        values = isinstance(parent, cst.Attribute) and parent.attr.value == "values"
        if not values and not (isinstance(parent, cst.Subscript) and [literal(i) for i in indices(parent)] == [0]):
            return None  # the places of the medians are asked for too
        middle = f"{{tensor}}.sort(dim={axis}).values.select({axis}, ({{tensor}}.shape[{axis}] - 1) // 2)"
        if keeps == "True":
            middle += f".unsqueeze({axis})"
        return site.fix(_TITLE, Safety.UNSAFE, site.replace(parent, site.expression(middle, tensor=tensor)))
