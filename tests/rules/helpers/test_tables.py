"""The tables of the rules: of rules that there are, and none that no rule reads."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysing import PRELUDE

import onnxlint
from onnxlint.base.catalogue import load_catalogue
from onnxlint.config.settings import Settings
from onnxlint.rules.helpers.tables import TABLES
from onnxlint.run.pipeline import run_check

RULES = Path(onnxlint.__file__).parent / "rules"


@pytest.mark.parametrize("code", TABLES)
def test_the_rule_of_each_table_reads_it(code: str) -> None:
    rule = load_catalogue()[code]
    module = RULES / f"{rule.code}_{rule.name}.py".lower().replace("-", "_")
    assert f'TABLES["{code}"]' in module.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("body", "advice"),
    [
        ("x.permute(0, 2, 1).unfold(-1, 2, 2)", "count the dimension from the front"),
        ("F.avg_pool2d(x, 2, divisor_override=1)", "say it with other operators"),
    ],
)
def test_a_wrong_translation_comes_with_what_to_write_for_that_operator(
    body: str, advice: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = f"{PRELUDE}class M(nn.Module):\n    def forward(self, x: Tensor):\n        return {body}\n"
    (tmp_path / "model.py").write_text(text)
    report = run_check([Path()], Settings(root=tmp_path, static_only=True, cache=False))
    (title,) = (f.fix.title for f in report.findings if f.code == "ONX408" and f.fix is not None)
    assert title.startswith(advice)
