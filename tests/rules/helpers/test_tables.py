"""The tables of the rules: of rules that there are, and none that no rule reads."""

from __future__ import annotations

from pathlib import Path

import pytest

import onnxlint
from onnxlint.base.catalogue import load_catalogue
from onnxlint.rules.helpers.tables import TABLES

RULES = Path(onnxlint.__file__).parent / "rules"


@pytest.mark.parametrize("code", TABLES)
def test_the_rule_of_each_table_reads_it(code: str) -> None:
    rule = load_catalogue()[code]
    module = RULES / f"{rule.code}_{rule.name}.py".lower().replace("-", "_")
    assert f'TABLES["{code}"]' in module.read_text(encoding="utf-8")
