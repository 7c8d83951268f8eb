"""A model that changes its process, or returns tensors nobody can read, is reported as what it is, and not as us."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import pytest

from onnxlint.base.probe_records import Probe, ProbeResult
from onnxlint.base.records import ModelStatus
from onnxlint.probes.schedule.pool import ProbePool

MODEL = """
import builtins, ctypes, json, numpy, os, pathlib, resource, struct, sys, time, torch

C = ctypes.CDLL(None)

def refuse(action, *calls):  # have the system refuse calls (seccomp), by their numbers on x86-64
    C.prctl(38, 1, 0, 0, 0)
    rows = [(0x20, 0, 0, 0)]
    rows += [row for call in calls for row in ((0x15, 0, 1, call), (0x06, 0, 0, action))]
    rows.append((0x06, 0, 0, 0x7FFF0000))
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in rows))
    assert C.prctl(22, 2, struct.pack("HxxxxxxP", len(rows), ctypes.addressof(program)), 0, 0) == 0

def no(*args, **kwargs):
    raise RuntimeError("replaced")

class Wrapped(torch.Tensor):
    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        raise NotImplementedError("nothing in here")

class Named(torch.Tensor):
    pass

class Listener:
    def __call__(self, event, args):
        if event == "open":
            raise RuntimeError("no file for you")

class Silent:
    def __repr__(self):
        raise ValueError("no words")

def inputs():
    return (torch.ones(2, 4),)

class M(torch.nn.Module):
    def forward(self, x):
        {body}
        return x * 2
"""
LIMIT = "resource.setrlimit(resource.RLIMIT_{0}, ({1}, {1}))"
ROOT = "os.path.isdir('/proc/self') and os.chroot('/proc')"  # once: there is no /proc in it
KILL, REFUSE = 0x80000000, 0x00050001  # what a filter does: the process dies, or is told that it may not
FILTERED = "the model set a filter (seccomp) for the system calls of its process, and then "
SAID = {
    f"refuse({KILL}, 83, 97, 258, 302)": FILTERED + "the process was killed by SIGSYS",
    f"refuse({REFUSE}, 83, 258)": FILTERED + "PermissionError",
    f"refuse({REFUSE}, 257)": FILTERED + "FileNotFoundError",
    f"refuse({REFUSE}, 1)": FILTERED + "no result could be sent",
    f"refuse({REFUSE}, 5, 262)": FILTERED + "no result could be sent",
    f"refuse({REFUSE}, 165)": "",
    "C.prctl(22, 1, 0, 0, 0)": FILTERED + "the process was killed by SIGKILL while",
    "C.prctl(4, 0, 0, 0, 0)": "",
    LIMIT.format("NOFILE", 0): "the model set RLIMIT_NOFILE of its process to 0, and then ",
    LIMIT.format("FSIZE", 0): "the model set RLIMIT_FSIZE of its process to 0, and then ",
    LIMIT.format("CPU", 1): "the model set RLIMIT_CPU of its process to 1, and then the process was killed by SIG",
    ROOT: "the model changed the root folder of its process, and then ",
    "torch.set_default_device('meta')": "the model set torch's default device to meta, and then ",
    "os.write = os.fstat = os.getpid = no": "the model raised RuntimeError: replaced",
    "json.JSONEncoder.encode = json.JSONEncoder.iterencode = no": "",
    "return Wrapped(x)": "forward returns `Wrapped`, a subclass of torch.Tensor, whose values cannot be read: "
    "NotImplementedError: nothing in here",
    "return x.as_subclass(Named)": "",
    "time.perf_counter = lambda: 'x'": "the model replaced `time.perf_counter`, and then TypeError: ",
    "sys._getframe = None": "the model replaced `sys._getframe`, and then TypeError: ",
    "numpy.asarray = None": "the model replaced `numpy.asarray`, and then TypeError: ",
    "os.path.join = lambda *parts: '/'": "the model replaced `posixpath.join`, and then FileNotFoundError: ",
    "pathlib.Path.mkdir = None": "the model replaced `pathlib.Path.mkdir`, and then TypeError: ",
    "sys.addaudithook(Listener())": "the model raised RuntimeError: no file for you",
    "raise SystemExit(Silent())": "the model called `sys.exit(an error that cannot be shown (ValueError))`",
}
SPIN = "\n        while torch.jit.is_tracing():\n            pass"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ProbeResult]:
    root = tmp_path_factory.mktemp("altered")
    probes = []
    for number, body in enumerate(SAID):
        (root / f"m{number}.py").write_text(MODEL.format(body=body + SPIN * ("_CPU" in body)))
        probes.append(probe(root, f"m{number}"))
    with ProbePool() as pool:
        actual = {result.report.name: result for result in pool.run(probes, jobs=2)}
    return {body: actual[f"m{number}:M"] for number, body in enumerate(SAID)}


def probe(root: Path, name: str) -> Probe:
    return Probe(
        name=f"{name}:M",
        factory=f"{name}:M",
        path=f"{name}.py",
        line=1,
        source="config",
        inputs=f"{name}:inputs",
        dynamic={"x": {0: "batch"}},
        sizes={},
        vary=None,
        exporters=("torchscript",),
        opset=18,
        search_path=(str(root),),
        root=str(root),
        repro_dir=str(root / ".onnxlint"),
        timeout=240.0,
        memory=None,
    )


@pytest.mark.parametrize("body", SAID)
def test_it_is_said_what_the_model_did(results: dict[str, ProbeResult], body: str) -> None:
    if "refuse" in body and platform.machine() != "x86_64":
        pytest.skip("the numbers are others here")
    if body == ROOT and os.geteuid() != 0:
        pytest.skip("only root may change it")
    result = results[body]
    text = [result.report.reason or "", *(cell.detail for cell in result.report.exporters.values())]
    assert not [notice for notice in result.notices if "please report it" in notice.message]
    assert not any("onnxlint's own worker" in part or "exit status" in part for part in text)
    if SAID[body]:
        assert any(part.startswith(SAID[body]) for part in text), text
    else:
        assert result.report.status is ModelStatus.PROBED
        assert [cell.outcome for cell in result.report.exporters.values()] == ["ok"]
