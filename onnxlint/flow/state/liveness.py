"""What a function reads later: the base of a view after a write through it, a number drawn for training only."""

import ast
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import lru_cache
from operator import itemgetter

from onnxlint.flow.tables import NAMES
from onnxlint.flow.values.node_places import Body, nodes_of
from onnxlint.source.parse import blocks

_SIMPLE = (ast.Assign, ast.AugAssign, ast.Expr)
_SIBLINGS = 100  # further names of one tensor that are asked about

# The line that binds a name, what that is a view of, and if only of a part. A loop binds an item: a view of a tensor
# whose rows it runs over, but not of a list.
_Bound = tuple[int, str | None, bool]


class _Names:
    """What a function does with each of its names, by line."""

    def __init__(self, function: ast.AST) -> None:
        self.bound: dict[str, list[_Bound]] = {}
        self.views: dict[str, list[tuple[int, str, bool]]] = {}  # of a name: where which is bound to a view of it
        self.uses: dict[str, list[tuple[int, bool]]] = {}  # True where it is bound anew
        self.values: dict[str, list[tuple[int, bool]]] = {}  # the same without those that ask for its size
        self.wholes: dict[str, list[tuple[int, bool]]] = {}  # and without those of a part
        loops = [(n, *pair) for n in nodes_of(function) if isinstance(n, ast.For) for pair in _looped(n.target, n.iter)]
        # Those over more than what a view such as `unbind` gives.
        self.loops = {(n.lineno, t.id) for n, t, v in loops if isinstance(t, ast.Name) and not isinstance(v, ast.Call)}
        self.ends: dict[int, int] = {}  # of the statement that begins in a line
        sizes = {id(n.value) for n in nodes_of(function) if isinstance(n, ast.Attribute) and n.attr in _SIZES}
        asked = (n for n in nodes_of(function) if isinstance(n, (ast.Subscript, ast.Attribute)))
        parts = {id(n.value) for n in asked if isinstance(n, ast.Subscript) or n.attr in _PARTIAL}
        for node in nodes_of(function):
            if isinstance(node, ast.Name):
                use = node.lineno, isinstance(node.ctx, ast.Store)
                self.uses.setdefault(node.id, []).append(use)
                if id(node) not in sizes:
                    self.values.setdefault(node.id, []).append(use)
                if id(node) not in parts:
                    self.wholes.setdefault(node.id, []).append(use)
            elif isinstance(node, _SIMPLE):
                self.ends[node.lineno] = max(self.ends.get(node.lineno, 0), node.end_lineno or node.lineno)
        for line, names, base, part in _bindings(function):
            for name in sorted(names):
                self.bound.setdefault(name, []).append((line, base, part))
                if base is not None:
                    self.views.setdefault(base, []).append((line, name, part))
        for bound in self.bound.values():
            bound.sort(key=itemgetter(0))  # those of one line stay as they are
        for views in self.views.values():
            views.sort(key=itemgetter(0))
        for uses in (*self.uses.values(), *self.values.values(), *self.wholes.values()):
            uses.sort()

    def latest(self, name: str, before: int) -> _Bound | None:
        """The last binding of a name above a line."""
        bindings = self.bound.get(name, [])
        at = bisect_left(bindings, before, key=itemgetter(0))
        return bindings[bisect_left(bindings, bindings[at - 1][0], key=itemgetter(0))] if at else None

    def read_after(self, name: str, line: int, whole: bool = False) -> bool:
        """True where a name is read, as a `whole`, below the statement at a line before it is bound anew, by lines."""
        uses = (self.wholes if whole else self.values).get(name, [])
        at = bisect_left(uses, (max(self.ends.get(line, line), line) + 1,))
        return at < len(uses) and not uses[at][1]


@lru_cache(maxsize=256)
def _names(function: ast.AST) -> _Names:
    return _Names(function)


