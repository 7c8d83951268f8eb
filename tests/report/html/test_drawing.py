"""Two graphs side by side, with the source beside them."""

from __future__ import annotations

import dataclasses

import report_samples as samples

from onnxlint.report.html.code import Excerpts
from onnxlint.report.html.drawing import drawing


def test_graphs_are_drawn_side_by_side_with_their_source() -> None:
    evidence = samples.DRAWN.evidence[0]
    assert evidence.graphs is not None
    drawn = drawing(evidence.graphs, evidence, Excerpts(samples.sources))
    left, right = ([box for box in drawn.boxes if (box.x < 300) is here] for here in (True, False))
    assert [(box.operator, box.detail, box.state) for box in left] == [
        ("gt", "1", "same"),
        ("mul", "2", "changed"),
        ("return", "", "same"),
    ]
    assert [box.state for box in right] == ["same", "changed", "alone", "same"]
    assert [a.y for a in left] == [b.y for b in right if b.state != "alone"], "what is the same stands in one row"
    assert len(drawn.edges) == 7
    assert [(line.place, line.code, line.short) for line in drawn.lines] == [
        ("count.py:3", "return (values > 1).sum()", False),
        ("gate.py:11", "return h * 2", True),
        ("gate.py:12", "return h * 3", True),
    ], "each side has its own line"
    assert [told for _, told in drawn.gaps] == ["4 nodes not shown", "2 nodes not shown", "7 nodes not shown"]
    assert drawn.height > max(y for y, _ in drawn.gaps)
    assert [title for _, title in drawn.titles] == ["traced on the example", "traced on negative values", "source"]
    assert drawn.text == "mul 2 on the example, mul 3 on this input; nothing on the example, neg on this input"


def test_what_dynamo_captured_is_not_called_traced() -> None:
    evidence = dataclasses.replace(samples.DRAWN.evidence[0], exporter="dynamo", variation="all-sizes", reduced=True)
    assert evidence.graphs is not None
    drawn = drawing(evidence.graphs, evidence, Excerpts(samples.sources))
    assert drawn.caption == "Where the captured graphs differ"
    assert drawn.titles[1][1] == "captured on other sizes of every dim (unreduced)"
