"""The Python API: models that exist already, checked in processes forked from this one."""

from __future__ import annotations

import linecache
import subprocess
import sys
import time
from pathlib import Path

import pytest

import onnxlint

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.slow

from live_models import Counter, Gate, Scaled, Sleeper  # noqa: E402 - they need torch

LINES = Path(__file__).with_name("live_models.py").read_text().splitlines()
GATE = next(number for number, line in enumerate(LINES, 1) if line.endswith("# the gate"))


def test_a_good_model_is_ok_and_nothing_of_the_caller_changes() -> None:
    model = Scaled()
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    threads = torch.get_num_threads()
    result = onnxlint.check_model(model, torch.ones(2, 3), {"scale": torch.ones(4)}, dynamic={"x": {0: "batch"}})
    assert result.ok, str(result)
    assert {name: cell.outcome.value for name, cell in result.exporters.items()} == {
        "torchscript": "ok",
        "dynamo": "ok",
    }
    assert torch.equal(torch.rand(3), expected), "its random numbers"
    assert torch.get_num_threads() == threads
    assert model.training
    assert all(torch.equal(value, weights[name]) for name, value in model.state_dict().items())


def test_a_bad_model_is_reported_at_its_line_with_the_counterexample() -> None:
    with pytest.raises(AssertionError) as raised:
        onnxlint.assert_exportable(Gate(), torch.ones(2, 3))
    text = str(raised.value)
    assert "ONX101" in text
    assert f"live_models.py:{GATE}:" in text
    assert "negative values" in text or "all zeros" in text, "the input that breaks it"
    assert "x * 2" in text, "the code"
    assert "Sleeper" not in text, "what the model does not run is not its matter"


def test_exporter_and_findings_can_be_chosen() -> None:
    result = onnxlint.check_model(Gate(), (torch.ones(2, 3),), exporters="torchscript")
    assert list(result.exporters) == ["torchscript"]
    assert [(f.code, f.span.line, f.verdict.value) for f in result.findings] == [("ONX101", GATE, "confirmed")]
    assert not result.ok
    excused = onnxlint.assert_exportable(Gate(), (torch.ones(2, 3),), exporters="torchscript", ignore=["ONX101"])
    assert excused.findings == ()
    with pytest.raises(AssertionError, match="ONX101"):
        onnxlint.assert_exportable(Gate(), (torch.ones(2, 3),), exporters="torchscript", ignore=["ONX2"])


def test_a_model_that_cannot_be_copied_is_probed_as_it_is() -> None:
    model = Counter()
    result = onnxlint.check_model(model, (torch.ones(2, 3),), exporters="torchscript")
    assert result.models[0].status.value == "probed"
    assert float(model.calls) == 0
    assert not result.ok, "the trace counts on from what it has seen"


def test_an_export_that_hangs_is_ended() -> None:
    began = time.monotonic()
    result = onnxlint.check_model(Sleeper(), torch.ones(2, 3), exporters="torchscript", timeout=8)
    assert result.exporters["torchscript"].outcome.value == "timeout"
    assert not result.ok
    assert time.monotonic() - began < 60


def test_inputs_that_forward_does_not_take_are_told() -> None:
    result = onnxlint.check_model(Gate(), (torch.ones(2, 3), torch.ones(2)))
    assert not result.ok
    assert "forward takes 1" in (result.models[0].reason or "")
    result = onnxlint.check_model(Gate(), torch.ones(2, 3), dynamic={"y": {0: "batch"}})
    assert "no parameter `y`" in (result.models[0].reason or "")
    result = onnxlint.check_model(lambda x: x, torch.ones(2, 3))
    assert "not an nn.Module" in (result.models[0].reason or "")


def test_arguments_that_mean_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="torchscript and dynamo"):
        onnxlint.check_model(Gate(), torch.ones(2, 3), exporters="onnx")
    with pytest.raises(TypeError, match="no setting `timout`"):
        onnxlint.check_model(Gate(), torch.ones(2, 3), timout=3)
    with pytest.raises(ValueError, match="ONX9999"):
        onnxlint.assert_exportable(Gate(), torch.ones(2, 3), ignore=["ONX9999"])
    with pytest.raises(ValueError, match="fail_on"):
        onnxlint.check_model(Gate(), torch.ones(2, 3), fail_on="never")


CELL = """\
import torch


class Cell(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0 and "<b>" != "</b>":
            return x * 2
        return x
"""


@pytest.mark.parametrize("name", ["/tmp/ipykernel_1/2345.py", "<stdin>"])
def test_a_model_of_a_notebook_is_shown_with_its_source_and_one_of_a_prompt_without(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = {"__name__": "__main__"}
    exec(compile(CELL, name, "exec"), space)
    if not name.startswith("<"):
        entry = (len(CELL), None, CELL.splitlines(keepends=True), name)
        monkeypatch.setitem(linecache.cache, name, entry)
    result = onnxlint.check_model(space["Cell"](), torch.ones(2, 3), exporters="torchscript")
    assert result.exporters["torchscript"].outcome.value == "wrong-values"
    assert not result.ok
    page = result._repr_html_()
    assert "<script" not in page
    assert "wrong values" in page
    if name.startswith("/"):
        assert [(f.code, f.span.line) for f in result.findings] == [("ONX101", 6)]
        assert '"<b>" != "</b>"' in str(result)
        assert "&lt;b&gt;" in page
        assert "<b>&quot;" not in page
    assert page.count("<div") == page.count("</div>")


def test_paths_are_checked_with_the_settings_given(tmp_path: Path) -> None:
    (tmp_path / "cell.py").write_text(CELL)
    result = onnxlint.check_paths(tmp_path, static_only=True)
    assert [(f.code, f.span.line) for f in result.findings] == [("ONX101", 6)]
    assert onnxlint.check_paths([tmp_path], static_only=True, ignore=("ONX101",)).ok


def test_the_import_costs_nothing() -> None:
    code = (
        "import sys, onnxlint; print(sorted(m for m in sys.modules if m.startswith(('onnxlint', 'torch', 'libcst'))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "['onnxlint']"