def base_is_read(function: ast.AST, name: str, line: int, *, rebound: bool = False, row: bool = False) -> bool:
    """True when the function reads, after `line` of its tree, what `name` is a view of, or another name for the tensor.

    A name bound elsewhere (a parameter) counts as unread: the caller may read it, and mostly has let go of it. Of what
    `name` is a part of, no other part counts: `q` and `k` are each a slice of `qkv`. Where the line has bound it anew
    (`rebound`), it is what it was above. Of a loop's items, each may be a `row` of a tensor.
    """
    names = _names(function)
    latest = names.latest(name, line if rebound else line + 1)
    if latest is None:
        return False
    bound_at, base, part = latest
    if base is None or ((bound_at, name) in names.loops and not row):
        return False
    if base == name:  # x = x.transpose(0, 1): what x was a view of, one step further up
        earlier = names.latest(name, bound_at)
        return earlier is not None and earlier[1] not in (None, name) and names.read_after(earlier[1] or "", line, part)
    if names.read_after(base, line, part):
        return True
    views = names.views[base]
    views = views[: bisect_left(views, line + 1, key=itemgetter(0))][-_SIBLINGS:]
    others = ((at, n) for at, n, is_part in views if not (part and is_part))
    return any(names.read_after(n, line) for at, n in others if at != bound_at and n not in (name, base))


def is_read(function: ast.AST, name: str, line: int) -> bool:
    """True when the function reads, after `line` of its tree, a name or what that is a view of."""
    return _names(function).read_after(name, line) or base_is_read(function, name, line)


def binds(statement: ast.stmt | None, name: str) -> bool:
    """True for `name = ...`."""
    targets = statement.targets if isinstance(statement, ast.Assign) else ()
    return any(isinstance(t, ast.Name) and t.id == name for t in targets)


def rewrites_itself(statement: ast.stmt | None) -> bool:
    """True for `self.grid = self.grid.to(x)` and `self.flag |= self.other`, of which a second run changes nothing."""
    if isinstance(statement, ast.AugAssign):
        return isinstance(statement.op, (ast.BitOr, ast.BitAnd))
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    v = statement.value
    while isinstance(v, ast.Call) and isinstance(v.func, ast.Attribute) and v.func.attr in _CONVERSIONS:
        v = v.func.value
    return ast.unparse(v) == ast.unparse(statement.targets[0])


def counts_on(statement: ast.stmt | None) -> bool:
    """True for `self.n = self.n + 1`, which is `self.n += 1`."""
    match statement:
        case ast.Assign([ast.Attribute() as target], ast.BinOp(left, _, right)):
            return ast.unparse(target) in (ast.unparse(left), ast.unparse(right))
    return False


_CONVERSIONS = ("to", "cpu", "cuda", "type_as", "float", "half", "double", "long", "contiguous", "detach")


def named_above(function: ast.AST, name: str, line: int) -> bool:
    """True when what `name` is bound to at a line got that name on a line above."""
    bound = _names(function).latest(name, line + 1)
    return bound is not None and bound[0] < line


def _is_part(view: ast.expr) -> bool:
    """True for `x[:, 0]`, `x.select(1, 0)` and parts of such, reshaped or not."""
    parts = False
    while True:
        match view:
            case ast.Subscript(value=inner):
                view, parts = inner, True
            case ast.Call(func=ast.Attribute(value=inner, attr=name)) if name in _PARTIAL or name in _RESHAPED:
                view, parts = inner, parts or name in _PARTIAL
            case _:
                return parts and isinstance(view, ast.Name)


_SIZES = frozenset(("shape", "dtype", "device", "ndim", "size", "dim"))
_PARTIAL = _SIZES | {"select", "narrow"}
_RESHAPED = frozenset(("unsqueeze", "squeeze", "transpose", "permute", "view", "reshape", "flatten"))


