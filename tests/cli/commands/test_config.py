"""`onnxlint config`: the settings that hold for a path with the place of each, and the schema of the files."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest
from click.testing import CliRunner

from onnxlint.cli import main
from onnxlint.run.scopes import Request, governing

SCHEMA = json.loads(files("onnxlint.config").joinpath("schema.json").read_text("utf-8"))


@pytest.fixture(autouse=True)
def _in_a_folder(here: Path) -> None:
    """No configuration of the user is in force."""


def write(name: str, text: str) -> None:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_the_command_prints_it() -> None:
    done = CliRunner().invoke(main, ["config", "schema"])
    assert (done.exit_code, json.loads(done.stdout)) == (0, SCHEMA)


def test_every_setting_has_its_value_and_origin() -> None:
    write("onnxlint.toml", 'opset = 18\n[per-file-ignores]\n"tests/" = ["ONX101"]\n')
    done = CliRunner().invoke(main, ["config", "show", "--config", "jobs=2", "--output-format", "json"])
    shown = json.loads(done.stdout)
    assert done.exit_code == 0
    assert (shown["file"], shown["root"]) == ("onnxlint.toml", ".")
    assert shown["settings"]["opset"] == {"value": 18, "origin": "onnxlint.toml:1"}
    assert shown["settings"]["per-file-ignores"] == {"value": {"tests/": ["ONX101"]}, "origin": "onnxlint.toml:2"}
    assert shown["settings"]["jobs"] == {"value": 2, "origin": "--config"}
    assert shown["settings"]["fail-on"] == {"value": "suspected", "origin": "default"}
    assert shown["settings"].keys() == SCHEMA["properties"].keys() - {"extend", "required-version"}


def test_it_answers_for_a_file_that_need_not_exist() -> None:
    write("sub/onnxlint.toml", "opset = 18\n")
    assert governing(Path("sub/deep/new.py"), Request())[0].opset == 18
    done = CliRunner().invoke(main, ["config", "show", "sub/new.py"])
    assert "opset = 18 " in done.stdout
    assert "# sub/onnxlint.toml:1" in done.stdout


def test_a_mistake_is_told_and_the_rest_shown() -> None:
    write("onnxlint.toml", "opset = 18\njobs = 0\n")
    done = CliRunner().invoke(main, ["config", "show"])
    assert done.exit_code == 2
    assert done.stderr == "onnxlint: onnxlint.toml:2: jobs: a whole number from 1 is expected, not `0`\n"
    assert "opset = 18" in done.stdout
