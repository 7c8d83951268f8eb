"""Results of earlier probes, reused where nothing that they depend on has changed. Runs in the main process."""

import json
import os
import platform
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import msgspec

from onnxlint.base.cache import Store, digest
from onnxlint.base.probe_records import Depends, Probe, ProbeResult
from onnxlint.base.records import ModelStatus, Outcome, to_json
from onnxlint.probes.common.userspace import is_installed
from onnxlint.probes.process.witness import stamp_of_file, stamp_of_variable

KIND = "probes"
PLANS = "probed"
_PASSING = {Outcome.TIMEOUT, Outcome.CRASH}  # the next run may have more time, memory or luck
_LIBRARIES = ("TORCH", "ONNX", "ORT_", "OMP_", "MKL_", "PYTHON", "LD_")  # variables that these read before any model
_PACKAGE = (".dist-info", ".egg-info", ".egg-link", ".pth")
_result = msgspec.json.Decoder(ProbeResult)
_keys = msgspec.json.Decoder(list[str])


class Answers:
    """The results in a store, and what they depend on, looked at once in a run.

    `environment` is that of the worker; `where` names the machines that probe, if it is not this one.
    """

    def __init__(self, store: Store, environment: Mapping[str, str], where: str = "") -> None:
        self._store = store
        self._environment = environment
        self._where = where
        self._stamp = cache(stamp_of_file)

    def get(self, probe: Probe) -> ProbeResult | None:
        """The result of the same probe of the same model, or None."""
        result = self._read(self._key(probe)) if self._store.usable else None
        return result if result is not None and result.report.name == probe.name else None

    def put(self, probe: Probe, result: ProbeResult) -> bool:
        """Keep a result, unless it may change although nothing that was seen does; return whether it is kept."""
        depends = result.depends
        if not self._store.usable or depends is None or depends.unseen or not _lasting(result):
            return False
        files = {**depends.files, **{path: stamp_of_file(path) for path in _proof(result, probe.root)}}
        complete = replace(result, depends=replace(depends, files=files))
        try:
            payload = msgspec.json.encode(complete)
        except UnicodeEncodeError:  # a path that is no text
            return False
        self._store.put(KIND, self._key(probe), payload)
        return True

    def all_there(self, plan: bytes) -> bool:
        """Whether the last run with this plan kept all that it probed, and all of it still holds."""
        payload = self._store.get(PLANS, plan) if self._store.usable else None
        try:
            keys = [bytes.fromhex(key) for key in _keys.decode(payload or b"")]
        except (ValueError, msgspec.MsgspecError):
            return False
        return all(self._read(key) is not None for key in keys)

    def remember(self, plan: bytes, probes: Sequence[Probe]) -> None:
        """Keep what was probed under this plan, for `all_there`."""
        self._store.put(PLANS, plan, json.dumps([self._key(probe).hex() for probe in probes]).encode())

    def _key(self, probe: Probe) -> bytes:
        read = (f"{name}={value}" for name, value in sorted(self._environment.items()) if name.startswith(_LIBRARIES))
        return digest(json.dumps(to_json(probe), sort_keys=True), _surroundings(), self._where, *read)

    def _read(self, key: bytes) -> ProbeResult | None:
        try:
            result = _result.decode(self._store.get(KIND, key) or b"")
        except (msgspec.MsgspecError, RecursionError):
            return None
        return result if result.depends is not None and self._holds(result.depends) else None

    def _holds(self, depends: Depends) -> bool:
        variables, files = depends.environment.items(), depends.files.items()
        same = all(stamp_of_variable(self._environment, name) == stamp for name, stamp in variables)
        return same and all(self._stamp(path) == stamp for path, stamp in files)


def _lasting(result: ProbeResult) -> bool:
    outcomes = {cell.outcome for cell in result.report.exporters.values()}
    done = not any(notice.level == "error" for notice in result.notices)  # not so: a runtime that is not there
    return done and result.report.status is ModelStatus.PROBED and not outcomes & _PASSING


def _proof(result: ProbeResult, root: str) -> Iterator[str]:
    """The files of the counterexamples that a result names: a verdict without them is none."""
    for evidence in result.evidence:
        if evidence.repro is not None:
            folder = Path(root, evidence.repro).parent
            yield str(folder)
            yield from (str(path) for path in sorted(folder.iterdir()) if path.is_file())


@cache
def _surroundings() -> str:
    """The machine, and every package that is installed, with its version."""
    packages: set[str] = set()
    for folder in filter(is_installed, sys.path):
        try:
            packages.update(f"{folder}/{name}" for name in os.listdir(folder) if name.endswith(_PACKAGE))
        except OSError:  # on the path, and not there
            continue
    machine = (platform.system(), platform.release(), platform.machine(), *platform.libc_ver())
    return "\n".join((*machine, *sorted(packages)))  # platform.platform() starts `uname`, whichever PATH names
