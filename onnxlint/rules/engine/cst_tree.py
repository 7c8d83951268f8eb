"""libcst trees of pieces of a file, with the place of each node in that file."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, cached_property, lru_cache
from operator import itemgetter
from typing import Any, TypeVar

import libcst as cst
from libcst._nodes.internal import CodegenState

from onnxlint.base.edits import Lines

N = TypeVar("N", bound=cst.CSTNode)
T = TypeVar("T")
Place = tuple[int, int]  # line and column, both from 1, in characters
Statement = cst.BaseSmallStatement | cst.BaseCompoundStatement

_FORMAT = (
    *("whitespace", "leading", "lines_after", "trailing", "header", "footer", "lpar", "rpar", "lbracket", "rbracket"),
    *("lbrace", "rbrace", "comma", "semicolon", "dot", "colon", "first_colon", "second_colon", "equal", "indent"),
)
MANY = 16  # children, past which those between two places are looked up
BLOCKS = {cst.IndentedBlock, cst.SimpleStatementSuite, cst.Module, cst.Else, cst.Finally, cst.SimpleStatementLine}


class BeyondStatement(Exception):
    """A fix asks for what is around the one statement that was parsed."""


class Tree:
    """A piece of a file: its nodes, their parents and their places.

    `place(line, column)` gives the place in the file of one in the text, both from 1 and in characters. Raises
    libcst.ParserSyntaxError where libcst does not read the text.
    One that is `lone`, a statement in an `if` of its own, raises BeyondStatement where it is asked for what is around.
    """

    def __init__(self, text: str, place: Callable[[int, int], Place], lone: bool = False) -> None:
        self.root = _parsed(text) if lone else cst.parse_module(text)
        self._lone = lone
        self._lines = Lines(text)
        self._dropped: list[int] = []  # offsets at which libcst leaves out a form feed that begins a line
        code = self.root.code if "\f" in text else ""
        for feed in (at for at, character in enumerate(text) if code and character == "\f"):
            if code[feed - len(self._dropped) :][:1] != "\f":
                self._dropped.append(feed - len(self._dropped))
        self._place = place
        self._results: dict[tuple[object, cst.CSTNode], object] = {}
        self._many: dict[cst.CSTNode, tuple[list[cst.CSTNode], list[Place]]] = {}

    @property
    def module(self) -> cst.Module:
        """All of it."""
        if self._lone:
            raise BeyondStatement
        return self.root

    @cached_property
    def parents(self) -> dict[cst.CSTNode, cst.CSTNode]:
        """The node that holds each node."""
        return {child: node for node in walk(self.root) for child in children(node)}

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The node that holds a node."""
        parent = self.parents.get(node)
        if self._lone and parent is self.root.body[0].body:
            raise BeyondStatement
        return parent

    def range(self, node: cst.CSTNode) -> tuple[Place, Place]:
        """First place of a node and the one after it. Raises KeyError for one that is not of this tree, RecursionError
        where the text is nested too deeply."""
        offsets = _offsets_in(self.root)
        if offsets is None:
            raise RecursionError
        start, end = offsets[id(node)]
        if isinstance(node, (cst.Tuple, cst.GeneratorExp)) and node.lpar:  # theirs, as `ast` has it
            start, end = offsets[id(node.lpar[-1])][0], offsets[id(node.rpar[0])][1]
        if self._dropped:
            start, end = (at + bisect_right(self._dropped, at) for at in (start, end))
        return self._place(*self._lines.place(start)), self._place(*self._lines.place(end))

    def whole(self, node: cst.CSTNode) -> tuple[Place, Place]:
        """The places of a node, of a decorated one from its first decorator."""
        start, end = self.range(node)
        decorators: Sequence[cst.Decorator] = getattr(node, "decorators", ())
        return self.range(decorators[0])[0] if decorators else start, end

    def at(self, start: Place, end: Place) -> Sequence[cst.CSTNode]:
        """The nodes that begin and end at two places, outermost first."""
        return [node for node in self._touching(self.root, start, end) if self.range(node) == (start, end)]

    def within(self, start: Place, end: Place) -> Sequence[cst.CSTNode]:
        """The nodes between two places, in source order, outermost first."""
        places = ((self.range(node), node) for node in self._touching(self.root, start, end))
        inside = [(place[0], node) for place, node in places if start <= place[0] and place[1] <= end]
        return [node for _, node in sorted(inside, key=itemgetter(0))]

    def holding(self, place: Place) -> Sequence[cst.CSTNode]:
        """The nodes that hold a place, innermost first."""
        touching = [(self.range(node), node) for node in self._touching(self.module, place, place)]
        return [node for (start, end), node in reversed(touching) if start <= place < end]

    def _touching(self, root: cst.CSTNode, start: Place, end: Place) -> Iterator[cst.CSTNode]:
        """The nodes that share a place with some others, outermost first."""
        waiting = [root]
        while waiting:
            node = waiting.pop()
            first, last = self.whole(node)
            if first <= end and start <= last:
                if type(node) not in BLOCKS:
                    yield node
                waiting += reversed(self._children_between(node, start, end))

    def _children_between(self, node: cst.CSTNode, start: Place, end: Place) -> Sequence[cst.CSTNode]:
        """The children of a node; of very many, in order, those alone that may touch these places."""
        if node not in self._many:
            nodes = children(node)
            ends = [self.whole(child)[1] for child in nodes] if len(nodes) > MANY else []
            self._many[node] = nodes, ends if ends == sorted(ends) else []
        nodes, ends = self._many[node]
        return nodes[bisect_left(ends, start) : bisect_right(ends, end) + 1] if ends else nodes

    @cached_property
    def comments(self) -> dict[int, cst.EmptyLine | cst.TrailingWhitespace]:
        """The comments by the line they stand on, each with what is around it there."""
        waiting: list[cst.CSTNode] = [self.module]
        for node in waiting:
            waiting += node.children
        lines = (node for node in waiting if isinstance(node, (cst.EmptyLine, cst.TrailingWhitespace)))
        return {self.range(line.comment)[0][0]: line for line in lines if line.comment is not None}

    def around(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The nodes that hold a node, innermost first."""
        while (parent := self.parent(node)) is not None:
            yield parent
            node = parent

    def once(self, of: Callable[[N], T], root: N) -> T:
        """What a function gives for a class or function of this piece; kept, since every fix in it asks."""
        if (of, root) not in self._results:
            self._results[of, root] = of(root)
        return self._results[of, root]  # type: ignore[return-value]  # it is what that function gave

    def code(self, node: cst.CSTNode, beside: cst.CSTNode | None = None) -> str:
        """The text of any node, also of one that was made; its lines are indented as those of a node of this tree."""
        indented = isinstance(node, (cst.SimpleStatementLine, cst.BaseCompoundStatement, cst.BaseSuite))
        module = self.module if indented else self.root
        state = CodegenState(module.default_indent, module.default_newline)
        while beside is not None:
            if isinstance(beside := self.parents.get(beside), (cst.IndentedBlock, cst.Match)):
                state.indent_tokens.insert(0, module.default_indent if beside.indent is None else beside.indent)
        node._codegen(state)
        return "".join(state.tokens)


class _Offsets(CodegenState):
    """Notes where nodes begin and end in their code, as libcst's PositionProvidingCodegenState notes lines and columns.
    That looks for newlines in every token and makes three objects for each node, which takes twice the time."""

    def __init__(self, module: cst.Module) -> None:
        super().__init__(module.default_indent, module.default_newline)
        self.offsets: dict[int, tuple[int, int]] = {}
        self._at = 0
        self._starts: list[int] = []

    def add_indent_tokens(self) -> None:
        self._at += sum(map(len, self.indent_tokens))

    def add_token(self, value: str) -> None:
        self._at += len(value)

    def before_codegen(self, node: cst.CSTNode) -> None:
        self._starts.append(self._at)

    def after_codegen(self, node: cst.CSTNode) -> None:
        self.offsets.setdefault(id(node), (self._starts.pop(), self._at))  # without white space, where that is noted

    @contextmanager
    def record_syntactic_position(
        self, node: cst.CSTNode, *, start_node: cst.CSTNode | None = None, end_node: cst.CSTNode | None = None
    ) -> Iterator[None]:
        start = self._at
        yield
        start = start if start_node is None else self.offsets[id(start_node)][0]
        self.offsets[id(node)] = start, self._at if end_node is None else self.offsets[id(end_node)][1]


@lru_cache(maxsize=128)
def _parsed(text: str) -> cst.Module:
    return cst.parse_module(text)  # kept, since files are copies of each other


@lru_cache(maxsize=128)
def _offsets_in(root: cst.Module) -> dict[int, tuple[int, int]] | None:
    """Where each node, by its identity, is in the text; None where telling that needs too much stack."""
    state = _Offsets(root)
    try:
        root._codegen(state)
    except (RecursionError, KeyError):  # where the stack ends, libcst asks for places that it has not noted
        return None
    return state.offsets


@cache
def _parts(kind: type[cst.CSTNode]) -> tuple[str, ...]:
    return tuple(name for name in kind.__dataclass_fields__ if not name.startswith(_FORMAT))


@cache
def _is_node(kind: type[Any]) -> bool:
    return issubclass(kind, cst.CSTNode)  # asked of each class once: libcst's are abstract ones, which takes its time


def children(node: cst.CSTNode) -> list[cst.CSTNode]:
    """The nodes that a node holds, without those of formatting, in source order."""
    kind = type(node)
    if kind is cst.IfExp:
        return [node.body, node.test, node.orelse]  # type: ignore[attr-defined]
    if kind is cst.CompFor:
        return [node.target, node.iter, *node.ifs, *filter(None, [node.inner_for_in])]  # type: ignore[attr-defined]
    nodes: list[cst.CSTNode] = []
    for name in _parts(kind):
        part = getattr(node, name)
        if isinstance(part, (tuple, list)):
            nodes += [child for child in part if _is_node(type(child))]  # type: ignore[arg-type]
        elif _is_node(type(part)):  # type: ignore[arg-type]  # classes are hashable
            nodes.append(part)
    return nodes


def walk(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A node and all under it, without those of formatting: outermost first, in source order."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(children(node))
