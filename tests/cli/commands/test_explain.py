"""`onnxlint explain`: a rule by its code or name, and what is said of what is none."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from onnxlint.cli import main


@pytest.mark.parametrize("name", ["ONX101", "onx101", "tensor-branch"])
def test_explain_takes_codes_and_names(name: str) -> None:
    done = CliRunner().invoke(main, ["explain", name])
    assert done.exit_code == 0
    assert "ONX101" in done.stdout
    assert "torch.where" in done.stdout


@pytest.mark.parametrize(
    ("name", "words"),
    [("tensor-brnch", "did you mean `tensor-branch`?"), ("ONX1", "choose one: ONX101"), ("x", "onnxlint rules")],
)
def test_explain_helps_with_what_is_no_rule(name: str, words: str) -> None:
    done = CliRunner().invoke(main, ["explain", name])
    assert done.exit_code == 2
    assert words in done.stderr