def writes_in_place(node: ast.AST) -> bool:
    """True for `x.mul_(2)` and its like."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    return node.func.attr.endswith("_") and not node.func.attr.endswith("__")


def written_by(node: ast.AST) -> ast.AST:
    """What a chain of such calls writes to: `x` of `x.mul_(2).add_(1)`."""
    while isinstance(node, ast.Call) and writes_in_place(node):
        node = node.func.value  # type: ignore[attr-defined]
    return node


def _bindings(function: ast.AST) -> Iterator[tuple[int, frozenset[str], str | None, bool]]:
    for node in nodes_of(function):
        if isinstance(node, ast.For):
            rows = ((n.id, v) for n, v in _looped(node.target, node.iter) if isinstance(n, ast.Name))
            yield from ((node.lineno, frozenset((name,)), root(v), False) for name, v in rows)
        if not isinstance(node, ast.Assign):
            continue
        names: set[str] = set()
        for target in node.targets:
            pairs = _paired(target, node.value)
            one = ((n.id, v) for n, v in pairs if isinstance(n, ast.Name))
            yield from ((node.lineno, frozenset((name,)), root(v), _is_part(v)) for name, v in one)
            if not pairs:
                parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
                names.update(n.id for n in parts if isinstance(n, ast.Name))
        if names:
            yield node.lineno, frozenset(names), root(node.value), _is_part(node.value)


def _looped(target: ast.expr, iterable: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Each target of a loop with what it runs over, through `zip` and `enumerate`."""
    match target, iterable:
        case ast.Tuple(elts=targets), ast.Call(ast.Name("zip"), parts) if len(targets) == len(parts):
            for inner, part in zip(targets, parts, strict=True):
                yield from _looped(inner, part)
        case ast.Tuple(elts=[_, inner]), ast.Call(ast.Name("enumerate"), [part, *_]):
            yield from _looped(inner, part)
        case _:
            yield target, iterable


def _paired(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """Each name of `a, b = x[0], y` with the expression of its own; nothing for another assignment."""
    if not isinstance(target, (ast.Tuple, ast.List)) or not isinstance(value, (ast.Tuple, ast.List)):
        return []
    starred = any(isinstance(part, ast.Starred) for part in [*target.elts, *value.elts])
    same = len(target.elts) == len(value.elts) and not starred
    return list(zip(target.elts, value.elts, strict=True)) if same else []


_VIEWS = frozenset(NAMES["views"])


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


def for_training_only(function: ast.AST, statement: ast.stmt | None, draw: ast.AST) -> bool:
    """True where `statement` gives a name that the function reads in conditions on `self.training` alone, or where
    `draw` in it is part of one."""
    conditions = (n for n in ast.walk(statement or draw) if isinstance(n, ast.BoolOp) and asks_training(n))
    if any(draw in ast.walk(condition) for condition in conditions):
        return True
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    target = statement.targets[0]
    if not isinstance(target, ast.Name):
        return False
    return len(_names(function).uses.get(target.id, ())) > 1 and target.id not in _read_in_eval(function)


def fed_with(function: ast.AST, statement: ast.stmt | None, draw: ast.AST) -> tuple[ast.Call, ast.AST] | None:
    """The call that is first of all passed what `draw` gives, at most scaled, and the argument that it is there."""
    user, value = _user(statement or draw, draw)
    if isinstance(user, ast.Call):
        return user, value
    if not isinstance(user, ast.Assign) or len(user.targets) != 1 or not isinstance(user.targets[0], ast.Name):
        return None
    name, end = user.targets[0].id, user.end_lineno or user.lineno
    reads = [n for n in nodes_of(function) if isinstance(n, ast.Name) and n.id == name and n.lineno > end]
    first = min(reads, key=lambda n: (n.lineno, isinstance(n.ctx, ast.Store), n.col_offset), default=None)
    calls = (n for n in nodes_of(function) if isinstance(n, ast.Call))
    fed = next((c for c in calls if first in (*c.args, *(k.value for k in c.keywords))), None)
    return (fed, first) if fed is not None and first is not None else None


def _user(statement: ast.AST, draw: ast.AST) -> tuple[ast.AST | None, ast.AST]:
    """What uses what `draw` gives, at most converted or scaled by a setting, and what it uses of it."""
    parents = {inner: node for node in ast.walk(statement) for inner in ast.iter_child_nodes(node)}
    while True:
        match parents.get(draw):
            case ast.Attribute(_, method) as at if method in _CONVERSIONS and isinstance(parents[at], ast.Call):
                draw = parents[at]
            case ast.BinOp(one, ast.Mult() | ast.Div(), other) as at if _is_setting(other if one is draw else one):
                draw = at
            case ast.keyword() as at:
                return parents[at], draw
            case at:
                return at, draw


def _is_setting(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) or ast.unparse(node).startswith("self.")


@lru_cache(maxsize=256)
def _read_in_eval(function: ast.AST) -> frozenset[str]:
    """The names that a function reads outside of conditions on `self.training`."""
    waiting, names = [function], set[str]()
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name):
            names |= {node.id} if isinstance(node.ctx, ast.Load) else set()
        elif isinstance(node, ast.BoolOp):  # self.training and ..., not self.training or ...
            settles = asks_training if isinstance(node.op, ast.And) else _denies_training
            waiting += node.values[: next((n for n, v in enumerate(node.values) if settles(v)), None)]
        elif isinstance(node, ast.If) and asks_training(node.test):
            waiting += [node.test, *node.orelse]
        elif isinstance(node, ast.IfExp) and asks_training(node.test):
            waiting += [node.test, node.orelse]
        else:
            waiting += ast.iter_child_nodes(node)
    return frozenset(names)


