"""What runs in a worker of a Dask cluster: the same isolated probe as on the user's machine, on that of the worker."""

import atexit
import json
import os
import socket
from functools import cache
from threading import Event, Lock

import onnxlint
from onnxlint.base.probe_records import Probe, ProbeResult
from onnxlint.base.records import from_json, to_json
from onnxlint.probes.process import process_ends
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
    return json.dumps(to_json(_result(from_json(Probe, json.loads(probe_json)), runner, run, version)))


def _result(probe: Probe, runner: str, run: str, version: str) -> ProbeResult:
    from distributed import get_worker

    worker = get_worker()

    def note(stage: str) -> None:
        worker.log_event(run, {"model": probe.name, "stage": stage})

    if (misfit := _misfit(probe, version)) is not None:
        return process_ends.not_probed(probe, *misfit)
    try:
        return run_isolated(limited(probe, worker.state.nthreads), runner, _server(), note, _stopped(run))
    except (ServerFailedError, ModuleNotFoundError) as error:
        return not_started(probe, error)


def stop(run: str) -> None:
    """End the probes of a run on this worker, and start no more of them."""
    _stopped(run).set()


def _stopped(run: str) -> Event:
    with _lock:
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
