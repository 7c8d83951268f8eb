"""The statements of a file in which something was observed, as libcst trees, and what the dataflow saw at their nodes.

Each statement is parsed by itself, once: of a compound one its header, with a `pass` for the body.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import libcst as cst
from libcst.metadata import BaseMetadataProvider, MetadataWrapper

from onnxlint.base.records import Diagnostic, Span, described
from onnxlint.flow.state.observations import Escape, Observation, SizeSplit
from onnxlint.rules.engine.cst_tree import BLOCKS, Place, Tree, children, walk
from onnxlint.rules.engine.site import variables
from onnxlint.rules.engine.source_page import Page

T = TypeVar("T")

# What may hold the end of a line or a bracket, then those themselves.
_TOKEN = re.compile(
    r"(?s:'''(?:\\.|[^\\])*?'''"
    r'|"""(?:\\.|[^\\])*?""")'
    r"|'(?:\\(?s:.)|[^'\\\n])*'"
    r'|"(?:\\(?s:.)|[^"\\\n])*"'
    r"|\\\r?\n|#[^\n]*|[(\[{]|[)\]}]|\n"
)
_WORD = re.compile(r"\s*(\w*)")
_ABOVE = {"elif": "if 1: pass", "else": "if 1: pass", "except": "try: pass", "finally": "try: pass"}


@dataclass(frozen=True, slots=True)
class Piece:
    """One statement; `nodes` are those of its header, outermost first, and `observed` what was seen at them.

    Where libcst does not read the statement there is no tree: each expression in it is parsed by itself.
    """

    tree: Tree | None
    nodes: Sequence[cst.CSTNode] = ()
    observed: dict[cst.CSTNode, list[Observation]] = field(default_factory=dict)

    def node(self, page: Page, span: Span) -> cst.CSTNode:
        """The innermost expression at a place, or the statement itself, which may go on behind its header."""
        if self.tree is None:
            return _alone(page.between(span))
        at = self.tree.at((span.line, span.column), (span.end_line, span.end_column))
        inner = [node for node in at if isinstance(node, cst.BaseExpression)] or at
        return inner[-1] if inner else self.nodes[0]


def _no_cache(
    root_path: Path, paths: list[str], *, timeout: int | None = None, use_pyproject_toml: bool = False
) -> Mapping[str, object]:
    """Nothing: libcst cannot run the dataflow, and says that the cache is missing."""
    return {}


class _FromDataflow(BaseMetadataProvider[T]):
    """What the dataflow saw at the nodes of some pieces, which the wrapper has as its cache."""

    cache: Sequence[Piece]
    gen_cache = staticmethod(_no_cache)


class ObservationProvider(_FromDataflow[Sequence[Observation]]):
    """What was observed at a node."""

    def _gen_impl(self, module: cst.Module) -> None:
        for piece in self.cache:
            for node, observed in piece.observed.items():
                self.set_metadata(node, observed)


class ValueProvider(_FromDataflow[str]):
    """What is known of the value of a variable, or of what was observed, in the words of flow/state/variable_kinds."""

    def _gen_impl(self, module: cst.Module) -> None:
        for piece in self.cache:
            names = {name: kind for seen in piece.observed.values() for o in seen for name, kind in o.described.items()}
            for name in variables(piece.nodes[0]) if piece.nodes and names else ():
                if name.value in names:
                    self.set_metadata(name, names[name.value])
            for node, (first, *_) in piece.observed.items():
                if "" in first.described:
                    self.set_metadata(node, first.described[""])


PROVIDERS: tuple[type[BaseMetadataProvider[object]], ...] = (ObservationProvider, ValueProvider)


class ObservedFile:
    """The pieces of one file, with their metadata. An error of our own in making one is added to `broken`."""

    def __init__(self, page: Page, observations: Iterable[Observation], broken: list[Diagnostic]) -> None:
        self.page = page
        observations = tuple(observations)
        self.frozen = _frozen(observations)
        pieces: dict[int, Piece] = {}
        for observation in observations:
            line = observation.statement or observation.span.line
            try:
                piece = pieces.get(line) or _piece(page, line)
                node = piece.node(page, observation.span)
            except (cst.ParserSyntaxError, ValueError, RecursionError):
                piece, node = Piece(None), _alone(page.between(observation.span))
            except Exception as error:  # noqa: BLE001 - an error of our own must not lose the findings of the file
                message = f"internal error before the rules: {described(error)}"
                broken.append(Diagnostic("error", message, page.path, observation.span.line))
                piece, node = Piece(None), _alone(page.between(observation.span))
            pieces[line] = piece
            piece.observed.setdefault(node, []).append(observation)
        self.pieces = tuple(pieces.values())
        self._pieces = {node: piece for piece in self.pieces for node in piece.nodes}
        cache = dict.fromkeys(PROVIDERS, self.pieces)
        self.metadata = MetadataWrapper(cst.Module([]), True, cache).resolve_many(PROVIDERS)

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The node that holds a node; None for a statement."""
        piece = self._pieces.get(node)
        parent = piece.tree.parents[node] if piece is not None and piece.tree is not None else None
        return parent if parent in self._pieces else None

    def around(self, node: cst.CSTNode) -> Observation:
        """What was observed at a node, or at one around it, or else first in its statement."""
        at: cst.CSTNode | None = node
        observed = self.metadata[ObservationProvider]
        while at is not None and at not in observed:
            at = self.parent(at)
        if at is None:
            at = next(iter(self._pieces[node].observed))
        return observed[at][0]  # type: ignore[index,no-any-return]  # what that provider gives

    def span(self, node: cst.CSTNode) -> Span:
        """The place of a node. Raises KeyError for one that is not of this file."""
        observed = self.metadata[ObservationProvider].get(node)
        if observed is not None:
            return observed[0].span  # type: ignore[index,no-any-return]  # what that provider gives
        tree = self._pieces[node].tree
        assert tree is not None  # it has nodes
        start, end = tree.range(node)
        return Span(self.page.path, *start, *end)

    def source(self, node: cst.CSTNode) -> str:
        """The text of a node, white space folded; of one in a statement that libcst does not read, its code."""
        placed = node in self._pieces or node in self.metadata[ObservationProvider]
        text = self.page.between(self.span(node)) if placed else cst.Module([]).code_for_node(node)
        return " ".join(text.split())


