"""What a function reads later: the base of a view after a write through it, a number drawn for training only."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from onnxlint.flow.tree import nodes_of

_SIMPLE = (ast.Assign, ast.AugAssign, ast.Expr)


def base_is_read(function: ast.AST, name: str, line: int) -> bool:
    """True when the function reads, after `line` of its tree, what `name` is a view of, or another name for the tensor.

    A name bound elsewhere (a parameter) counts as unread: the caller may read it, and mostly has let go of it.
    """
    bindings = [b for b in _bindings(function) if b[0] <= line]
    taken = _latest(bindings, name, line + 1)
    if taken is None:
        return False
    bound_at, base = taken
    if base is None:
        return False
    if base == name:  # x = x.transpose(0, 1): what x was a view of, one step further up
        return base_is_read_before(function, name, bound_at, line)
    if _read_after(function, base, line):
        return True
    siblings = {n for at, names, b in bindings if b == base and at != bound_at for n in names}
    return any(_read_after(function, n, line) for n in siblings if n not in (name, base))


def written_before(function: ast.AST, name: str, line: int) -> bool:
    """True when a statement above `line` writes in place to what `name` is bound to there."""
    taken = _latest(list(_bindings(function)), name, line)
    if taken is None:
        return False
    return any(taken[0] < n.lineno < line and _writes(n, name) for n in nodes_of(function) if isinstance(n, _SIMPLE))


def _writes(statement: ast.Assign | ast.AugAssign | ast.Expr, name: str) -> bool:
    if isinstance(statement, ast.AugAssign):
        return root(statement.target) == name
    if isinstance(statement, ast.Assign):
        return any(isinstance(t, ast.Subscript) and root(t) == name for t in statement.targets)
    called = statement.value
    while isinstance(called, ast.Call) and isinstance(called.func, ast.Attribute):
        if writes_in_place(called) and root(called.func.value) == name:
            return True
        called = called.func.value
    return False


def writes_in_place(node: ast.AST) -> bool:
    """True for `x.mul_(2)` and its like."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    return node.func.attr.endswith("_") and not node.func.attr.endswith("__")


def base_is_read_before(function: ast.AST, name: str, bound_at: int, line: int) -> bool:
    """The same for a name rebound to a view of itself: look at what it was bound to before."""
    bindings = [b for b in _bindings(function) if b[0] < bound_at]
    earlier = _latest(bindings, name, bound_at)
    return earlier is not None and earlier[1] not in (None, name) and _read_after(function, earlier[1] or "", line)


def _latest(
    bindings: list[tuple[int, frozenset[str], str | None]], name: str, before: int
) -> tuple[int, str | None] | None:
    found = [(at, base) for at, names, base in bindings if name in names and at < before]
    return max(found, key=lambda f: f[0]) if found else None


def _bindings(function: ast.AST) -> Iterator[tuple[int, frozenset[str], str | None]]:
    for node in nodes_of(function):
        if not isinstance(node, ast.Assign):
            continue
        names: set[str] = set()
        for target in node.targets:
            pairs = _paired(target, node.value)
            yield from ((node.lineno, frozenset((n.id,)), root(v)) for n, v in pairs if isinstance(n, ast.Name))
            if not pairs:
                parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
                names.update(n.id for n in parts if isinstance(n, ast.Name))
        if names:
            yield node.lineno, frozenset(names), root(node.value)


def _paired(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """Each name of `a, b = x[0], y` with the expression of its own; nothing for another assignment."""
    if not isinstance(target, (ast.Tuple, ast.List)) or not isinstance(value, (ast.Tuple, ast.List)):
        return []
    starred = any(isinstance(part, ast.Starred) for part in [*target.elts, *value.elts])
    same = len(target.elts) == len(value.elts) and not starred
    return list(zip(target.elts, value.elts, strict=True)) if same else []


_VIEWS = frozenset(
    [
        *("view", "view_as", "reshape", "reshape_as", "transpose", "permute", "t", "swapaxes", "movedim", "squeeze"),
        *("unsqueeze", "expand", "expand_as", "narrow", "select", "chunk", "split", "tensor_split", "unbind", "unfold"),
        *("flatten", "unflatten", "ravel", "diagonal", "detach", "contiguous", "to", "type_as", "float", "as_strided"),
    ]
)


def root(node: ast.expr) -> str | None:
    """The local name that a chain of attributes, subscripts and views starts from, if it starts from one."""
    while True:
        if isinstance(node, (ast.Attribute, ast.Subscript)):
            node = node.value
        elif isinstance(node, ast.Call):
            first = node.args[0] if node.args else None
            outer = node.func
            if not isinstance(outer, ast.Attribute) or outer.attr not in _VIEWS:
                return None  # a fresh tensor
            of_torch = isinstance(outer.value, ast.Name) and outer.value.id == "torch"
            node = first if of_torch and first is not None else outer.value
        elif isinstance(node, ast.Name):
            return node.id if node.id != "self" else None
        else:
            return None


def _read_after(function: ast.AST, name: str, line: int) -> bool:
    """True where `name` is read below the statement at `line` before it is bound anew, in the order of lines."""
    ends = [n.end_lineno or n.lineno for n in nodes_of(function) if isinstance(n, _SIMPLE) and n.lineno == line]
    last = max(ends, default=line)
    names = [n for n in nodes_of(function) if isinstance(n, ast.Name) and n.id == name and n.lineno > last]
    uses = sorted((n.lineno, isinstance(n.ctx, ast.Store)) for n in names)
    return bool(uses) and not uses[0][1]


def for_training_only(function: ast.AST, statement: ast.stmt | None) -> bool:
    """True where `statement` gives a name that the function reads in conditions on `self.training` alone."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    target = statement.targets[0]
    if not isinstance(target, ast.Name):
        return False
    used = any(isinstance(n, ast.Name) and n.id == target.id and n is not target for n in nodes_of(function))
    return used and not _reads_in_eval(function, target.id)


def _reads_in_eval(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Name):
        return node.id == name and isinstance(node.ctx, ast.Load)
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        asked = next((i for i, v in enumerate(node.values) if asks_training(v)), len(node.values))
        return any(_reads_in_eval(v, name) for v in node.values[:asked])
    if isinstance(node, ast.BoolOp):  # not self.training or ...
        asked = next((i for i, v in enumerate(node.values) if _denies_training(v)), len(node.values))
        return any(_reads_in_eval(v, name) for v in node.values[:asked])
    if isinstance(node, (ast.If, ast.IfExp)) and asks_training(node.test):
        otherwise = node.orelse if isinstance(node.orelse, list) else [node.orelse]
        return any(_reads_in_eval(n, name) for n in [node.test, *otherwise])
    return any(_reads_in_eval(child, name) for child in ast.iter_child_nodes(node))


def asks_training(test: ast.expr) -> bool:
    """True for `self.training`, and for `self.training and ...`."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return any(asks_training(v) for v in test.values)
    return isinstance(test, ast.Attribute) and test.attr == "training"


def _denies_training(test: ast.expr) -> bool:
    return isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) and asks_training(test.operand)
