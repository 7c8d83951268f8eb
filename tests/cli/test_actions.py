"""What a check does with findings instead of showing them: a baseline with or without slack, `# noqa` comments."""

from __future__ import annotations

import os
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
CLEAN = GATE.replace("        if x.sum() > 0:\n            return x * 2\n", "")


@pytest.fixture(autouse=True)
def _project(here: Path) -> None:
    (here / "gate.py").write_text(GATE)


def check(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["check", "--static-only", "--no-cache", *arguments])


def test_a_baseline_says_how_much_it_knows_and_loses_what_is_mended() -> None:
    written = check("--baseline", "known.json", "--write-baseline")
    assert written.stdout == "Wrote 1 finding to known.json\n"
    Path("gate.py").write_text(CLEAN)
    pruned = check("--baseline", "known.json", "--prune-baseline")
    assert "Removed 1 finding from known.json" in pruned.stderr
    assert pruned.exit_code == 0
    Path("gate.py").write_text(GATE)
    assert check("--baseline", "known.json").exit_code == 1


def test_a_baseline_that_cannot_be_written_is_one_message() -> None:
    Path("file").write_text("")
    done = check("--baseline", "file/known.json", "--write-baseline")
    assert done.exit_code == 2
    assert "file/known.json: the baseline cannot be written" in done.stderr
    assert "name another file" in done.stderr


def test_comments_silence_the_next_check_and_carry_their_reason() -> None:
    done = check("--add-noqa", "--reason", "sum is never negative")
    assert (done.exit_code, done.stdout) == (0, "Silenced the findings of 1 line in 1 file with `# noqa`\n")
    assert "if x.sum() > 0:  # noqa: ONX101 sum is never negative" in Path("gate.py").read_text()
    assert check().exit_code == 0


def test_no_comment_is_written_through_a_link_out_of_the_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside") / "net.py"
    outside.write_text(GATE)
    os.remove("gate.py")
    Path("gate.py").symlink_to(outside)
    done = check("--add-noqa")
    assert outside.read_text() == GATE
    assert done.exit_code == 2
    assert "no comment is written" in done.stderr
