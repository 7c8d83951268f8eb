"""One probe in a process of its own: fork it, watch it, end it where it exceeds a limit, say what became of it."""

import contextlib
import os
import secrets
import selectors
import signal
import socket
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from threading import Event
from typing import IO, Any, Protocol

from onnxlint.base.probe_records import Probe, ProbeResult
from onnxlint.base.records import Diagnostic, Location, Outcome, from_json, to_json
from onnxlint.probes.process import child, process_ends, supervisor, wire
from onnxlint.probes.process.process_ends import Death
from onnxlint.probes.process.witness import STARTS_PROCESSES

TICK = 0.05  # seconds between two looks at the clock and the memory
FAMILY_TICKS = 10  # how many ticks pass between two searches for processes that the model has started
LAST_WORDS = 4096  # bytes of standard error that are kept
KILL_PATIENCE = 10.0  # seconds until a process that was killed has to be gone, and what it has started
TRACE_PATIENCE = 0.4  # seconds that a process gets to write down where it is before it is killed
_ALL = 1 << 22  # bytes: more than a pipe holds; a process that writes without end must not keep us from the clock
_TRIES = 5  # how often a process is asked for where the server ends before it has begun
Note = Callable[[str], None]  # is told each stage


class ServerFailedError(RuntimeError):
    """The fork server did not start, or has ended; the message says why."""


class Server(Protocol):
    """What forks a process for a probe (`pool.ForkServer`)."""

    def fork(self, request: bytes, fds: Sequence[int]) -> None:
        """Send a request with its descriptors (see `forkserver`). Raises ServerFailedError."""

    def failure(self) -> str:
        """Return what the server said last, in one line."""


def run_isolated(probe: Probe, runner: str, server: Server, on_stage: Note, stop: Event) -> ProbeResult:
    """Run the probe in a child of `server` and return its result, which also says what the model does wrong.

    `runner` is `module:function` of what runs there. A probe that dies inside one exporter is run once more for the
    exporters that did not have their turn. Raises ServerFailedError if there is no server to run it.
    """
    left: list[Diagnostic] = []

    def attempt(probe: Probe) -> tuple[ProbeResult | None, Death | None]:
        starts = 0
        for more in reversed(range(_TRIES)):
            watch = _Watch(probe, runner, server, on_stage, stop)
            try:
                end = watch.run()
            except ServerFailedError:  # another model may have killed it
                if not more:
                    raise
                continue
            starts += 1
            if not watch.lost or starts > 1:  # the first time it may have been another model
                break
        left.extend(watch.left_running())
        return end

    result, death = attempt(probe)
    if death is not None or result is None:
        death = death or Death(Outcome.CRASH, "the process ended without a result", "")
        # What may still succeed: the process died in another exporter.
        elsewhere = death.outcome is not Outcome.SKIPPED and any(name in death.stage for name in probe.exporters)
        done = result.report.exporters if result else {}
        rest = tuple(name for name in probe.exporters if elsewhere and name not in done and name not in death.stage)
        tried = replace(probe, exporters=tuple(name for name in probe.exporters if name not in rest))
        result = process_ends.result_of(tried, result, death)
        if rest:
            remaining = replace(probe, exporters=rest)
            second, death = attempt(remaining)
            second = process_ends.result_of(remaining, second, death) if death is not None else second
            result = result if second is None else _merge(result, second)
    if left:
        depends = result.depends and replace(result.depends, unseen=result.depends.unseen or STARTS_PROCESSES)
        result = replace(result, notices=(*result.notices, *dict.fromkeys(left)), depends=depends)
    return result


def _merge(first: ProbeResult, second: ProbeResult) -> ProbeResult:
    """Return what both runs of one probe say; they are about different exporters."""
    report = replace(first.report, exporters={**second.report.exporters, **first.report.exporters})
    evidence = (*first.evidence, *(e for e in second.evidence if e not in first.evidence))
    lines = {path: {*first.reached.get(path, ()), *lines} for path, lines in second.reached.items()}
    reached = {**first.reached, **{path: tuple(sorted(both)) for path, both in lines.items()}}
    notices = tuple(dict.fromkeys(first.notices + second.notices))
    return ProbeResult(report, evidence, reached, {**second.versions, **first.versions}, notices)


