"""Run onnxlint on the README's model and put what it prints into README.md: `python .ci/readme_transcript.py`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
MODEL = ROOT / "fixtures" / "readme" / "gate.py"
COLUMNS = "88"  # fits a page of GitHub without scrolling
BLOCK = re.compile(r"(?<=<!-- transcript -->\n```console\n).*?(?=```\n<!-- /transcript -->)", re.DOTALL)


def produce() -> str:
    """The command and what it prints, as in a terminal without colour. Raises CalledProcessError unless it exits 1."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(MODEL, folder)
        done = subprocess.run(
            [Path(sys.executable).parent / "onnxlint", "check", MODEL.name],
            cwd=folder,
            env={**os.environ, "COLUMNS": COLUMNS, "ONNXLINT_CACHE_DIR": f"{folder}/.cache"},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode != 1:
        raise subprocess.CalledProcessError(done.returncode, done.args, done.stdout, done.stderr)
    return f"$ onnxlint check {MODEL.name}\n{done.stdout}"


def shown() -> str:
    """What README.md says that the run prints. Raises ValueError where it has no place for a transcript."""
    found = BLOCK.search(README.read_text(encoding="utf-8"))
    if found is None:
        raise ValueError(f"{README}: there is no console block between <!-- transcript --> and <!-- /transcript -->")
    return found[0]


def main() -> None:
    """Write the transcript of a fresh run into README.md."""
    shown()
    text, fresh = README.read_text(encoding="utf-8"), produce()
    README.write_text(BLOCK.sub(lambda _: fresh, text), encoding="utf-8")


if __name__ == "__main__":
    main()
