"""npm packages that tests hold us against, installed once for all workers of a test run."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from pathlib import Path

import pytest


def node_modules(factory: pytest.TempPathFactory, *packages: str) -> Path:
    """The `node_modules` with these packages, each named with its version. Skips the test where there is no npm."""
    if shutil.which("npm") is None:
        pytest.skip("there is no npm")
    base = factory.getbasetemp()
    shared = base.parent if base.name.startswith("popen-") else base  # workers of pytest-xdist have a folder each
    folder = shared / ("npm-" + "-".join(package.replace("/", "_") for package in packages))
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder), *packages]
            subprocess.run(command, check=True, capture_output=True, timeout=300)
            (folder / "done").touch()
    return folder / "node_modules"
