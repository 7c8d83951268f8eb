"""libcst trees of the classes and functions of a file, with the place of each node in that file.

Positions are the dear part of libcst (PositionProvider takes longer than the parser). Here those of statements come
from `ast`, walked in step with the tree, and those inside a statement from generating the code of its header alone.
"""

from __future__ import annotations

import ast
import bisect
import gc
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property
from typing import Any, TypeVar

import libcst as cst
from libcst._nodes.internal import CodegenState
from libcst.metadata import BaseMetadataProvider, CodeRange
from libcst.metadata.position_provider import PositionProvidingCodegenState

N = TypeVar("N", bound=cst.CSTNode)
T = TypeVar("T")
Place = tuple[int, int]  # line and column, both from 1, in characters
Statement = cst.BaseSmallStatement | cst.BaseCompoundStatement

_NOTHING = cst.SimpleStatementSuite([cst.Pass()])
_NO_CASE = cst.MatchCase(cst.MatchAs(), _NOTHING)
_FORMAT = (
    *("whitespace", "leading", "lines_after", "trailing", "header", "footer", "lpar", "rpar", "lbracket", "rbracket"),
    *("lbrace", "rbrace", "comma", "semicolon", "dot", "colon", "first_colon", "second_colon", "equal", "indent"),
)
_SUITES = (cst.IndentedBlock, cst.SimpleStatementSuite, cst.Module)
_BLOCKS = (*_SUITES, cst.Else, cst.Finally)
_APART = frozenset((*_BLOCKS, cst.Decorator))


