from enum import IntEnum

import libcst as cst

from onnxlint.base.records import Fix, Outcome, Safety
from onnxlint.flow.state.observations import DataRead
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.engine.site import Site, is_loaded

_Binding = cst.Assign | cst.AnnAssign | cst.NamedExpr


class DataAttribute(Rule):
    """Object to `.data`, which takes a tensor out of the trace."""

    def on_data_read(self, node: Node, read: DataRead) -> Objections:
        argument = self.parent(node)
        match self.parent(argument) if argument is not None else None:
            case cst.Call(cst.Name("type")):
                return  # `y.type(type(x.data))` asks for the class alone
        if isinstance(node, cst.Attribute) and not read.weight and _leaves_torch(self, node):
            return  # what takes the values out of torch is reported for both
        yield Objection(
            f"`{read.text}` takes the tensor out of the trace"
            + ("" if read.weight else ": the graph keeps the example's values as a constant"),
            "write `.detach()` to read it; what forward writes belongs in its outputs" if read.weight else "",
            effects={"torchscript": Outcome.OK, "dynamo": Outcome.EXPORT_ERROR} if read.weight else None,
            about="data of weights" if read.weight else "data",
        )

    def fix(self, site: Site) -> Fix | None:
        """Safe: the same values, cut from the gradient as before.

        Nothing is offered where they are written: autograd does not see a write through `.data`, and after one through
        `.detach()` the backward pass of a training step raises. Nor where they leave torch next, as in
        `x.data.cpu().numpy()`: no exporter follows them there. Unsafe where another function gets them and may write.
        """
        attributes = (n for n in site.inside(cst.Attribute) if n.attr.value == "data")
        node = site.at_span(cst.Attribute) or next(attributes, None)
        if node is None or node.attr.value != "data" or not is_loaded(site, node):
            return None
        use = _use(site, node)
        if use is _Use.WRITTEN or _leaves_torch(site, node):
            return None
        safety = Safety.SAFE if use is _Use.READ else Safety.UNSAFE
        parent = site.parent(node)
        if isinstance(parent, cst.Attribute) and parent.attr.value == "detach":
            return site.fix("leave out `.data`", safety, site.replace(node, node.value))
        detach = node.with_changes(attr=cst.Name("detach"), lpar=(), rpar=())
        return site.fix("write `.detach()`", safety, site.replace(node, cst.Call(detach)))


class _Use(IntEnum):
    """What becomes of the values that `.data` gives, the worst last."""

    READ = 0
    HANDED_ON = 1
    WRITTEN = 2


def _leaves_torch(site: Site | Rule, node: cst.BaseExpression) -> bool:
    """True where the methods called on an expression end in one that makes numbers or an array of it."""
    parent = site.parent(node)
    call = site.parent(parent) if isinstance(parent, cst.Attribute) else None
    if not isinstance(parent, cst.Attribute) or not isinstance(call, cst.Call) or call.func is not parent:
        return False
    return parent.attr.value in ("numpy", "tolist", "item") or _leaves_torch(site, call)


def _use(site: Site, node: cst.BaseExpression) -> _Use:
    """Follow an expression outwards, through its views, to what is done with it."""
    parent = site.parent(node)
    if isinstance(parent, (cst.Subscript, cst.Attribute)):
        if not is_loaded(site, parent):
            return _Use.WRITTEN
        call = site.parent(parent)
        if isinstance(parent, cst.Attribute) and isinstance(call, cst.Call) and call.func is parent:
            return _Use.WRITTEN if _is_in_place(parent.attr.value) else _use(site, call)
        return _use(site, parent)
    if isinstance(parent, _Binding):
        return _use_of_names(site, parent)
    if isinstance(parent, cst.Arg):
        by_out = parent.keyword is not None and parent.keyword.value == "out"
        return _Use.WRITTEN if by_out else _use_by(site, site.parent(parent))
    return _Use.HANDED_ON if isinstance(parent, cst.Element) else _Use.READ


def _use_by(site: Site, call: cst.CSTNode | None) -> _Use:
    """What a function does with an argument, as far as its name tells."""
    name = site.source(call.func) if isinstance(call, cst.Call) else ""
    if _is_in_place(name):
        return _Use.WRITTEN
    reads = name.startswith(("torch.", "F.")) and not name.startswith("torch.distributed.")
    return _Use.READ if reads else _Use.HANDED_ON


def _use_of_names(site: Site, binding: _Binding) -> _Use:
    """What the function does with the names that the values are assigned to."""
    targets = [t.target for t in binding.targets] if isinstance(binding, cst.Assign) else [binding.target]
    function = site.function(binding)
    names = {t.value for t in targets if isinstance(t, cst.Name)}
    if function is None or not all(isinstance(t, cst.Name) for t in targets):
        return _Use.HANDED_ON
    bindings = [binding for name in names for binding in site.bindings(function, name)]
    if any(isinstance(node, cst.AugAssign) and isinstance(target, cst.Name) for node, target in bindings):
        return _Use.WRITTEN
    uses = (use for name in names for use in site.uses(function, name) if is_loaded(site, use))
    ends = (_Use.HANDED_ON if isinstance(site.parent(use), _Binding) else _use(site, use) for use in uses)
    return max(ends, default=_Use.READ)


def _is_in_place(name: str) -> bool:
    return name.endswith("_") and not name.endswith("__")
