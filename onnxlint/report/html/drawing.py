"""Two graphs side by side, as the geometry of a drawing: rows of boxes, the lines between them, the source beside."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import PurePath

from onnxlint.base.records import Evidence, GraphDiff, GraphNode
from onnxlint.report.common import words
from onnxlint.report.html.code import Excerpts

WIDTH, BOX = 1000, 272
_LEFT, _RIGHT, _SOURCE = 30, 366, 664
_HEAD, _ROW, _HIGH = 44, 54, 38  # the line of titles, a row, the box in it
_SHORT = 17  # a line of source that shares its row with another
_LANE = 16  # of lines that go past other boxes
_LETTERS, _CODE, _TITLE = 37, 48, 48  # that fit into a box, beside the boxes, and above them


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
    """The line that made the nodes of a row; where each graph has one of its own, both are `short`: of one line."""

    y: int
    place: str
    code: str
    differs: bool
    short: bool = False


@dataclass(frozen=True, slots=True)
class Drawing:
    """All of it: `gaps` are the y where rows were left out, with their number; `told` is the same in words."""

    caption: str
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
    if diff.skipped:
        gaps.append((y + 12, f"{words.count(diff.skipped, 'node')} not shown"))
        y += 20
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
    made = "traced" if evidence.exporter == "torchscript" else "captured"
    whole = f"{made} on {words.variation(replace(evidence, reduced=False, runtime=''))}"
    whole = f"{words.cut(whole, _TITLE - 12)} (unreduced)" if evidence.reduced else words.cut(whole, _TITLE)
    titles = ((_LEFT, f"{made} on the example"), (_RIGHT, whole), (_SOURCE, "source"))
    changed = [
        f"{_named(row.left)} on the example, {_named(row.right)} on this input" for row in diff.rows if row.differs
    ]
    lines: list[SourceLine] = []
    before: list[tuple[str, int]] = []
    for row, top in zip(diff.rows, tops, strict=True):
        ats = [node.location for node in (row.left, row.right) if node is not None and node.location is not None]
        here = list(dict.fromkeys((at.path, at.line) for at in ats))
        if here and here != before:
            lines += _source(here, top, row.differs, excerpts)
            before = here
    return Drawing(
        f"Where the {made} graphs differ",
        y + 6,
        titles,
        tuple(boxes),
        tuple(edges),
        tuple(stubs),
        tuple(lines),
        tuple(gaps),
        "; ".join(changed),
    )


def _edge(x: int, source: int, target: int, nodes: list[GraphNode | None], tops: list[int]) -> str:
    """Straight down where nothing stands between, else past it on the left."""
    if all(node is None for node in nodes[source + 1 : target]):
        return f"M{x + BOX // 2} {tops[source] + _HIGH}V{tops[target] - 2}"
    top, bottom = tops[source] + _HIGH // 2, tops[target] + _HIGH // 2
    return f"M{x} {top}h-6q-{_LANE - 6} 0 -{_LANE - 6} 10V{bottom - 10}q0 10 {_LANE - 6} 10h4"


def _source(places: list[tuple[str, int]], top: int, differs: bool, excerpts: Excerpts) -> list[SourceLine]:
    short = len(places) > 1
    found = []
    for k, (path, line) in enumerate(places):
        place = f"{PurePath(path).name}:{line}"
        code = "".join(piece.text for piece in excerpts.at(path, line))
        room = _CODE - len(place) - 1 if short else _CODE
        found.append(SourceLine(top + _SHORT * k, words.cut(place, _CODE), words.cut(code, room), differs, short))
    return found


def _operator(node: GraphNode) -> str:
    return node.operator.removeprefix("aten::")


def _detail(node: GraphNode) -> str:
    """The constants, plain numbers without their type, and the one that stands for the end of an axis."""
    return re.sub(r"\b\w+ scalar ", "", node.detail).replace(str(2**63 - 1), "end")


def _named(node: GraphNode | None) -> str:
    return "nothing" if node is None else " ".join(part for part in (_operator(node), _detail(node)) if part)
