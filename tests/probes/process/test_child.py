"""Source that is not on the disk: what a process imports, and what compiled code is worth then."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CODE = """\
import sys
sys.path.insert(0, {folder!r})
from onnxlint.probes.process.child import install_overlay
install_overlay({{{path!r}: "VALUE = 2\\n"}})
import mine, traceback, linecache
print(mine.VALUE, linecache.getline({path!r}, 1).strip())
"""


def run(code: str, folder: Path) -> str:
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_given_source_is_imported_in_the_place_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("VALUE = 1\n")
    run(f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import mine", tmp_path)  # leaves compiled code behind
    assert run(CODE.format(folder=str(tmp_path), path=str(path)), tmp_path) == "2 VALUE = 2"
    assert path.read_text() == "VALUE = 1\n"
    assert run(f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import mine; print(mine.VALUE)", tmp_path) == "1"
