"""ONX203: an operator that takes the size, in the place of a tensor made of Python data."""

from __future__ import annotations

import ast

from onnxlint.fix.registry import remedy
from onnxlint.fix.site import Site
from onnxlint.fix.values import Values
from onnxlint.records import Fix, Safety

_WRAPPERS = ("list", "tuple", "np.array", "numpy.array", "np.asarray", "numpy.asarray")


@remedy("ONX203", Safety.SAFE)
def make_it_with_an_operator(site: Site) -> Fix | None:
    """Safe: `torch.arange` and `torch.full` give the numbers that the list holds, in the same dtype."""
    call = site.at_span(ast.Call)
    if call is None or not call.args or isinstance(call.args[0], ast.Starred):
        return None
    name = site.source(call.func).rpartition(".")[2]
    kept = {k.arg: site.source(k.value) for k in call.keywords}
    if None in kept or set(kept) - {"dtype", "device"} or len(call.args) != 1:
        return None
    if name == "LongTensor":
        kept["dtype"] = "torch.long"
    elif name not in ("tensor", "as_tensor", "from_numpy"):
        return None
    data = call.args[0]
    while (
        isinstance(data, ast.Call) and site.source(data.func) in _WRAPPERS and len(data.args) == 1 and not data.keywords
    ):
        data = data.args[0]
    made = _arange(site, data) or _full(site, data)
    if made is None:
        return None
    function, arguments = made
    if "device" not in kept and name != "from_numpy":
        device = _device(site)
        if device:
            kept["device"] = device
    options = "".join(f", {key}={value}" for key, value in kept.items())
    text = f"{function}({arguments}{options})"
    return site.fix(f"make it with an operator: `{function}(...)`", Safety.SAFE, site.replace(call, text))


def _arange(site: Site, data: ast.expr) -> tuple[str, str] | None:
    if isinstance(data, ast.ListComp) and len(data.generators) == 1:
        loop = data.generators[0]
        same = isinstance(data.elt, ast.Name) and isinstance(loop.target, ast.Name) and data.elt.id == loop.target.id
        data = loop.iter if same and not loop.ifs else data
    if isinstance(data, ast.List) and len(data.elts) == 1 and isinstance(data.elts[0], ast.Starred):
        data = data.elts[0].value
    if not isinstance(data, ast.Call) or data.keywords or any(isinstance(a, ast.Starred) for a in data.args):
        return None
    name = site.source(data.func)
    if name not in ("range", "np.arange", "numpy.arange") or not all(Values(site).is_size(a) for a in data.args):
        return None
    return "torch.arange", ", ".join(site.source(a) for a in data.args)


def _full(site: Site, data: ast.expr) -> tuple[str, str] | None:
    """`[value] * n`, `[value for _ in range(n)]`."""
    if isinstance(data, ast.BinOp) and isinstance(data.op, ast.Mult) and isinstance(data.left, ast.List):
        items, count = data.left.elts, data.right
        value = items[0] if len(items) == 1 else None
    elif isinstance(data, ast.ListComp) and len(data.generators) == 1 and not data.generators[0].ifs:
        loop = data.generators[0].iter
        count = (
            loop.args[0]
            if isinstance(loop, ast.Call) and site.source(loop.func) == "range" and len(loop.args) == 1
            else data
        )
        value = data.elt
    elif Values(site).is_size(data):
        return "torch.full", f"(), {site.source(data)}"
    else:
        return None
    if not isinstance(value, ast.Constant) or not Values(site).is_size(count):
        return None
    return "torch.full", f"({site.source(count)},), {site.source(value)}"


def _device(site: Site) -> str | None:
    """`x.device` of a tensor in scope that depends on the inputs."""
    node = site.at_span(ast.expr)
    function = site.function(node) if node is not None else None
    if node is None or function is None:
        return None
    parameters = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    known = [p for p in parameters if site.hint(f"${p}").startswith("tensor")]
    return f"{known[0]}.device" if known else None
