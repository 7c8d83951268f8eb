"""What a function (or a module) with export calls binds, casts and holds, by name and by call: gone through once."""

import ast
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import TypeAlias

from onnxlint.flow.tables import DTYPES
from onnxlint.flow.values.node_places import last_name
from onnxlint.project.classes import ModuleInfo
from onnxlint.project.modules import imported
from onnxlint.project.outline import dotted
from onnxlint.source.parse import blocks

Scope: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Module
Block: TypeAlias = list[ast.stmt]

CASTS = ("half", "bfloat16", "float", "double")
LOADS = re.compile(r"(load|restore)_(state_dict|weights|checkpoint|pretrained|model|params|parameters|state)\w*")
EXPORTING = ("torch.onnx.", "torch.export.", "torch.jit.")
_SIZES = re.compile(r"batch|dynamic|static|size|shape|axes|\bbs\b", re.IGNORECASE)
_ARMS = (ast.If, ast.For, ast.While, ast.Try, ast.Match)
_LEAVES = (ast.Return, ast.Raise)


class CallScope:
    """Indexes of one scope, each made when it is first asked for: a script may export a thousand times."""

    def __init__(self, module: ModuleInfo, scope: Scope) -> None:
        self.module = module
        self.scope = scope
        self._loads: dict[int, list[ast.Call]] = {}

    @cached_property
    def aliases(self) -> dict[str, str]:
        """What imports in the module and in the scope bind: local names and full ones."""
        module = self.module
        imports = (s for s in ast.walk(self.scope) if isinstance(s, (ast.Import, ast.ImportFrom)))
        pairs = (pair for s in imports for pair in imported(s, module.name, module.is_package))
        return {**module.aliases, **{name: target for name, target in pairs if name != "*"}}

    @cached_property
    def own(self) -> tuple[ast.AST, ...]:
        """The nodes without those of the functions and classes in it; the last statement first."""
        nodes: list[ast.AST] = []
        waiting: list[ast.AST] = list(self.scope.body)
        while waiting:
            nodes.append(waiting.pop())
            if not isinstance(nodes[-1], (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
                waiting.extend(ast.iter_child_nodes(nodes[-1]))
        return tuple(nodes)

    def name_of(self, node: ast.AST) -> str:
        """The full dotted name of `np.random.rand`; "" for anything but a name and its attributes."""
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name):
            return ""
        head, dot, rest = dotted(node).partition(".")
        return self.aliases.get(head, head) + dot + rest

    def dtype(self, node: ast.expr) -> str | None:
        """The floating dtype that an expression names: `torch.float16`, `np.half`, "float32"."""
        root, _, name = self.name_of(node).rpartition(".")
        text = node.value if isinstance(node, ast.Constant) else name if root in ("torch", "numpy") else None
        return DTYPES.get(text) if isinstance(text, str) else None

    def last_bound(self, name: str, before: int) -> tuple[int, ast.expr | None] | None:
        """The line above another that binds a name last, and to what; None for what no plain assignment gives."""
        bindings = self._bound.get(name, ())
        at = bisect_left(bindings, before, key=lambda pair: pair[0])
        return bindings[at - 1] if at else None

    @cached_property
    def _bound(self) -> dict[str, list[tuple[int, ast.expr | None]]]:
        bindings: dict[str, list[tuple[int, ast.expr | None]]] = {}
        for node in self.own:
            value: ast.expr | None = None
            if isinstance(node, ast.Assign):
                value, targets = node.value, node.targets
            elif isinstance(node, ast.AnnAssign) and node.value is not None:
                value, targets = node.value, [node.target]
            elif isinstance(node, (ast.AugAssign, ast.For, ast.NamedExpr)):
                targets = [node.target]
            else:
                continue
            names = {name for target in targets for name in bound_names(target)}
            plain = {target.id for target in targets if isinstance(target, ast.Name)}
            for name in names:
                one = name in plain or isinstance(node, ast.AnnAssign)
                bindings.setdefault(name, []).append((node.lineno, value if one else None))
        for pairs in bindings.values():
            pairs.sort(key=lambda pair: pair[0])  # of one line, the first one in it stays the last
        return bindings

    def cast(self, name: str, after: int, before: int) -> str | None:
        """The precision that the first statement such as `model.half()`, from one line up to another, gives a name."""
        casts = self._casts.get(name, ())
        at = bisect_left(casts, after, key=lambda pair: pair[0])
        return casts[at][1] if at < len(casts) and casts[at][0] < before else None

    @cached_property
    def _casts(self) -> dict[str, list[tuple[int, str]]]:
        casts: dict[str, list[tuple[int, str]]] = {}
        for node in (n for n in reversed(self.own) if isinstance(n, ast.Expr)):
            chain, last = node.value, ""
            while isinstance(chain, ast.Call) and isinstance(chain.func, ast.Attribute):
                if not last and chain.func.attr in (*CASTS, "to"):
                    dtypes = (self.dtype(a) for a in [*chain.args, *(k.value for k in chain.keywords)])
                    last = DTYPES.get(chain.func.attr) or next(filter(None, dtypes), "none")
                chain = chain.func.value
            if last not in ("", "none") and isinstance(chain, ast.Name):
                casts.setdefault(chain.id, []).append((node.lineno, last))
        return casts

    def blocks_around(self, line: int) -> Iterator[tuple[int, int]]:
        """The first and last line of each arm, and of each body of a loop, that a line stands in."""
        ranges, outer = self._arms
        at = bisect_right(ranges, line, key=lambda pair: pair[0]) - 1
        while at >= 0:
            if line <= ranges[at][1]:
                yield ranges[at]
            at = outer[at]

    @cached_property
    def _arms(self) -> tuple[list[tuple[int, int]], list[int]]:
        """The lines of the arms in their order, and of each the number of the one around it."""
        arms = [block for node in self.own if isinstance(node, _ARMS) for block in blocks(node)]
        ranges = sorted(((b[0].lineno, b[-1].end_lineno or b[-1].lineno) for b in arms), key=lambda r: (r[0], -r[1]))
        outer: list[int] = []
        for number, (first, _) in enumerate(ranges):
            at = number - 1
            while at >= 0 and ranges[at][1] < first:
                at = outer[at]
            outer.append(at)
        return ranges, outer

    def way_to(self, call: ast.Call) -> list[tuple[Block, int]]:
        """From the outermost block inwards: each block on the way to a call, and the index of the statement with it.

        Statements that follow a `return` or `raise` in the same block do not run, and neither do those of a loop's body
        before the call count: what the next turn loads is the next turn's business.
        """
        holders, places = self._places
        statement = holders.get(id(call))
        way: list[tuple[Block, int]] = []
        inner: Block = []
        while statement is not None:
            block, index, outer = places[id(statement)]
            if not way or self._leaving.get(id(inner), -1) < way[0][1]:
                way.insert(0, (block, index))
            inner, statement = block, outer
        return way

    @cached_property
    def _leaving(self) -> dict[int, int]:
        """The index of the last `return` or `raise` in each block that has one."""
        return {id(block): i for block, i, _ in self._places[1].values() if isinstance(block[i], _LEAVES)}

    @cached_property
    def _places(self) -> tuple[dict[int, ast.stmt], dict[int, tuple[Block, int, ast.stmt | None]]]:
        """The innermost statement around each call; of each statement its block, its index and the one around it."""
        holders: dict[int, ast.stmt] = {}
        places: dict[int, tuple[Block, int, ast.stmt | None]] = {}
        waiting: list[tuple[Block, ast.stmt | None]] = [(self.scope.body, None)]
        while waiting:
            block, outer = waiting.pop()
            for index, statement in enumerate(block):
                places[id(statement)] = block, index, outer
                inner = list(blocks(statement))
                waiting += [(one, statement) for one in inner]
                within = {id(s) for one in inner for s in one}
                parts: list[ast.AST] = [statement]
                while parts:
                    node = parts.pop()
                    if isinstance(node, ast.Call):
                        holders[id(node)] = statement
                    parts += [n for n in ast.iter_child_nodes(node) if id(n) not in within]
        return holders, places

    def loads_in(self, statement: ast.stmt) -> list[ast.Call]:
        """The calls in a statement that export, or load weights by their name."""
        if id(statement) not in self._loads:
            calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call)]
            self._loads[id(statement)] = [
                c for c in calls if self.name_of(c.func).startswith(EXPORTING) or LOADS.fullmatch(last_name(c.func))
            ]
        return self._loads[id(statement)]

    @cached_property
    def for_versions(self) -> frozenset[int]:
        """The ids of the calls that run under some versions of torch only."""
        choices = [n for n in self.own if isinstance(n, (ast.If, ast.IfExp))]
        asking = [n for n in choices if "version" in ast.unparse(n.test).lower()]
        return frozenset(id(n) for choice in asking for n in ast.walk(choice) if isinstance(n, ast.Call))

    @cached_property
    def sized_on_request(self) -> frozenset[int]:
        """The ids of the calls in one arm of a choice of sizes, whose other arm passes dynamic axes to a call."""
        choices = [n for n in self.own if isinstance(n, ast.If) and n.orelse and _SIZES.search(ast.unparse(n.test))]
        blocks = [(n.body, n.orelse) for n in choices]
        arms = [[[c for s in b for c in ast.walk(s) if isinstance(c, ast.Call)] for b in pair] for pair in blocks]
        pairs = [pair for one, other in arms for pair in ((one, other), (other, one))]
        axes = ("dynamic_axes", "dynamic_shapes")
        return frozenset(id(c) for a, b in pairs if any(k.arg in axes for o in b for k in o.keywords) for c in a)

    @cached_property
    def by_flag(self) -> dict[int, str]:
        """The flag of this function that is off by default, by the ids of the calls in an arm that it turns on."""
        if isinstance(self.scope, ast.Module):
            return {}
        a = self.scope.args
        pairs = (*zip(reversed([*a.posonlyargs, *a.args]), reversed(a.defaults), strict=False),)
        keywords = zip(a.kwonlyargs, a.kw_defaults, strict=True)
        flags = {p.arg for p, d in (*pairs, *keywords) if isinstance(d, ast.Constant) and d.value is False}
        found: dict[int, str] = {}
        for node in (n for n in self.own if isinstance(n, ast.If)):
            parts = (
                node.test.values
                if isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.And)
                else [node.test]
            )
            on = next((p.id for p in parts if isinstance(p, ast.Name) and p.id in flags), "")
            calls = (c for s in node.body for c in ast.walk(s) if isinstance(c, ast.Call)) if on else ()
            found |= {id(c): on for c in calls}
        return found

    @cached_property
    def retried(self) -> frozenset[int]:
        """The ids of the calls in `except TypeError:` behind a call that passes `dynamo=`."""
        tries = [n for n in self.own if isinstance(n, ast.Try)]
        old = [
            t
            for t in tries
            if any(k.arg == "dynamo" for s in t.body for k in ast.walk(s) if isinstance(k, ast.keyword))
        ]
        handlers = [h for t in old for h in t.handlers if h.type is not None and last_name(h.type) == "TypeError"]
        return frozenset(id(c) for h in handlers for c in ast.walk(h) if isinstance(c, ast.Call))

    @cached_property
    def withs(self) -> dict[int, list[ast.With | ast.AsyncWith]]:
        """The `with` statements around each call, by its id; the outermost first."""
        around: dict[int, list[ast.With | ast.AsyncWith]] = {}
        for node in (n for n in ast.walk(self.scope) if isinstance(n, (ast.With, ast.AsyncWith))):
            for inner in (n for n in ast.walk(node) if isinstance(n, ast.Call)):
                around.setdefault(id(inner), []).append(node)
        return around


