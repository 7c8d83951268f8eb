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
    receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
    named = receiver.id if isinstance(receiver, ast.Name) else ""
    size = size_named(site, site.hint("axis"), named)
    if size is None:
        return None
    sizes = argument_list(call)
    infers = any(literal(a) == -1 for a in sizes)
    repeats = site.hint("call") in ("expand", "repeat", "tile", "repeat_interleave")
    one = site.number("literal") == 1
    safety = Safety.UNSAFE if infers or repeats or one else Safety.SAFE
    return site.fix(f"take the size from the tensor: `{size}`", safety, site.replace(argument, size))


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
