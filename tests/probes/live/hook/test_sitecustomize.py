"""What Python imports in front of a user's script: it listens, and leaves nothing behind that the script could see."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from onnxlint.probes.live.capture import CHANNEL, HOOK, variables

SEE = """\
import json, os, sys
site = sys.modules.get("sitecustomize")
print(json.dumps({
    "listens": "onnxlint.probes.live.capture" in sys.modules,
    "path": sys.path,
    "ours": sorted(name for name in os.environ if name.startswith("ONNXLINT_")),
    "PYTHONPATH": os.environ.get("PYTHONPATH"),
    "site": getattr(site, "MARK", getattr(site, "__file__", None)),
}))
"""


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Where somebody listens."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "calls"))
        listener.listen()
        yield str(tmp_path / "calls")


def start(folder: Path, given: dict[str, str]) -> dict[str, Any]:
    """What a script of this folder sees in a Python that is started with these variables."""
    (folder / "see.py").write_text(SEE)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("ONNXLINT_", "PYTHON"))}
    done = subprocess.run(
        [sys.executable, "see.py"],
        cwd=folder,
        env={**environment, **given},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def plain(folder: Path, before: str) -> dict[str, Any]:
    return start(folder, {"PYTHONPATH": before} if before else {})


@pytest.mark.parametrize("before", ["", "libraries"])
def test_the_script_sees_what_it_sees_without_us(address: str, before: str, tmp_path: Path) -> None:
    before = before and str(tmp_path / before)
    found = start(tmp_path, variables(address, str(tmp_path), before))
    assert found.pop("listens")
    expected = plain(tmp_path, before)
    assert not expected.pop("listens")
    if expected["site"] is None:
        assert found["site"] == os.path.join(HOOK, "sitecustomize.py"), "it cannot be taken out while it runs"
        del found["site"], expected["site"]
    assert found == expected
    assert found["ours"] == []


def test_the_user_s_own_is_imported_in_its_place(address: str, tmp_path: Path) -> None:
    (tmp_path / "libraries").mkdir()
    (tmp_path / "libraries" / "sitecustomize.py").write_text("import os\nMARK = os.environ['PYTHONPATH']\n")
    before = str(tmp_path / "libraries")
    found = start(tmp_path, variables(address, str(tmp_path), before))
    assert found == {**plain(tmp_path, before), "listens": True}
    assert found["site"] == before


@pytest.mark.parametrize(
    "change",
    [{"ONNXLINT_PREFIX": "/another/python"}, {"ONNXLINT_PROBES": "1"}, {CHANNEL: ""}],
    ids=["another Python", "the process of our probes", "nobody to tell"],
)
def test_a_process_that_is_not_to_be_watched_is_left_alone(
    address: str, change: dict[str, str], tmp_path: Path
) -> None:
    found = start(tmp_path, {**variables(address, str(tmp_path), ""), **change})
    assert not found["listens"]
    assert found["path"] == plain(tmp_path, "")["path"]
    assert set(found["ours"]) == change.keys() & {"ONNXLINT_PROBES"}


def test_where_nobody_listens_any_more_the_script_runs_all_the_same(tmp_path: Path) -> None:
    found = start(tmp_path, variables(str(tmp_path / "gone"), str(tmp_path), ""))
    assert found["path"] == plain(tmp_path, "")["path"]