@lru_cache(maxsize=16)
def scope_of(module: ModuleInfo, scope: Scope) -> CallScope:
    """The indexes of a scope; kept, since a script has many calls."""
    return CallScope(module, scope)


def bound_names(target: ast.AST) -> Iterator[str]:
    """The names, and the attributes with their owners, that a target binds."""
    waiting = [target]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.Name, ast.Attribute)):
            yield dotted(node)
        elif isinstance(node, (ast.Tuple, ast.List)):
            waiting += node.elts
        elif isinstance(node, ast.Starred):
            waiting.append(node.value)


@lru_cache(maxsize=16)
def dicts_by_keys(tree: ast.Module) -> dict[tuple[str, ...], list[tuple[int, dict[str, ast.Constant]]]]:
    """The dicts of a file that hold collections only: by the strings among their keys, with their lines, in order."""
    dicts: dict[tuple[str, ...], dict[int, dict[str, ast.Constant]]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict) and all(isinstance(v, (ast.Dict, ast.List, ast.Tuple)) for v in node.values):
            keys = {k.value: k for k in node.keys if isinstance(k, ast.Constant) and isinstance(k.value, str)}
            dicts.setdefault(tuple(keys), {})[node.lineno] = keys
    return {names: sorted(lines.items()) for names, lines in dicts.items()}
