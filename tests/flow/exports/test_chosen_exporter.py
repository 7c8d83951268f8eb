"""Where every export call asks for one exporter, what only the other one gets wrong is a note with the reason."""

from __future__ import annotations

import pytest

from onnxlint.base.catalogue import load_catalogue
from onnxlint.base.records import EXPORTERS, Severity
from onnxlint.rules.engine.findings import run_rules
from tests.flow.analysing import PRELUDE, facts_of, project_of

NET = """
class Net(nn.Module):
    def forward(self, x):
        assert not x.sum() <= 0
        return torch.diag_embed(x)

net = Net().eval()
"""
TORCHSCRIPT, DYNAMO = "ONX404", "ONX103"  # who refuses it


def _shown(*calls: str) -> set[str]:
    text = PRELUDE + NET + "".join(f"torch.onnx.{call}\n" for call in calls)
    findings, broken = run_rules(
        facts_of(project_of(text)), load_catalogue(), EXPORTERS, lambda *_: True, lambda _: text
    )
    assert broken == ()
    notes = {f.code: f.outside for f in findings if f.severity is Severity.NOTE and f.outside}
    assert all("exports with" in reason for reason in notes.values())
    return {f.code for f in findings if f.severity is not Severity.NOTE} & {TORCHSCRIPT, DYNAMO}


def _call(more: str = "", name: str = "export") -> str:
    return f"{name}(net, (torch.zeros(1, 3),), 'm.onnx'{more})"


@pytest.mark.parametrize(
    ("calls", "shown"),
    [
        ([_call(", dynamo=False")], {TORCHSCRIPT}),
        ([_call(", dynamo=False"), _call(name="utils.export")], {TORCHSCRIPT}),
        ([_call(", dynamo=True")], {DYNAMO}),
        ([_call()], {TORCHSCRIPT, DYNAMO}),
        ([_call(", dynamo=False"), _call(", dynamo=True")], {TORCHSCRIPT, DYNAMO}),
        ([_call(", dynamo=False"), _call()], {TORCHSCRIPT, DYNAMO}),
        ([_call(", dynamo=flag")], {TORCHSCRIPT, DYNAMO}),
        ([_call(", **options")], {TORCHSCRIPT, DYNAMO}),
        ([], {TORCHSCRIPT, DYNAMO}),
    ],
    ids=["false", "an old API too", "true", "a default", "both", "one by default", "a flag", "options", "no call"],
)
def test_what_only_the_exporter_that_nobody_asks_for_gets_wrong_is_a_note(calls: list[str], shown: set[str]) -> None:
    """A default is no choice: it was another one in older versions of torch."""
    assert _shown(*calls) == shown
