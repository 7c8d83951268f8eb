"""The table of models and exporters with its column of latencies, and the models that were not probed below it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator

import report_samples as samples
from rich.text import Text

from onnxlint.base.records import (
    Assumed,
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
from onnxlint.report.common.model_table import assumptions, model_line, model_list, unprobed

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


def lines(texts: Iterator[Text]) -> list[str]:
    return [text.plain for text in texts]


def test_the_list_and_the_line_say_what_the_table_says() -> None:
    models = (samples.PROBED, samples.GOOD, samples.UNPROBED)
    assert lines(model_list(models)) == [
        "src.models.gate:Gate",
        "  TorchScript  ✗ wrong values · gate.py:10 · 0.4 s",
        "  dynamo       ✗ refused · gate.py:10 · 2.1 s",
        "src.models.many:Many",
        "  TorchScript  ✓ ok · 0.2 s",
        "  dynamo       – skipped",
    ]
    assert model_line(samples.GOOD).plain == "src.models.many:Many  TorchScript ✓ ok · 0.2 s  dynamo – skipped"
    reason = model_line(dataclasses.replace(samples.UNPROBED, reason="a\x1b[2J\nb")).plain
    assert reason.startswith("src.models.wide:Wide  – not probed: a")
    assert not {"\n", "\x1b"} & set(reason)


def test_a_model_that_was_not_probed_has_its_reason_and_the_lines_that_would_let_us() -> None:
    odd = dataclasses.replace(samples.UNPROBED, name="a b:größe", path="two words.py", reason=None)
    assert lines(unprobed((samples.GOOD, odd))) == [
        "Not probed",
        "  – a b:größe  two words.py:1",
        "    no reason was recorded",
        "    to probe it:",
        "      [[tool.onnxlint.models]]",
        '      factory = "src.models.wide:Wide"',
        '      inputs = { frame = "float32[batch, 3, 224, 224]" }',
        "",
    ]
    assert lines(unprobed((samples.GOOD,))) == []


def test_a_model_that_nobody_asked_for_is_one_line_after_the_others() -> None:
    guessed = dataclasses.replace(samples.UNPROBED, name="m:Guess", assumed=Assumed(), reason="word " * 100)
    told = lines(unprobed((guessed, samples.UNPROBED)))
    assert [line.startswith("  – m:Guess") for line in told].index(True) == len(told) - 3
    assert len(told[-3]) < 250
    assert told[-2] == "    `onnxlint init` writes the configuration to start from"


def test_assumed_inputs_are_shown_as_configuration_declares_them() -> None:
    assumed = Assumed({"x": "float32[batch, 3]"}, {"batch": (2, 5)}, {"mode": "fast"})
    model = dataclasses.replace(samples.GOOD, assumed=assumed)
    assert lines(assumptions((model, dataclasses.replace(samples.UNPROBED, assumed=assumed)))) == [
        "Assumed inputs (`onnxlint init` writes them as configuration)",
        "  src.models.many:Many  x: float32[batch, 3], mode: 'fast'",
        "    PyTorch takes also batch 2, 5",
        "",
    ]
    assert lines(assumptions((samples.GOOD,))) == []
