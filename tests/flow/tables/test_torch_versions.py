"""Which operator table a run takes: the one asked for, pinned, installed, or the newest; and that it says so."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path

import pytest
from click.testing import CliRunner

from onnxlint.cli import main
from onnxlint.flow.tables.operator_table import OpTable
from onnxlint.flow.tables.torch_versions import Choice, choose, nearest, shipped

SHIFT = """\
import torch


class M(torch.nn.Module):
    def forward(self, x):
        return (x[:, None] - x[None]) >> 1
"""


@pytest.fixture
def project(here: Path) -> Path:
    (here / "setup.cfg").touch()
    (here / "model.py").write_text(SHIFT)
    return here


def installed(monkeypatch: pytest.MonkeyPatch, version: str | None) -> None:
    def answer(name: str) -> str:
        if version is None:
            raise metadata.PackageNotFoundError(name)
        return version

    monkeypatch.setattr("onnxlint.flow.tables.torch_versions.metadata.version", answer)


def codes(*arguments: str) -> tuple[list[str], list[str]]:
    """The rules that object, and what the run says about itself."""
    done = CliRunner().invoke(main, ["check", "--static-only", "--output-format", "json", *arguments])
    assert done.exit_code in (0, 1), done.output
    report = json.loads(done.stdout)
    return [f["code"] for f in report["findings"]], [d["message"] for d in report["diagnostics"]]


def test_tables_of_two_versions_are_shipped() -> None:
    assert shipped() == ("2.13", "2.14")
    for version in shipped():
        assert OpTable.load(version).versions["torch"].startswith(f"{version}.")
    assert OpTable.load().versions == OpTable.load("2.14").versions


@pytest.mark.parametrize(
    ("version", "table"),
    [("2.13.0+cpu", "2.13"), ("2.14", "2.14"), ("2.14.0a0+git1", "2.14"), ("1.9", "2.13"), ("2.99.1", "2.14")],
)
def test_the_nearest_table_of(version: str, table: str) -> None:
    assert nearest(version) == table


def test_asked_for_comes_before_pinned_before_installed_before_newest(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(monkeypatch, None)
    assert choose(None, "", project).torch == "2.14"
    installed(monkeypatch, "2.13.0")
    assert choose(None, "", project) == Choice("2.13", "torch 2.13.0 is installed")
    (project / "requirements.txt").write_text("torch==2.14.1\n")
    assert choose(None, "", project) == Choice("2.14", "torch 2.14.1 in requirements.txt")
    assert choose(None, "", None) == Choice("2.13", "torch 2.13.0 is installed")
    assert choose("2.13", "command line", project) == Choice("2.13", "command line")


def test_findings_follow_the_table_with_a_warm_cache_too(project: Path) -> None:
    cache = ["--cache-dir", str(project / "cache")]
    for _ in range(2):
        assert codes("--torch", "2.13", *cache) == (["ONX413"], [])
        assert codes("--torch", "2.13.0+cu121", *cache) == (["ONX413"], [])
        assert codes("--torch", "2.14", *cache) == ([], [])
    (project / "requirements.txt").write_text("torch==2.13.0\n")
    assert codes(*cache) == (["ONX413"], [])
    (project / "requirements.txt").write_text("torch==2.14.1\n")
    assert codes(*cache) == ([], [])
    (project / "onnxlint.toml").write_text('torch = "2.13"\n')
    assert codes(*cache) == (["ONX413"], [])


def test_a_version_without_a_table_is_reported_once(project: Path) -> None:
    (project / "requirements.txt").write_text("torch==1.13.1\n")
    (project / "other.py").write_text(SHIFT.replace(">> 1", ">> 2"))
    message = "there is no operator table for torch 1.13.1: the static pass uses the one for torch 2.13"
    found, messages = codes()
    assert found == ["ONX413", "ONX413"]
    assert messages == [f"{message} (torch 1.13.1 in requirements.txt)"]


def test_config_show_names_the_table_and_why(project: Path) -> None:
    def shown(*arguments: str) -> dict[str, str]:
        done = CliRunner().invoke(main, ["config", "show", "model.py", "--output-format", "json", *arguments])
        row: dict[str, str] = json.loads(done.stdout)["settings"]["torch"]
        return row

    (project / "requirements.txt").write_text("torch==2.14.1\n")
    assert shown() == {"value": "2.14", "origin": "torch 2.14.1 in requirements.txt"}
    (project / "onnxlint.toml").write_text('opset = 20\ntorch = "2.13.0"\n')
    assert shown() == {"value": "2.13", "origin": "onnxlint.toml:2"}
    assert shown("--torch", "2.14.1+cpu") == {"value": "2.14", "origin": "command line"}


@pytest.mark.parametrize("value", ["2", "latest", "2.14.1+", "", "9" * 99])
def test_what_is_no_version_is_a_mistake(value: str, project: Path) -> None:
    done = CliRunner().invoke(main, ["check", "--static-only", "--torch", value])
    assert done.exit_code == 2
    assert "a version such as `2.14` is expected" in done.output
    (project / "onnxlint.toml").write_text(f'torch = "{value}"\n')
    done = CliRunner().invoke(main, ["config", "show"])
    assert done.exit_code == 2
