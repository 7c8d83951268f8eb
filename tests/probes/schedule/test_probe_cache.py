"""Results of earlier probes: reused where nothing changed that the model depends on, and nowhere else."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from onnxlint.base.cache import Store
from onnxlint.base.probe_records import Probe, ProbeResult
from onnxlint.base.records import EXPORTERS, Cause, Diagnostic, Evidence, Location, ModelStatus, Outcome
from onnxlint.probes.schedule.pool import ProbePool, environment
from onnxlint.probes.schedule.probe_cache import KIND, Answers

pytestmark = pytest.mark.slow

FILES = {
    "model.py": """\
import json
import os
from importlib import import_module
from pathlib import Path

import torch
from helpers.scale import FACTOR
from torch import nn

try:
    import faster
except ImportError:
    faster = None
extra = import_module("plain")
HERE = Path(__file__).parent
WIDTH = json.loads((HERE / "data" / "width.json").read_text())
PARTS = sorted(p.name for p in (HERE / "parts").glob("*.txt"))
MODE = os.environ.get("KEPT_TEST_MODE", "plain")
BIAS = (HERE / "bias.json").exists() and json.loads((HERE / "bias.json").read_text())


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(WIDTH, 2)

    def forward(self, x):
        return self.linear(x) * FACTOR


def build():
    return Model()


def example_inputs():
    return (torch.ones(2, WIDTH),)
