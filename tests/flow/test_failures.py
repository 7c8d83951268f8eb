"""An error of our own costs the expression or the statement it is met at; the rest of the run goes on."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysing import PRELUDE, analyse, project_of

from onnxlint.api import check_paths
from onnxlint.base.records import Fix
from onnxlint.config.settings import Settings
from onnxlint.flow import entry_inputs, entry_points
from onnxlint.flow.calls import builtin_calls
from onnxlint.flow.interpreter import assignment_targets
from onnxlint.flow.part_results import Analysis
from onnxlint.flow.state import candidates
from onnxlint.project.classes import ClassInfo
from onnxlint.rules.engine.site import Site
from onnxlint.rules.onx101_tensor_branch import TensorBranch
from onnxlint.run import static_pass
from onnxlint.source.discover import discover

HEAD = PRELUDE.count("\n")
MODEL = """
class M(nn.Module):
    def helper(self, x):
        return x if x.prod() else -x
    def forward(self, x, y):
        if x.sum() > 0:
            x = -x
        {line}
        if y.mean() > 0:
            y = -y
        return self.helper(x)
class N(nn.Module):
    def forward(self, x):
        return x if x.any() else -x
"""
EVERYTHING = {"x.prod()", "x.sum() > 0", "y.mean() > 0", "x.any()"}


def broken(*_: object) -> None:
    raise ZeroDivisionError("what\nfor\n" + "9" * 5000)


def analysed(line: str, probing: bool = True) -> Analysis:
    return analyse(project_of(PRELUDE + MODEL.format(line=line)), probing=probing)


def test_an_error_in_an_expression_leaves_its_value_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(builtin_calls.BUILTINS, "round", broken)
    found = analysed("z, n = 1, round(2.5) if x is None else 3")
    assert {observation.text for observation in found.observations} >= EVERYTHING
    [problem] = found.problems
    assert (problem.path, problem.line, problem.internal) == ("/nowhere/model.py", HEAD + 8, True)
    assert problem.message.startswith("internal error in model.M.forward: ZeroDivisionError: what for 999")
    assert problem.message.endswith("...; what this expression gives is taken to be unknown")
    assert len(problem.message) < 400


def test_an_error_in_a_statement_leaves_what_it_binds_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assignment_targets, "_stored", broken)
    found = analysed("d = {}; d[0] = x; b = x if d[0].sum() else y")
    assert {observation.text for observation in found.observations} >= EVERYTHING
    [problem] = found.problems
    assert (problem.line, problem.internal) == (HEAD + 8, True)
    assert problem.message.endswith("what this statement does is taken to be unknown")


def test_an_error_in_an_arm_keeps_no_exporter_from_what_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assignment_targets, "_stored", broken)
    found = analysed("d = {}\n        if torch.jit.is_tracing():\n            d[0] = x")
    [after] = [observation for observation in found.observations if observation.text == "y.mean() > 0"]
    assert after.exporters == ("torchscript", "dynamo")


def test_an_error_before_a_forward_runs_names_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    given = entry_inputs.unknown_arguments

    def fails(engine: object, unit: object, *more: object) -> object:
        return broken() if getattr(unit, "qualname", "") == "M.forward" else given(engine, unit, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(entry_inputs, "unknown_arguments", fails)
    found = analysed("pass")
    assert {observation.text for observation in found.observations} == {"x.any()"}
    [problem] = found.problems
    assert (problem.line, problem.internal) == (HEAD + 5, True)
    assert problem.message.endswith("...; it is not analysed further")


def test_an_analysis_that_debugs_raises_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(builtin_calls.BUILTINS, "round", broken)
    with pytest.raises(ZeroDivisionError):
        analyse(project_of(PRELUDE + MODEL.format(line="n = round(2.5)")), debug=True)


def test_the_run_reports_the_error_at_its_line_and_all_findings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(builtin_calls.BUILTINS, "round", broken)
    path = tmp_path / "model.py"
    path.write_text(PRELUDE + MODEL.format(line="n = round(2.5)"))
    result = check_paths([path], static_only=True, cache=False)
    assert [f.span.line for f in result.findings if f.code == "ONX101"] == [HEAD + n for n in (4, 6, 9, 14)]
    [told] = [d for d in result.report.diagnostics if d.level == "error"]
    assert told.line == HEAD + 8
    assert told.path is not None
    assert told.path.endswith("model.py")
    assert not result.ok


def test_a_statement_nested_too_deeply_costs_itself_and_is_named() -> None:
    found = analysed("z = x" + " + x" * 2000)
    assert {observation.text for observation in found.observations} >= EVERYTHING
    [problem] = found.problems
    assert (problem.line, problem.internal) == (HEAD + 8, False)
    assert "nested too deeply" in problem.message


@pytest.mark.parametrize("step", ["is_module", "external_bases"])
def test_an_error_about_a_class_before_anything_runs_costs_that_class(
    step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = getattr(ClassInfo, step)

    def fails(cls: ClassInfo) -> object:
        return broken() if cls.qualname == "M" else given(cls)

    monkeypatch.setattr(ClassInfo, step, fails)
    found = analysed("pass", probing=False)
    assert "x.any()" in {observation.text for observation in found.observations}
    assert {(p.path, p.line, p.internal) for p in found.problems} == {("/nowhere/model.py", HEAD + 2, True)}
    assert "internal error in M: ZeroDivisionError" in found.problems[0].message
    with pytest.raises(ZeroDivisionError):
        analyse(project_of(PRELUDE + MODEL.format(line="pass")), debug=True)


def test_an_error_about_how_a_model_is_fed_costs_that_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = candidates.forward_parameters
    monkeypatch.setattr(candidates, "forward_parameters", lambda cls: broken() if cls.qualname == "M" else given(cls))
    text = PRELUDE + MODEL.format(line="pass")
    found = analyse(project_of(text))
    assert {observation.text for observation in found.observations} >= EVERYTHING
    assert [candidate.factory for candidate in found.candidates] == ["model:N"]
    (tmp_path / "model.py").write_text(text)
    settings = Settings(tmp_path, cache=False)
    models, told = static_pass.find_candidates(discover([tmp_path], settings), settings)
    assert [candidate.factory for candidate in models] == ["model:N"]
    assert [(d.level, d.path and Path(d.path).name, d.line) for d in told] == [("error", "model.py", HEAD + 2)]
    assert told[0].message.startswith("internal error in M: ZeroDivisionError")
    with pytest.raises(ZeroDivisionError):
        analyse(project_of(text), debug=True)


def test_an_error_about_the_exports_of_a_file_costs_these_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry_points, "_export_scripts", broken)
    found = analysed("pass")
    assert {observation.text for observation in found.observations} >= EVERYTHING
    assert [(p.path, p.line, p.internal) for p in found.problems] == [("/nowhere/model.py", None, True)]


def test_an_error_about_which_models_are_exported_costs_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry_points, "never_exported", broken)
    found = analysed("pass")
    assert {observation.text for observation in found.observations} >= EVERYTHING
    assert [p.internal for p in found.problems] == [True]


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_in_the_writing_of_a_fix_costs_that_fix(
    jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = TensorBranch.fix

    def fails(self: TensorBranch, site: Site) -> Fix | None:
        return broken() if site.finding.text.startswith("y.mean()") else whole(self, site)  # type: ignore[func-returns-value]

    monkeypatch.setattr(TensorBranch, "fix", fails)
    for number in range(45):  # enough for other processes to write the fixes
        (tmp_path / f"m{number}.py").write_text(PRELUDE + MODEL.format(line="pass"))
    for _ in range(2):  # the second from the cache
        result = check_paths([tmp_path], static_only=True, jobs=jobs, cache_dir=tmp_path / "cache")
        told = [d for d in result.report.diagnostics if d.level == "error"]
        assert {(d.path is not None and Path(d.path).name, d.line) for d in told} == {
            (f"m{number}.py", HEAD + 9) for number in range(45)
        }
        assert all(d.message.startswith("internal error in the fix of ONX101: ZeroDivisionError") for d in told)
        fixed = {f.text: bool(f.fix and f.fix.edits) for f in result.findings if f.code == "ONX101"}
        assert not fixed.pop("y.mean() > 0")
        assert fixed.pop("x.sum() > 0")
    with pytest.raises(ZeroDivisionError):
        check_paths([tmp_path], static_only=True, debug=True, cache=False)
