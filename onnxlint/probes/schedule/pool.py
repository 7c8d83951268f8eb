"""Runs probes, each in a process of its own, and yields results as they finish. Imports no torch."""

import contextlib
import os
import queue
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Event, Lock
from types import MappingProxyType
from typing import IO, Any

import onnxlint
from onnxlint.base import interrupts
from onnxlint.base.probe_records import Probe, ProbeResult
from onnxlint.base.records import Outcome
from onnxlint.probes.live.snapshot import ENVIRONMENT
from onnxlint.probes.process import process_ends
from onnxlint.probes.process.isolate import Note, Server, ServerFailedError, run_isolated
from onnxlint.probes.process.process_ends import Death

RUNNER = "onnxlint.probes.process.worker:run_probe"
PATIENCE = 10.0  # seconds for the server to end what models have left, and for interrupted probes to say what is known
Events = queue.SimpleQueue[Any]  # futures that are done, (model, stage), and None for an interrupt
OnStage = Callable[[str, str], None]  # is told the model and the stage
Results = Iterator[tuple[Probe, ProbeResult]]

_HOME = str(Path(onnxlint.__file__).parent.parent)
# `-P` and this order: nothing in the working directory, or beside onnxlint, may stand in for a module of Python's own.
_START = (
    "import sys; home = sys.argv[2]; sys.path.insert(0, home); import onnxlint.probes; sys.path.remove(home); "
    "home in sys.path or sys.path.append(home); from onnxlint.probes.process.forkserver import main; main()"
)


def environment() -> dict[str, str]:
    """The variables that a model sees."""
    return {**os.environ, **ENVIRONMENT}