def _frozen(observations: Sequence[Observation]) -> dict[Span, Span]:
    """Where numbers are frozen that something else is about, each with the first place where its function does so."""
    first: dict[tuple[str, ...], Span] = {}
    places: dict[Span, Span] = {}
    for o in sorted(observations, key=lambda o: (o.outside != "", not o.sure, o.span.line, o.span.column)):
        if isinstance(o, SizeSplit) or (isinstance(o, Escape) and o.source == "dim"):
            places[o.span] = first.setdefault((o.symbol, o.op if isinstance(o, SizeSplit) else o.how), o.span)
        elif isinstance(o, Escape):
            places.setdefault(o.span, o.span)
    used = {o.frozen for o in observations} | {at for span, at in places.items() if span != at}
    return {span: at for span, at in places.items() if span != at or span in used}


def _piece(page: Page, line: int) -> Piece:
    """The statement that begins in a line. Raises ParserSyntaxError, ValueError or RecursionError."""
    text, opens = _logical_line(page.text, page.lines.start(line))
    word = _WORD.match(text)
    assert word is not None  # it matches any text
    indent, keyword = text[: word.start(1)], word[1]
    above = f"{_ABOVE[keyword]}\n" if keyword in _ABOVE else ""
    if opens and keyword == "case":  # which has its place by its indentation
        above, text, indent = "match 0:\n", f"{text}{indent} pass\n", ""
    elif opens:
        text += " case _: pass\n" if keyword == "match" else " pass\n"
    text = text.removeprefix(indent)
    if keyword == "try":
        text += "finally: pass\n"
    first = line - above.count("\n")

    def place(row: int, column: int) -> Place:
        at = row + first - 1
        return at, column + len(indent) if at == line else column

    tree = Tree(above + text, place)
    top: cst.CSTNode = children(tree.module.body[-1])[-1] if above else tree.module
    return Piece(tree, [n for n in walk(top) if type(n) not in BLOCKS])


def _alone(text: str) -> cst.CSTNode:
    """An expression; an empty module for what libcst does not read either."""
    try:
        return cst.parse_expression(f"({text}\n)")
    except (cst.ParserSyntaxError, RecursionError):
        return cst.Module([])


def _logical_line(text: str, start: int) -> tuple[str, bool]:
    """The line that begins at an offset, with those that it goes on in, and whether it ends with a colon."""
    depth, code, end = 0, len(text), len(text)
    for token in _TOKEN.finditer(text, start):
        first = token[0][0]
        depth += (first in "([{") - (first in ")]}")
        if depth <= 0 and first in "#\n":
            code = min(code, token.start())
            if first == "\n":
                end = token.start()
                break
    return text[start:end].rstrip("\r") + "\n", text[start:code].rstrip().endswith(":")