class Tree:
    """A piece of a file: its nodes, their parents and their places.

    `statements` are what `ast` makes of the same text, with the lines of the file, of which the text begins with line
    `first`; `column(line, byte)` gives the column, from 1 and in characters, of an offset in bytes. Raises
    libcst.ParserSyntaxError where libcst does not read the text.
    """

    def __init__(
        self, text: str, statements: Sequence[ast.stmt], column: Callable[[int, int], int], first: int = 1
    ) -> None:
        self.module = parsed(text)
        self.first = first
        self._places: dict[cst.CSTNode, tuple[Place, Place]] = {}
        self._ranges: dict[cst.CSTNode, dict[tuple[Place, Place], list[cst.CSTNode]]] = {}
        self._starts: dict[cst.CSTNode, Place] = {}  # of what has a header of its own
        self._known: dict[tuple[object, cst.CSTNode], object] = {}
        self._column = column
        self._align(self.module.body, statements)
        order = sorted((place, at) for at, place in enumerate(self._starts.values()))
        self._heads = [place for place, _ in order]
        headed = list(self._starts)
        self._headed = [headed[at] for _, at in order]

    @cached_property
    def parents(self) -> dict[cst.CSTNode, cst.CSTNode]:
        """The node that holds each node."""
        return {child: node for node in walk(self.module) for child in children(node)}

    # ------------------------------------------------------------------------------------------------ places

    def _align(self, body: Sequence[cst.CSTNode], statements: Sequence[ast.stmt]) -> None:
        """Give the statements of a block the places that `ast` has for them."""
        rest = iter(statements)
        for node in body:
            if isinstance(node, cst.SimpleStatementLine):
                for small in node.body:
                    self._start(small, next(rest))
            elif isinstance(node, cst.BaseSmallStatement):
                self._start(node, next(rest))
            else:
                self._compound(node, next(rest))

    def _start(self, node: cst.CSTNode, at: ast.AST) -> None:
        line = at.lineno  # type: ignore[attr-defined]  # what is aligned has a place
        self._starts[node] = line, self._column(line, at.col_offset)  # type: ignore[attr-defined]

    def _compound(self, node: cst.CSTNode, at: ast.stmt) -> None:
        self._start(node, at)
        decorators: list[ast.expr] = getattr(at, "decorator_list", [])
        for decorator, expression in zip(getattr(node, "decorators", ()), decorators, strict=True):
            self._start(decorator.decorator, expression)
        if isinstance(node, cst.Match):
            for case, theirs in zip(node.cases, at.cases, strict=True):  # type: ignore[attr-defined]
                column = self._starts[node][1] + len(self._indent_of(node))
                self._starts[case] = theirs.pattern.lineno, column
                self._align(case.body.body, theirs.body)
            return
        self._align(node.body.body, at.body)  # type: ignore[attr-defined]
        for handler, theirs in zip(getattr(node, "handlers", ()), getattr(at, "handlers", ()), strict=True):
            self._start(handler, theirs)
            self._align(handler.body.body, theirs.body)
        orelse = getattr(node, "orelse", None)
        if isinstance(orelse, cst.If):
            self._compound(orelse, at.orelse[0])  # type: ignore[attr-defined]
        elif orelse is not None:
            self._align(orelse.body.body, at.orelse)  # type: ignore[attr-defined]
        finalbody = getattr(node, "finalbody", None)
        if finalbody is not None:
            self._align(finalbody.body.body, at.finalbody)  # type: ignore[attr-defined]

    def _place_header(self, head: cst.CSTNode) -> None:
        """Find the places of the nodes in a statement, without the blocks that it holds."""
        line, column = self._starts[head]
        provider = _Places()
        state = PositionProvidingCodegenState("", "\n", provider)
        bare = _bare(head)
        indent = self._indent(head)
        state.indent_tokens.append(" " * indent)
        state.line, state.column = line, column - 1
        if not isinstance(head, (cst.BaseSmallStatement, cst.BaseExpression)):
            state.column -= indent  # which it begins with
        if isinstance(head, cst.If) and isinstance(self.parents.get(head), cst.If):
            bare._codegen_impl(state, is_elif=True)  # type: ignore[call-arg]  # it is an `If` too
        else:
            bare._codegen_impl(state)
        for node, place in provider.computed.items():
            if node is not bare or bare is head:
                if isinstance(node, (cst.Tuple, cst.GeneratorExp)) and node.lpar:  # theirs, as `ast` has it
                    start, end = (provider.computed[p] for p in (node.lpar[-1], node.rpar[0]))
                    place = CodeRange(start.start, end.end)
                self._places[node] = _placed(place)
        if bare is not head:
            self._places[head] = (line, column), self._end_of(head)
        elif head not in self._places:
            self._places[head] = (line, column), (state.line, state.column + 1)

    def _indent(self, node: cst.CSTNode) -> int:
        """How many characters the lines of the block around a node are indented by."""
        return sum(len(self._indent_of(block)) for block in self._indented(node))

    def _indented(self, node: cst.CSTNode) -> Iterator[cst.IndentedBlock | cst.Match]:
        return (outer for outer in self.around(node) if isinstance(outer, (cst.IndentedBlock, cst.Match)))

    def _indent_of(self, block: cst.IndentedBlock | cst.Match) -> str:
        return block.indent if block.indent is not None else self.module.default_indent

    def _end_of(self, node: cst.CSTNode) -> Place:
        """Where a compound statement ends: where the last statement in it does."""
        last = node
        while True:
            parts = [
                c for c in children(last) if c in self._starts or isinstance(c, (*_BLOCKS, cst.SimpleStatementLine))
            ]
            if not parts:
                break
            last = parts[-1]
        return self.range(last)[1] if last is not node else self._starts[node]

    def head_of(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The statement, handler, case or decorator in whose header a node stands; None for blocks and the module."""
        at: cst.CSTNode | None = node
        while at is not None and at not in self._starts:
            if isinstance(at, _SUITES):
                return None
            at = self.parents.get(at)
        return at

    def range(self, node: cst.CSTNode) -> tuple[Place, Place]:
        """First place of a node and the one after it. Raises KeyError for one that is not of this tree."""
        if node not in self._places:
            if isinstance(node, (cst.SimpleStatementLine, *_SUITES)):
                body: Sequence[cst.CSTNode] = node.body
                self._places[node] = self.range(body[0])[0], self.range(body[-1])[1]
            elif isinstance(node, (cst.Else, cst.Finally)):
                return self.range(node.body)
            else:
                head = self.head_of(node)
                if head is None:
                    raise KeyError(node)
                self._place_header(head)
        return self._places[node]

    def at(self, start: Place, end: Place) -> Sequence[cst.CSTNode]:
        """The nodes that begin and end at two places, outermost first."""
        head = self.innermost_head(start)
        return self._by_range(head).get((start, end), ()) if head is not None else ()

    def _by_range(self, head: cst.CSTNode) -> dict[tuple[Place, Place], list[cst.CSTNode]]:
        """The nodes of a statement by their places; kept, since a long one may have a finding in every part."""
        nodes = self._ranges.get(head)
        if nodes is None:
            nodes = self._ranges[head] = {}
            for node in self._under(head):
                nodes.setdefault(self.range(node), []).append(node)
        return nodes

    def within(self, start: Place, end: Place) -> Iterator[cst.CSTNode]:
        """The nodes between two places, in source order, outermost first."""
        low = max(bisect.bisect_right(self._heads, start) - 1, 0)
        first = self.innermost_head(start)
        heads = [] if first is None else [first]
        heads += [h for h in self._headed[low : bisect.bisect_left(self._heads, end)] if h is not first]
        found: list[tuple[int, int, cst.CSTNode]] = []
        for head in heads:
            for node in self._under(head):
                place = self.range(node)
                if start <= place[0] and place[1] <= end:
                    found.append((place[0][0], len(found), node))
        yield from (node for _, _, node in sorted(found, key=lambda f: f[:2]))

    def holding(self, place: Place) -> Iterator[cst.CSTNode]:
        """The nodes that hold a place, innermost first."""
        head = self.innermost_head(place)
        if head is None:
            return
        inner = [n for n in self._under(head) if self.range(n)[0] <= place < self.range(n)[1]]
        yield from reversed(inner)
        for outer in self.around(inner[0] if inner else head):
            if outer is not self.module and self.range(outer)[0] <= place < self.range(outer)[1]:
                yield outer

    def innermost_head(self, place: Place) -> cst.CSTNode | None:
        """The statement, handler, case or decorator whose header holds a place, or else the last one before it."""
        at = bisect.bisect_right(self._heads, place) - 1
        if at < 0:
            return None
        head: cst.CSTNode | None = self._headed[at]
        first = head
        while head is not None and not self._covers(head, place):
            head = self.parents.get(head)
            while head is not None and head not in self._starts:
                head = self.parents.get(head)
        return head or first

    def headers(self, first: int, last: int) -> list[cst.CSTNode]:
        """The nodes of the statements that begin in some lines, without their blocks; see `_under`."""
        heads = (head for head in self._headed if first <= self._starts[head][0] <= last)
        return [node for head in heads for node in self._under(head)]

    def _covers(self, head: cst.CSTNode, place: Place) -> bool:
        return self.range(head)[0] <= place < self.range(head)[1]

    def _under(self, head: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """A statement and the nodes of its header, outermost first, in source order."""
        waiting = [head]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += [c for c in reversed(children(node)) if type(c) not in _APART and c not in self._starts]

    @cached_property
    def comments(self) -> dict[int, cst.EmptyLine | cst.TrailingWhitespace]:
        """The comments by the line they stand on, each with what is around it there."""
        provider = _Places()
        state = PositionProvidingCodegenState(self.module.default_indent, "\n", provider)
        state.line = self.first
        self.module._codegen(state)
        comments: dict[int, cst.EmptyLine | cst.TrailingWhitespace] = {}
        for node, place in provider.computed.items():
            if isinstance(node, (cst.EmptyLine, cst.TrailingWhitespace)) and node.comment is not None:
                self._places[node] = _placed(place)
                self._places[node.comment] = _placed(provider.computed[node.comment])
                comments[self._places[node.comment][0][0]] = node
        return comments

    # ------------------------------------------------------------------------------------------------- nodes

    def around(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The nodes that hold a node, innermost first."""
        parent = self.parents.get(node)
        while parent is not None:
            yield parent
            parent = self.parents.get(parent)

    def once(self, of: Callable[[N], T], root: N) -> T:
        """What a function gives for a class or function of this piece; kept, since every fix in it asks."""
        if (of, root) not in self._known:
            self._known[of, root] = of(root)
        return self._known[of, root]  # type: ignore[return-value]  # it is what that function gave

    def code(self, node: cst.CSTNode, beside: cst.CSTNode | None = None) -> str:
        """The text of any node, also of one that was made; its lines are indented as those of a node of this tree."""
        state = CodegenState(self.module.default_indent, self.module.default_newline)
        if beside is not None:
            state.indent_tokens += reversed([self._indent_of(block) for block in self._indented(beside)])
        node._codegen(state)
        return "".join(state.tokens)


class _Places(BaseMetadataProvider[CodeRange]):
    """What a header's nodes get while its code is generated."""

    @property
    def computed(self) -> dict[cst.CSTNode, CodeRange]:
        return self._computed  # type: ignore[return-value]  # no provider computes lazily here


def _placed(place: CodeRange) -> tuple[Place, Place]:
    return (place.start.line, place.start.column + 1), (place.end.line, place.end.column + 1)


def _bare(node: cst.CSTNode) -> cst.CSTNode:
    """A statement without its blocks and what is above it; its expressions are the same objects."""
    if isinstance(node, cst.If):
        return node.with_changes(body=_NOTHING, orelse=None, leading_lines=())
    if isinstance(node, (cst.For, cst.While)):
        return node.with_changes(body=_NOTHING, orelse=None, leading_lines=())
    if isinstance(node, (cst.Try, cst.TryStar)):
        return cst.Pass()
    if isinstance(node, (cst.FunctionDef, cst.ClassDef)):
        return node.with_changes(body=_NOTHING, decorators=(), leading_lines=(), lines_after_decorators=())
    if isinstance(node, cst.Match):
        return node.with_changes(cases=[_NO_CASE], leading_lines=())
    if isinstance(node, cst.MatchCase):
        return node.with_changes(body=_NOTHING, leading_lines=())
    if isinstance(node, (cst.With, cst.ExceptHandler, cst.ExceptStarHandler)):
        return node.with_changes(body=_NOTHING, leading_lines=())
    return node


@cache
def _parts(kind: type[cst.CSTNode]) -> tuple[str, ...]:
    names = kind.__dataclass_fields__
    return tuple(name for name in names if not name.startswith(_FORMAT))


@cache
def _is_node(kind: type[Any]) -> bool:
    return isinstance(kind, type) and issubclass(
        kind, cst.CSTNode
    )  # asked of each class once: libcst's are abstract ones, which takes its time


def children(node: cst.CSTNode) -> list[cst.CSTNode]:
    """The nodes that a node holds, without those of formatting, in source order."""
    kind = type(node)
    if kind is cst.IfExp or kind is cst.CompFor:
        return _in_order(node)  # type: ignore[arg-type]  # it is one of these
    found: list[cst.CSTNode] = []
    for name in _parts(kind):
        part = getattr(node, name)
        held = type(part)
        if held is tuple or held is list:
            found += [child for child in part if _is_node(type(child))]  # type: ignore[arg-type]
        elif _is_node(held):  # type: ignore[arg-type]  # classes are hashable
            found.append(part)
    return found


def _in_order(node: cst.IfExp | cst.CompFor) -> list[cst.CSTNode]:
    if isinstance(node, cst.IfExp):
        return [node.body, node.test, node.orelse]
    return [node.target, node.iter, *node.ifs, *([node.inner_for_in] if node.inner_for_in else [])]


def walk(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A node and all under it, without those of formatting: outermost first, in source order."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(children(node))


def parsed(text: str) -> cst.Module:
    """Parse a text. The cyclic collector would walk the new nodes again and again. Raises cst.ParserSyntaxError."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        return cst.parse_module(text)
    finally:
        if collecting:
            gc.enable()