class ForkServer:
    """The warm process that forks a child for every probe. `start` does not wait until it is warm."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._errors: IO[bytes] | None = None
        self._closed = False

    def start(self) -> None:
        """Start the server unless it is running. Raises ServerFailedError where it was closed."""
        with self._lock:
            self._start()

    def _start(self) -> socket.socket:
        if self._control is not None and self._process is not None and self._process.poll() is None:
            return self._control
        if self._closed:
            raise ServerFailedError("the pool is closed")
        self._forget()
        self._control, theirs = socket.socketpair()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the server
        with theirs:
            command = [sys.executable, "-P", "-c", _START, str(theirs.fileno()), _HOME, str(os.getpid())]
            quiet: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": self._errors}
            quiet["start_new_session"] = True  # Ctrl-C reaches us alone; we end the server
            self._process = subprocess.Popen(command, pass_fds=(theirs.fileno(),), env=environment(), **quiet)
        return self._control

    def fork(self, request: bytes, fds: Sequence[int]) -> None:
        """Ask for a child that gets these descriptors, starting the server where there is none."""
        with self._lock:
            try:
                socket.send_fds(self._start(), [request], fds)
            except BrokenPipeError:  # it has died since
                self._forget()
                socket.send_fds(self._start(), [request], fds)

    def failure(self) -> str:
        """Return what the server said last, in one line."""
        if self._errors is None:
            return "it was not started"
        self._errors.seek(0)
        lines = self._errors.read().decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else "it ended without a word"

    def close(self) -> None:
        """End the server and everything that it has started; returns at once if there is none."""
        with self._lock:
            self._closed = True
            self._forget()

    def _forget(self) -> None:
        if self._control is not None:
            self._control.close()  # which the server sees, and ends what it has started
        if self._process is not None:
            try:
                self._process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        if self._errors is not None:
            self._errors.close()
        self._control = self._process = self._errors = None


class ProbePool(contextlib.AbstractContextManager["ProbePool"]):
    """A context manager that runs probes; leaving it ends every process that it has started.

    `runner` is `module:function`, what the child calls with the probe and a way to publish partial results.
    `live` are the processes that have live models, by the name that probes give in `Probe.live`.
    """

    def __init__(self, runner: str = RUNNER, live: Mapping[str, Server] = MappingProxyType({})) -> None:
        self._runner = runner
        self._live = live
        self._server = ForkServer()
        self._stop = Event()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._server.close()

    def warm(self) -> None:
        """Start the fork server in the background; returns at once. Probes wait for it, nothing else does."""
        with contextlib.suppress(ServerFailedError):  # reported with the first probe
            self._server.start()

    def run(self, probes: Sequence[Probe], *, jobs: int) -> Iterator[ProbeResult]:
        """Yield the results alone, as `run_each` does."""
        return (result for _, result in self.run_each(probes, jobs=jobs))

    def run_each(self, probes: Sequence[Probe], *, jobs: int, on_stage: OnStage | None = None) -> Results:
        """Yield every probe with its result as it finishes, `jobs` of them at a time (see `as_they_finish`)."""
        events: Events = queue.SimpleQueue()
        with ThreadPoolExecutor(max(jobs, 1), thread_name_prefix="probe") as executor:

            def submit(probe: Probe) -> Any:
                server = self._server if probe.live is None else self._live[probe.live]
                what = probe, jobs, self._runner, server, lambda stage: events.put((probe.name, stage)), self._stop
                return executor.submit(run_limited, *what)

            def end(_futures: list[Any], _patience: float) -> None:
                self._stop.set()
                executor.shutdown(wait=True, cancel_futures=True)

            yield from as_they_finish(probes, submit, _outcome, end, events, on_stage)


def as_they_finish(
    probes: Sequence[Probe],
    submit: Callable[[Probe], Any],
    outcome: Callable[[Any, Probe], ProbeResult],
    end: Callable[[list[Any], float], None],
    events: Events,
    on_stage: OnStage | None,
) -> Results:
    """Yield every probe with the outcome of its future; `end` has the futures come to an end within so many seconds.

    `on_stage(model, stage)` is called in the thread that iterates. On Ctrl-C the probes are ended, what is known of the
    models that were running is yielded, and then KeyboardInterrupt is raised; never while a result is dealt with.
    """
    waiting: dict[Any, Probe] = {}
    try:
        with interrupts.told(lambda: events.put(None)):
            for probe in probes:
                future = submit(probe)
                waiting[future] = probe
                future.add_done_callback(events.put)
            while waiting:
                event = events.get()
                if event is None:
                    break
                if not isinstance(event, tuple):
                    probe = waiting.pop(event)
                    yield probe, outcome(event, probe)
                elif on_stage is not None:
                    on_stage(*event)
    except KeyboardInterrupt:
        end([*waiting], PATIENCE)
        for future, probe in waiting.items():
            if future.done() and not future.cancelled():
                yield probe, outcome(future, probe)
        raise
    finally:
        if waiting:  # nobody wants the rest: the iterator was closed
            end([*waiting], 0)


def run_limited(probe: Probe, jobs: int, runner: str, server: Server, note: Note, stop: Event) -> ProbeResult:
    """Run a probe, within its share of the memory if it has no limit; or say why there was no process to run it."""
    try:
        if probe.memory is None:
            from onnxlint.probes.process import memory  # here, because psutil comes with the `dynamic` extra

            probe = replace(probe, memory=memory.default_limit(jobs))
        return run_isolated(probe, runner, server, note, stop)
    except (ServerFailedError, ModuleNotFoundError) as error:
        reason = f"the process that runs probes could not start: {error}"
        remedy = "Install what probing needs: pip install 'onnxlint[dynamic]'" if "No module named" in reason else None
        return process_ends.not_probed(probe, reason, remedy)


def _outcome(future: Future[ProbeResult], probe: Probe) -> ProbeResult:
    try:
        return future.result()
    except Exception as error:  # noqa: BLE001 - a fault of ours, reported with its probe, ends no other
        sentence = f"onnxlint's own watch of the process failed with {type(error).__name__}: {error}"
        return process_ends.result_of(probe, None, Death(Outcome.CRASH, sentence, "", internal=True))
