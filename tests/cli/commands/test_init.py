"""`onnxlint init`: models are built, fed, and declared in the configuration file, or why they are not."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

NET = """\
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.line = torch.nn.Linear(3, 2)

    def forward(self, x):
        return self.line(x)
"""


def init(folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "onnxlint", "init", *flags]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)


def test_where_there_is_no_model_nothing_is_written_and_it_says_what_to_name(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text("x = 1\n")
    done = init(tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    assert "no model was found; name the folder" in done.stderr
    assert init(tmp_path, "--quiet").stderr == ""
    assert [path.name for path in tmp_path.iterdir()] == ["plain.py"]


def test_where_every_model_is_declared_it_says_so_and_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(NET)
    declared = '[[models]]\nfactory = "net:Net"\ninputs = { x = "float32[batch, 3]" }\n'
    (tmp_path / "onnxlint.toml").write_text(declared)
    done = init(tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    assert "every model that was found is declared already" in done.stderr
    assert (tmp_path / "onnxlint.toml").read_text() == declared


@pytest.mark.slow
def test_a_model_is_declared_once_and_the_lines_of_the_user_stay(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(NET)
    (tmp_path / "onnxlint.toml").write_text("opset = 18  # mine\n")
    done = init(tmp_path)
    text = (tmp_path / "onnxlint.toml").read_text()
    assert done.returncode == 0, done.stderr
    assert text.startswith("opset = 18  # mine\n")
    assert [model["factory"] for model in tomllib.loads(text)["models"]] == ["net:Net"]
    again = init(tmp_path)
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "onnxlint.toml").read_text() == text


@pytest.mark.slow
def test_a_file_that_leads_out_of_the_folder_is_not_written_to(tmp_path: Path) -> None:
    project, outside = tmp_path / "project", tmp_path / "outside.toml"
    project.mkdir()
    outside.write_text("opset = 18\n")
    (project / "net.py").write_text(NET)
    (project / "onnxlint.toml").symlink_to(outside)
    done = init(project)
    assert done.returncode == 2
    assert "cannot be written" in done.stderr
    assert outside.read_text() == "opset = 18\n"
