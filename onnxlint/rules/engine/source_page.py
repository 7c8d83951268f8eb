"""A file as text, and the classes and functions in it that somebody asks for, parsed."""

from __future__ import annotations

import ast
import bisect
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property

import libcst as cst
from libcst.metadata import GlobalScope, MetadataWrapper, Scope, ScopeProvider

from onnxlint.base.edits import Lines, apply_edits, newline_of, whole_word
from onnxlint.base.records import Edit, Span
from onnxlint.rules.engine.cst_tree import BeyondStatement, Place, Tree, walk
from onnxlint.source.parse import first_line, tree_of

_HEAD = re.compile(r"^\f*(?:class|def|async\s+def)\s+(\w+)", re.MULTILINE)
_TOP = re.compile(r"^\f*[^\s#)\]}]", re.MULTILINE)
_INDENT = re.compile(r"[ \t]+(?!(?:def|class|async|case)\b|[@\s])")  # of what is no scope of its own


class LeftOut(Exception):
    """A fix is not written, since what it stands in is too long for that."""


class Page:
    """One file as text. What a finding stands in is parsed when it is looked at: a class, a function, or all of it."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self.lines = Lines(text)
        self.parsed = 0  # characters that were parsed to see whether fixes fit
        self.sound: set[Edit] = set()  # edits that the file is known to parse after
        self._definitions: dict[int, tuple[int, int]] = {}  # their bounds, by how many heads are up to their own
        self._regions: dict[tuple[int, int], Region] = {}  # by their bounds
        self._statements: dict[int, tuple[Tree | None, int]] = {}  # by their first line

    def region(self, line: int) -> Region:
        """The class or function at top level that holds a line. Raises SyntaxError, ValueError or RecursionError."""
        bounds = self._bounds(line)
        if bounds not in self._regions:
            self._regions[bounds] = self._cut(*bounds) or self._whole
        return self._regions[bounds]

    def statement(self, first: int, last: int) -> Tree:
        """The statement that begins in a line and goes as far as another. Raises BeyondStatement where none is seen."""
        if first not in self._statements:
            self._statements[first] = self._statement(first)
        tree, end = self._statements[first]
        if tree is None or last > end:
            raise BeyondStatement
        return tree

    def _statement(self, first: int) -> tuple[Tree | None, int]:
        """The statement of a block that begins in a line, up to what is indented no more; and its last line."""
        start = self.lines.start(first)
        indent = _INDENT.match(self.text, start)
        if not first or indent is None:
            return None, 0
        inside = rf"{indent[0]}(?:[ \t]|(?:elif|else|except|finally)\b|[)\]}}])|[ \t]*(?:#|\r?$)"
        rows = re.compile(rf"(?m).*\n?(?:(?:{inside}).*\n?)*").match(self.text, start)[0]  # type: ignore[index]
        try:
            tree = Tree(f"if 1:{newline_of(rows)}{rows}", lambda row, column: (row + first - 2, column), lone=True)
        except cst.ParserSyntaxError:
            return None, 0  # what is indented no more is within brackets or a string
        return tree, first + rows.rstrip().count("\n")

    def is_local(self, name: str, place: Place) -> bool:
        """Whether something within the definition that holds a place has a name there: a parameter, a variable."""
        if not re.search(rf"{whole_word(name)}(?!\s*\.)", self.rows(*self._bounds(place[0]))):
            return False  # as nearly everywhere
        tree = self.region(place[0]).around(place[0])
        scopes = tree.once(_scopes, tree.root)
        scope = next((scopes[node] for node in tree.holding(place) if scopes.get(node) is not None), None)
        return scope is not None and any(not isinstance(a.scope, GlobalScope) for a in scope[name])

    @cached_property
    def _whole(self) -> Region:
        return Region(1, len(self.lines), tree_of(self.text), self)

    @cached_property
    def _heads(self) -> list[int]:
        return [head.start() for head in _HEAD.finditer(self.text)]

    def _bounds(self, line: int) -> tuple[int, int]:
        """The lines from the last `class` or `def` at the margin to the next thing there; all if a line is in none."""
        head = bisect.bisect_left(self._heads, self.lines.start(line + 1))
        if head and head not in self._definitions:
            first = self.lines.place(self._heads[head - 1])[0]
            after = _TOP.search(self.text, self.lines.start(first + 1))
            last = self.lines.place(after.start() - 1 if after else len(self.text) - 1)[0]
            self._definitions[head] = first, last
        first, last = self._definitions.get(head, (1, 0))
        return (first, last) if line <= last else (1, len(self.lines))

    def _cut(self, first: int, last: int) -> Region | None:
        """Some lines, if they parse alone."""
        try:
            tree = tree_of("\n" * (first - 1) + self.rows(first, last))  # so that its lines are those of the file
        except SyntaxError:
            return None  # the margin lies within a string, say
        return Region(first, last, tree, self)

    @cached_property
    def import_of_torch(self) -> Edit:
        """The line that imports torch, where libcst puts it: behind the docstring and `__future__`."""
        from libcst.codemod import CodemodContext
        from libcst.codemod.visitors import AddImportsVisitor  # which few files need

        context = CodemodContext()
        AddImportsVisitor.add_needed_import(context, "torch")
        before = self.text.splitlines(keepends=True)
        after = AddImportsVisitor(context).transform_module(cst.parse_module(self.text)).code
        added = after.splitlines(keepends=True)
        line = next((i for i, (old, new) in enumerate(zip(before, added, strict=False)) if old != new), len(before))
        row = "".join(x.rstrip("\r\n") + "\n" for x in added[line : line + len(added) - len(before)])
        place = self.lines.place(self.lines.start(line + 1))
        edit = Edit(self.path, place, place, row)
        tree_of(apply_edits(self.text, [edit]))
        self.sound.add(edit)
        return edit

    def between(self, span: Span) -> str:
        """The text of a span."""
        start, end = (span.line, span.column), (span.end_line, span.end_column)
        return self.text[self.lines.offset(start) : self.lines.offset(end)]

    def line(self, number: int) -> str:
        """A line without its end; an empty one where there is none of that number."""
        return self.rows(number, number).rstrip("\r\n") if number > 0 else ""

    def rows(self, first: int, last: int) -> str:
        """Some lines, each with its end."""
        return self.text[self.lines.start(first) : self.lines.start(last + 1)]

    @cached_property
    def _levels(self) -> list[str]:
        """The text at the top level, with the names of classes and functions; all, where a margin is in a string."""
        pieces, at = [], 0
        for head in _HEAD.finditer(self.text):
            first, last = self._bounds(self.lines.place(head.start())[0])
            rows = self.rows(first, last)
            if rows.count('"""') % 2 or rows.count("'''") % 2:
                return [self.text]
            pieces += [self.text[at : head.start()], f"class {head[1]}: pass\n"]
            at = self.lines.start(last + 1)
        return [*pieces, self.text[at:]]

    @cached_property
    def _top(self) -> cst.Module:
        """The top level of the file: of its classes and functions the names alone, where that can be read."""
        for text in ("".join(self._levels), self.text):
            with suppress(cst.ParserSyntaxError, RecursionError):
                return cst.parse_module(text)
        return cst.Module([])

    @cached_property
    def imports(self) -> dict[str, str]:
        """The full names of what is imported at the top level, by the names it has there.

        A name that is defined there, too, stands for ""; so does a `torch` that is defined and not imported.
        """
        names: dict[str, str] = {}
        defined: list[cst.CSTNode] = []
        source, code = "", self._top.code_for_node
        for statement in self._top.body:
            match statement:
                case cst.If(test) if "TYPE_CHECKING" in code(test):
                    continue
                case cst.FunctionDef(own) | cst.ClassDef(own):
                    defined.append(own)
                case cst.SimpleStatementLine([cst.Assign(_, cst.Name("None"))]):
                    continue
                case cst.SimpleStatementLine([cst.Assign(targets)]):
                    defined += [target.target for target in targets]
                    continue
                case cst.SimpleStatementLine([cst.Expr()]):
                    continue
            for node in walk(statement):
                if isinstance(node, cst.Import):
                    source = ""
                elif isinstance(node, cst.ImportFrom):
                    source = "." * len(node.relative) + (code(node.module) if node.module else "") + "."
                elif isinstance(node, cst.ImportAlias):
                    whole = node.evaluated_name
                    name = whole if source or node.asname else whole.partition(".")[0]
                    names.setdefault(node.evaluated_alias or name, source + name)
        return names | {n.value: "" for n in defined if isinstance(n, cst.Name) and n.value in ("torch", *names)}


