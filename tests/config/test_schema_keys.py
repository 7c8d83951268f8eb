"""The keys of a configuration file: the same as in the schema, and each read relative to its folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import onnxlint.config
from onnxlint import __version__
from onnxlint.base.globs import Glob
from onnxlint.config.rule_selectors import FileIgnore
from onnxlint.config.schema_keys import converters
from onnxlint.config.typed_values import Node, Problems

RULES = {"ONX101": "tensor-branch", "ONX201": "literal-batch"}


def read(root: Path, key: str, value: object, rules: dict[str, str] | None = RULES) -> tuple[Any, list[str]]:
    problems = Problems("onnxlint.toml", {(key,): 5})
    result = converters(root, rules)[key](Node(value, (key,), problems))
    assert all(d.line == 5 for d in problems.diagnostics)
    return result, [d.message for d in problems.diagnostics]


def test_the_schema_has_the_same_keys() -> None:
    schema = json.loads((Path(onnxlint.config.__file__).parent / "schema.json").read_text(encoding="utf-8"))
    assert set(schema["properties"]) == set(converters(Path.cwd(), None))


def test_paths_and_patterns_are_relative_to_the_folder_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "two words").mkdir()
    assert read(tmp_path, "baseline", "größe/b.json") == (tmp_path / "größe" / "b.json", [])
    assert read(tmp_path, "exclude", ["gen/", "*_pb2.py"]) == ((Glob("gen/", tmp_path), Glob("*_pb2.py", tmp_path)), [])
    roots, mistakes = read(tmp_path, "source-roots", ["two words", "gone"])
    assert roots == (tmp_path / "two words",)
    assert len(mistakes) == 1
    assert "there is no folder `gone` in " in mistakes[0]
    assert read(tmp_path, "baseline", "a\0b") == (None, ["baseline: a path holds no null byte"])


def test_a_pattern_that_is_none_is_told_and_left_out(tmp_path: Path) -> None:
    globs, mistakes = read(tmp_path, "include", ["a.py", "!", ""])
    assert globs == (Glob("a.py", tmp_path),)
    assert len(mistakes) == 2


def test_rules_for_some_files_keep_their_place(tmp_path: Path) -> None:
    entries, mistakes = read(tmp_path, "per-file-ignores", {"!größe/*.py": ["ONX1"], "!": ["ONX1"], "b.py": ["ONX9"]})
    assert entries[0] == FileIgnore("!größe/*.py", tmp_path, ("ONX1",), "onnxlint.toml", 5)
    assert [message.partition(": ")[2][:40] for message in mistakes] == [
        "`!` is not a pattern as .gitignore spell",
        "no rule is called `ONX9`; see `onnxlint ",
    ]


def test_selectors_are_held_against_the_rules_where_these_are_known(tmp_path: Path) -> None:
    assert read(tmp_path, "select", ["ONX1", "literal-batch"]) == (("ONX1", "literal-batch"), [])
    assert len(read(tmp_path, "select", ["ONX9"])[1]) == 1
    assert read(tmp_path, "select", ["ONX9"], rules=None) == (("ONX9",), [])


@pytest.mark.parametrize("wanted", [__version__, f"=={__version__}", ">=0", f"<={__version__},>0"])
def test_the_version_that_runs_is_taken(tmp_path: Path, wanted: str) -> None:
    assert read(tmp_path, "required-version", wanted)[1] == []


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        (">=999", "`>=999` is required; install a version that fits"),
        ("new", "a version such as `>="),
        ("1" * 5000, "is expected, not"),
        ("", "a string is expected, not an empty string"),
    ],
)
def test_another_version_is_told(tmp_path: Path, wanted: str, told: str) -> None:
    (message,) = read(tmp_path, "required-version", wanted)[1]
    assert told in message
