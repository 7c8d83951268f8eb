"""Runs probes on the workers of a Dask cluster, each isolated there, as `pool` does on this machine."""

import atexit
import contextlib
import json
import os
import queue
import socket
import time
import uuid
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from threading import Event
from typing import Any

import onnxlint
from onnxlint.base.probe_records import Probe, ProbeResult
from onnxlint.base.records import Diagnostic, Outcome, from_json, to_json
from onnxlint.probes.process import process_ends
from onnxlint.probes.schedule import pool
from onnxlint.probes.schedule.pool import PATIENCE, Events, ForkServer, OnStage, Results

_runs: dict[str, Event] = {}  # in a worker: what ends the probes of a run


class Cluster(contextlib.AbstractContextManager["Cluster"]):
    """A context manager with the methods of `ProbePool` that a run needs."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._run = f"onnxlint-{uuid.uuid4().hex}"
        self._client: Any = None

    def __exit__(self, *_: object) -> None:
        if self._client is not None:
            self._client.close()

    def warm(self) -> None:
        """Do nothing: the workers have their own time."""

    def run_each(self, probes: Sequence[Probe], *, jobs: int, on_stage: OnStage | None = None) -> Results:
        """Yield probes with results as `ProbePool.run_each` does; a probe whose worker dies runs again on another."""
        if not probes:
            return
        from distributed import Client  # here, because it comes with the `distributed` extra

        try:
            self._client = self._client or Client(self._address, timeout=PATIENCE, set_as_default=False)
        except (OSError, ValueError) as error:  # of the latter kind is an address that is none
            reason = f"the Dask scheduler at {self._address} does not answer"
            first, *_ = str(error).splitlines() or [""]
            notices = (Diagnostic("error", f"--scheduler: {reason}: {first}"),)
            yield from ((probe, replace(process_ends.not_probed(probe, reason), notices=notices)) for probe in probes)
            return
        events: Events = queue.SimpleQueue()
        self._client.subscribe_topic(self._run, lambda event: events.put(tuple(event[1]["at"])))

        def submit(probe: Probe) -> Any:
            arguments = json.dumps(to_json(probe)), pool.RUNNER, self._run, onnxlint.__version__
            return self._client.submit(_probe_here, *arguments, pure=False)

        yield from pool.as_they_finish(probes, submit, _outcome, self._end, events, on_stage)

    def _end(self, futures: list[Any], patience: float) -> None:
        with contextlib.suppress(OSError):  # the scheduler is gone, and with it whatever ran
            self._client.run(_stop, self._run, on_error="ignore")
            deadline = time.monotonic() + patience
            while time.monotonic() < deadline and not all(future.done() for future in futures):
                time.sleep(0.05)
            self._client.cancel([future for future in futures if not future.done()])


def _outcome(future: Any, probe: Probe) -> ProbeResult:
    error = future.exception() if future.status == "error" else None
    if future.status == "finished":
        return from_json(ProbeResult, json.loads(future.result()))
    sentence = f"the cluster gave it up ({type(error).__name__}: {error})" if error else "the cluster gave it up"
    if type(error).__name__ == "KilledWorker":
        sentence = "every worker of the cluster that ran it ended in the middle of it"
    return process_ends.result_of(probe, None, process_ends.Death(Outcome.CRASH, sentence, ""))


@cache
def _server() -> ForkServer:
    """One warm process for all probes of this worker."""
    server = ForkServer()
    atexit.register(server.close)
    return server


def _probe_here(probe_json: str, runner: str, run: str, version: str) -> str:
    """Run a probe in a worker; return its result, as JSON too. `run` names what ends it, and a topic for its stages."""
    from distributed import get_worker

    worker, probe = get_worker(), from_json(Probe, json.loads(probe_json))

    def note(stage: str) -> None:
        worker.log_event(run, {"at": (probe.name, stage)})

    if (misfit := _misfit(probe, version)) is not None:
        return json.dumps(to_json(process_ends.not_probed(probe, *misfit)))
    return json.dumps(to_json(pool.run_limited(probe, worker.state.nthreads, runner, _server(), note, _stopped(run))))


def _stop(run: str) -> None:
    """End the probes of a run on this worker, and start no more of them."""
    _stopped(run).set()


def _stopped(run: str) -> Event:
    return _runs.setdefault(run, Event())


def _misfit(probe: Probe, version: str) -> tuple[str, str] | None:
    """Why this worker cannot give the answer that the user's machine would, and what to do about it."""
    host = socket.gethostname()
    for folder in (probe.root, *probe.search_path):
        if not os.path.isdir(folder):
            remedy = "let the workers see the project at the same path, as on a shared file system"
            return f"the worker {host} has no folder {folder}", remedy
    if onnxlint.__version__ != version:
        reason = f"the worker {host} has onnxlint {onnxlint.__version__}, not {version}"
        return reason, "install the same version on every worker"
    return None
