"""Every model of fixtures/faults through the pool and the real worker: each says its cause, and costs nobody else."""

import contextlib
import os
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from faulty import confines_signals, copy_to, declared, inhabitants, make_probe

from onnxlint.base.records import ModelStatus, Outcome
from onnxlint.probes.process import ipc
from onnxlint.probes.schedule.pool import ProbePool

pytestmark = pytest.mark.slow

LIMITS = {
    "eats_memory": {"memory": 1 << 30},
    "hangs_in_c": {"timeout": 4},
    "hangs_in_init": {"timeout": 4},
    "hangs_in_python": {"timeout": 4},
    "hangs_when_traced": {"timeout": 20},
}
NOT_PROBED = {  # what the reason says, and the line that it names
    "fills_the_disk": ("forward raised on the example inputs: OSError: [Errno 28] No space left on device", 14),
    "wants_cuda": ("AssertionError: Torch not compiled with CUDA enabled", 17),
    "exits_on_import": ("sys.exit('usage: train.py DATA')", 8),
    "hangs_in_init": ("did not finish within 4 s while building the model", 13),
    "not_a_module": ("dict", 16),
    "raises_in_init": ("ValueError: width must be even", 11),
    "raises_on_import": ("RuntimeError: the weights are not on this machine", 6),
}
DEATHS = {  # outcome, what the detail says, the line that it names
    "aborts": (Outcome.CRASH, "killed by SIGABRT (Aborted), saying `terminate called after throwing", 16),
    "closes_descriptors": (Outcome.CRASH, "closed the file descriptors of its process", None),
    "eats_memory": (Outcome.CRASH, "exceeded the memory limit of 1.0 GiB", 15),
    "exits_in_forward": (Outcome.CRASH, "called `sys.exit(3)`", 15),
    "hangs_in_c": (Outcome.TIMEOUT, "did not finish within 4 s", 15),
    "hangs_in_python": (Outcome.TIMEOUT, "did not finish within 4 s", (14, 15)),
    "leaves_in_forward": (Outcome.CRASH, "ended itself with exit status 0", 15),
    "segfaults": (Outcome.CRASH, "killed by SIGSEGV (Segmentation fault)", 15),
    "terminates_itself": (Outcome.CRASH, "killed by SIGTERM", None),
}
if confines_signals():
    refused = "forward raised on the example inputs: PermissionError: [Errno 1] Operation not permitted"
    NOT_PROBED["signals_its_parent"] = (refused, 17)
else:
    DEATHS["signals_its_parent"] = (Outcome.CRASH, "ended with onnxlint's supervisor of it", None)
NOTICES = {  # what is told of a model that is right otherwise, and the line that it names
    "leaves_a_child": ("processes running, which onnxlint ended", 1),
    "leaves_a_daemon": ("leaves a process running, which onnxlint ended", 1),
    "leaves_a_thread": ("leaves a thread running", 1),
    "leaves_processes": ("leaves 2 processes running, which onnxlint ended", 1),
    "saves_outside": ("writes outside the working directory: {}/saved_by_a_model.pt", 11),
    "uses_a_socket": ("opens a connection: 127.0.0.1:", 13),
    "writes_outside": ("writes outside the working directory: {}/written_by_a_model.txt", 13),
}
RIGHT = {"changes_directory", "healthy", "prints_megabytes", "writes_to_descriptors", *NOTICES}
OTHER = {"hangs_when_traced", "mutates_itself"}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return copy_to(tmp_path_factory.mktemp("faults") / "models")


@pytest.fixture(scope="module")
def reports(root):
    """The report of every faulty model, probed in one run, two at a time."""
    before = os.getcwd()
    probes = [make_probe(root, name, **LIMITS.get(name, {})) for name in sorted(declared())]
    with ProbePool() as pool:
        results = {result.report.name.partition(":")[0]: result for result in pool.run(probes, jobs=2)}
    assert os.getcwd() == before
    return results


