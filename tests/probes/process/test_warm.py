"""What the fork server does once: afterwards exports cost little, and a fork is still safe."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytestmark = pytest.mark.slow

CACHE = "TORCHINDUCTOR_CACHE_DIR"
WARM = """
import os, sys, threading, warnings
from onnxlint.probes.process import warm
assert "torch" not in sys.modules
before = dict(os.environ)
warm.warm_up()
import logging, torch, tqdm
assert [thread.name for thread in threading.enumerate()] == ["MainThread"]
assert dict(os.environ) == before, "the environment"
assert (torch.get_num_threads(), torch.get_num_interop_threads()) == (1, 1)
assert not logging.root.manager.disable
assert {"onnxlint.probes.process.worker", "onnxruntime", "onnxscript"} <= sys.modules.keys()
for _ in tqdm.tqdm(range(3), disable=False): pass
assert threading.active_count() == 1
torch.onnx.export = None
warm.rehearse()  # it was done
print("warm")
"""


def python(code: str, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    environment: dict[str, Any] = {name: value for name, value in os.environ.items() if name != CACHE}
    environment |= {"PYTHONPATH": os.pathsep.join([str(folder), str(Path(__file__).parents[3])]), **more}
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_a_warm_process_has_both_exporters_no_thread_and_the_environment_that_it_had(tmp_path: Path) -> None:
    done = python(WARM, tmp_path)
    assert (done.returncode, done.stdout) == (0, "warm\n"), done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_folder_that_the_user_has_set_for_the_compiler_stays_set(tmp_path: Path) -> None:
    code = (
        "import os\nfrom onnxlint.probes.process import warm\n"
        f"warm.rehearse = lambda: print(os.environ[{CACHE!r}])\nwarm.warm_up()\nprint(os.environ.get({CACHE!r}))\n"
    )
    mine = str(tmp_path / "mine")
    assert python(code, tmp_path, **{CACHE: mine}).stdout.splitlines() == [mine, mine]
    temporary = str(tmp_path / "temporary")
    (tmp_path / "temporary").mkdir()
    assert python(code, tmp_path, TMPDIR=temporary).stdout.splitlines() == [temporary, "None"]


def test_a_package_that_is_missing_is_told_by_its_name_and_the_environment_is_put_back(tmp_path: Path) -> None:
    (tmp_path / "onnxruntime.py").write_text("raise ModuleNotFoundError(\"No module named 'onnxruntime'\")\n")
    code = (
        "import os\nfrom onnxlint.probes.process import warm\n"
        f"try:\n    warm.warm_up()\nexcept ImportError as error:\n    print(error, {CACHE!r} in os.environ)\n"
    )
    assert python(code, tmp_path).stdout == "No module named 'onnxruntime' False\n"
