"""What a model starts ends with its probe, is counted, and costs no other model anything."""

import signal
import textwrap
import time
from dataclasses import replace

import pytest
from faulty import confines_signals, copy_to, inhabitants, make_probe

from onnxlint.base.records import ModelStatus, Outcome
from onnxlint.probes.process import orphan_processes
from onnxlint.probes.schedule.pool import ProbePool

pytestmark = pytest.mark.slow

MODEL = """
import ctypes, os, signal, sys, threading, time
from healthy import Model, example_inputs

{functions}

class Faulty(Model):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        if self.calls == 1:
            deed()
        return super().forward(x)


build = Faulty
"""
DAEMON = """
def detach():
    ready, go = os.pipe()
    if os.fork():
        os.close(go)
        os.read(ready, 1)
        return False
    os.setsid()
    between = os.getpid()
    if os.fork():
        os._exit(0)
    os.setsid()
    while os.getppid() == between:
        time.sleep(0.001)
    os.write(go, b"+")
    return True
"""
SLEEP = 'os.execve("/bin/sleep", ["sleep", "1000000"], {})'
DEEDS = {  # what a model does when it first runs, and how many processes that leaves (None: it depends)
    "starts a daemon with an empty environment": (f"{DAEMON}\ndef deed():\n    if detach():\n        {SLEEP}\n", 1),
    "starts three daemons": (
        f"{DAEMON}\ndef deed():\n    for _ in range(3):\n        if detach():\n            {SLEEP}\n",
        3,
    ),
    "starts a daemon that no other signal ends": (
        f"{DAEMON}\ndef deed():\n    if detach():\n        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\n"
        "        [signal.signal(n, signal.SIG_IGN) for n in range(1, 32) if n not in (9, 19)]\n"
        "        while True:\n            time.sleep(1)\n",
        1,
    ),
    "starts a daemon that is stopped": (
        f"{DAEMON}\ndef deed():\n    if detach():\n        os.kill(os.getpid(), signal.SIGSTOP)\n",
        1,
    ),
    "starts processes that start each other again": (
        f"{DAEMON}\ndef deed():\n    for _ in range(2):\n        if detach():\n            while True:\n"
        "                if os.fork() == 0:\n                    os.setsid()\n                else:\n"
        "                    os.wait()\n",
        None,
    ),
    "starts a process that is never the same": (
        f"{DAEMON}\ndef deed():\n    if detach():\n        while True:\n            if os.fork():\n"
        "                os._exit(0)\n            time.sleep(0.0005)\n",
        None,
    ),
    "starts a process that is never the same, in a session of its own each time": (
        f"{DAEMON}\ndef deed():\n    if detach():\n        while True:\n            if os.fork():\n"
        "                os._exit(0)\n            os.setsid()\n            time.sleep(0.002)\n",
        None,
    ),
    "starts a hundred processes": (
        f"{DAEMON}\ndef deed():\n    for _ in range(100):\n        if os.fork() == 0:\n            {SLEEP}\n",
        100,
    ),
}


@pytest.fixture(scope="module")
def pool():
    with ProbePool("stub:run_probe") as pool:
        yield pool


@pytest.fixture
def root(tmp_path):
    return copy_to(tmp_path / "models")


def probe_of(root, name, functions, **limits):
    """The probe of a model that does what `functions` define as `deed`, when it first runs."""
    (root / f"{name}.py").write_text(MODEL.format(functions=textwrap.dedent(functions)))
    healthy = make_probe(root, "healthy", **limits)
    return replace(healthy, name=f"{name}:build", factory=f"{name}:build", path=f"{name}.py")


def run(pool, probes, jobs=2):
    return {result.report.name.partition(":")[0]: result for result in pool.run(probes, jobs=jobs)}


def outcomes(result):
    return {cell.outcome for cell in result.report.exporters.values()}


