import libcst as cst

from onnxlint.base.records import Fix, Safety
from onnxlint.flow.state.observations import IndexAddCall
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.engine.site import Site, argument, call_name, dotted, literal, tight
from onnxlint.rules.helpers.value_kinds import sizes_of


class RepeatedIndexAdd(Rule):
    """Object to `index_add`, of which TorchScript keeps one summand where an index repeats."""

    def on_index_add_call(self, node: Node, call: IndexAddCall) -> Objections:
        message = f"`{call.op.rpartition('.')[2]}` loses summands in the TorchScript exporter where an index repeats"
        yield Objection(message)

    def fix_call(self, site: Site, call: cst.Call) -> Fix | None:
        """Safe: both add every row in eager, in the same order on one thread."""
        if not isinstance(call.func, cst.Attribute) or argument(call, "alpha", 3) is not None:
            return None
        tensor, name = call.func.value, call_name(call)
        if name not in ("index_add", "index_add_") or dotted(tensor) == "torch":
            return None
        dim, index, source = (argument(call, name, at) for at, name in enumerate(("dim", "index", "source")))
        sizes = sizes_of(site.value())
        if dim is None or index is None or source is None or sizes is None or "..." in sizes:
            return None
        axis, rank = literal(dim), len(sizes)
        if axis is None or not -rank <= axis < rank:
            return None
        if rank > 1:
            if not isinstance(source, (cst.Name, cst.Attribute)):
                return None  # its size is needed too, and computing it twice is no fix
            view = ", ".join(":" if at == axis % rank else "None" for at in range(rank))
            index = site.expression(f"{{index}}[{view}].expand_as({{source}})", index=tight(index), source=source)
        template = f"{{tensor}}.{name.replace('index', 'scatter')}({{dim}}, {{index}}, {{source}})"
        new = site.expression(template, tensor=tensor, dim=dim, index=index, source=source)
        return site.fix("use `scatter_add` with the index expanded", Safety.SAFE, site.replace(call, new))
