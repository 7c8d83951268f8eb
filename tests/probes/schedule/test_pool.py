"""The pool with a stub for a worker: what it keeps, what it ends, and what it says."""

import os
import queue
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from faulty import copy_to, inhabitants, make_probe

from onnxlint.base.records import Location, ModelStatus, Outcome
from onnxlint.probes.schedule.pool import ProbePool, as_they_finish

REPOSITORY = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def pool():
    with ProbePool("stub:run_probe") as pool:
        yield pool


@pytest.fixture(scope="module")
def faults(tmp_path_factory):
    return copy_to(tmp_path_factory.mktemp("faults") / "models")


def python(code, root):
    """Start Python on `code`, which can import this folder's helpers."""
    path = os.pathsep.join([str(REPOSITORY), str(Path(__file__).parents[1])])
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), str(root)],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


# ---- without any process


def test_importing_the_pool_imports_neither_torch_nor_psutil():
    heavy = ("torch", "onnx", "numpy", "psutil")
    code = f"import sys, onnxlint.probes.schedule.pool; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True).stdout == "[]\n"


def test_an_interrupt_that_comes_while_a_result_is_dealt_with_loses_no_other():
    probes = [SimpleNamespace(name=name) for name in ("first", "second", "late")]
    futures = {probe.name: Future() for probe in probes}
    for name in ("first", "second"):
        futures[name].set_result("done")

    def end(left, _):
        for future in left:
            if not future.done():
                future.set_result("what is known")

    def submit(probe):
        return futures[probe.name]

    def outcome(future, _):
        return future.result()

    def take():
        for probe, result in as_they_finish(probes, submit, outcome, end, queue.SimpleQueue(), None):
            if not taken:
                signal.raise_signal(signal.SIGINT)
            taken.append((probe.name, result))

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    taken = []
    try:
        with pytest.raises(KeyboardInterrupt):
            take()
    finally:
        signal.signal(signal.SIGINT, before)
    assert taken == [("first", "done"), ("second", "done"), ("late", "what is known")]


# ---- with processes


@pytest.mark.slow
def test_results_come_as_they_finish_and_stages_before_them(pool, faults):
    heard = []
    probes = [make_probe(faults, "hangs_in_c", timeout=2), make_probe(faults, "healthy")]
    pairs = pool.run_each(probes, jobs=2, on_stage=lambda model, stage: heard.append((model, stage)))
    results = [result for _, result in pairs]
    assert [r.report.name for r in results] == ["healthy:build", "hangs_in_c:build"]
    assert [stage for model, stage in heard if model == "healthy:build"] == [
        "building the model",
        "running eagerly on the example",
        "exporting with torchscript",
        "exporting with dynamo",
    ]
    assert results[0].versions == {"stub": "1"}


@pytest.mark.slow
def test_one_server_serves_several_runs(pool, faults):
    for _ in range(2):
        (result,) = pool.run([make_probe(faults, "healthy")], jobs=1)
        assert {r.outcome for r in result.report.exporters.values()} == {Outcome.OK}


@pytest.mark.slow
def test_a_death_in_one_exporter_leaves_the_other_its_turn(pool, faults):
    (faults / "dies_in_torchscript.py").write_text(
        "import os, ctypes\nfrom healthy import Model, example_inputs\n\n\n"
        "class Dying(Model):\n    def forward(self, x):\n"
        "        if os.environ.get('STUB_EXPORTER') == 'torchscript':\n"
        "            ctypes.string_at(0)\n        return super().forward(x)\n\n\nbuild = Dying\n"
    )
    healthy = make_probe(faults, "healthy")
    probe = replace(healthy, factory="dies_in_torchscript:build", name="dies_in_torchscript:build")
    (result,) = pool.run([probe], jobs=1)
    exporters = result.report.exporters
    assert exporters["dynamo"].outcome is Outcome.OK
    assert exporters["torchscript"].outcome is Outcome.CRASH
    assert exporters["torchscript"].location == Location("dies_in_torchscript.py", 8, "forward")
    assert "SIGSEGV" in exporters["torchscript"].detail
    assert "while exporting with torchscript" in exporters["torchscript"].detail
    (evidence,) = result.evidence
    assert (evidence.exporter, evidence.symptom, evidence.frames[0].line) == ("torchscript", Outcome.CRASH, 8)


@pytest.mark.slow
def test_a_model_that_kills_what_started_it_does_not_take_the_others_along(faults):
    names = ["leaves_a_child", "signals_its_parent", "healthy", "changes_directory", "prints_megabytes"]
    with ProbePool("stub:run_probe") as pool:
        probes = [make_probe(faults, name) for name in names]
        results = {result.report.name.partition(":")[0]: result.report for result in pool.run(probes, jobs=2)}
    killed = results.pop("signals_its_parent").exporters["dynamo"]
    assert killed.outcome is Outcome.CRASH
    assert "ended with onnxlint's supervisor of it" in killed.detail or "PermissionError" in killed.detail
    assert results.keys() == set(names) - {"signals_its_parent"}
    assert {r.outcome for report in results.values() for r in report.exporters.values()} == {Outcome.OK}
    assert inhabitants(faults) == []