@pytest.fixture
def without_landlock(tmp_path, monkeypatch):
    """Have no probe keep its signals to itself, as on systems that cannot see to that."""
    folder = tmp_path / "old system"
    folder.mkdir()
    code = "import onnxlint.probes.process.child\nonnxlint.probes.process.child._spare_others = lambda: None\n"
    (folder / "sitecustomize.py").write_text(code)
    monkeypatch.setenv("PYTHONPATH", str(folder))


@pytest.mark.parametrize("deed", DEEDS)
def test_what_a_model_leaves_running_is_ended_and_counted(deed, pool, root):
    functions, count = DEEDS[deed]
    results = run(pool, [probe_of(root, "leaves", functions), make_probe(root, "healthy")])
    assert inhabitants(root) == []
    assert outcomes(results["leaves"]) == outcomes(results["healthy"]) == {Outcome.OK}
    assert results["healthy"].notices == ()
    (notice,) = results["leaves"].notices
    some = {None: "", 1: "a process running, which onnxlint ended"}.get(count, f"{count} processes running")
    assert (notice.level, notice.path, notice.line) == ("warning", "leaves.py", 1)
    assert notice.message.startswith(f"leaves:build leaves {some}"), notice
    assert notice.message.endswith("onnxlint ended"), notice


@pytest.mark.parametrize("end", ["os.abort()", "time.sleep(1e6)", "os._exit(0)", "sys.exit(2)"])
def test_what_a_model_leaves_running_is_counted_where_the_model_does_not_come_to_its_end(end, pool, root):
    functions = f"{DAEMON}\ndef deed():\n    if detach():\n        {SLEEP}\n    {end}\n"
    result = run(pool, [probe_of(root, "leaves", functions, timeout=3)])["leaves"]
    assert inhabitants(root) == []
    assert [n.message for n in result.notices] == ["leaves:build leaves a process running, which onnxlint ended"]
    assert outcomes(result) <= {Outcome.CRASH, Outcome.TIMEOUT}


def test_the_daemon_of_one_model_is_not_the_other_ones(pool, root):
    functions = f"{DAEMON}\ndef deed():\n    if detach():\n        {SLEEP}\n    time.sleep(1)\n"
    quick = "def deed():\n    time.sleep(0.1)\n"
    results = run(pool, [probe_of(root, "leaves", functions), *(probe_of(root, f"quick{n}", quick) for n in range(3))])
    assert [name for name, result in results.items() if result.notices] == ["leaves"]


def test_a_daemon_counts_towards_the_limit_of_memory(pool, root):
    eating = "b = bytearray(os.urandom(1) * (1 << 30))"
    functions = f"{DAEMON}\ndef deed():\n    if detach():\n        {eating}\n    time.sleep(1e6)\n"
    result = run(pool, [probe_of(root, "eats", functions, timeout=60, memory=800 << 20)])["eats"]
    (detail,) = {cell.detail for cell in result.report.exporters.values()}
    assert "exceeded the memory limit" in detail
    assert inhabitants(root) == []


KILLS = {
    "what started it": "os.kill(os.getppid(), signal.SIGKILL)\n    time.sleep(1e6)",
    "what started that": "os.kill(psutil.Process(os.getppid()).ppid(), signal.SIGKILL)\n    time.sleep(1)",
    "all of these": (
        "[os.kill(p, signal.SIGKILL) for p in (psutil.Process(os.getppid()).ppid(), os.getppid())]\n    time.sleep(1e6)"
    ),
}
confined = pytest.mark.skipif(not confines_signals(), reason="no Landlock of Linux 6.12 here, which confines signals")


@confined
@pytest.mark.parametrize("target", KILLS)
def test_a_model_cannot_signal_what_it_did_not_start(target, pool, root):
    kills = probe_of(root, "kills", f"import psutil\ndef deed():\n    {KILLS[target]}\n")
    results = run(pool, [kills, make_probe(root, "healthy")])
    assert outcomes(results["healthy"]) == {Outcome.OK}
    (cell, _) = results["kills"].report.exporters.values()
    assert "the model raised PermissionError: [Errno 1] Operation not permitted" in cell.detail
    assert (cell.location.path, cell.location.line) == ("kills.py", 7)


