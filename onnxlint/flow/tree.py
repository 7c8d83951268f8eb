"""libcst trees of single functions, walked in step with their `ast` nodes, and exact places inside them.

Parsing whole files with libcst would cost several times what the analysis itself does, so only functions that the
analysis enters are parsed, each alone; statement lines come from the `ast` node that walks beside the libcst one.
"""

from __future__ import annotations

import ast
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from onnxlint.project.classes import FunctionUnit
from onnxlint.project.modules import ModuleInfo
from onnxlint.records import Span


@contextmanager
def unvalidated() -> Iterator[None]:
    """libcst checks every node that is made; its own parser's need none, and that is a fifth of the time."""
    checked = cst.CSTNode.__post_init__
    cst.CSTNode.__post_init__ = lambda self: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        cst.CSTNode.__post_init__ = checked  # type: ignore[method-assign]


@lru_cache(maxsize=8000)
def _parsed(text: str) -> cst.Module:
    """The tree of a text. Libraries hold the same function in many files, and equal texts have one tree."""
    with unvalidated():
        return cst.parse_module(text)


class Body:
    """A libcst tree of some consecutive lines of a file. Trees are shared between equal texts: a node has no file."""

    __slots__ = ("_all", "_some", "first", "module", "name", "node", "tree", "wrapped")

    def __init__(self, module: ModuleInfo, name: str, first: int, last: int, indented: bool) -> None:
        self.module = module
        self.name = name
        self.first = first
        text = "\n".join(module.lines[first - 1 : last]) + "\n"
        self.wrapped = indented
        self.tree = _parsed("if 1:\n" + text if indented else text)
        statements = self.tree.body
        if indented:
            outer = statements[0]
            assert isinstance(outer, cst.If)
            statements = outer.body.body  # type: ignore[assignment]
        self.node: Sequence[cst.CSTNode] = statements
        self._all: Mapping[cst.CSTNode, CodeRange] | None = None
        self._some: dict[cst.CSTNode, Mapping[cst.CSTNode, CodeRange]] = {}

    def span(self, node: cst.CSTNode, statement: cst.CSTNode | None = None, line: int = 0) -> Span:
        """The exact place of a node in the file; its statement and that statement's first line make it cheap."""
        if statement is not None and line:
            if statement not in self._some:
                self._some[statement] = _statement_positions(statement, self.module.lines[line - 1])
            where = self._some[statement].get(node)
            if where is not None:
                return self._span(where, line - 2)
        if self._all is None:
            self._all = _positions(self.tree)
        where = self._all.get(node)
        if where is None:
            return Span(self.module.path, self.first, 1, self.first, 1)
        return self._span(where, self.first - (2 if self.wrapped else 1))

    def _span(self, where: CodeRange, shift: int) -> Span:
        start, end = where.start, where.end
        return Span(self.module.path, start.line + shift, start.column + 1, end.line + shift, end.column + 1)

    def text(self, node: cst.CSTNode) -> str:
        """The source text of a node, white space folded."""
        return " ".join(self.tree.code_for_node(node).split())


def _positions(tree: cst.Module) -> Mapping[cst.CSTNode, CodeRange]:
    """Every position in a tree. Raises RecursionError where Python's stack has no room for that."""
    try:
        return MetadataWrapper(tree, unsafe_skip_copy=True).resolve(PositionProvider)
    except KeyError as error:
        cause = error.__context__
        while cause is not None and not isinstance(cause, RecursionError):
            cause = cause.__context__
        if cause is None:
            raise
        raise RecursionError("no room to find positions") from error  # libcst's cleaning up hides the reason


def _statement_positions(statement: cst.CSTNode, line: str) -> Mapping[cst.CSTNode, CodeRange]:
    """Positions in one statement (of a compound one, its header) as if its first line were line 2; {} if unsure.

    The statement is written out alone, under an `if` of its own, at the indentation that it has in the file.
    """
    indent = line[: len(line) - len(line.lstrip())]
    alone: cst.BaseStatement
    if isinstance(statement, cst.BaseSmallStatement):
        alone = cst.SimpleStatementLine([statement])
    elif isinstance(statement, (cst.If, cst.While, cst.For, cst.With)) and indent:
        changes: dict[str, Any] = {"leading_lines": (), "body": cst.SimpleStatementSuite([cst.Pass()])}
        if not isinstance(statement, cst.With):
            changes["orelse"] = None
        alone = statement.with_changes(**changes)
    else:
        return {}
    if not indent or line.lstrip().startswith("elif"):
        return {}
    tree = cst.Module([cst.If(cst.Name("_"), cst.IndentedBlock([alone], indent=indent))])
    written = tree.code.split("\n")[1].rstrip()
    if isinstance(statement, cst.BaseSmallStatement):
        faithful = line.startswith(written)
    else:
        faithful = line.startswith(written.removesuffix("pass").rstrip())
    return _positions(tree) if faithful else {}


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A node of a tree, with the line of its statement, from which a Span is made when someone asks."""

    body: Body
    node: cst.CSTNode
    line: int
    symbol: str
    statement: cst.CSTNode | None = None

    @property
    def order(self) -> tuple[str, int]:
        """What places are ordered by."""
        return self.body.module.path, self.line

    @property
    def span(self) -> Span:
        """The exact place in the file."""
        return self.body.span(self.node, self.statement, self.line)

    @property
    def text(self) -> str:
        """The source text, white space folded."""
        return self.body.text(self.node)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Place) or other.node is not self.node:
            return False
        return other.body.module is self.body.module and other.line == self.line

    def __hash__(self) -> int:
        return id(self.node)


class Trees:
    """Parsed functions, the ones used last; a tree that a fact still points into lives on with that fact."""

    def __init__(self, capacity: int = 400) -> None:
        self._capacity = capacity
        self._bodies: OrderedDict[int, tuple[FunctionUnit, Body]] = OrderedDict()

    def body(self, unit: FunctionUnit) -> Body:
        """The tree of a function. Raises libcst.ParserSyntaxError where libcst cannot read what Python can."""
        key = id(unit.node)
        if key in self._bodies:
            self._bodies.move_to_end(key)
            return self._bodies[key][1]
        node = unit.node
        first = min([d.lineno for d in getattr(node, "decorator_list", ())] + [node.lineno])
        last = node.end_lineno or node.lineno
        body = Body(unit.module, unit.qualname, first, last, unit.module.lines[first - 1][:1].isspace())
        self._bodies[key] = (unit, body)
        if len(self._bodies) > self._capacity:
            self._bodies.popitem(last=False)
        return body


def function_of(body: Body) -> cst.FunctionDef:
    """The function a body was made of."""
    node = body.node[0]
    assert isinstance(node, cst.FunctionDef)
    return node


def in_step(body: cst.BaseSuite | Sequence[Any], nodes: Sequence[ast.stmt]) -> Iterator[tuple[cst.CSTNode, ast.stmt]]:
    """Pairs of libcst and ast statements of one block; small statements on one line come one by one."""
    at = 0
    items: Sequence[Any] = body.body if isinstance(body, cst.BaseSuite) else body
    if isinstance(body, cst.SimpleStatementSuite):
        for small in body.body:
            yield small, nodes[at]
            at += 1
        return
    for statement in items:
        if isinstance(statement, cst.SimpleStatementLine):
            for small in statement.body:
                yield small, nodes[at]
                at += 1
        else:
            yield statement, nodes[at]
            at += 1
