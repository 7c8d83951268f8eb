"""Runs probes on the workers of a Dask cluster, as `pool` does on this machine, and yields results as they finish."""

from __future__ import annotations

import contextlib
import json
import queue
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import onnxlint
from onnxlint.base.probe_records import Probe, ProbeResult
from onnxlint.base.records import Diagnostic, Outcome, from_json, to_json
from onnxlint.probes.process import process_ends
from onnxlint.probes.schedule import remote
from onnxlint.probes.schedule.pool import RUNNER

PATIENCE = 10.0  # seconds for the scheduler to answer, and for interrupted probes to say what is known


class Cluster:
    """A context manager with the methods of `ProbePool` that a run needs."""

    def __init__(self, address: str, runner: str = RUNNER) -> None:
        self._address = address
        self._runner = runner
        self._run = f"onnxlint-{uuid.uuid4().hex}"
        self._client: Any = None

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        if self._client is not None:
            self._client.close()

    def warm(self) -> None:
        """Do nothing: the workers have their own time."""

    def run_each(
        self, probes: Sequence[Probe], *, jobs: int, on_stage: Callable[[str, str], None] | None = None
    ) -> Iterator[tuple[Probe, ProbeResult]]:
        """Yield probes with results as `ProbePool.run_each` does; a probe whose worker dies runs again on another."""
        if not probes:
            return
        try:
            client = self._connected()
        except (OSError, ValueError) as error:  # of the latter kind is an address that is none
            for probe in probes:
                yield probe, self._unreachable(probe, error)
            return
        events: queue.SimpleQueue[Any] = queue.SimpleQueue()
        client.subscribe_topic(self._run, events.put)
        waiting: dict[Any, Probe] = {}
        try:
            for number, probe in enumerate(probes):
                arguments = json.dumps(to_json(probe)), self._runner, self._run, onnxlint.__version__
                key = f"{self._run}-{number}"
                future = client.submit(remote.probe_here, *arguments, key=key, pure=False)
                waiting[future] = probe
                future.add_done_callback(events.put)
            while waiting:
                event = events.get()
                if not isinstance(event, tuple):
                    probe = waiting.pop(event)
                    yield probe, _outcome(event, probe)
                elif on_stage is not None:
                    on_stage(event[1]["model"], event[1]["stage"])
        except KeyboardInterrupt:
            yield from self._rest(waiting)
            raise
        finally:
            if waiting:
                self._stop(waiting)

    def _connected(self) -> Any:
        from distributed import Client  # here, because it comes with the `distributed` extra

        if self._client is None:
            self._client = Client(self._address, timeout=PATIENCE, set_as_default=False)
        return self._client

    def _stop(self, waiting: Iterable[Any] = ()) -> None:
        with contextlib.suppress(OSError):  # the scheduler is gone, and with it whatever ran
            self._client.run(remote.stop, self._run, on_error="ignore")
            self._client.cancel(list(waiting))

    def _rest(self, waiting: dict[Any, Probe]) -> Iterator[tuple[Probe, ProbeResult]]:
        """End what runs, and take what is known of it."""
        self._stop()
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and not all(future.done() for future in waiting):
            time.sleep(0.05)
        for future in [future for future in waiting if future.done()]:
            yield waiting[future], _outcome(future, waiting.pop(future))

    def _unreachable(self, probe: Probe, error: Exception) -> ProbeResult:
        reason = f"the Dask scheduler at {self._address} does not answer"
        first, *_ = str(error).splitlines() or [""]
        notice = Diagnostic("error", f"--scheduler: {reason}: {first}")
        return replace(process_ends.not_probed(probe, reason), notices=(notice,))


def _outcome(future: Any, probe: Probe) -> ProbeResult:
    error = future.exception() if future.status == "error" else None
    if future.status == "finished":
        return from_json(ProbeResult, json.loads(future.result()))
    sentence = f"the cluster gave it up ({type(error).__name__}: {error})" if error else "the cluster gave it up"
    if type(error).__name__ == "KilledWorker":
        sentence = "every worker of the cluster that ran it ended in the middle of it"
    return process_ends.result_of(probe, None, process_ends.Death(Outcome.CRASH, sentence, ""))
