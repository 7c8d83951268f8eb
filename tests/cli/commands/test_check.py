"""`onnxlint check`: what is checked, and what each way of using the findings leaves in the files and on the screen."""

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
def _project(here: Path) -> None:
    (here / "gate.py").write_text(GATE)


def check(*arguments: str, stdin: str | None = None) -> Result:
    command = ["check", "--static-only", "--no-cache", "--output-format", "concise", *arguments]
    return CliRunner().invoke(main, command, input=stdin)


def test_the_files_of_a_folder_are_checked_and_a_finding_is_exit_code_1() -> None:
    Path("fine.py").write_text("x = 1\n")
    done = check()
    assert done.exit_code == 1
    assert "gate.py:6:" in done.stdout
    assert "ONX101" in done.stdout
    assert check("fine.py").exit_code == 0


def test_standard_input_is_checked_under_the_name_that_it_is_given() -> None:
    done = check("--stdin-filename", "other/net.py", "-", stdin=GATE)
    assert done.exit_code == 1
    assert "other/net.py:6:" in done.stdout
    assert not Path("other").exists()


def test_a_baseline_that_nobody_names_is_one_message_and_no_file() -> None:
    done = check("--write-baseline")
    assert done.exit_code == 2
    assert "no baseline to write to" in done.stderr
    assert [path.name for path in Path().iterdir()] == ["gate.py"]


def test_one_run_writes_the_baseline_and_the_next_has_nothing_to_say() -> None:
    written = check("--baseline", "known.json", "--write-baseline")
    assert (written.exit_code, len(json.loads(Path("known.json").read_text())["findings"])) == (0, 1)
    again = check("--baseline", "known.json")
    assert (again.exit_code, "ONX101" in again.stdout) == (0, False)
    Path("gate.py").write_text(GATE.replace("return x * 2", "return x * x.max().item()"))
    assert "ONX401" in check("--baseline", "known.json").stdout


@pytest.mark.parametrize("flag", ["--fix", "--diff", "--add-noqa", "--open"])
def test_what_is_watched_is_not_written_to(flag: str) -> None:
    more = ("--report", "page.html") if flag == "--open" else ()
    done = check("--watch", flag, *more)
    assert done.exit_code == 2
    assert "--watch" in done.stderr
    assert Path("gate.py").read_text() == GATE
