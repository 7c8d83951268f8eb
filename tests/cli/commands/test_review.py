"""`onnxlint review`: which pull request is meant, by flags and environment; what it posts is in tests/integrations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from onnxlint.cli import main

GATE = """\
import torch


class Gate(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return x
"""


@pytest.fixture(autouse=True)
def _project(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("githubkit")
    (here / "gate.py").write_text(GATE)
    for name in ("GITHUB_TOKEN", "GH_TOKEN", "GITHUB_REPOSITORY", "GITHUB_EVENT_PATH", "GITHUB_API_URL"):
        monkeypatch.delenv(name, raising=False)


def review(*flags: str, **environment: str) -> Result:
    command = ["review", "--static-only", "--no-cache", *flags, "gate.py"]
    return CliRunner().invoke(main, command, env=environment)


@pytest.mark.parametrize(
    ("flags", "environment", "words"),
    [
        ((), {}, "--repo OWNER/NAME: it is not known"),
        (("--repo", "models"), {}, "`models` is none"),
        (("--repo", "octo/models"), {}, "--pull N: it is not known"),
        (("--pull", "3"), {"GITHUB_REPOSITORY": "octo/models", "GITHUB_API_URL": "ftp://x"}, "is no address"),
        (("--repo", "octo/models", "--pull", "3"), {"GITHUB_TOKEN": "two words"}, "characters that no token has"),
        (("--repo", "octo/models", "--pull", "3", "--dry-run"), {}, "there is no token"),
    ],
)
def test_a_request_that_is_not_clear_ends_before_the_check(
    flags: tuple[str, ...], environment: dict[str, str], words: str
) -> None:
    done = review(*flags, **environment)
    assert (done.exit_code, done.stdout) == (2, "")
    assert words in " ".join(done.stderr.replace("│", " ").split())
    assert "two words" not in done.stderr


def test_a_workflow_that_runs_for_no_pull_request_gets_annotations(here: Path) -> None:
    event = here / "event.json"
    event.write_text(json.dumps({"ref": "refs/heads/main"}))
    done = review(GITHUB_REPOSITORY="octo/models", GITHUB_EVENT_PATH=str(event), GITHUB_TOKEN="t")
    assert done.exit_code == 1
    assert "no review is posted, the findings are annotations" in done.stderr
    assert "::error file=gate.py,line=6" in done.stdout


def test_standard_input_is_no_file_of_a_pull_request() -> None:
    done = CliRunner().invoke(main, ["review", "--repo", "octo/models", "--pull", "3", "-"])
    assert done.exit_code == 2
    assert "cannot check standard input" in done.stderr