@dataclass(slots=True, eq=False)
class _Watch:
    """One process of one probe, from the fork to its end."""

    probe: Probe
    runner: str
    server: Server
    on_stage: Note
    stop: Event
    result: ProbeResult | None = None
    stage: str = ""
    done: bool = False
    raised: dict[str, Any] | None = None
    altered: list[str] = field(default_factory=list)
    malformed: str | None = None
    pid: int = 0
    status: int | None = None
    supervisor: int = 0
    lost: bool = False  # the supervisor has ended without telling of the probe's end
    filtered: int = 0  # whether the model has set a filter for the system calls of its process
    left: int = 0  # processes that the model has left running
    stuck: int = 0  # those of them that could not be ended
    objects: int = 0  # shared memory, semaphores and queues that it has left
    stream: wire.Stream = field(default_factory=wire.Stream)
    errors: bytearray = field(default_factory=bytearray)
    numbers: bytearray = field(default_factory=bytearray)
    trace: IO[bytes] = field(init=False)
    errors_read: int = field(init=False)
    status_read: int = field(init=False)
    selector: selectors.BaseSelector = field(init=False)

    def run(self) -> tuple[ProbeResult | None, Death | None]:
        """Return what was published, and how the process died unless it ended well."""
        if self.stop.is_set():
            return None, Death(Outcome.SKIPPED, "the run was interrupted", "")
        with contextlib.ExitStack() as stack:
            scratch = os.path.join(tempfile.gettempdir(), f"onnxlint-{secrets.token_hex(8)}")
            stack.callback(supervisor.remove, scratch)  # the supervisor's, who may have been killed
            self.trace = stack.enter_context(tempfile.TemporaryFile())
            ours, channel = map(stack.enter_context, socket.socketpair())
            (self.errors_read, errors), (self.status_read, status) = os.pipe(), os.pipe()
            stack.callback(os.close, self.errors_read)
            stack.callback(os.close, self.status_read)
            try:
                message = wire.pack({"pool": os.getpid(), "scratch": scratch})
                self.server.fork(message, (channel.fileno(), status, errors, self.trace.fileno()))
            finally:
                channel.close()
                os.close(errors)
                os.close(status)
            request = {"probe": to_json(self.probe), "runner": self.runner, "scratch": scratch}
            with contextlib.suppress(BrokenPipeError):  # the child, or the server, is gone already: its status says why
                ours.sendall(wire.pack(request))
            self.selector = stack.enter_context(selectors.DefaultSelector())
            for fd in (ours.fileno(), self.errors_read, self.status_read):
                os.set_blocking(fd, False)
                self.selector.register(fd, selectors.EVENT_READ)
            return self._watch()

    def _watch(self) -> tuple[ProbeResult | None, Death | None]:
        while not self.pid:
            if self.stop.is_set():
                return None, Death(Outcome.SKIPPED, "the run was interrupted", "")
            self._pump(TICK)
            if self.lost:
                raise ServerFailedError(self.errors.decode("utf-8", "replace").strip() or self.server.failure())
        broken = self._until_end()
        if broken is not None:
            self._kill()
        self._pump(0)
        return self.result, None if self.done and broken is None else broken or self._post_mortem()

    def _until_end(self) -> Death | None:
        """Wait for the process to end; return the death that it has to die for the limit that it broke."""
        from onnxlint.probes.process import memory  # here, because psutil comes with the `dynamic` extra

        deadline = time.monotonic() + self.probe.timeout
        gauge = memory.Gauge(self.pid, self.supervisor)
        limit = self.probe.memory
        if limit is not None and self.probe.live is not None:
            limit += gauge.read()  # what it shares with the process that it is a copy of
        ticks = 0
        while self.status is None and not self.lost:
            self._pump(TICK)
            if self.stop.is_set():
                return Death(Outcome.SKIPPED, "the run was interrupted", self.stage)
            if time.monotonic() > deadline:
                sentence = f"the process did not finish within {self.probe.timeout:g} s"
                sentence += ": a signal had stopped it" if gauge.stopped else ""
                return self._limit_broken(Outcome.TIMEOUT, sentence)
            ticks += 1
            if ticks % FAMILY_TICKS == 0:
                gauge.find_descendants()
            if limit is not None and gauge.read() > limit:
                sentence = f"the process exceeded the memory limit of {memory.human(limit)}"
                return self._limit_broken(Outcome.CRASH, sentence)
        return None

    def _pump(self, timeout: float) -> None:
        """Take what the process and the server have to say, waiting `timeout` seconds at most for the first of it."""
        for key, _ in self.selector.select(timeout):
            try:
                data = os.read(key.fd, _ALL)
            except BlockingIOError:
                continue
            except ConnectionResetError:
                data = b""
            if data:
                self._take(key.fd, data)
            else:
                self.selector.unregister(key.fd)
                self.lost |= key.fd == self.status_read and self.status is None

    def _take(self, fd: int, data: bytes) -> None:
        if fd == self.errors_read:
            self.errors += data
            del self.errors[:-LAST_WORDS]
        elif fd == self.status_read:
            self.numbers += data
            numbers = [n for (n,) in wire.NUMBER.iter_unpack(self.numbers[: len(self.numbers) // 8 * 8])]
            if len(numbers) > 1:
                self.supervisor, self.pid = numbers[:2]
            if len(numbers) > 6:
                self.status, self.filtered, left, self.stuck, self.objects = numbers[2:]
                self.left = max(self.left, left)
        elif self.malformed is None:
            self.stream += data
            try:
                for message in self.stream.take():
                    self._hear(message)
            except (ValueError, TypeError, LookupError, AttributeError, OverflowError) as error:  # the model wrote it
                self.malformed = str(error)

    def _hear(self, message: dict[str, Any]) -> None:
        self.altered = [str(part) for part in message.get("altered", self.altered)]
        if "stage" in message:
            self.stage = str(message["stage"])
            self.on_stage(self.stage)
        elif "result" in message:
            self.result = from_json(ProbeResult, message["result"])
        elif "raised" in message:
            report = message["raised"]
            frames = [(str(path), int(line), str(function)) for path, line, function in report["frames"]]
            self.raised = {"kind": report["kind"], "text": str(report["text"]), "frames": frames}
        else:
            self.left = int(message["left"])
            self.done = bool(message["done"])

    def _limit_broken(self, outcome: Outcome, sentence: str) -> Death:
        """The death of a process that is still running: faulthandler in it writes where it is."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, child.TRACE_SIGNAL)
        patience = time.monotonic() + TRACE_PATIENCE
        size = 0
        while self.status is None and time.monotonic() < patience:
            self._pump(TICK / 2)
            before, size = size, os.fstat(self.trace.fileno()).st_size
            if size and size == before:
                break
        return Death(outcome, sentence, self.stage, self._traced())

    def _traced(self) -> tuple[Location, ...]:
        self.trace.seek(0)
        return process_ends.trace_frames(self.trace.read(1 << 20).decode("utf-8", "replace"), self.probe.root)

    def _kill(self) -> None:
        """Kill the process, and hear from its supervisor what became of it; kill that one where it says nothing."""
        patience = time.monotonic() + KILL_PATIENCE
        while self.status is None and not self.lost:
            for pid in (self.pid,) if time.monotonic() < patience else (self.pid, self.supervisor):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self._pump(TICK)

    def left_running(self) -> list[Diagnostic]:
        """Say how many processes the model has left running, whether all could be ended, and what else it has left."""
        deeds = []
        if self.left or self.stuck:
            some = "a process" if self.left == 1 else f"{self.left} processes"
            ended = f"of which onnxlint could not end {self.stuck}" if self.stuck else "which onnxlint ended"
            deeds.append(f"leaves {some} running, {ended}")
        if self.objects:
            some = "an IPC object" if self.objects == 1 else f"{self.objects} IPC objects"
            deeds.append(f"leaves {some} (shared memory, semaphores or message queues), which onnxlint removed")
        place = self.probe.path or None, self.probe.line or None
        return [Diagnostic("warning", f"{self.probe.name} {deed}", *place) for deed in deeds]

    def _post_mortem(self) -> Death:
        """Say how a process ended that broke no limit of ours, and what the model did to it if nothing else tells."""
        death = self._ended()
        if self.filtered:
            self.altered.append("set a filter (seccomp) for the system calls of its process")
        if not self.altered or (self.raised is not None and not death.internal):
            return death
        what = str(self.raised["text"]) if self.raised is not None else death.sentence.partition(" (most likely")[0]
        return replace(death, sentence=f"the model {', '.join(self.altered)}, and then {what}", internal=False)

    def _ended(self) -> Death:
        frames: tuple[Location, ...] = ()
        internal = False
        if self.raised is not None:
            trace, text = self.raised["frames"], self.raised["text"]
            frames = process_ends.raised_frames(trace, self.probe.root)
            internal = self.raised["kind"] != "exit" and process_ends.is_internal(trace)
            by_model = f"called `sys.exit({text})`" if self.raised["kind"] == "exit" else f"raised {text}"
            sentence = f"onnxlint's own worker failed with {text}" if internal else f"the model {by_model}"
        elif self.status is None:
            sentence = "the process was ended with onnxlint's supervisor of it, most likely by the model,"
        elif os.WIFSIGNALED(self.status):
            sentence, frames = process_ends.by_signal(os.WTERMSIG(self.status)), self._traced()
            lines = self.errors.decode("utf-8", "replace").strip().splitlines()
            if os.WTERMSIG(self.status) == signal.SIGABRT and lines:
                sentence += f", saying `{lines[-1].strip()[:300]}`,"
        elif os.WEXITSTATUS(self.status) == child.CHANNEL_LOST:
            closed = "the model closed the file descriptors of its process"
            sentence = "no result could be sent" if self.filtered else closed
        elif self.malformed is not None:
            sentence = f"the process wrote into our result pipe ({self.malformed})"
        else:
            code = os.WEXITSTATUS(self.status)
            sentence, frames = f"the process ended itself with exit status {code}", self._traced()
        return Death(Outcome.CRASH, sentence, self.stage, frames, internal)
