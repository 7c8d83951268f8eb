"""What the scripts of counterexamples have in common: their claim, the runtime they need, and where they are kept."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest
from probing import hazard

from onnxlint.probes.confirm.engines import DEFAULT, ORT, OnnxRuntime, OpenVino, Setup
from onnxlint.probes.proof.counterexample import Counterexample, keep_script, session, template

SAID = 'a "quoted" path\\to and """three"""'
CASE = Counterexample("dynamo", "batch=3", SAID, (), {})


def test_a_claim_can_stand_in_a_docstring_whatever_it_quotes() -> None:
    assert ast.literal_eval(f'"""{CASE.docstring_claim}"""') == "a \"quoted\" path/to and '''three'''"


def test_a_script_names_the_package_that_runs_its_file() -> None:
    assert CASE.needs == "onnxruntime"
    pytest.importorskip("openvino")
    assert replace(CASE, setup=Setup(OpenVino())).needs == "openvino"


def test_the_lines_of_a_session_are_those_of_the_runtime_with_its_optimizations() -> None:
    texts = "{level} {providers} {model}", "openvino {model}"
    assert session(DEFAULT, *texts, model="m.onnx") == "ORT_ENABLE_ALL ['CPUExecutionProvider'] m.onnx"
    assert session(Setup(ORT, False), *texts, model="m.onnx").startswith("ORT_DISABLE_ALL ")
    assert "['Other', 'CPUExecutionProvider']" in session(Setup(OnnxRuntime("Other")), *texts, model="m.onnx")
    pytest.importorskip("openvino")
    assert session(Setup(OpenVino()), *texts, model="m.onnx") == "openvino m.onnx"


@pytest.mark.parametrize("kind", ["file", "model"])
def test_the_templates_of_sessions_become_python(kind: str) -> None:
    pytest.importorskip("openvino")
    texts = template(f"{kind}_onnxruntime"), template(f"{kind}_openvino")
    for setup in (DEFAULT, Setup(OpenVino())):
        lines = session(setup, *texts, model="m.onnx")
        ast.parse(f"if True:\n{lines}")
        assert "{model}" not in lines
        assert "{{" not in lines, "a brace that formatting should have halved"


def test_a_script_is_kept_out_of_git_and_named_from_the_root(tmp_path: Path) -> None:
    probe = replace(hazard("Item", tmp_path), root=str(tmp_path))
    assert keep_script(probe, tmp_path / "repro" / "one", "print('ü')\n") == "repro/one/repro.py"
    assert (tmp_path / "repro" / "one" / "repro.py").read_text(encoding="utf-8") == "print('ü')\n"
    assert (tmp_path / "repro" / ".gitignore").read_text() == "*\n"
