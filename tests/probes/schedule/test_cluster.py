"""Probes on a Dask cluster: real scheduler and workers over TCP, one of which dies in the middle of a probe."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from onnxlint.base.probe_records import Probe, ProbeResult
from onnxlint.base.records import ExporterResult, ModelStatus, Outcome, Report
from onnxlint.config.settings import Settings, load_settings
from onnxlint.probes.schedule.cluster import Cluster
from onnxlint.run.pipeline import run_check

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.slow

MODELS = """\
import os
import time
from pathlib import Path

import torch
from torch import nn

HERE = Path(__file__).parent


class Gate(nn.Module):
    def forward(self, x):
        if x.mean() > 0:
            return x * 2
        return x


class Right(nn.Module):
    def forward(self, x):
        return torch.relu(x)


class Broken(nn.Module):
    def __init__(self):
        super().__init__()
        raise ValueError("no weights")


class KillsWorker(nn.Module):
    times = 1

    def forward(self, x):
        started = sorted(HERE.glob("*.started"))
        if len(started) < self.times:
            (HERE / "pid").write_text(str(os.getpid()))
            (HERE / "pid").rename(HERE / f"{len(started)}.started")
            time.sleep(1e6)
        return torch.relu(x)


class KillsEveryWorker(KillsWorker):
    times = 99


class Waits(nn.Module):
    def forward(self, x):
        (HERE / "pid").write_text(str(os.getpid()))
        (HERE / "pid").rename(HERE / "waiting")
        time.sleep(1e6)


def inputs():
    return (torch.ones(2, 3),)
"""
CONFIG = '[[models]]\nfactory = "models:{}"\ninputs = "models:inputs"\ndynamic = {{ x = {{ 0 = "batch" }} }}\n'


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
    ) as cluster:
        assert cluster.scheduler_address.startswith("tcp://")
        yield cluster


@pytest.fixture
def folder(here: Path) -> Path:
    (here / "models.py").write_text(MODELS)
    return here


def settings(folder: Path, *models: str) -> Settings:
    (folder / "onnxlint.toml").write_text("".join(CONFIG.format(name) for name in models))
    settings, mistakes = load_settings(folder, overrides={"cache": False})
    assert not mistakes
    return settings


def probe(folder: Path, name: str) -> Probe:
    return Probe(
        f"models:{name}", f"models:{name}", "models.py", 1, "config", "models:inputs", {"x": {0: "batch"}}, {}, None,
        ("torchscript", "dynamo"), 18, (str(folder),), str(folder), str(folder / "repro"), timeout=200.0,
    )  # fmt: skip


def timeless(report: Report) -> Report:
    """The report without what a clock says."""

    def cell(result: ExporterResult) -> ExporterResult:
        return replace(result, seconds=0.0)

    models = tuple(replace(m, exporters={e: cell(r) for e, r in m.exporters.items()}) for m in report.models)
    return replace(report, models=models, seconds=0.0)


def test_the_report_is_that_of_a_local_run(folder: Path, cluster: Any) -> None:
    local = settings(folder, "Gate", "Right", "Broken")
    here = run_check([folder], local)
    there = run_check([folder], replace(local, scheduler=cluster.scheduler_address))
    assert timeless(there) == timeless(here)
    assert [(f.code, f.verdict) for f in there.findings] == [("ONX101", "confirmed")]
    outcomes = [{cell.outcome for cell in model.exporters.values()} for model in there.models]
    assert outcomes == [{Outcome.WRONG_VALUES, Outcome.EXPORT_ERROR}, {Outcome.OK}, set()]


@pytest.fixture
def killer(folder: Path) -> Iterator[None]:
    """Kills the Dask worker of every model that has started: a model is not let."""
    over = threading.Event()

    def kill() -> None:
        done: set[Path] = set()
        while not over.wait(0.05):
            for file in set(folder.glob("*.started")) - done:
                done.add(file)
                _supervisor, _server, worker, *_ = psutil.Process(int(file.read_text())).parents()
                worker.kill()

    thread = threading.Thread(target=kill)
    thread.start()
    yield
    over.set()
    thread.join()


@pytest.mark.usefixtures("killer")
def test_a_probe_whose_worker_is_killed_runs_again_and_the_others_are_not_disturbed(folder: Path, cluster: Any) -> None:
    stages: list[tuple[str, str]] = []
    with Cluster(cluster.scheduler_address) as pool:
        probes = [probe(folder, name) for name in ("KillsWorker", "Right")]
        pairs = pool.run_each(probes, jobs=2, on_stage=lambda model, stage: stages.append((model, stage)))
        results = {asked.name: result for asked, result in pairs}
    assert len(list(folder.glob("*.started"))) == 1
    for result in results.values():
        assert {cell.outcome for cell in result.report.exporters.values()} == {Outcome.OK}
    assert {model for model, _ in stages} == results.keys()
    assert "exporting with dynamo" in {stage for _, stage in stages}


@pytest.mark.usefixtures("killer")
def test_a_probe_that_no_worker_survives_is_reported(folder: Path, cluster: Any) -> None:
    with Cluster(cluster.scheduler_address) as pool:
        ((_, result),) = pool.run_each([probe(folder, "KillsEveryWorker")], jobs=1)
    assert result.report.status is ModelStatus.NOT_PROBED
    assert result.report.reason == "every worker of the cluster that ran it ended in the middle of it"
    assert {cell.outcome for cell in result.report.exporters.values()} == {Outcome.CRASH}


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Have Ctrl-C interrupt this process, also where it was started to ignore it, as by `&` in a script."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_yields_what_is_known_and_ends_the_probes_on_the_workers(folder: Path, cluster: Any) -> None:
    def interrupt() -> None:
        while not (folder / "waiting").exists():
            time.sleep(0.05)
        waiting.append(psutil.Process(int((folder / "waiting").read_text())))
        os.kill(os.getpid(), signal.SIGINT)

    waiting: list[psutil.Process] = []
    results: list[ProbeResult] = []

    def run() -> None:
        with Cluster(cluster.scheduler_address) as pool:
            for _, result in pool.run_each([probe(folder, "Waits")], jobs=1):
                results.append(result)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        run()
    (result,) = results
    assert "the run was interrupted" in (result.report.reason or result.report.exporters["dynamo"].detail)
    (process,) = waiting  # a worker that takes the place of a killed one may be in the folder as well
    process.wait()


def test_a_worker_that_does_not_see_the_project_says_so(folder: Path, cluster: Any) -> None:
    lost = replace(probe(folder, "Right"), root=str(folder / "elsewhere"))
    with Cluster(cluster.scheduler_address) as pool:
        ((_, result),) = pool.run_each([lost], jobs=1)
    assert f"has no folder {folder / 'elsewhere'}" in (result.report.reason or "")
    assert "at the same path" in (result.report.remedy or "")


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nonsense://"])
def test_a_scheduler_that_does_not_answer_fails_the_run(
    folder: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("onnxlint.probes.schedule.cluster.PATIENCE", 1.0)
    report = run_check([folder], replace(settings(folder, "Right"), scheduler=address))
    (model,) = report.models
    assert model.reason == f"the Dask scheduler at {address} does not answer"
    assert [d.level for d in report.diagnostics] == ["error"]
