"""Two graphs side by side, as the geometry of a drawing: rows of boxes, the lines between them, the source beside."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePath

from onnxlint.records import Evidence, GraphDiff, GraphNode, Location
from onnxlint.report import words
from onnxlint.report.html.code import Excerpts

WIDTH, BOX = 1000, 272
_LEFT, _RIGHT, _SOURCE = 30, 366, 664
_HEAD, _ROW, _HIGH = 44, 54, 38  # the line of titles, a row, the box in it
_LANE = 16  # of lines that go past other boxes
_LETTERS, _CODE = 37, 48  # that fit into a box, and beside the boxes


@dataclass(frozen=True, slots=True)
class Box:
    """A node: `state` is same, changed, or alone, where the other graph has none."""

    x: int
    y: int
    state: str
    operator: str
    detail: str


@dataclass(frozen=True, slots=True)
class SourceLine:
    """The line that made the nodes of a row."""

    y: int
    place: str
    code: str
    differs: bool


@dataclass(frozen=True, slots=True)
class Drawing:
    """All of it: `gaps` are the y where rows were left out, with their number; `told` is the same in words."""

    height: int
    titles: tuple[tuple[int, str], ...]
    boxes: tuple[Box, ...]
    edges: tuple[str, ...]
    stubs: tuple[str, ...]
    lines: tuple[SourceLine, ...]
    gaps: tuple[tuple[int, str], ...]
    told: str


def drawing(diff: GraphDiff, evidence: Evidence, excerpts: Excerpts) -> Drawing:
    """Lay out the rows from the top to the bottom; a gap takes half a row."""
    tops: list[int] = []
    gaps: list[tuple[int, str]] = []
    y = _HEAD
    for row in diff.rows:
        if row.skipped:
            gaps.append((y + 12, f"{words.count(row.skipped, 'node')} not shown"))
            y += 30
        tops.append(y)
        y += _ROW
    boxes: list[Box] = []
    edges: list[str] = []
    stubs: list[str] = []
    for x, nodes in ((_LEFT, [row.left for row in diff.rows]), (_RIGHT, [row.right for row in diff.rows])):
        for number, node in enumerate(nodes):
            if node is None:
                continue
            row = diff.rows[number]
            alone = row.left is None or row.right is None
            state = "alone" if alone else "changed" if row.differs else "same"
            boxes.append(Box(x, tops[number], state, _operator(node), words.cut(_detail(node), _LETTERS)))
            edges += [_edge(x, source, number, nodes, tops) for source in node.sources if source < number]
            if not node.sources:
                stubs.append(f"M{x + BOX // 2} {tops[number] - 12}v10")
    shown = "the input that failed" if evidence.reduced else words.variation(evidence)
    titles = (
        (_LEFT, "traced on the example"),
        (_RIGHT, words.cut(f"traced on {shown}", _LETTERS)),
        (_SOURCE, "source"),
    )
    changed = [
        f"{_named(row.left)} on the example, {_named(row.right)} on this input" for row in diff.rows if row.differs
    ]
    lines, before = [], ("", 0)
    for row, top in zip(diff.rows, tops, strict=True):
        at = next((n.location for n in (row.right, row.left) if n is not None and n.location is not None), None)
        if at is not None and (at.path, at.line) != before:
            lines.append(_source(at, top, row.differs, excerpts))
            before = (at.path, at.line)
    return Drawing(
        y + 6, titles, tuple(boxes), tuple(edges), tuple(stubs), tuple(lines), tuple(gaps), "; ".join(changed)
    )


def _edge(x: int, source: int, target: int, nodes: list[GraphNode | None], tops: list[int]) -> str:
    """Straight down where nothing stands between, else past it on the left."""
    if all(node is None for node in nodes[source + 1 : target]):
        return f"M{x + BOX // 2} {tops[source] + _HIGH}V{tops[target] - 2}"
    top, bottom = tops[source] + _HIGH // 2, tops[target] + _HIGH // 2
    return f"M{x} {top}h-6q-{_LANE - 6} 0 -{_LANE - 6} 10V{bottom - 10}q0 10 {_LANE - 6} 10h4"


def _source(at: Location, top: int, differs: bool, excerpts: Excerpts) -> SourceLine:
    code = "".join(piece.text for piece in excerpts.at(at.path, at.line))
    return SourceLine(top, f"{PurePath(at.path).name}:{at.line}", words.cut(code, _CODE), differs)


def _operator(node: GraphNode) -> str:
    return node.operator.removeprefix("aten::")


def _detail(node: GraphNode) -> str:
    """The constants, plain numbers without their type."""
    return re.sub(r"\b\w+ scalar ", "", node.detail)


def _named(node: GraphNode | None) -> str:
    return "nothing" if node is None else " ".join(part for part in (_operator(node), _detail(node)) if part)