def _scopes(module: cst.Module) -> Mapping[cst.CSTNode, Scope | None]:
    return MetadataWrapper(module, unsafe_skip_copy=True).resolve(ScopeProvider)


class Region:
    """A parsed piece of a file; its nodes get the lines of the file, though it was parsed without what is above."""

    def __init__(self, first: int, last: int, tree: ast.Module, page: Page) -> None:
        self.first = first
        self.last = last
        self.tree = tree
        self._page = page
        self._functions: dict[ast.stmt, Tree] = {}

    @cached_property
    def cst(self) -> Tree:
        """The same piece as a libcst tree. Raises libcst.ParserSyntaxError where libcst does not read it."""
        return Tree(self._page.rows(self.first, self.last), lambda line, column: (line + self.first - 1, column))

    def around(self, line: int) -> Tree:
        """The function or method that a line is of, in the heads of its classes; else all. Raises as `cst` does."""
        body, end = self.tree.body, self.last
        heads: list[int] = []  # the lines of the classes' heads
        while True:
            at = next((at for at, node in enumerate(body) if first_line(node) <= line <= (node.end_lineno or 0)), None)
            if at is None:
                return self.cst
            node = body[at]
            end = first_line(body[at + 1]) - 1 if at + 1 < len(body) else end
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and heads:
                break
            if not isinstance(node, ast.ClassDef):
                return self.cst
            body = node.body
            heads += range(first_line(node), first_line(body[0]))
        if node not in self._functions:
            rows = [*heads, *range(first_line(node), end + 1)]
            text = "".join(self._page.rows(row, row) for row in rows)
            rows.append(end + 1)
            self._functions[node] = Tree(text, lambda line, column: (rows[line - 1], column))
        return self._functions[node]
