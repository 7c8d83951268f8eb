"""The annotated fixtures: the static pass says exactly what they expect, and the exporters prove them."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from contracts import PROBE_VARY

from onnxlint.base.catalogue import load_catalogue
from onnxlint.base.probe_records import Probe
from onnxlint.base.records import EXPORTERS, ModelStatus, Outcome, Report, Severity
from onnxlint.config.settings import load_settings
from onnxlint.probes.schedule.pool import ProbePool
from onnxlint.run.pipeline import run_check
from onnxlint.testing import marks

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"
FOLDERS = ("control_flow", "shapes", "mode", "escapes", "export_calls")
FILES = tuple(sorted(path.relative_to(FIXTURES) for folder in FOLDERS for path in (FIXTURES / folder).rglob("*.py")))


@cache
def report(folder: str) -> Report:
    """One static run over a folder, as a user would start it there."""
    rules = {rule.code: rule.name for rule in load_catalogue().values()}
    settings, diagnostics = load_settings(FIXTURES / folder, None, {"static_only": True}, rules)
    assert diagnostics == ()
    return run_check([FIXTURES / folder], settings)


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_run_has_no_diagnostics(folder: str) -> None:
    assert report(folder).diagnostics == ()


@pytest.mark.parametrize("path", FILES, ids=str)
def test_findings_are_exactly_those_expected(path: Path) -> None:
    expected = marks((FIXTURES / path).read_text(encoding="utf-8"))
    here = [f for f in report(path.parts[0]).findings if Path(f.span.path).resolve() == (FIXTURES / path).resolve()]
    found = {(f.code, f.span.line) for f in here if f.severity is not Severity.NOTE}
    assert sorted(found - expected) == [], "false alarms"
    assert sorted(expected - found) == [], "missed"


def classes(path: Path) -> dict[str, ast.ClassDef]:
    """The classes of a file whose names claim what becomes of them."""
    tree = ast.parse((FIXTURES / path).read_text(encoding="utf-8"))
    found = (node for node in tree.body if isinstance(node, ast.ClassDef))
    return {node.name: node for node in found if node.name.endswith(("Bad", "Ok"))}


CLAIMS = tuple((path, name) for path in FILES for name in classes(path))
PROBED = """\
import inspect
import torch
from {module} import *
from {module} import cases
chosen, example, witness, dynamic, *sizes = next(case for case in cases() if case[0].__name__ == {name!r})


def build():
    torch.manual_seed(0)
    return chosen().eval()


def example_inputs():
    return example


def _model_class():
    return chosen

"""
DESCRIBE = "import json; print(json.dumps([dynamic, sizes[0] if sizes else {}]))"


@pytest.fixture(scope="module")
def pool() -> Iterator[ProbePool]:
    pytest.importorskip("torch")
    with ProbePool() as shared:
        shared.warm()
        yield shared


def probed(path: Path, name: str, folder: Path) -> Probe:
    """A probe of one class of a fixture, as its `cases` describes it."""
    module = ".".join(path.with_suffix("").parts)
    stem = f"probe_{name.lower()}"
    text = PROBED.format(module=module, name=name) + PROBE_VARY
    (folder / f"{stem}.py").write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", text.split("\n\n\n")[0] + "\n" + DESCRIBE],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(FIXTURES)},
    )
    dynamic, sizes = json.loads(done.stdout)
    return Probe(
        name=f"{module}:{name}",
        factory=f"{stem}:build",
        path=str(path),
        line=1,
        source="config",
        inputs=f"{stem}:example_inputs",
        dynamic={key: {int(axis): dim for axis, dim in axes.items()} for key, axes in dynamic.items()},
        sizes={dim: tuple(several) for dim, several in sizes.items()},
        vary=f"{stem}:vary",
        exporters=EXPORTERS,
        opset=18,
        search_path=(str(folder), str(FIXTURES)),
        root=str(FIXTURES),
        repro_dir=str(folder / "proof"),
    )


# In these every class has one hazard, and its finding names the exporters that trip over it, no more and no fewer.
EXACT = (Path("shapes/pinned.py"), Path("control_flow/choices.py"))


def blamed(path: Path, name: str) -> set[str]:
    """The exporters that the findings in a class name."""
    node = classes(path)[name]
    here = [f for f in report(path.parts[0]).findings if Path(f.span.path).resolve() == (FIXTURES / path).resolve()]
    inside = [f for f in here if node.lineno <= f.span.line <= (node.end_lineno or node.lineno)]
    return {e for f in inside for e, outcome in f.effects.items() if outcome is not Outcome.OK}


@pytest.mark.slow
@pytest.mark.parametrize(("path", "name"), CLAIMS, ids=[f"{path}:{name}" for path, name in CLAIMS])
def test_bad_fails_in_an_exporter_and_ok_in_none(path: Path, name: str, tmp_path: Path, pool: ProbePool) -> None:
    (result,) = pool.run([probed(path, name, tmp_path)], jobs=1)
    assert result.report.status is ModelStatus.PROBED, result.report.reason
    outcomes = {exporter: found.outcome for exporter, found in result.report.exporters.items()}
    fine = all(outcome is Outcome.OK for outcome in outcomes.values())
    assert fine == name.endswith("Ok"), {k: (v.outcome, v.detail) for k, v in result.report.exporters.items()}
    if path in EXACT and not fine:
        assert {e for e, outcome in outcomes.items() if outcome is not Outcome.OK} == blamed(path, name)