DEEP = """
folder = os.open(os.environ["TMPDIR"], os.O_RDONLY)
for _ in range(3000):
    with contextlib.suppress(FileExistsError):
        os.mkdir("folder", dir_fd=folder)
    inner = os.open("folder", os.O_RDONLY, dir_fd=folder)
    os.close(folder)
    folder = inner
"""
FILE = """
with contextlib.suppress(FileExistsError, NotADirectoryError):
    shutil.rmtree(os.environ["TMPDIR"])
open(os.environ["TMPDIR"], "w").close()
"""
BODIES = ("[" * 60_000, '{"left": 1e999, "done": 1}', '{"raised": {}}', '{"raised": 7}', '{"result": {"report": null}}')


@pytest.mark.slow
def test_what_a_model_writes_costs_no_other_model_its_result_and_is_removed(faults, tmp_path, monkeypatch):
    deeds = [f"send({body!r})" for body in BODIES]
    for number, deed in enumerate([*deeds, DEEP, FILE]):
        (faults / f"writes{number}.py").write_text(
            "import contextlib, os, shutil, stat\nfrom healthy import Model, example_inputs\n"
            "from onnxlint.probes.process.wire import HEADER\n\n\ndef send(body):\n    for fd in range(3, 1024):\n"
            "        with contextlib.suppress(OSError):\n            if stat.S_ISSOCK(os.fstat(fd).st_mode):\n"
            "                os.write(fd, HEADER.pack(len(body)) + body.encode())\n\n\n"
            f"class Writing(Model):\n    def forward(self, x):\n{textwrap.indent(deed.strip(), ' ' * 8)}\n"
            "        return super().forward(x)\n\n\nbuild = Writing\n"
        )
    healthy = make_probe(faults, "healthy")
    probes = [replace(healthy, name=f"{n}", factory=f"writes{n}:build") for n in range(len(deeds) + 2)]
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with ProbePool("stub:run_probe") as pool:
        results = {result.report.name: result for result in pool.run([*probes, healthy], jobs=1)}
    right = [results.pop(name).report for name in (f"{len(deeds)}", f"{len(deeds) + 1}", healthy.name)]
    assert {cell.outcome for report in right for cell in report.exporters.values()} == {Outcome.OK}
    assert not [notice for result in results.values() for notice in result.notices]
    details = [cell.detail for result in results.values() for cell in result.report.exporters.values()]
    assert details
    assert all("wrote into our result pipe" in detail for detail in details)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_server_that_cannot_start_is_a_reason_and_a_remedy(faults, tmp_path, monkeypatch):
    (tmp_path / "torch.py").write_text("raise ModuleNotFoundError(\"No module named 'torch'\")\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with ProbePool("stub:run_probe") as pool:
        (result,) = pool.run([make_probe(faults, "healthy")], jobs=1)
    assert result.report.status is ModelStatus.NOT_PROBED
    assert "No module named 'torch'" in result.report.reason
    assert "onnxlint[dynamic]" in result.report.remedy


@pytest.mark.slow
def test_leaving_the_pool_early_ends_every_process(faults):
    probes = [
        make_probe(faults, n, timeout=600) for n in ("healthy", "leaves_a_child", "hangs_in_c", "hangs_in_python")
    ]
    with ProbePool("stub:run_probe") as pool:
        results = pool.run(probes, jobs=4)
        next(results)
        results.close()
    until(lambda: inhabitants(faults) == [])  # one that has ended may wait for init to take note of it


@pytest.mark.slow
def test_control_c_yields_what_is_known_and_ends_every_process(faults):
    code = """
        import sys
        from pathlib import Path
        from faulty import make_probe
        from onnxlint.probes.schedule.pool import ProbePool
        root = Path(sys.argv[1])
        probes = [make_probe(root, name, timeout=600) for name in ("healthy", "hangs_in_c", "hangs_in_python")]
        try:
            with ProbePool("stub:run_probe") as pool:
                for result in pool.run(probes, jobs=2):
                    cells = sorted({str(cell.outcome) for cell in result.report.exporters.values()})
                    print(result.report.name, *cells, flush=True)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    """
    process = python(code, faults)
    try:
        assert process.stdout.readline() == "healthy:build ok\n"
        until(lambda: len(inhabitants(faults)) == 2)
        process.send_signal(signal.SIGINT)
        said, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    lines = said.splitlines()
    assert sorted(lines[:-1]) == ["hangs_in_c:build skipped", "hangs_in_python:build skipped"], errors
    assert lines[-1] == "interrupted"
    assert inhabitants(faults) == []


@pytest.mark.slow
def test_no_probe_outlives_a_parent_that_is_killed(faults):
    code = """
        import sys
        from pathlib import Path
        from faulty import make_probe
        from onnxlint.probes.schedule.pool import ProbePool
        with ProbePool("stub:run_probe") as pool:
            print("started", flush=True)
            list(pool.run([make_probe(Path(sys.argv[1]), "hangs_in_c", timeout=600)], jobs=1))
    """
    process = python(code, faults)
    try:
        until(lambda: len(inhabitants(faults)) == 1)
    finally:
        process.kill()
        process.communicate()
    until(lambda: inhabitants(faults) == [])


def until(condition):
    """Wait for something that has to happen; the test's own time limit is the only clock."""
    while not condition():
        time.sleep(0.05)