def asks_training(test: ast.expr) -> bool:
    """True for `self.training`, and for `self.training and ...`."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return any(asks_training(v) for v in test.values)
    return isinstance(test, ast.Attribute) and test.attr == "training"


def _denies_training(test: ast.expr) -> bool:
    return isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) and asks_training(test.operand)


def assigned_above(body: Sequence[ast.stmt], statement: ast.stmt | None, name: str) -> bool:
    """True where every way to a statement of `body` comes through `self.name = ...`, and no reading is before that."""
    for s in body:
        inside = next((b for b in blocks(s) if any(statement is n for other in b for n in ast.walk(other))), None)
        if inside is not None:
            return assigned_above(inside, statement, name)
        attributes = [n for n in ast.walk(s) if isinstance(n, ast.Attribute) and n.attr == name]
        if s is statement or any(isinstance(n.ctx, ast.Load) for n in attributes):
            return False
        if attributes and isinstance(s, ast.Assign):
            return True
    return False


def made_once(body: Body, statement: ast.stmt | None) -> Iterator[str]:
    """What the arms around a statement ask for and set: `if self.n is None: self.n = ...`, `if not self.ready:`."""
    for arm in () if body.of_file else nodes_of(body.function):
        if isinstance(arm, ast.If) and any(statement is n for s in arm.body for n in ast.walk(s)):
            stored = (n for s in arm.body for n in ast.walk(s) if isinstance(n, ast.Attribute))
            yield from _asked_to_be_made(arm.test) & {n.attr for n in stored if isinstance(n.ctx, ast.Store)}


def _asked_to_be_made(test: ast.expr) -> set[str]:
    """The attributes of which a test says that there are none yet."""
    match test:
        case ast.BoolOp(ast.And(), values):  # with an `or` it is made for another reason too, and again
            return set().union(*map(_asked_to_be_made, values))
        case ast.UnaryOp(ast.Not(), ast.Attribute(ast.Name("self"), name)):
            return {name}
        case ast.Compare(ast.Attribute(ast.Name("self"), name), [ast.Is()], [ast.Constant(None)]):
            return {name}
    return set()


def read_below_alone(function: ast.AST, statement: ast.stmt | None, name: str) -> bool:
    """True where a statement mentions `self.name` once, those that follow it in its block do, and nothing else does."""
    every = (b for n in (function, *nodes_of(function)) if isinstance(n, ast.stmt) for b in blocks(n))
    block = next((b for b in every if statement in b), None)
    if statement is None or block is None:
        return False
    lines = [n.lineno for n in nodes_of(function) if isinstance(n, ast.Attribute) and n.attr == name]
    here = sum(line <= (statement.end_lineno or line) for line in lines)
    return here == 1 and all(statement.lineno <= line <= (block[-1].end_lineno or line) for line in lines)