@confined
def test_a_signal_to_all_processes_reaches_none_but_the_models_own(pool, root):
    received = []
    before = signal.signal(signal.SIGURG, lambda *_: received.append(1))  # it does no harm to who does not expect it
    try:
        result = run(pool, [probe_of(root, "kills", "def deed():\n    os.kill(-1, signal.SIGURG)\n")])["kills"]
    finally:
        signal.signal(signal.SIGURG, before)
    assert outcomes(result) == {Outcome.OK}
    assert [n.message for n in result.notices] == ["kills:build signals processes that it did not start: SIGURG"]
    assert not received


@pytest.mark.usefixtures("without_landlock")
@pytest.mark.parametrize("target", KILLS)
def test_a_model_that_kills_our_processes_costs_the_others_nothing_and_is_reported(target, root):
    others = [probe_of(root, f"slow{n}", "def deed():\n    time.sleep(1.5)\n") for n in range(3)]
    kills = probe_of(root, "kills", f"import psutil\ndef deed():\n    {KILLS[target]}\n", timeout=20)
    with ProbePool("stub:run_probe") as pool:
        results = run(pool, [others[0], kills, *others[1:]])
    result = results.pop("kills")
    assert {cell for other in results.values() for cell in outcomes(other)} == {Outcome.OK}
    if target == "what started that":  # it is not missed
        (notice,) = result.notices
        assert notice.message == "kills:build signals processes that it did not start: SIGKILL"
        assert (notice.path, notice.line) == ("kills.py", 7)
    else:
        (detail,) = {cell.detail for cell in result.report.exporters.values()}
        assert "ended with onnxlint's supervisor of it, most likely by the model" in detail
    until(lambda: inhabitants(root) == [])


@pytest.mark.parametrize(
    ("functions", "words"),
    {
        "closes every descriptor": ("def deed():\n    os.closerange(0, 65536)\n", "closed the file descriptors"),
        "closes every descriptor and hangs": (
            "def deed():\n    os.closerange(0, 65536)\n    time.sleep(1e6)\n",
            "did not finish within 4 s",
        ),
        "is stopped": (
            "def deed():\n    os.kill(os.getpid(), signal.SIGSTOP)\n",
            "did not finish within 4 s: a signal had stopped it",
        ),
        "ignores every signal": (
            "def deed():\n    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\n    time.sleep(1e6)\n",
            "did not finish within 4 s",
        ),
        "ends its first thread alone": (
            "def deed():\n    threading.Thread(target=time.sleep, args=(1e6,)).start()\n"
            "    ctypes.CDLL(None).syscall(60, 0)\n",
            "did not finish within 4 s",
        ),
        "forks into two that both go on": ("def deed():\n    os.fork()\n    time.sleep(1e6)\n", "did not finish"),
        "leaves its folder unreadable": (
            "def deed():\n    os.chmod(os.environ['TMPDIR'], 0)\n    os._exit(3)\n",
            "exit status 3",
        ),
    }.values(),
)
def test_what_a_model_does_to_its_own_process_is_said_of_the_model(functions, words, pool, root):
    result = run(pool, [probe_of(root, "odd", functions, timeout=4)])["odd"]
    assert result.report.status is ModelStatus.PROBED
    assert all(words in cell.detail for cell in result.report.exporters.values()), result
    assert not [notice for notice in result.notices if notice.level == "error"]
    assert inhabitants(root) == []


def test_a_process_that_has_ended_is_no_stranger():
    assert orphan_processes.descends(0, 1)
    assert orphan_processes.descends(2**22 + 5, 1), "no such process"
    assert not orphan_processes.descends(-1, 1)
    assert not orphan_processes.descends(1, 1)


def until(condition):
    """Wait for something that has to happen; the test's own time limit is the only clock."""
    while not condition():
        time.sleep(0.05)
