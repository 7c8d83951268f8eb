"""Where a finding stands, as a remedy sees it: the nodes around its span, their exact text, and edits of that text."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import replace
from typing import TypeVar

from onnxlint.edits import Lines
from onnxlint.records import Edit, Finding, Fix, Safety, Span
from onnxlint.rules.page import FunctionNode, LeftOut, Page, Region, many_lines, parsed

N = TypeVar("N", bound=ast.AST)
_WORDS = ("return", "and", "or", "not", "in", "if", "else", "yield", "lambda")
_TORCH = re.compile(r"(?<![\w.])torch\.")
__all__ = ["FunctionNode", "LeftOut", "Page", "Region", "Site", "many_lines", "parsed"]


class Site:
    """A finding and the page it stands on."""

    def __init__(self, finding: Finding, page: Page) -> None:
        self.finding = finding
        self.page = page
        self.region = page.region(finding.span.line)

    def hint(self, name: str) -> str:
        """What the check passed along as text; empty where it did not."""
        value = self.finding.hints.get(name, "")
        return value if isinstance(value, str) else ""

    def number(self, name: str) -> int | None:
        """What the check passed along as a number."""
        value = self.finding.hints.get(name)
        return value if isinstance(value, int) else None

    # ------------------------------------------------------------------------------------------------- nodes

    def at_span(self, kind: type[N]) -> N | None:
        """The innermost node of a kind that begins and ends where the finding does."""
        start, end = self._range(self.finding.span)
        found: N | None = None
        for node in self.region.between(*self._bytes(start, start + 1)):
            if isinstance(node, kind) and self.page.range(node) == (start, end):
                found = node
        return found

    def inside(self, kind: type[N]) -> Iterator[N]:
        """The nodes of a kind within the finding's span, in source order."""
        start, end = self._range(self.finding.span)
        for node in self.region.between(*self._bytes(start, end)):
            if isinstance(node, kind) and start <= self.page.range(node)[0] and self.page.range(node)[1] <= end:
                yield node

    def _bytes(self, start: int, end: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """Two offsets as `ast` says them."""
        return self.page.place(start), self.page.place(end)

    def holding(self, offset: int) -> Iterator[ast.AST]:
        """The nodes that hold an offset of the text, innermost first."""
        node = self.region.innermost(self.page.place(offset))
        for outer in (node, *self.around(node)) if node is not None else ():
            if hasattr(outer, "lineno") and self.page.range(outer)[0] <= offset < self.page.range(outer)[1]:
                yield outer

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes that hold a node, innermost first."""
        parent = self.region.parents.get(node)
        while parent is not None:
            yield parent
            parent = self.region.parents.get(parent)

    def holder(self, node: ast.AST, *kinds: type[N]) -> N | None:
        """The innermost node of these kinds around a node."""
        return next((outer for outer in self.around(node) if isinstance(outer, kinds)), None)

    def statement(self, node: ast.AST) -> ast.stmt | None:
        """The statement that a node is, or stands in."""
        return node if isinstance(node, ast.stmt) else self.holder(node, ast.stmt)

    def function(self, node: ast.AST) -> FunctionNode | None:
        """The function that a node stands in; a lambda is none."""
        found = self.holder(node, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
        return found if isinstance(found, FunctionNode) else None

    def owner(self, node: ast.AST) -> str | None:
        """The name of the object whose method a node stands in (`self`); None outside of methods."""
        function = self.function(node)
        while function is not None and not isinstance(self.region.parents.get(function), ast.ClassDef):
            function = self.function(function)
        if function is None or any(
            isinstance(d, ast.Name) and d.id in ("staticmethod", "classmethod") for d in function.decorator_list
        ):
            return None
        first = [*function.args.posonlyargs, *function.args.args][:1]
        return first[0].arg if first else None

    def block(self, statement: ast.stmt) -> list[ast.stmt]:
        """The list of statements that a statement stands in."""
        return self.region.blocks.get(statement, [statement])

    def is_module(self, node: ast.AST) -> bool:
        """Whether the class around a node is given a `training` flag: an `nn.Module`, as far as its own text tells."""
        cls = self.holder(node, ast.ClassDef)
        return cls is not None and not any(ast.unparse(base).endswith("autograd.Function") for base in cls.bases)

    # -------------------------------------------------------------------------------------------------- text

    def source(self, node: ast.AST) -> str:
        """The exact text of a node."""
        return self.page.source(node)

    def operand(self, node: ast.expr) -> str:
        """The text of an expression, in parentheses where it binds weaker than a call's receiver."""
        text = self.source(node)
        tight = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.List, ast.Tuple, ast.Dict, ast.Constant)
        if isinstance(node, tight):
            return text
        return f"({text})"

    def indent(self, statement: ast.stmt) -> str:
        """The white space in front of a statement; of one behind a semicolon, of its line."""
        lines = self.page.lines
        row = self.page.text[lines.start(statement.lineno) : lines.start(statement.lineno + 1)].split("\n", 1)[0]
        return row[: len(row) - len(row.lstrip())]

    def comments(self, start: int, end: int) -> list[tuple[int, str]]:
        """The comments between two offsets: where each begins, and its text."""
        found = []
        text = self.page.text
        first = self.page.lines.place(start)[0]
        base = self.page.lines.start(first)
        reader = io.StringIO(text[base:end] + "\n", newline="").readline
        try:
            lines = Lines(text[base:end] + "\n")
            for token in tokenize.generate_tokens(reader):
                if token.type == tokenize.COMMENT:
                    at = base + lines.offset((token.start[0], token.start[1] + 1))
                    if start <= at < end:
                        found.append((at, token.string.rstrip()))
        except (tokenize.TokenError, SyntaxError, ValueError):
            pass  # a piece of a file need not be whole: what was read before it ended is what counts
        return found

    # ------------------------------------------------------------------------------------------------- edits

    def replace(self, node: ast.AST, text: str) -> Edit:
        """Put `text` in the place of a node."""
        return self.splice(*self.page.range(node), text)

    def replace_whole(self, node: ast.expr, text: str) -> Edit:
        """As `replace`, and what stood in parentheses for its operator alone loses them."""
        start, end = self.page.range(node)
        around = self.page.text
        while around[start - 1 : start] == "(" and around[end : end + 1] == ")":
            before = around[: start - 1].rstrip(" ")
            word = re.search(r"\w*$", before)
            called = before.endswith((")", "]")) or (word is not None and word[0] and word[0] not in _WORDS)
            if called:
                break
            start, end = start - 1, end + 1
        return self.splice(start, end, text)

    def splice(self, start: int, end: int, text: str) -> Edit:
        """Put `text` in the place of what stands between two offsets."""
        lines = self.page.lines
        return Edit(self.page.path, lines.place(start), lines.place(end), text)

    def insert_before(self, statement: ast.stmt, text: str) -> Edit:
        """A new statement in front of another, on a line of its own."""
        start = self.page.lines.start(statement.lineno)
        return self.splice(start, start, f"{self.indent(statement)}{text}\n")

    def remove(self, statement: ast.stmt) -> Edit:
        """Take a statement out, with its lines if nothing else stands there; the last of a block becomes `pass`."""
        if len(self.block(statement)) == 1:
            return self.replace(statement, "pass")
        start, end = self.page.range(statement)
        first = self.page.lines.start(self.page.lines.place(start)[0])
        after = self.page.lines.start(self.page.lines.place(end)[0] + 1)
        rest = self.page.text[end:after].strip()
        if self.page.text[first:start].strip() or (rest and not rest.startswith("#")):
            return self.replace(statement, "pass")
        return self.splice(first, after, "")

    def fix(self, title: str, safety: Safety, *edits: Edit) -> Fix:
        """A fix made of these edits, in source order; what they write of `torch` is imported where it is not."""
        done = list(edits)
        if any(_TORCH.search(edit.text) for edit in edits):
            name = self.page.imports.get("torch")
            if name is None:
                done.append(self.page.import_of_torch)
            elif name != "torch":
                done = [replace(edit, text=_TORCH.sub(f"{name}.", edit.text)) for edit in done]
        return Fix(title, safety, tuple(sorted(done, key=lambda e: (e.start, e.end))))

    def _range(self, span: Span) -> tuple[int, int]:
        lines = self.page.lines
        return lines.offset((span.line, span.column)), lines.offset((span.end_line, span.end_column))
