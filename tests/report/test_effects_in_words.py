"""What a finding says becomes of the export, where that is not what its rule says of all."""

from __future__ import annotations

from pathlib import Path

import pytest

from onnxlint.base.records import Outcome
from onnxlint.config.settings import Settings
from onnxlint.report import render
from onnxlint.run.pipeline import run_check

SIZES = """\
import numpy as np
import torch

class M(torch.nn.Module):
    def forward(self, x):
        n = {number}
        return x[:, :n]
"""
EXPORT = """\
import torch

def export(m, x):
    torch.onnx.export(m, x, "m.onnx", opset_version={opset}, dynamic_shapes=({{0: "b"}},), dynamo=True)
"""
REFUSED, WRONG = Outcome.EXPORT_ERROR, Outcome.WRONG_VALUES
NUMBERS = {
    "int(np.ceil(np.log(x.shape[0])))": (WRONG, REFUSED),
    "np.ceil(np.log(x.shape[0])).astype(int).item()": (REFUSED, REFUSED),
    "int(np.ceil(x.shape[0] / 2))": (WRONG, WRONG),
}


@pytest.fixture
def check(tmp_path, monkeypatch):
    def run(text):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "m.py").write_text(text, encoding="utf-8")
        return run_check([Path("m.py")], Settings(root=tmp_path, static_only=True, cache=False))

    return run


@pytest.mark.parametrize("number", NUMBERS)
def test_numpy_on_a_size(check, number):
    (finding,) = (f for f in check(SIZES.format(number=number)).findings if f.code == "ONX202")
    assert (finding.effects["torchscript"], finding.effects["dynamo"]) == NUMBERS[number]
    assert ("np.log" in number) == ("pass the number in" in finding.fix.title)


@pytest.mark.parametrize(("opset", "verb"), [(12, "cannot convert"), (17, "converts"), (30, "")])
def test_a_file_that_keeps_opset_18_is_right(check, opset, verb):
    report = check(EXPORT.format(opset=opset))
    assert [f.code for f in report.findings if f.code == "ONX506"] == ["ONX506"]
    text = render(report, "full", color=False, width=100, show_all=False, sources=None, catalogue={})
    assert ("ONNX Runtime refuses" in text) == (opset > 26)
    assert f"opset 18 and {verb}" in " ".join(text.split()) or not verb
