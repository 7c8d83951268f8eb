"""The Python API: models that exist already, checked in processes forked from this one."""

from __future__ import annotations

import linecache
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import onnxlint

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.slow

import live_models  # noqa: E402
from live_models import Counter, Gate, Long, Scaled, Sleeper  # noqa: E402 - they need torch

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


def test_the_first_line_of_a_failure_says_what_fails_where_and_why() -> None:
    with pytest.raises(AssertionError) as raised:
        onnxlint.assert_exportable(Gate(), torch.ones(2, 3))
    at = f"ONX101 at {Path(live_models.__file__).relative_to(Path.cwd()).as_posix()}:{GATE}"
    first, empty, *_ = str(raised.value).splitlines()
    assert (first, empty) == (
        f"live_models:Gate, TorchScript: wrong values ({at}); live_models:Gate, dynamo: refused ({at})",
        "",
    )
    with pytest.raises(AssertionError, match=r"^live_models:Scaled was not probed: forward raised .* multiplied"):
        onnxlint.assert_exportable(Scaled(), torch.ones(2, 4))
    assert onnxlint.check_model(Scaled(), torch.ones(2, 3), exporters="torchscript").sentence == (
        "every export agrees with PyTorch"
    )


@pytest.mark.parametrize("exporter", ["torchscript", "dynamo"])
def test_the_counterexample_is_shown_without_torch_and_without_the_model(exporter: str, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    result = onnxlint.check_model(
        Long(),
        torch.ones(2, 3, 4),
        {"bias": torch.ones(4)},
        dynamic={"x": {1: "n"}},
        exporters=exporter,
        repro_dir=kept,
    )
    assert result.exporters[exporter].outcome.value == "wrong-values"
    script = Path(next(e.repro for f in result.findings for e in f.evidence if e.repro))
    assert script.parent.parent == kept
    moved = script.parent.rename(tmp_path / "elsewhere")  # into a bug report, say
    for name in ("torch", "onnxlint", "live_models"):
        (tmp_path / f"{name}.py").write_text(f"raise ImportError('{name} is not needed')\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    for inputs in ("inputs.npz", "found.npz"):
        done = subprocess.run(
            [sys.executable, str(moved / "repro.py"), inputs],
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 1, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        assert "apart from" in done.stdout


def test_counterexamples_that_cannot_be_kept_are_no_fault_of_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    result = onnxlint.check_model(Scaled(), torch.ones(2, 3), exporters="torchscript", repro_dir=tmp_path / "file")
    assert result.ok
    assert "is not a folder" in str(result)


def test_the_hint_on_fixes_names_the_command_that_fixes() -> None:
    result = onnxlint.check_model(Gate(), torch.ones(2, 3), exporters="torchscript")
    named = Path(live_models.__file__).relative_to(Path.cwd()).as_posix()
    assert result.text().splitlines()[-1] == (f"1 fix available with `onnxlint check --fix --unsafe-fixes {named}`")


def test_a_hostile_name_is_text_on_the_page() -> None:
    name = "<img src=x onerror=alert(1)>"

    def forward(self, x):
        raise ValueError("</p><script>alert(2)</script>\x1b[31m")

    kind = type(name, (torch.nn.Module,), {"forward": forward, "__module__": "<svg onload=alert(3)>"})
    page = onnxlint.check_model(kind(), torch.ones(2, 3), exporters="torchscript")._repr_html_()
    assert "&lt;img src=x onerror=alert(1)&gt;" in page
    assert "&lt;script&gt;" in page
    assert [part for part in ("<img", "<script", "<svg", "\x1b") if part in page] == []


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


def test_an_exported_program_goes_through_dynamo_alone() -> None:
    sizes = {"x": {0: torch.export.Dim("batch", max=9)}, "scale": None}
    program = torch.export.export(Scaled(), (torch.ones(2, 3),), {"scale": torch.ones(4)}, dynamic_shapes=sizes)
    result = onnxlint.check_model(program)
    assert {name: cell.outcome.value for name, cell in result.exporters.items()} == {"dynamo": "ok"}
    assert result.models[0].name == "live_models:Scaled"
    assert result.ok, str(result)
    assert "dynamo exporter alone" in onnxlint.check_model(program, exporters="torchscript").sentence


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
