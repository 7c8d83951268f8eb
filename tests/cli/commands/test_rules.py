"""`onnxlint rules`: the list of all rules, to read and for machines."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from onnxlint.cli import main

ROOT = Path(__file__).resolve().parents[3]


def test_rules_lists_all_of_them() -> None:
    done = CliRunner().invoke(main, ["rules", "--output-format", "json"])
    rows = json.loads(done.stdout)
    assert {row["code"] for row in rows} == {path.name[:6] for path in (ROOT / "rules").glob("ONX*.md")}
    text = CliRunner().invoke(main, ["rules"]).stdout
    assert all(row["code"] in text and row["name"] in text for row in rows)
