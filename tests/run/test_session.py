"""Several scopes become one report, and models are found in the scope that declares them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from onnxlint.base.records import Diagnostic
from onnxlint.run import session
from onnxlint.run.scopes import Request, scopes

GATE = """import torch


class Gate(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return x


def build():
    return Gate()
"""
CONFIG = '[[models]]\nfactory = "{}:build"\ninputs = {{ x = "float32[batch, 3]" }}\n'


@pytest.fixture(autouse=True)
def _project(here: Path) -> None:
    for folder, name in ((Path(), "one"), (Path("sub"), "two")):
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.py").write_text(GATE)
        (folder / "onnxlint.toml").write_text(CONFIG.format(name))


def run(**overrides: object) -> session.Session:
    return session.run(scopes([Path()], Request(overrides=overrides)))


def test_each_scope_is_analysed_with_its_own_settings_and_counted_once() -> None:
    report = run(static_only=True).report
    assert [(f.code, f.span.path) for f in report.findings] == [("ONX101", "one.py"), ("ONX101", "sub/two.py")]
    assert report.files == 2
    assert report.diagnostics == ()


def test_a_file_that_two_scopes_follow_an_import_into_is_reported_once() -> None:
    Path("helper.py").write_text("def level(x):\n    return x * float(x.max())\n")
    for folder, name in ((Path(), "one"), (Path("sub"), "two")):
        text = GATE.replace("import torch\n", "import torch\nfrom helper import level\n").replace("x * 2", "level(x)")
        (folder / f"{name}.py").write_text(text)
    Path("sub/onnxlint.toml").write_text(f'source-roots = [".."]\n{CONFIG.format("two")}')
    places = [(f.code, f.span.path) for f in run(static_only=True).report.findings]
    assert len(places) == len(set(places))
    assert ("ONX401", "helper.py") in places


@pytest.mark.slow
def test_models_are_probed_in_the_scope_that_declares_them() -> None:
    pytest.importorskip("torch")
    report = run(only_models=("two:build",), exporters=("torchscript",)).report
    assert [(model.name, model.status) for model in report.models] == [("two:build", "probed")]
    assert report.diagnostics == ()
    assert ("ONX101", "confirmed") in [(f.code, f.verdict) for f in report.findings if f.span.path == "sub/two.py"]


@pytest.mark.slow
def test_a_model_that_no_scope_knows_is_told_once() -> None:
    pytest.importorskip("torch")
    report = run(only_models=("three:build",)).report
    assert report.diagnostics == (Diagnostic("error", "--model three:build: no model of that name was found"),)


def test_two_scopes_with_baselines_of_their_own_have_two_ledgers() -> None:
    for folder in (Path(), Path("sub")):
        config = folder / "onnxlint.toml"
        config.write_text('baseline = "known.json"\n' + config.read_text())
    done = session.run(scopes([Path()], Request(overrides={"static_only": True})), fresh=True)
    assert [(ledger.file, len(ledger.findings)) for ledger in done.ledgers] == [
        (Path.cwd() / "known.json", 1),
        (Path.cwd() / "sub/known.json", 1),
    ]
    assert json.dumps([f.span.path for f in done.report.findings]) == '["one.py", "sub/two.py"]'
