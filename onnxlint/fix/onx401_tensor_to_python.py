"""ONX401: leave a value in its tensor."""

from __future__ import annotations

import libcst as cst
from libcst import matchers as m

from onnxlint.fix.onx403_tensor_from_tensor import stacked
from onnxlint.fix.registry import remedy
from onnxlint.records import Fix, Safety
from onnxlint.rules.freed import takes_tensor
from onnxlint.rules.site import Site, bare, call_name, dotted, tight
from onnxlint.rules.values import Values, stripped

_LEN, _INT = (m.Call(func=m.Name(name), args=[m.Arg(keyword=None, star="")]) for name in ("len", "int"))


@remedy("ONX401", Safety.UNSAFE)
def stay_with_the_tensor(site: Site) -> Fix | None:
    """Unsafe by a last digit: a Python float is double precision."""
    call = site.at_span(cst.Call)
    if call is None:
        return None
    values = Values(site)
    if m.matches(call, _LEN):
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
    given = site.parent(node)
    taker = site.parent(given) if isinstance(given, cst.Arg) and given.keyword is None and not given.star else None
    return taker if isinstance(taker, cst.Call) else None


def _constructor(site: Site, call: cst.Call) -> cst.Call | None:
    """The `torch.tensor` or `torch.as_tensor` of a list that a call is an item of."""
    item = site.parent(call)
    display = site.parent(item) if isinstance(item, cst.Element) else None
    made = _taker(site, display) if isinstance(display, (cst.List, cst.Tuple)) else None
    return made if made is not None and dotted(made.func) in ("torch.tensor", "torch.as_tensor") else None


def _limit(site: Site, values: Values, call: cst.Call) -> Fix | None:
    """`torch.arange(int(t))`, and a bound of a slice: whole numbers that these take from a tensor."""
    taker = _taker(site, call)
    takes = isinstance(site.parent(call), cst.Slice) or (taker is not None and dotted(taker.func) == "torch.arange")
    if not takes or not m.matches(call, _INT):
        return None
    tensor = stripped(call.args[0].value)
    root = tensor.func.value if isinstance(tensor, cst.Call) and isinstance(tensor.func, cst.Attribute) else tensor
    kind = values.description(root.value) if isinstance(root, cst.Name) else ""
    if not values.is_tensor(tensor) or not kind.startswith(("tensor/int", "tensor/index")):
        return None
    if root is not tensor and call_name(tensor) not in ("max", "min", "sum", "amax", "amin"):
        return None
    return site.fix("stay with the tensor", Safety.UNSAFE, site.replace(call, bare(tensor)))
