"""Exact places of the nodes of a file: a function's tree has the columns of its file, and lines of its own."""

import ast
from dataclasses import dataclass
from functools import lru_cache

from onnxlint.base.records import Span
from onnxlint.project.classes import FunctionUnit, ModuleInfo
from onnxlint.project.outline import FunctionNode

NOWHERE = ast.Name(id="", ctx=ast.Load())  # stands for the place of a call that no source makes


@dataclass(slots=True, eq=False)
class Body:
    """Nodes in a file; `function` is the one whose nodes they are, `first` the line that stands for nodes of none.

    `shift` makes lines of the file of the nodes' lines.
    """

    module: ModuleInfo
    name: str
    first: int
    _function: FunctionNode | None = None
    shift: int = 0

    @property
    def function(self) -> FunctionNode:
        """The function. Only the body of one has it: not that of a module, nor that of a lone expression."""
        assert self._function is not None
        return self._function

    @property
    def of_file(self) -> bool:
        """True where the nodes stand in no function."""
        return self._function is None

    def span(self, node: ast.AST) -> Span:
        """The exact place of a node in the file; the first line for a node that no source has."""
        if not isinstance(node, (ast.expr, ast.stmt, ast.keyword, ast.arg)) or node is NOWHERE:
            return Span(self.module.path, self.first, 1, self.first, 1)
        first = node.lineno + self.shift
        last = node.end_lineno + self.shift if node.end_lineno else first
        column = self.module.source.column
        start, end = column(first, node.col_offset), column(last, node.end_col_offset or node.col_offset)
        return Span(self.module.path, first, start, last, end)

    def text(self, node: ast.AST) -> str:
        """The source text of a node, white space folded."""
        span = self.span(node)
        lines = list(self.module.source.lines[span.line - 1 : span.end_line])
        lines[-1] = lines[-1][: span.end_column - 1]
        lines[0] = lines[0][span.column - 1 :]
        return " ".join(" ".join(lines).split())


def last_name(node: ast.AST | None) -> str:
    """The last part of a dotted name; "" for any other expression."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def is_own(node: ast.AST | None) -> bool:
    """True for `self.name`."""
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


def argument(call: ast.AST, name: str, position: int | None = None) -> ast.expr | None:
    """The expression of an argument of a call, by its name or at a position."""
    if not isinstance(call, ast.Call):
        return None
    at_position = call.args[position] if position is not None and position < len(call.args) else None
    return next((k.value for k in call.keywords if k.arg == name), at_position)


@lru_cache(maxsize=256)
def nodes_of(function: ast.AST) -> tuple[ast.AST, ...]:
    """Every node of a function, as `ast.walk` gives them; kept, since many questions are asked of one function."""
    return tuple(ast.walk(function))


@lru_cache(maxsize=128)
def assignments(function: ast.AST) -> dict[str, list[ast.expr]]:
    """What a function assigns to names, by name."""
    values: dict[str, list[ast.expr]] = {}
    for s in (n for n in nodes_of(function) if isinstance(n, ast.Assign)):
        for target in s.targets:
            if isinstance(target, ast.Name):
                values.setdefault(target.id, []).append(s.value)
    return values


def body_of(unit: FunctionUnit) -> Body:
    """The body of a function. Raises RecursionError or MemoryError where Python's parser does."""
    return Body(unit.module, unit.qualname, unit.first, unit.node, unit.shift)


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A node in a file, with the line of its statement, from which a Span is made when someone asks.

    Two places are the same if they are of one kind of node at one range of one file: trees are parsed more than once.
    """

    body: Body
    node: ast.AST
    line: int
    symbol: str

    @property
    def order(self) -> tuple[str, int]:
        """What places are ordered by."""
        return self.body.module.path, self.line

    @property
    def span(self) -> Span:
        """The exact place in the file."""
        return self.body.span(self.node)

    @property
    def text(self) -> str:
        """The source text, white space folded."""
        return self.body.text(self.node)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Place) or other.line != self.line or other.body.module is not self.body.module:
            return False
        mine, theirs = self.body.shift, other.body.shift
        return (other.node is self.node and theirs == mine) or _range(other.node, theirs) == _range(self.node, mine)

    def __hash__(self) -> int:
        return hash((self.line, getattr(self.node, "col_offset", 0)))


@dataclass(frozen=True, slots=True)
class Extra:
    """Something that one `return` gives back besides tensors of the model's own."""

    what: str
    name: str
    place: Place
    exporters: tuple[str, ...]
    inside: bool


def _range(node: ast.AST, shift: int) -> tuple[object, ...]:
    lines = (getattr(node, name, None) for name in ("lineno", "end_lineno"))
    columns = (getattr(node, name, 0) for name in ("col_offset", "end_col_offset"))
    return type(node), *(line and line + shift for line in lines), *columns


def begins_with_self(func: ast.expr) -> bool:
    """True for `self.layer`, `self.layers[0]` and `self.layers()[0].run`."""
    while isinstance(func, (ast.Attribute, ast.Subscript, ast.Call)):
        func = func.func if isinstance(func, ast.Call) else func.value
    return isinstance(func, ast.Name) and func.id == "self"
