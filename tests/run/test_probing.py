"""All probes of a run: what is known is not probed, Ctrl-C leaves what is known, and nothing is started for nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from onnxlint.base.cache import Store
from onnxlint.base.probe_records import Depends, Probe, ProbeResult
from onnxlint.base.records import ExporterResult, ModelReport, ModelStatus, Outcome
from onnxlint.config.declared_models import ModelConfig
from onnxlint.config.settings import Settings
from onnxlint.probes.schedule.pool import ProbePool
from onnxlint.report.progress import SILENT
from onnxlint.run.probing import Probing

MODELS = ("a:build", "b:build", "c:build")


def probe(name: str) -> Probe:
    return Probe(name, name, "", 0, "config", None, {}, {}, None, ("dynamo",), 18, (), "/", "/repro")


def result(name: str, *, keep: bool = True) -> ProbeResult:
    report = ModelReport(name, "", 0, ModelStatus.PROBED, exporters={"dynamo": ExporterResult(Outcome.OK)})
    return ProbeResult(report, depends=Depends(unseen="" if keep else "it draws lots"))


class Pool:
    """Answers at once, the last probe first; `interrupt_at` is the model at which Ctrl-C comes."""

    def __init__(self, interrupt_at: str = "", unkept: str = "") -> None:
        self.asked: list[str] = []
        self.warmed = False
        self._interrupt_at = interrupt_at
        self._unkept = unkept

    def warm(self) -> None:
        self.warmed = True

    def run_each(self, probes: Sequence[Probe], **_: Any) -> Iterator[tuple[Probe, ProbeResult]]:
        for one in reversed(probes):
            if one.name == self._interrupt_at:
                raise KeyboardInterrupt
            self.asked.append(one.name)
            yield one, result(one.name, keep=one.name != self._unkept)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(tmp_path, models=tuple(ModelConfig(name) for name in MODELS))


def start(pool: Pool, settings: Settings) -> Probing:
    return Probing(cast(ProbePool, pool), settings, Store(settings.root / "cache"), SILENT)


def names(results: Sequence[ProbeResult]) -> list[str]:
    return [r.report.name for r in results]


PROBES = [probe(name) for name in MODELS]


def test_results_come_in_the_order_of_the_probes_and_only_what_is_new_is_probed(settings: Settings) -> None:
    pool = Pool()
    assert names(start(pool, settings).run(PROBES[:2])) == ["a:build", "b:build"]
    probing = start(pool, settings)
    assert names(probing.run(PROBES)) == list(MODELS)
    assert pool.asked == ["b:build", "a:build", "c:build"]
    assert probing.unchanged == 2


def test_debug_and_no_store_probe_everything(settings: Settings) -> None:
    pool = Pool()
    for _ in range(2):
        start(pool, replace(settings, debug=True)).run(PROBES)
        Probing(cast(ProbePool, pool), settings, Store(None), SILENT).run(PROBES)
    assert len(pool.asked) == 4 * len(MODELS)


def test_nothing_is_started_where_the_last_run_knew_everything(settings: Settings) -> None:
    for warmed in (True, False):
        pool = Pool()
        probing = start(pool, settings)
        probing.warm()
        assert pool.warmed is warmed
        probing.run(PROBES)


def test_it_is_started_where_something_could_not_be_kept_or_the_configuration_changed(settings: Settings) -> None:
    start(Pool(unkept="b:build"), settings).run(PROBES)
    unkept = Pool()
    start(unkept, settings).warm()
    assert unkept.warmed
    start(Pool(), settings).run(PROBES)
    for other in (replace(settings, opset=19), replace(settings, models=settings.models[:1])):
        pool = Pool()
        start(pool, other).warm()
        assert pool.warmed


def test_an_interrupt_leaves_what_is_known_and_names_the_rest(settings: Settings) -> None:
    probing = start(Pool(interrupt_at="b:build"), settings)
    told = [(r.report.name, r.report.status, r.report.reason) for r in probing.run(PROBES)]
    missing = (ModelStatus.NOT_PROBED, "the run was interrupted before its turn")
    assert told == [("a:build", *missing), ("b:build", *missing), ("c:build", ModelStatus.PROBED, None)]
    assert probing.interrupted
    again = Pool()
    start(again, settings).run(PROBES)
    assert again.asked == ["b:build", "a:build"], "what was finished before is kept"
