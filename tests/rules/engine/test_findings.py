"""Findings of a run: which of several about one cause is said, what is a note, and what is taken from the cache."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from onnxlint.base.cache import Store
from onnxlint.base.catalogue import load_catalogue
from onnxlint.base.records import Finding, Severity, Span
from onnxlint.config.settings import Settings
from onnxlint.flow.state.observations import Branch
from onnxlint.rules.engine import look_through
from onnxlint.rules.engine.findings import run_rules
from onnxlint.run.pipeline import run_check

HEAD = "import torch\nfrom torch import nn\n\n\n"
BRANCH = (
    HEAD
    + """\
class Net(nn.Module):
    def forward(self, x):
        if x.sum().item() > 0:
            return -x
        return x
"""
)
READ = (
    HEAD
    + """\
class Net(nn.Module):
    def forward(self, x):
        return x * x.sum().item()


"""
)
EXPORT = 'torch.onnx.export(Net(), torch.ones(2, 3), "net.onnx", dynamo={dynamo})\n'
TEXT = "def f(x):\n    if x:\n        return 1\n"


def checked(text: str, folder: Path) -> Sequence[Finding]:
    (folder / "net.py").write_text(text)
    return run_check([folder], Settings(root=folder, static_only=True, cache=False)).findings


def test_of_rules_about_one_cause_at_a_statement_one_speaks(tmp_path: Path) -> None:
    """The branch is why the number is read: the `.item()` in its test is the same fault."""
    (finding,) = checked(BRANCH, tmp_path)
    assert (finding.code, finding.span.line) == ("ONX101", 7)
    (alone,) = checked(
        BRANCH.replace("if x.sum().item() > 0:\n            return -x", "x = x * x.sum().item()"), tmp_path
    )
    assert (alone.code, alone.span.line) == ("ONX401", 7)


@pytest.mark.parametrize(("exporters", "severity"), [(("True",), Severity.NOTE), (("True", "False"), Severity.ERROR)])
def test_what_only_the_exporter_suffers_that_no_call_asks_for_is_a_note(
    exporters: tuple[str, ...], severity: Severity, tmp_path: Path
) -> None:
    findings = checked(READ + "".join(EXPORT.format(dynamo=dynamo) for dynamo in exporters), tmp_path)
    (read,) = (f for f in findings if f.code == "ONX401")
    assert read.severity is severity
    assert ("only TorchScript is affected" in read.outside) is (severity is Severity.NOTE)


def run(store: Store, text: str = TEXT, exporters: tuple[str, ...] = ("dynamo",)) -> tuple[Finding, ...]:
    branch = Branch(Span("m.py", 2, 8, 2, 9), "x", "m.f", statement=2)
    findings, broken = run_rules([branch], load_catalogue(), exporters, lambda *_: True, lambda _: text, store)
    assert broken == ()
    return findings


def test_what_was_said_of_a_file_is_taken_from_the_cache_until_something_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []
    look = look_through.look_through

    def watched(path: str, *rest: object) -> object:
        looked.append(path)
        return look(path, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(look_through, "look_through", watched)
    store = Store(tmp_path)
    first = run(store)
    assert run(store) == first
    assert len(looked) == 1
    run(store, TEXT.replace("1", "2"))
    run(store, exporters=("torchscript",))
    assert len(looked) == 3


def test_rules_that_are_not_wanted_say_nothing() -> None:
    branch = Branch(Span("m.py", 2, 8, 2, 9), "x", "m.f", statement=2)
    findings, _ = run_rules([branch], load_catalogue(), ("dynamo",), lambda code, name: False, lambda _: TEXT)
    assert findings == ()
