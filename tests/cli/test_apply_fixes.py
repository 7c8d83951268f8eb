"""`--fix` puts fixed files in the place of those that were read; `--diff` shows the difference and writes nothing."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from onnxlint.cli import main

CUT = """\
import torch


class Cut(torch.nn.Module):
    def forward(self, image):
        return image.mean(dim=(2, 3), keepdim=True).squeeze().flip(0)
"""


@pytest.fixture(autouse=True)
def _project(here: Path) -> None:
    (here / "cut.py").write_text(CUT)


def check(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, ["check", "--static-only", "--no-cache", *arguments], input=stdin)


def test_the_difference_is_a_patch_that_makes_what_fix_writes() -> None:
    shown = check("--diff", "--unsafe-fixes")
    assert shown.exit_code == 1
    assert Path("cut.py").read_text() == CUT
    assert "Would fix 1" in shown.stderr
    Path("cut.patch").write_text(shown.stdout)
    fixed = check("--fix", "--unsafe-fixes")
    after = Path("cut.py").read_text()
    assert "Fixed 1" in fixed.output
    assert after != CUT
    Path("cut.py").write_text(CUT)
    subprocess.run(["patch", "-p0", "cut.py", "cut.patch"], check=True, capture_output=True)
    assert Path("cut.py").read_text() == after


def test_standard_input_is_fixed_to_standard_output_and_the_report_goes_aside() -> None:
    done = check("--fix", "--unsafe-fixes", "--stdin-filename", "cut.py", "-", stdin=CUT)
    assert done.stdout.startswith("import torch\n")
    assert "squeeze()" not in done.stdout
    assert "Fixed 1" in done.stderr
    assert Path("cut.py").read_text() == CUT


def test_what_has_no_fix_is_written_as_it_came() -> None:
    done = check("--fix", "--stdin-filename", "x.py", "-", stdin="x = 1  # é\r\n")
    assert (done.exit_code, done.stdout_bytes) == (0, "x = 1  # é\r\n".encode())


def test_a_file_that_cannot_be_replaced_keeps_its_findings(
    here: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "net.py"
    outside.write_text(CUT)
    (here / "net.py").symlink_to(outside)
    done = check("--fix", "--unsafe-fixes")
    assert done.exit_code == 2
    assert "net.py" in done.output
    assert "its findings are not fixed" in " ".join(done.output.split())
    assert outside.read_text() == CUT
    assert "squeeze()" not in Path("cut.py").read_text()
