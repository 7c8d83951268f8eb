"""`torch.tensor` of tensors: `torch.stack` or a copy in its place."""

import libcst as cst

from onnxlint.base.records import Fix, Safety
from onnxlint.rules.engine.site import Site, bare, call_name, elements, has_star, keywords, positional, tight
from onnxlint.rules.helpers.call_edits import drop_argument
from onnxlint.rules.helpers.value_kinds import Values, stripped

# Without a dim these give a tensor with no axes.
_REDUCTIONS = frozenset(("sum", "mean", "max", "min", "std", "var", "prod", "amax", "amin", "median", "norm", "numel"))
_LIST = (cst.List, cst.ListComp, cst.Tuple)


def stacked(site: Site, call: cst.Call) -> Fix | None:
    """`torch.tensor` of tensors, or of the numbers in them, without the way through Python."""
    name, options = call_name(call), keywords(call)
    if len(positional(call)) != 1 or has_star(call) or set(options) - {"dtype", "device"}:
        return None
    if name not in ("tensor", "as_tensor", "FloatTensor", "from_numpy"):
        return None
    values, data = Values(site), call.args[0].value
    dtype = {"dtype": options["dtype"]} if "dtype" in options and name != "FloatTensor" else {}
    moved = ".float()" if name == "FloatTensor" else ".to({dtype})" if dtype else ""
    if not isinstance(data, (cst.List, cst.Tuple)):
        tensor = stripped(data)
        if not values.is_tensor(tensor) or (isinstance(tensor, cst.Name) and _is_list(site, tensor)):
            return None
        copied = "" if name in ("as_tensor", "from_numpy") else ".detach().clone()"
        copy = site.expression(f"{{tensor}}{copied}{moved}", tensor=tight(tensor), **dtype)
        sure = tensor is data and (values.sizes(data) is not None or not isinstance(data, cst.Name))
        return site.fix("copy the tensor", Safety.SAFE if sure else Safety.UNSAFE, site.replace(call, copy))
    tensors = [stripped(e) for e in elements(data) or ()]
    if not tensors or not all(map(values.is_tensor, tensors)):
        return None
    untouched = all(tensor is e.value for tensor, e in zip(tensors, data.elements, strict=True))
    safety = Safety.SAFE if untouched and all(_has_no_axes(values, t) for t in tensors) else Safety.UNSAFE
    trimmed = call
    for option in options:
        trimmed = drop_argument(trimmed, option) or trimmed
    args = [trimmed.args[0].with_changes(value=_listed(data, tensors))]
    stack = trimmed.with_changes(func=site.expression("torch.stack"), args=args, lpar=(), rpar=())
    new = site.expression(f"{{stack}}{moved}", stack=stack, **dtype)
    return site.fix("put the tensors together with `torch.stack`", safety, site.replace(call, new))


def _listed(data: cst.List | cst.Tuple, tensors: list[cst.BaseExpression]) -> cst.List:
    if isinstance(data, cst.Tuple):
        return cst.List([cst.Element(bare(tensor)) for tensor in tensors])
    elements = [e.with_changes(value=bare(tensor)) for e, tensor in zip(data.elements, tensors, strict=True)]
    return data.with_changes(elements=elements, lpar=(), rpar=())


def _has_no_axes(values: Values, node: cst.BaseExpression) -> bool:
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and not node.args:
        return call_name(node) in _REDUCTIONS or _has_no_axes(values, node.func.value)
    return values.sizes(node) == []


def _is_list(site: Site, name: cst.Name) -> bool:
    """Whether a variable is somewhere set to, or grown by, a list: its items are tensors then, not itself."""
    return any(
        isinstance(node, (cst.Assign, cst.AugAssign, cst.AnnAssign)) and isinstance(node.value, _LIST)
        for node, target in site.bindings(site.function(name), name.value)
        if isinstance(target, cst.Name)
    )
