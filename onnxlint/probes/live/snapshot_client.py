"""The other side of a snapshot: the call that it is frozen at, and the server that forks from it."""

import socket
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock

from onnxlint.base.probe_records import Probe
from onnxlint.base.records import ModelReport, ModelStatus, from_json
from onnxlint.probes.process import wire
from onnxlint.probes.process.isolate import Server, ServerFailedError

SOURCE = "captured"


@dataclass(frozen=True, slots=True)
class Capture:
    """A call with a live model: `path` and `line` are the user's call, `opset` what it names, `files` the user's.

    `exporters` are those that the call is about. `sizes` are what may be tried where the call limits a dim. `reason`
    is why the model cannot be probed. `texts` are the sources that no file holds, by the name that code has them under.
    `replaces` is the `number` of an earlier call that this one goes on with: what was captured there is exported here.
    """

    name: str
    path: str
    line: int
    exporters: tuple[str, ...]
    opset: int | None = None
    sizes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    reason: str | None = None
    files: tuple[str, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    number: str = ""
    replaces: str = ""


class Snapshot(Server):
    """A process frozen at a call (see `snapshot.take`), as what forks probes."""

    def __init__(self, control: socket.socket) -> None:
        """Hear what the snapshot has to say. Raises ServerFailedError if it ended without a word."""
        self._control = control
        self._lock = Lock()
        try:
            message = wire.read_message(control.fileno())
            if "fault" in message:
                raise ValueError(str(message["fault"]))
            self.capture = from_json(Capture, message)
        except (OSError, wire.WireError, TypeError, ValueError) as error:
            control.close()
            raise ServerFailedError(f"the call could not be captured: {error}") from error

    def fork(self, request: bytes, fds: Sequence[int]) -> None:
        """Ask for a child that gets these descriptors. Raises ServerFailedError where the process has ended."""
        try:
            with self._lock:
                socket.send_fds(self._control, [request], fds)
        except OSError as error:
            raise ServerFailedError(self.failure()) from error

    def failure(self) -> str:
        """Return what is known of its end."""
        return "the process that was frozen at the call has ended"

    def close(self) -> None:
        """End the snapshot."""
        self._control.close()


@dataclass(frozen=True, slots=True)
class Captured:
    """Live models to probe in the place of those that the source and the configuration name.

    `probes` fill in what the settings say. With `reached_only`, findings on lines that no model ran are left out.
    """

    snapshots: Sequence[Snapshot] = ()
    reached_only: bool = False

    @property
    def servers(self) -> Mapping[str, Server]:
        """The snapshots by the name that their probe has for them."""
        return {str(number): snapshot for number, snapshot in enumerate(self.snapshots)}

    def probes(self, like: Probe) -> tuple[tuple[Probe, ...], tuple[ModelReport, ...]]:
        """Make probes, with the limits and places of the probe `like`; and report the models that cannot be probed."""
        probes, refused = [], []
        captures = {key: snapshot.capture for key, snapshot in zip(self.servers, self.snapshots, strict=True)}
        replaced = {call.replaces for call in captures.values() if call.reason is None} - {""}
        captures = {key: call for key, call in captures.items() if call.number not in replaced}
        for key, call in zip(captures, _renamed([*captures.values()]), strict=True):
            exporters = tuple(name for name in call.exporters if name in like.exporters)
            name, path, line = call.name, call.path, call.line
            if call.reason is not None:
                refused.append(ModelReport(name, path, line, ModelStatus.NOT_PROBED, call.reason, declared=True))
            elif exporters:
                probe = replace(like, name=name, path=path, line=line, source=SOURCE, exporters=exporters, live=key)
                probes.append(replace(probe, opset=call.opset or like.opset, sizes=call.sizes))
        return tuple(probes), tuple(refused)

    def close(self) -> None:
        """End the snapshots."""
        for snapshot in self.snapshots:
            snapshot.close()


def _renamed(calls: Sequence[Capture]) -> Iterator[Capture]:
    """The calls with distinct names, by which evidence refers to a model: with the line where a class occurs twice."""
    counts = Counter(call.name for call in calls)
    seen: Counter[str] = Counter()
    for call in calls:
        place = f" ({call.path.rpartition('/')[2]}:{call.line})" if counts[call.name] > 1 else ""
        name = f"{call.name}{place}"
        seen[name] += 1
        number = f" #{seen[name]}" if seen[name] > 1 else ""  # a loop exports several from one line
        yield replace(call, name=f"{name}{number}")