def test_every_fault_is_told_and_expected(reports):
    assert reports.keys() == declared().keys()
    assert reports.keys() == NOT_PROBED.keys() | DEATHS.keys() | RIGHT | OTHER


@pytest.mark.parametrize("name", sorted(RIGHT))
def test_a_model_that_is_right_in_the_end_is_reported_in_full(reports, name):
    report = reports[name].report
    assert report.status is ModelStatus.PROBED
    assert {e: r.outcome for e, r in report.exporters.items()} == {"torchscript": Outcome.OK, "dynamo": Outcome.OK}
    assert reports[name].evidence == ()
    assert {"torch", "onnx", "onnxruntime"} <= reports[name].versions.keys()
    assert f"{name}.py" in reports[name].reached


@pytest.mark.parametrize("name", sorted(NOTICES))
def test_what_a_model_does_to_the_machine_is_told_in_a_line(reports, root, name):
    words, line = NOTICES[name]
    text = [n for n in reports[name].notices if words.format(root.parent.resolve()) in n.message]
    assert [(n.level, n.path, n.line) for n in text] == [("warning", f"{name}.py", line)], reports[name].notices
    assert text[0].message.startswith(f"{name}:build ")
    assert "\n" not in text[0].message


def test_nothing_is_told_of_the_others(reports):
    results = {name for name, result in reports.items() if result.notices}
    assert results - {"signals_its_parent"} == NOTICES.keys()  # that one may not live to tell


def test_no_process_that_a_model_has_started_is_left(reports, root):
    assert inhabitants(root) == []


@pytest.mark.parametrize("name", sorted(NOT_PROBED))
def test_a_model_that_cannot_be_built_says_why_and_where(reports, name):
    report = reports[name].report
    words, line = NOT_PROBED[name]
    assert report.status is ModelStatus.NOT_PROBED
    assert words in report.reason
    assert f"({name}.py:{line})" in report.reason
    assert report.declared
    assert (report.path, report.line) == (f"{name}.py", 1)  # where the probe says that the model is


@pytest.mark.parametrize("name", sorted(DEATHS))
def test_a_model_that_dies_names_the_cause_the_stage_and_the_line(reports, name):
    outcome, words, line = DEATHS[name]
    report = reports[name].report
    assert report.status is ModelStatus.PROBED
    assert report.exporters.keys() == {"torchscript", "dynamo"}
    for result in report.exporters.values():
        assert result.outcome is outcome
        assert words in result.detail
        assert "while running" in result.detail
        if line is not None:
            assert result.location.path == f"{name}.py"
            assert result.location.line in (line if isinstance(line, tuple) else (line,))


def test_a_hang_in_one_exporter_leaves_the_other_its_verdict(reports):
    exporters = reports["hangs_when_traced"].report.exporters
    assert exporters["dynamo"].outcome is Outcome.OK
    assert exporters["torchscript"].outcome is Outcome.TIMEOUT
    assert "while exporting with torchscript" in exporters["torchscript"].detail
    assert exporters["torchscript"].location.line in (15, 16)


def test_a_model_that_mutates_itself_is_told_so_at_the_line(reports):
    report = reports["mutates_itself"].report
    assert report.status is ModelStatus.PROBED
    assert Outcome.OK not in {result.outcome for result in report.exporters.values()}
    assert any(f.path == "mutates_itself.py" for e in reports["mutates_itself"].evidence for f in e.frames[:1])


def test_a_model_that_wants_a_gpu_is_told_what_to_do(reports):
    assert "on the CPU" in reports["wants_cuda"].report.remedy


