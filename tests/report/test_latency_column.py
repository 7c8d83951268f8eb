"""The column of the model table that compares the speed of exports with eager's, and the lines below it."""

from __future__ import annotations

import json

from onnxlint.base.records import (
    ExporterResult,
    Latency,
    Location,
    ModelReport,
    ModelStatus,
    Outcome,
    Report,
    SlowNodes,
)
from onnxlint.report import render

HEADER = "time / eager's"


def told(format: str, width: int = 120, seconds: float = 1.5, **latencies: Latency | None) -> str:
    exporters = {name: ExporterResult(Outcome.OK, seconds=seconds, latency=latencies.get(name)) for name in latencies}
    model = ModelReport("models.gate:Gate", "gate.py", 3, ModelStatus.PROBED, exporters=exporters)
    return render(
        Report(models=(model,), files=1), format, color=False, width=width, show_all=False, sources=None, catalogue={}
    )


def test_the_ratios_stand_in_the_order_of_the_exporters() -> None:
    text = told("full", torchscript=Latency(0.416, 9), dynamo=Latency(0.5, 9))
    assert HEADER in text
    assert "0.42× · 0.50×" in text
    assert "as long as" not in text
    assert "0.42× · –" in told("full", torchscript=Latency(0.416, 9), dynamo=None)


def test_there_is_no_column_without_a_ratio() -> None:
    assert HEADER not in told("full", torchscript=None, dynamo=None)


def test_a_slower_export_is_told_in_a_line() -> None:
    slow = Latency(2.44, 5, (SlowNodes("Tan", 0.61, Location("src/gate.py", 12)), SlowNodes("Cast", 0.2)))
    text = told("full", dynamo=slow)
    assert "models.gate:Gate, dynamo: takes 2.4 times as long as eager PyTorch: Tan 61% (gate.py:12), Cast 20%" in text


def test_a_narrow_table_goes_without_the_seconds_first() -> None:
    both = {"torchscript": Latency(0.416, 9), "dynamo": Latency(0.5, 9)}
    texts = {width: told("full", width, seconds=1234.5, **both) for width in range(100, 59, -1)}
    shown = [("20 min 34 s" in text, HEADER in text) for text in texts.values()]
    assert list(dict.fromkeys(shown))[:2] == [(True, True), (False, True)]
    assert all(len(line) <= width for width, text in texts.items() for line in text.splitlines()[:3])


def test_json_has_it_where_it_was_measured() -> None:
    slow = Latency(2.44, 5, (SlowNodes("Tan", 0.61, Location("src/gate.py", 12, "f")),))
    (model,) = json.loads(told("json", torchscript=slow, dynamo=None))["models"]
    assert model["exporters"]["torchscript"]["latency"] == {
        "ratio": 2.44,
        "runs": 5,
        "slowest": [
            {"operator": "Tan", "share": 0.61, "location": {"path": "src/gate.py", "line": 12, "function": "f"}}
        ],
    }
    assert "latency" not in model["exporters"]["dynamo"]
