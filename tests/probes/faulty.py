"""What the tests of the pool share: a copy of the faulty models, and probes of them."""

import ctypes
import shutil
import sys
import tomllib
from pathlib import Path

import psutil

from onnxlint.base.probe_records import Probe

HERE = Path(__file__).parent
FAULTS = HERE.parent.parent / "fixtures" / "faults"


def copy_to(root):
    """Copy fixtures/faults, and the stub of the worker, into a folder that nothing else on this machine uses."""
    shutil.copytree(FAULTS, root, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(HERE / "stub.py", root)
    return root


def declared():
    """Every model of fixtures/faults/onnxlint.toml by its module's name."""
    models = tomllib.loads((FAULTS / "onnxlint.toml").read_text())["models"]
    return {model["factory"].partition(":")[0]: model for model in models}


def make_probe(root, name, timeout=None, memory=None, exporters=("torchscript", "dynamo")):
    """The probe that the configuration declares for one faulty model, with limits of the test's own."""
    model = declared()[name]
    return Probe(
        name=model["factory"],
        factory=model["factory"],
        path=f"{name}.py",
        line=1,
        source="config",
        inputs=model["inputs"],
        dynamic={"x": {0: "batch"}},
        sizes={},
        vary=None,
        exporters=exporters,
        opset=18,
        search_path=(str(root),),
        root=str(root),
        repro_dir=str(root / ".onnxlint"),
        timeout=timeout or model.get("timeout", 120.0),
        memory=memory,
    )


def inhabitants(root):
    """The processes whose working directory is `root`."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.cwd() == str(root):
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found


def confines_signals():
    """Whether this system can keep a process from signalling others: Landlock's sixth version can."""
    return sys.platform == "linux" and ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), 1) >= 6