""",
    "helpers/__init__.py": "",
    "helpers/scale.py": "FACTOR = 2\n",
    "plain/__init__.py": "",
    "data/width.json": "3\n",
    "parts/one.txt": "",
    "unrelated.py": "X = 1\n",
}


@pytest.fixture(scope="module")
def pool() -> Iterator[ProbePool]:
    with ProbePool("stub:run_probe") as pool:
        yield pool


class Project:
    """A folder with a model, probed again and again through one store."""

    def __init__(self, root: Path, pool: ProbePool) -> None:
        self.root = root / "project"
        self.store = root / "cache"
        self.pool = pool
        for name, text in FILES.items():
            self.write(name, text)
        (self.root / "stub.py").write_bytes((Path(__file__).parents[1] / "stub.py").read_bytes())
        search = (str(self.root),)
        self.probe = Probe(
            "model:build", "model:build", "model.py", 1, "config", "model:example_inputs", {"x": {0: "batch"}}, {},
            None, ("torchscript", "dynamo"), 18, search, str(self.root), str(root / "repro"),
        )  # fmt: skip

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        past = path.stat().st_mtime_ns - 10**10 * (len(text) + 1)  # no clock is so coarse that this is now
        os.utime(path, ns=(past, past))

    def run(self) -> ProbeResult:
        """Probe for real, and keep it."""
        (result,) = self.pool.run([self.probe], jobs=1)
        assert result.report.status is ModelStatus.PROBED, result.report.reason
        assert Answers(Store(self.store), environment()).put(self.probe, result), result.depends
        return result

    def cached(self, probe: Probe | None = None) -> ProbeResult | None:
        """What the store says, asked as by a new process."""
        return Answers(Store(self.store), environment()).get(probe or self.probe)


@pytest.fixture
def project(tmp_path: Path, pool: ProbePool) -> Project:
    return Project(tmp_path, pool)


def test_nothing_changed(project: Project) -> None:
    result = project.run()
    assert project.cached() == result


def test_what_the_model_does_not_depend_on_may_change(project: Project) -> None:
    result = project.run()
    project.write("unrelated.py", "X = 2\n")
    project.write("new.py", "X = 2\n")
    os.utime(project.root / "model.py")
    assert project.cached() == result


CHANGES: dict[str, Callable[[Project], None]] = {
    "the file of the model": lambda p: p.write("model.py", FILES["model.py"].replace("FACTOR\n\n\ndef", "2\n\n\ndef")),
    "an imported helper": lambda p: p.write("helpers/scale.py", "FACTOR = 3\n"),
    "the package of the helper": lambda p: p.write("helpers/__init__.py", "import math\n"),
    "a helper that is gone": lambda p: (p.root / "helpers/scale.py").unlink(),
    "a data file that was read": lambda p: p.write("data/width.json", "4\n"),
    "a folder that was listed": lambda p: p.write("parts/two.txt", ""),
    "a file that was missing": lambda p: p.write("bias.json", "1"),
    "a module that was missing": lambda p: p.write("faster.py", ""),
    "a package in front of a module": lambda p: p.write("helpers/scale/__init__.py", "FACTOR = 5\n"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_it_depends_on_may_not(project: Project, change: str) -> None:
    project.run()
    CHANGES[change](project)
    assert project.cached() is None


def test_a_variable_that_it_reads(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    result = project.run()
    monkeypatch.setenv("KEPT_TEST_OTHER", "1")
    assert project.cached() == result
    monkeypatch.setenv("KEPT_TEST_MODE", "fast")
    assert project.cached() is None
    monkeypatch.delenv("KEPT_TEST_MODE")
    assert project.cached() == result


@pytest.mark.parametrize(
    "asked",
    [{"opset": 19}, {"exporters": ("dynamo",)}, {"sizes": {"batch": (7,)}}, {"dynamic": {}}, {"overlay": {"a": "b"}},
     {"inputs": "model:other"}, {"factory": "model:Model"}, {"timeout": 7.0}],
)  # fmt: skip
def test_another_probe_is_another_question(project: Project, asked: dict[str, object]) -> None:
    project.run()
    assert project.cached(replace(project.probe, **asked)) is None  # type: ignore[arg-type]


def test_a_counterexample_that_is_gone_or_altered(project: Project) -> None:
    (result,) = project.pool.run([project.probe], jobs=1)
    folder = Path(project.probe.repro_dir) / "model-1"
    folder.mkdir(parents=True)
    for name in ("repro.py", "inputs.npz"):
        (folder / name).write_text("1")
    frames = (Location("model.py", 3),)
    evidence = Evidence(
        "model:build", "dynamo", Cause.REFUSED, Outcome.EXPORT_ERROR, frames, "", repro=f"{folder}/repro.py"
    )
    result = replace(result, evidence=(evidence,))
    for spoil in (
        lambda: (folder / "inputs.npz").write_text("2"),
        lambda: (folder / "inputs.npz").unlink(),
        lambda: (folder / "repro.py").unlink(),
    ):
        Answers(Store(project.store), environment()).put(project.probe, result)
        assert project.cached() is not None
        spoil()
        assert project.cached() is None


def forward(body: str) -> str:
    head = "        return self.linear(x)"
    return FILES["model.py"].replace(head, f"        {body}\n{head}")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("import socket; socket.getaddrinfo('127.0.0.1', 80)", "it uses the network"),
        ("import subprocess; subprocess.run(['true'], check=True)", "it starts other processes"),
        ("dict(os.environ)", "it reads all of the environment"),
        ("p = HERE / 'state.txt'; p.write_text('1'); p.read_text()", "state.txt changed in the meantime"),
    ],
)
def test_what_cannot_be_known_to_be_unchanged_is_not_kept(project: Project, body: str, reason: str) -> None:
    project.write("model.py", forward(body))
    (result,) = project.pool.run([project.probe], jobs=1)
    assert result.depends is not None
    assert reason in result.depends.unseen
    assert not Answers(Store(project.store), environment()).put(project.probe, result)
    assert project.cached() is None


@pytest.mark.parametrize("outcome", [Outcome.TIMEOUT, Outcome.CRASH])
def test_what_may_be_better_next_time_is_not_kept(project: Project, outcome: Outcome) -> None:
    (result,) = project.pool.run([project.probe], jobs=1)
    cell = replace(result.report.exporters["dynamo"], outcome=outcome)
    result = replace(result, report=replace(result.report, exporters={"dynamo": cell}))
    assert not Answers(Store(project.store), environment()).put(project.probe, result)


@pytest.mark.slow
def test_an_exporter_that_cannot_write_the_opset_is_not_asked_again(project: Project) -> None:
    probe = replace(project.probe, opset=25, exporters=EXPORTERS)
    with ProbePool() as pool:
        (result,) = pool.run([probe], jobs=1)
    assert result.report.exporters["torchscript"].outcome is Outcome.SKIPPED
    assert any("writes opsets" in notice.message for notice in result.notices)
    assert Answers(Store(project.store), environment()).put(probe, result)
    kept = Answers(Store(project.store), environment()).get(probe)
    assert kept is not None
    assert (kept.report, kept.notices) == (result.report, result.notices)


def test_a_run_that_was_interrupted_or_had_no_runtime_is_not_kept(project: Project) -> None:
    (result,) = project.pool.run([project.probe], jobs=1)
    cell = replace(result.report.exporters["dynamo"], outcome=Outcome.SKIPPED)
    skipped = replace(result, report=replace(result.report, exporters={"dynamo": cell}))
    answers = Answers(Store(project.store), environment())
    assert not answers.put(project.probe, replace(skipped, depends=None))
    assert not answers.put(project.probe, replace(skipped, notices=(Diagnostic("error", "no such runtime"),)))


def test_an_entry_that_is_no_result_is_no_entry(project: Project) -> None:
    project.run()
    store = Store(project.store)
    for payload in (b"", b"[]", b"{}", b'{"report": 1}', b"[" * 100000):
        answers = Answers(store, environment())
        store.put(KIND, answers._key(project.probe), payload)
        assert answers.get(project.probe) is None


def test_a_folder_that_cannot_be_used_is_no_fault(project: Project) -> None:
    answers = Answers(Store(None), environment())
    result = project.run()
    assert not answers.put(project.probe, result)
    assert answers.get(project.probe) is None


def test_two_runs_at_once_do_not_disturb_each_other(project: Project) -> None:
    result = project.run()
    answered: list[ProbeResult | None] = []

    def work() -> None:
        for _ in range(30):
            answers = Answers(Store(project.store), environment())
            answers.put(project.probe, result)
            answered.append(answers.get(project.probe))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answered == [result] * 120
