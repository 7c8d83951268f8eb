"""Every test that SECURITY.md names is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / ".github" / "SECURITY.md"
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", PAGE.read_text(encoding="utf-8"))))


@pytest.mark.parametrize(("file", "name"), NAMED, ids=lambda part: part)
def test_what_holds_a_promise_exists(file: str, name: str) -> None:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    assert not name or name in {n.name for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.ClassDef))}


def test_every_row_names_a_test() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    rows = [row for row in rows if not row.startswith(("|---", "| Promised"))]
    assert rows
    assert [row for row in rows if "`tests/" not in row] == []
