"""ONX201: the size of the dynamic axis itself in the place of a literal."""

from __future__ import annotations

import ast

from onnxlint.fix.registry import remedy
from onnxlint.fix.site import Site
from onnxlint.fix.sizes import literal, size_named
from onnxlint.records import Fix, Safety


@remedy("ONX201", Safety.SAFE)
def take_the_size(site: Site) -> Fix | None:
    """Safe where eager takes no other size with the literal; with a `-1` beside it eager computes something else."""
    call = site.at_span(ast.Call)
    position = site.number("position")
    if call is None or position is None:
        return None
    argument = _size_argument(site, call, position)
    if argument is None or literal(argument) != site.number("literal"):
        return None
    if site.number("literal") == 1 and position > 0 and site.hint("call") in ("view", "reshape"):
        return None  # an axis of its own, to broadcast along
    receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
    named = receiver.id if isinstance(receiver, ast.Name) else ""
    size = size_named(site, site.hint("axis"), named)
    sure = size is not None
    size = size or _leading(site, call, receiver)
    if size is None:
        return None
    sizes = argument_list(call)
    infers = any(literal(a) == -1 for a in sizes)
    repeats = site.hint("call") in ("expand", "repeat", "tile", "repeat_interleave")
    one = site.number("literal") == 1
    safety = Safety.SAFE if sure and not (infers or repeats or one) else Safety.UNSAFE
    return site.fix(f"take the size from the tensor: `{size}`", safety, site.replace(argument, size))


def _leading(site: Site, call: ast.Call, receiver: ast.expr | None) -> str | None:
    """The first size of the tensor itself, or of the first input of the forward that it is computed in."""
    if site.hint("call") == "fixed state":
        return _of_input(site, call) if site.hint("axis") == "batch" and _batch_first(site, call) else None
    if site.hint("call") not in ("view", "reshape") or receiver is None or site.number("position") != 0:
        return None
    return f"{receiver.id}.shape[0]" if isinstance(receiver, ast.Name) else _of_input(site, call)


def _of_input(site: Site, call: ast.Call) -> str | None:
    function = site.function(call)
    if function is None or function.name != "forward":
        return None
    names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)][1:2]
    return f"{names[0]}.shape[0]" if names and site.hint(f"${names[0]}").startswith("tensor") else None


def _batch_first(site: Site, call: ast.Call) -> bool:
    """Whether no recurrent layer of the class has its batch on another axis than the first."""
    cls = site.holder(call, ast.ClassDef)
    return cls is None or site.region.once(_layers_batch_first, cls)


def _layers_batch_first(cls: ast.ClassDef) -> bool:
    calls = [node for node in ast.walk(cls) if isinstance(node, ast.Call)]
    layers = [n for n in calls if ast.unparse(n.func).rpartition(".")[2] in ("LSTM", "GRU", "RNN")]
    return all(any(k.arg == "batch_first" and ast.unparse(k.value) == "True" for k in n.keywords) for n in layers)


def argument_list(call: ast.Call) -> list[ast.expr]:
    """The sizes that a call is given: as a tuple, or one by one."""
    for given in (*call.args, *(k.value for k in call.keywords if k.arg in ("size", "shape", "sizes"))):
        if isinstance(given, (ast.Tuple, ast.List)):
            return list(given.elts)
    return list(call.args)


def _size_argument(site: Site, call: ast.Call, position: int) -> ast.expr | None:
    sizes = argument_list(call)
    if any(isinstance(s, ast.Starred) for s in sizes):
        return None
    if sizes and sizes[0] is (call.args[0] if call.args else None) and site.hint("call") in ("view", "reshape"):
        function = call.func
        if isinstance(function, ast.Attribute) and site.source(function.value) == "torch":
            return None  # torch.reshape(x, 4, 64) is no call that runs
    return sizes[position] if position < len(sizes) else None