@pytest.fixture
def small_disk(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", folder], capture_output=True).returncode:
        pytest.skip("mounting a small disk is not allowed here")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def test_a_full_disk_is_neither_the_models_nor_the_exporters_fault(root, small_disk, monkeypatch):
    (root / "big.py").write_text(
        "import torch\n\n\ndef build():\n    return torch.nn.Linear(300, 300)\n\n\n"
        "def example_inputs():\n    return {'input': torch.ones(2, 300)}\n"
    )
    probe = replace(make_probe(root, "healthy"), name="big:build", factory="big:build", inputs="big:example_inputs")
    probe = replace(probe, dynamic={"input": {0: "batch"}})
    with ProbePool() as pool:
        monkeypatch.setattr(tempfile, "tempdir", str(small_disk))
        (result,) = pool.run([probe], jobs=1)
    for cell in result.report.exporters.values():
        assert (cell.outcome, cell.location) == (Outcome.CRASH, None)
        assert "no room on the disk for the exported file" in cell.detail
    assert result.evidence == ()
    assert {notice.level for notice in result.notices} == {"error"}, "the run could not do what was asked"


def test_a_counterexample_that_cannot_be_kept_is_told_and_loses_no_verdict(root, small_disk):
    (root / "branching_model.py").write_text(
        "import torch\n\n\nclass Gate(torch.nn.Module):\n    def forward(self, x):\n        if x.sum() > 0:\n"
        "            return x * 2\n        return x\n\n\ndef example_inputs():\n    return {'x': torch.ones(2, 3)}\n"
    )
    with contextlib.suppress(OSError):
        (small_disk / "full").write_bytes(bytes(1 << 20))
    probe = replace(make_probe(root, "healthy"), name="gate", factory="branching_model:Gate")
    probe = replace(probe, inputs="branching_model:example_inputs", repro_dir=str(small_disk / "repro"))
    with ProbePool() as pool:
        (result,) = pool.run([replace(probe, exporters=("torchscript",))], jobs=1)
    assert [cell.outcome for cell in result.report.exporters.values()] == [Outcome.WRONG_VALUES]
    assert [(e.symptom, e.repro) for e in result.evidence if e.exporter == "torchscript"] == [
        (Outcome.WRONG_VALUES, None)
    ]
    notices = [notice.message for notice in result.notices if notice.level == "error"]
    assert notices
    assert all("cannot be kept: No space left on device" in notice for notice in notices)
    assert not list(small_disk.glob("repro/*/*"))


def test_a_library_may_write_to_its_cache_and_nowhere_else(root, tmp_path, monkeypatch):
    library = tmp_path / "site-packages"
    library.mkdir()
    (library / "downloads.py").write_text("def keep(path):\n    path.write_text('')\n")
    cache = tmp_path / "home" / ".cache"
    cache.mkdir(parents=True)
    (root / "downloading.py").write_text(
        "from pathlib import Path\n\nfrom downloads import keep\nfrom healthy import Model, example_inputs\n\n\n"
        f"def build():\n    keep(Path({str(cache / 'weights')!r}))\n    keep(Path({str(tmp_path / 'log')!r}))\n"
        f"    Path({str(cache / 'mine')!r}).write_text('')\n    return Model()\n"
    )
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    probe = replace(make_probe(root, "healthy"), factory="downloading:build", search_path=(str(root), str(library)))
    with ProbePool("stub:run_probe") as pool:
        (result,) = pool.run([probe], jobs=1)
    (notice,) = result.notices
    assert notice.message.endswith(f"writes outside the working directory: {tmp_path / 'log'}, {cache / 'mine'}")


def test_a_file_that_a_model_leaves_in_shared_memory_is_reported(root):
    place = Path(f"/dev/shm/onnxlint-test-{os.getpid()}")
    (root / "sharing.py").write_text(
        "from pathlib import Path\n\nfrom healthy import Model, example_inputs\n\n\n"
        f"def build():\n    Path({str(place)!r}).write_text('')\n    Path('/dev/null').write_text('')\n"
        "    return Model()\n"
    )
    try:
        with ProbePool("stub:run_probe") as pool:
            (result,) = pool.run([replace(make_probe(root, "healthy"), factory="sharing:build")], jobs=1)
    finally:
        place.unlink(missing_ok=True)
    assert [n.message for n in result.notices] == [f"healthy:build writes outside the working directory: {place}"]


IPC = """
import ctypes, os, sys, time
from multiprocessing import resource_tracker, shared_memory

from healthy import Model, example_inputs

C = ctypes.CDLL(None)


def made(kind, name):
    with open("made", "a") as file:
        file.write(f"{{kind}} {{name}}\\n")
    return name


def by_system_v():
    made("shm", C.shmget(0, 4096, 0o1600))  # IPC_CREAT
    C.msgsnd(made("msg", C.msgget(0, 0o1600)), b"\\1" + bytes(15), 8, 0)
    C.semop(made("sem", C.semget(0, 1, 0o1600)), (ctypes.c_short * 3)(0, 1, 0), 1)


def by_system_v_in_a_child():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            made("shm", C.shmget(0, 4096, 0o1600))
            os._exit(0)
        os._exit(0)
    os.wait()


def by_system_v_in_a_child_that_nobody_waits_for():
    reads, writes = os.pipe()
    if os.fork() == 0:
        if os.fork() == 0:
            made("shm", C.shmget(0, 4096, 0o1600))
            os._exit(0)
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
        os.write(writes, b"1")
        time.sleep(600)
    os.read(reads, 1)


def in_shared_memory():
    made("file", shared_memory.SharedMemory(create=True, size=100).name)
    shared_memory.SharedMemory(create=True, size=100).unlink()


def in_shared_memory_and_dies():
    in_shared_memory()
    os.kill(os.getpid(), 9)


def build():
    {}()
    return Model()
"""


@pytest.mark.skipif(not os.path.exists("/proc/sysvipc/shm"), reason="the system has no such objects")
@pytest.mark.parametrize(
    ("how", "text"),
    [
        ("by_system_v", "3 IPC objects"),
        ("by_system_v_in_a_child", "an IPC object"),
        ("by_system_v_in_a_child_that_nobody_waits_for", "an IPC object"),
        ("in_shared_memory", "an IPC object"),
        ("in_shared_memory_and_dies", "an IPC object"),
    ],
)
def test_ipc_objects_that_a_model_leaves_are_removed_and_reported(root, how, text):
    (root / f"{how}.py").write_text(IPC.format(how))
    (root / "made").unlink(missing_ok=True)
    with ProbePool("stub:run_probe") as pool:
        (result,) = pool.run([replace(make_probe(root, "healthy"), factory=f"{how}:build")], jobs=1)
    made = {tuple(line.split()) for line in (root / "made").read_text().splitlines()}
    assert made
    there = {("file", name) for name in os.listdir("/dev/shm")}
    for kind, identity in (("shm", "shmid"), ("msg", "msqid"), ("sem", "semid")):
        there |= {(kind, str(row[identity])) for row in ipc._table(kind)}
    assert not made & there
    said = f"leaves {text} (shared memory, semaphores or message queues), which onnxlint removed"
    assert said in [n.message.partition(" ")[2] for n in result.notices]


def test_a_mistake_of_our_own_fails_the_run_and_blames_nobody_else(root):
    with ProbePool("onnxlint.probes.common.stages:stage") as pool:  # called with what it does not take
        (result,) = pool.run([make_probe(root, "healthy")], jobs=1)
    (notice,) = result.notices
    assert notice.level == "error"
    assert "healthy:build: onnxlint's own worker failed with TypeError" in notice.message


def test_what_a_model_raises_past_every_handler_is_its_own(root):
    (root / "raises_past.py").write_text(
        "from healthy import Model, example_inputs\n\n\nclass Rude(Model):\n    def forward(self, x):\n"
        "        raise KeyboardInterrupt\n\n\nbuild = Rude\n"
    )
    with ProbePool("stub:run_probe") as pool:
        (result,) = pool.run([replace(make_probe(root, "healthy"), factory="raises_past:build")], jobs=1)
    assert result.notices == ()
    assert {cell.detail for cell in result.report.exporters.values()} == {
        "the model raised KeyboardInterrupt while running eagerly on the example"
    }
