"""The speed of an export against eager's: a ratio, and what takes the time where the runtime is the slower one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from probing import FOLDER, hazard, outcomes, probed

from onnxlint.base.probe_records import ProbeResult
from onnxlint.base.records import Location, SlowNodes, from_json, to_json
from onnxlint.probes.confirm.latency import slowest
from onnxlint.probes.process.worker import run_probe


@pytest.mark.slow
def test_a_slower_runtime_is_told_with_the_operators_and_lines_that_take_the_time(tmp_path: Path) -> None:
    result = probed("Slow", "wide", "x", tmp_path)
    assert outcomes(result) == {"torchscript": "ok", "dynamo": "ok"}
    text = (FOLDER / "runtimes.py").read_text().splitlines()
    here = text.index("        return y.tan().sin().cos().tan()  # here") + 1
    for cell in result.report.exporters.values():
        assert cell.latency is not None
        assert cell.latency.ratio > 1.2
        first = cell.latency.slowest[0]
        assert first.operator in ("Tan", "Sin", "Cos")
        assert first.location is not None
        assert (first.location.path, first.location.line) == ("runtimes.py", here)
        assert 0.2 < first.share <= 1.0
    assert from_json(ProbeResult, to_json(result)) == result


@pytest.mark.slow
def test_what_does_not_run_and_what_nobody_asks_about_and_what_takes_no_time_has_no_ratio(tmp_path: Path) -> None:
    refused = run_probe(hazard("Unsupported", tmp_path)).report.exporters.values()
    unasked = probed("Slow", "wide", "x", tmp_path, latency=False).report.exporters.values()
    short = probed("Split", "x24", "x", tmp_path).report.exporters.values()
    assert [cell.latency for cell in (*refused, *unasked, *short)] == [None] * 6


def test_a_profile_is_summed_by_operator_and_line_and_fused_nodes_go_to_their_first_part() -> None:
    def event(name: str, operator: str, microseconds: int) -> dict[str, Any]:
        return {"cat": "Node", "name": f"{name}_kernel_time", "dur": microseconds, "args": {"op_name": operator}}

    one, other = Location("m.py", 3), Location("m.py", 9)
    events = [
        event("/a/MatMul", "MatMul", 30),
        event("/b/MatMul", "MatMul", 30),
        event("/c/Mul/fused", "FusedMul", 30),
        event("made up", "Cast", 8),
        event("/d", "Add", 2),
        {"cat": "Session", "name": "model_run", "dur": 500, "args": {}},
    ]
    places = {"/a/MatMul": (one,), "/b/MatMul": (one,), "/c/Mul": (other,), "/d": (other,)}
    assert slowest(events, places) == (
        SlowNodes("MatMul", 0.6, one),
        SlowNodes("FusedMul", 0.3, other),
        SlowNodes("Cast", 0.08, None),
    )
    assert slowest([], places) == ()
