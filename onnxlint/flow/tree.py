"""Syntax trees of single functions, parsed when they are entered, and exact places inside them.

A function is parsed from its own lines, so that a tree is made of what the analysis enters alone, and functions with
equal texts (libraries hold the same one in many files) share one tree: a node has no file, a `Body` places it in one.
"""

from __future__ import annotations

import ast
import warnings
from collections import OrderedDict
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from onnxlint.project.classes import FunctionUnit
from onnxlint.project.modules import ModuleInfo
from onnxlint.records import Span

NOWHERE = ast.Name(id="", ctx=ast.Load())  # stands for the place of a call that no source makes


Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def _parse(text: str) -> Definition:
    """The tree of the lines of a definition, which stand in the block of an `if` where they are indented."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        node = ast.parse(text).body[0]
    if isinstance(node, ast.If):
        node = node.body[0]
    assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    return node


_parsed = lru_cache(maxsize=8000)(_parse)


def _alone(module: ModuleInfo, first: int, last: int) -> tuple[str, int]:
    """The lines of a definition as a module of their own, and how many lines those stand further up there."""
    text = "\n".join(module.lines[first - 1 : last])
    return (f"if 1:\n{text}\n", first - 2) if text[:1].isspace() else (f"{text}\n", first - 1)


def _first_line(node: Definition) -> int:
    return min([d.lineno for d in node.decorator_list] + [node.lineno])


class Body:
    """Nodes in a file: `shift` is what their line numbers lack there; `function` is the one whose nodes they are."""

    __slots__ = ("_function", "first", "module", "name", "shift")

    def __init__(
        self,
        module: ModuleInfo,
        name: str,
        first: int,
        shift: int = 0,
        function: ast.FunctionDef | ast.AsyncFunctionDef | None = None,
    ) -> None:
        self.module = module
        self.name = name
        self.first = first
        self.shift = shift
        self._function = function

    @property
    def function(self) -> ast.FunctionDef | ast.AsyncFunctionDef:
        """The function. Only the body of one has it: not that of a module, nor that of a lone expression."""
        assert self._function is not None
        return self._function

    @property
    def of_file(self) -> bool:
        """True where the nodes are those of the file's own tree."""
        return self._function is None

    def span(self, node: ast.AST) -> Span:
        """The exact place of a node in the file; the first line for a node that no source has."""
        if not isinstance(node, (ast.expr, ast.stmt, ast.keyword, ast.arg)) or node is NOWHERE:
            return Span(self.module.path, self.first, 1, self.first, 1)
        first, last = node.lineno + self.shift, (node.end_lineno or node.lineno) + self.shift
        column = self.module.file.column
        start, end = column(first, node.col_offset), column(last, node.end_col_offset or node.col_offset)
        return Span(self.module.path, first, start, last, end)

    def text(self, node: ast.AST) -> str:
        """The source text of a node, white space folded."""
        span = self.span(node)
        lines = list(self.module.lines[span.line - 1 : span.end_line])
        lines[-1] = lines[-1][: span.end_column - 1]
        lines[0] = lines[0][span.column - 1 :]
        return " ".join(" ".join(lines).split())


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A node in a file, with the line of its statement, from which a Span is made when someone asks."""

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
        if not isinstance(other, Place) or other.node is not self.node:
            return False
        return other.body.module is self.body.module and other.line == self.line

    def __hash__(self) -> int:
        return id(self.node)


class Trees:
    """Bodies of functions, the ones used last; a tree that a fact still points into lives on with that fact."""

    def __init__(self, capacity: int = 400) -> None:
        self._capacity = capacity
        self._bodies: OrderedDict[int, tuple[FunctionUnit, Body]] = OrderedDict()
        self._inner: dict[tuple[ModuleInfo, int], Definition] = {}

    def body(self, unit: FunctionUnit) -> Body:
        """The tree of a function. Raises SyntaxError, RecursionError or MemoryError where it cannot be parsed alone."""
        key = id(unit.node)
        if key in self._bodies:
            self._bodies.move_to_end(key)
            return self._bodies[key][1]
        node = unit.node
        assert not isinstance(node, ast.Lambda)
        first = _first_line(node)
        text, shift = _alone(unit.module, first, node.end_lineno or node.lineno)
        function = _parsed(text)
        assert not isinstance(function, ast.ClassDef)
        body = Body(unit.module, unit.qualname, first, shift, function)
        self._bodies[key] = (unit, body)
        if len(self._bodies) > self._capacity:
            self._bodies.popitem(last=False)
        return body

    def in_file(self, body: Body, node: Definition) -> Definition:
        """A definition inside of a body as one of its file alone, with the line numbers that it has there."""
        if body.of_file:
            return node
        first = _first_line(node) + body.shift
        key = (body.module, first)
        if key not in self._inner:
            text, shift = _alone(body.module, first, (node.end_lineno or node.lineno) + body.shift)
            self._inner[key] = _parse("\n" * shift + text)
        return self._inner[key]
