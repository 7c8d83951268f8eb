"""What runs in a worker of a Dask cluster: the same isolated probe as on the user's machine, on that of the worker."""

from __future__ import annotations

import atexit
import json
import os
import socket
from functools import cache
from threading import Event, Lock

import onnxlint
from onnxlint.base.records import ModelReport, ModelStatus, Probe, ProbeResult, from_json, to_json
from onnxlint.probes.process.isolate import ServerFailedError, run_isolated
from onnxlint.probes.schedule.pool import ForkServer, limited, not_started

_runs: dict[str, Event] = {}
_lock = Lock()


@cache
def _server() -> ForkServer:
    """One warm process for all probes of this worker."""
    server = ForkServer()
    atexit.register(server.close)
    return server


def probe_here(probe_json: str, runner: str, run: str, version: str) -> str:
    """Run a probe and return its result, both as JSON. `run` names what `stop` ends; stages are events of that name."""
    from distributed import get_worker

    probe = from_json(Probe, json.loads(probe_json))
    worker = get_worker()
    fault = _unfit(probe, version)
    if fault is not None:
        return json.dumps(to_json(fault))
    try:
        return run_isolated(
            json.dumps(to_json(limited(probe, worker.state.nthreads))),
            runner,
            _server(),
            lambda stage: worker.log_event(run, {"model": probe.name, "stage": stage}),
            _stopped(run),
        )
    except (ServerFailedError, ModuleNotFoundError) as error:
        return json.dumps(to_json(not_started(probe, error)))


def stop(run: str) -> None:
    """End the probes of a run on this worker, and start no more of them."""
    _stopped(run).set()


def _stopped(run: str) -> Event:
    with _lock:
        return _runs.setdefault(run, Event())


def _unfit(probe: Probe, version: str) -> ProbeResult | None:
    """Say why this worker cannot give the answer that the user's machine would."""
    host = socket.gethostname()
    reason = remedy = None
    if onnxlint.__version__ != version:
        reason = f"the worker {host} has onnxlint {onnxlint.__version__}, not {version}"
        remedy = "install the same version on every worker"
    missing = next((folder for folder in (probe.root, *probe.search_path) if not os.path.isdir(folder)), None)
    if missing is not None:
        reason = f"the worker {host} has no folder {missing}"
        remedy = "let the workers see the project at the same path, as on a shared file system"
    if reason is None:
        return None
    declared = probe.asked_for
    report = ModelReport(probe.name, probe.path, probe.line, ModelStatus.NOT_PROBED, reason, remedy, declared=declared)
    return ProbeResult(report)
