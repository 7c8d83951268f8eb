"""Which models a run probes, and what it says of those that it leaves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from onnxlint.base.cache import Store
from onnxlint.base.probe_records import Probe, ProbeResult, TensorSpec, Way
from onnxlint.base.records import Diagnostic, ExporterResult, ModelReport, ModelStatus, Outcome
from onnxlint.config.declared_models import ModelConfig
from onnxlint.config.settings import Settings
from onnxlint.flow.state.candidates import Candidate
from onnxlint.probes.schedule.pool import ProbePool
from onnxlint.report.progress import SILENT
from onnxlint.run.dynamic_pass import DynamicResult, missing_packages, run_dynamic, switched_off
from onnxlint.run.probing import Probing
from onnxlint.run.sources import Sources
from onnxlint.source.discover import Discovery


class Pool:
    """Answers at once: exporters and torch are none of the matter here."""

    def __init__(self, ways: int = 0) -> None:
        self.probes: list[Probe] = []
        self._ways = ways

    def warm(self) -> None: ...

    def run_each(self, probes: Sequence[Probe], **_: Any) -> Iterator[tuple[Probe, ProbeResult]]:
        for one in probes:
            self.probes.append(one)
            report = ModelReport(
                one.name, one.path, one.line, ModelStatus.PROBED, exporters={"dynamo": ExporterResult(Outcome.OK)}
            )
            ways = [] if one.way else [Way(f"with mask{n}", {"x": TensorSpec("bool", ())}) for n in range(self._ways)]
            yield one, ProbeResult(report, notices=(Diagnostic("warning", "it wrote a file"),), ways=tuple(ways))


def silent(name: str) -> Candidate:
    """A model that nothing says how to feed."""
    return Candidate(f"m:{name}", "two words/m.py", 3, "", "/w", reason="no example input is known for it")


def dynamic(
    root: Path,
    candidates: Sequence[Candidate] = (),
    pool: Pool | None = None,
    overlay: dict[Path, bytes] | None = None,
    **settings: Any,
) -> DynamicResult:
    made = Settings(root, jobs=1, **settings)
    sources = Sources(Discovery(()), made, SILENT, {}, Store(None))
    probing = Probing(cast(ProbePool, pool or Pool()), made, Store(None), SILENT)
    return run_dynamic(tuple(candidates), sources, made, probing, None, overlay or {}, None)


def test_what_nobody_asks_for_is_not_missing(tmp_path: Path) -> None:
    assert missing_packages(Settings(tmp_path, static_only=True)) == []


def test_what_is_not_installed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.path", [])
    monkeypatch.setattr("sys.modules", {})
    missing = missing_packages(Settings(tmp_path))
    assert missing == ["torch", "onnx", "onnxscript", "onnxruntime", "numpy", "psutil"]
    told = switched_off(missing[:2])
    assert (told.level, told.message) == (
        "warning",
        "the dynamic pass is off: torch, onnx not installed; pip install 'onnxlint[dynamic]'",
    )


def test_declared_models_come_first_and_one_notice_is_told_once(here: Path) -> None:
    pool = Pool()
    models = (ModelConfig("größe:Net"), ModelConfig("a:b"))
    fed = replace(silent("Fed"), source="marked", reason=None)
    result = dynamic(here, [fed], pool, {here / "m.py": b"x = '\xff'"}, models=models)
    assert [probe.factory for probe in pool.probes] == ["größe:Net", "a:b", "m:Fed"]
    assert {tuple(probe.overlay.items()) for probe in pool.probes} == {((str(here / "m.py"), "x = '\xff'"),)}
    assert [one.report.name for one in result.results] == ["größe:Net", "a:b", "m:Fed"]
    assert result.diagnostics == (Diagnostic("warning", "it wrote a file"),)


def test_of_more_models_than_are_asked_for_the_rest_is_told_with_the_flag(here: Path) -> None:
    result = dynamic(here, [silent(f"N{n}") for n in range(4)], max_models=1)
    assert len(result.results) == 1
    assert [report.name for report in result.unprobed] == ["m:N1", "m:N2", "m:N3"]
    assert (
        "1 of 4 models that nobody declared are probed, without m:N1 and 2 more; "
        "--max-models 4 probes all, `--model NAME` one"
    ) in [d.message for d in result.diagnostics]


def test_a_model_that_is_not_there_is_an_error(here: Path) -> None:
    result = dynamic(here, [silent("Net")], only_models=("m:Nett",))
    assert ("error", "--model m:Nett: no model of that name was found") in [
        (d.level, d.message) for d in result.diagnostics
    ]


def test_further_ways_to_call_a_model_have_the_room_that_is_left(here: Path) -> None:
    pool = Pool(ways=3)
    result = dynamic(here, [silent("Net")], pool, max_models=2)
    assert [probe.way for probe in pool.probes] == ["", "with mask0"]
    (told,) = [d.message for d in result.diagnostics if "further ways" in d.message]
    assert told.endswith("and 1 more are not probed; --max-models 3 leaves room for them")
    assert not any(
        "further ways" in d.message for d in dynamic(here, [silent("Net")], Pool(ways=3), max_models=8).diagnostics
    )


def test_without_models_nothing_is_probed(here: Path) -> None:
    assert dynamic(here) == DynamicResult()
