"""Regular expressions that run over source take time in proportion to it, whatever is in it."""

from __future__ import annotations

import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from onnxlint.project import outline, pins
from onnxlint.source import suppress

ROOT = Path(__file__).resolve().parents[1]
HOSTILE = {
    "annotations without a value": (outline._SELF_WRITE, "self.a:"),
    "a suppression that nothing closes": (suppress._IGNORE, "# onnxlint: ignore["),
    "a requirement that nothing ends": (pins._REQUIRED, "torch" + " " * 5000),
}


@pytest.mark.parametrize(("regex", "unit"), HOSTILE.values(), ids=HOSTILE)
def test_a_megabyte_takes_a_second(regex: re.Pattern[str], unit: str) -> None:
    code = (
        f"import re; list(re.compile({regex.pattern!r}, {regex.flags}).finditer({unit!r} * ({1_000_000 // len(unit)})))"
    )
    limit = lambda: resource.setrlimit(resource.RLIMIT_CPU, (3, 3))  # noqa: E731
    assert subprocess.run([sys.executable, "-c", code], preexec_fn=limit, timeout=120).returncode == 0
