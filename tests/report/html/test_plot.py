"""The errors of an export over its inputs, as the geometry of a drawing."""

from __future__ import annotations

import report_samples as samples

from onnxlint.base.records import Tried
from onnxlint.report.html.plot import plot


def test_errors_are_plotted_over_the_inputs() -> None:
    (model,) = samples.REPORTS["drawn"].models
    drawn = plot(model.exporters["torchscript"].tried, model.name, "TorchScript", ["example", "values[negative#3]"])
    assert drawn is not None
    assert [dot.kind for dot in drawn.dots] == ["agrees", "agrees", "values", "failed", "values", "failed", "failed"]
    large, small = (dot for dot in drawn.dots if dot.kind == "values")
    assert [dot for dot in drawn.dots if dot.here] == [large], "what the finding was seen on, where it fails"
    assert large.y < small.y < drawn.agrees, "the larger error stands higher"
    assert [label for _, label in drawn.ticks] == ["1e-7", "1e-5", "0.001", "0.1"]
    noise, exact = (dot for dot in drawn.dots if dot.kind == "agrees")
    assert small.y < large.passes == small.passes < noise.y < exact.y == drawn.agrees, "noise stands below what passes"
    assert noise.text == "the example: agrees, max abs error 1.2e-07"
    assert [name for _, name in drawn.groups] == ["example", "other values", "other sizes"]
    assert drawn.text.startswith("src.models.gate:Gate in TorchScript: of 7 inputs, 2 agree with PyTorch. ")
    assert "small values in OpenVINO: max abs error 0.0003" in small.text


def test_errors_of_any_size_have_a_place() -> None:
    errors = (5e-324, 1.7e308, float("inf"), float("nan"), 0.0)
    drawn = plot([Tried("example", "agrees", 0.0), *(Tried(f"batch={e}", "values", e) for e in errors)], "m", "dynamo")
    assert drawn is not None
    assert [dot.kind for dot in drawn.dots] == ["agrees", "values", "values", "failed", "failed", "failed"]
    assert all(0 < y <= drawn.agrees for y in (*(dot.y for dot in drawn.dots), *(y for y, _ in drawn.ticks)))
    assert drawn.ticks[0][1] == "1e-324"


def test_nothing_is_plotted_where_every_input_agrees() -> None:
    assert plot([Tried("example", "agrees"), Tried("batch=3", "agrees")], "m", "dynamo") is None
    assert plot([Tried("example", "values", 1.0)], "m", "dynamo") is None, "one point is no plot"
