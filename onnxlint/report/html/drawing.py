"""Two graphs side by side, as the geometry of a drawing: rows of boxes, the lines between them, the source beside."""

import re
from dataclasses import replace
from pathlib import PurePath
from types import SimpleNamespace as View

from onnxlint.base.records import Evidence, GraphDiff, GraphNode
from onnxlint.report.common import words
from onnxlint.report.html.code import Excerpts

BOX = 272
_LEFT, _RIGHT, _SOURCE = 30, 366, 664
_HEAD, _ROW, _HIGH = 44, 54, 38  # the line of titles, a row, the box in it
_SHORT = 17  # a line of source that shares its row with another
_LANE = 16  # of lines that go past other boxes
_LETTERS, _CODE, _TITLE = 37, 48, 48  # that fit into a box, beside the boxes, and above them


def drawing(diff: GraphDiff, evidence: Evidence, excerpts: Excerpts) -> View:
    """Lay out the rows from the top to the bottom; a gap takes half a row. `text` is the drawing in words."""
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
    boxes: list[View] = []
    edges: list[str] = []
    stubs: list[str] = []
    for x, nodes in ((_LEFT, [row.left for row in diff.rows]), (_RIGHT, [row.right for row in diff.rows])):
        for number, node in enumerate(nodes):
            if node is None:
                continue
            row = diff.rows[number]
            state = "alone" if None in (row.left, row.right) else "changed" if row.differs else "same"
            detail = words.cut(_detail(node), _LETTERS)
            boxes.append(View(x=x, y=tops[number], state=state, operator=_operator(node), detail=detail))
            edges += [_edge(x, source, number, nodes, tops) for source in node.sources if source < number]
            if not node.sources:
                stubs.append(f"M{x + BOX // 2} {tops[number] - 12}v10")
    made = "traced" if evidence.exporter == "torchscript" else "captured"
    whole = f"{made} on {words.variation(replace(evidence, reduced=False, runtime=''))}"
    whole = f"{words.cut(whole, _TITLE - 12)} (unreduced)" if evidence.reduced else words.cut(whole, _TITLE)
    titles = ((_LEFT, f"{made} on the example"), (_RIGHT, whole), (_SOURCE, "source"))
    differing = [row for row in diff.rows if row.differs]
    changed = [f"{_named(row.left)} on the example, {_named(row.right)} on this input" for row in differing]
    lines: list[View] = []
    before: list[tuple[str, int]] = []
    for row, top in zip(diff.rows, tops, strict=True):
        ats = [node.location for node in (row.left, row.right) if node is not None and node.location is not None]
        here = list(dict.fromkeys((at.path, at.line) for at in ats))
        if here and here != before:
            lines += _source(here, top, row.differs, excerpts)
            before = here
    return View(
        caption=f"Where the {made} graphs differ",
        height=y + 6,
        titles=titles,
        boxes=boxes,
        edges=edges,
        stubs=stubs,
        lines=lines,
        gaps=gaps,
        text="; ".join(changed),
    )


def _edge(x: int, source: int, target: int, nodes: list[GraphNode | None], tops: list[int]) -> str:
    """Straight down where nothing stands between, else past it on the left."""
    if all(node is None for node in nodes[source + 1 : target]):
        return f"M{x + BOX // 2} {tops[source] + _HIGH}V{tops[target] - 2}"
    top, bottom = tops[source] + _HIGH // 2, tops[target] + _HIGH // 2
    return f"M{x} {top}h-6q-{_LANE - 6} 0 -{_LANE - 6} 10V{bottom - 10}q0 10 {_LANE - 6} 10h4"


def _source(places: list[tuple[str, int]], top: int, differs: bool, excerpts: Excerpts) -> list[View]:
    """The lines that made the nodes of a row; where each graph has one of its own, both are short."""
    short = len(places) > 1
    lines = []
    for k, (path, line) in enumerate(places):
        place = f"{PurePath(path).name}:{line}"
        code = "".join(piece.text for piece in excerpts.at(path, line))
        code = words.cut(code, _CODE - len(place) - 1 if short else _CODE)
        place = words.cut(place, _CODE)
        lines.append(View(y=top + _SHORT * k, place=place, code=code, differs=differs, short=short))
    return lines


def _operator(node: GraphNode) -> str:
    return node.operator.removeprefix("aten::")


def _detail(node: GraphNode) -> str:
    """The constants, plain numbers without their type, and the one that stands for the end of an axis."""
    return re.sub(r"\b\w+ scalar ", "", node.detail).replace(str(2**63 - 1), "end")


def _named(node: GraphNode | None) -> str:
    return "nothing" if node is None else " ".join(part for part in (_operator(node), _detail(node)) if part)
