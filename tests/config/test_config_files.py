"""Which file configures a run, and one message for a file that cannot be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from onnxlint.config.config_files import MAX_BYTES, inline_layers, locate, read_file, user_file
from onnxlint.config.settings import Settings, load_settings

RULES = {"ONX101": "tensor-branch", "ONX102": "tensor-bool-operator", "ONX201": "literal-batch"}


@pytest.fixture(autouse=True)
def _in_a_folder(here: Path) -> None:
    """Before the fixtures of a class."""


def read(text: str, **overrides: Any) -> tuple[Settings, list[tuple[int | None, str]]]:
    Path("onnxlint.toml").write_text(text, encoding="utf-8")
    settings, diagnostics = load_settings(Path.cwd(), None, overrides, RULES)
    assert all(d.level == "error" and d.path == "onnxlint.toml" for d in diagnostics)
    return settings, [(d.line, d.message) for d in diagnostics]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("opset = 18\nselect = [1\n", 2, "this is not valid TOML: Unclosed array; nothing of this file is used"),
        ("opset = 18\njobs 3\n", 2, "this is not valid TOML at column 6: Expected '=' after a key in a key/value pair"),
        ("jobs = 1\njobs = 2\n", 2, "this is not valid TOML at column 9: Cannot overwrite a value"),
    ],
)
def test_broken_toml_is_one_message(text: str, line: int, message: str) -> None:
    settings, mistakes = read(text)
    assert [line for line, _ in mistakes] == [line]
    assert mistakes[0][1].startswith(message)
    assert settings.opset == Settings(Path()).opset != 18


def test_bytes_that_are_not_utf8_are_one_message_with_the_line() -> None:
    Path("onnxlint.toml").write_bytes(b'opset = 18\n# caf\xe9\nselect = ["ONX"]\n')
    _, (mistake,) = load_settings(Path.cwd())
    assert (mistake.path, mistake.line) == ("onnxlint.toml", 2)
    assert mistake.message == "the configuration is not UTF-8; save it as UTF-8"


def test_a_byte_order_mark_and_windows_lines_are_fine() -> None:
    Path("onnxlint.toml").write_bytes(b"\xef\xbb\xbfopset = 19\r\njobs = 0\r\n")
    settings, (mistake,) = load_settings(Path.cwd())
    assert (settings.opset, mistake.line) == (19, 2)


class TestDiscovery:
    def test_the_nearest_file_above_is_taken(self, tmp_path: Path) -> None:
        deep = tmp_path / "a" / "b"
        deep.mkdir(parents=True)
        (tmp_path / "pyproject.toml").write_text("[tool.onnxlint]\nopset = 19\n")
        (tmp_path / "a" / "pyproject.toml").write_text("[project]\nname = 'a'\n")
        settings, _ = load_settings(deep)
        assert (settings.opset, settings.root) == (19, tmp_path.resolve())
        (tmp_path / "a" / "onnxlint.toml").write_text("opset = 20\n")
        settings, _ = load_settings(deep)
        assert (settings.opset, settings.root) == (20, (tmp_path / "a").resolve())

    def test_onnxlint_toml_wins_over_pyproject_beside_it(self, tmp_path: Path) -> None:
        (tmp_path / "pyproject.toml").write_text("[tool.onnxlint]\nopset = 19\n")
        (tmp_path / "onnxlint.toml").write_text("opset = 20\n")
        assert load_settings(tmp_path)[0].opset == 20

    def test_a_broken_pyproject_of_others_is_passed_over(self, tmp_path: Path) -> None:
        (tmp_path / "pyproject.toml").write_text("[tool.black\n")
        assert load_settings(tmp_path)[1] == ()

    def test_a_broken_pyproject_that_configures_us_is_reported(self, tmp_path: Path) -> None:
        (tmp_path / "pyproject.toml").write_text("[tool.onnxlint]\nopset = \n")
        _, (mistake,) = load_settings(tmp_path)
        assert (mistake.path, mistake.line) == ("pyproject.toml", 2)

    def test_lines_in_pyproject_count_from_its_top(self, tmp_path: Path) -> None:
        (tmp_path / "pyproject.toml").write_text("[project]\nname = 'a'\n\n[tool.onnxlint]\njobs = 0\n")
        _, (mistake,) = load_settings(tmp_path)
        assert (mistake.line, mistake.message[:5]) == (5, "jobs:")

    def test_an_explicit_file_that_is_missing_is_an_error(self, tmp_path: Path) -> None:
        _, (mistake,) = load_settings(tmp_path, tmp_path / "no.toml")
        assert mistake.level == "error"
        assert mistake.path == "no.toml"
        assert "the configuration cannot be read: No such file or directory" in mistake.message

    def test_an_explicit_pyproject_without_our_table_is_an_error(self, tmp_path: Path) -> None:
        (tmp_path / "pyproject.toml").write_text("[project]\nname = 'a'\n")
        _, (mistake,) = load_settings(tmp_path, tmp_path / "pyproject.toml")
        assert "there is no [tool.onnxlint] table" in mistake.message

    def test_a_tool_that_is_no_table_is_passed_over(self, tmp_path: Path) -> None:
        (tmp_path / "pyproject.toml").write_text("tool = 3\n")
        assert load_settings(tmp_path)[1] == ()

    def test_our_table_that_is_no_table_is_an_error(self, tmp_path: Path) -> None:
        (tmp_path / "pyproject.toml").write_text("[tool]\nonnxlint = 3\n")
        _, (mistake,) = load_settings(tmp_path)
        assert (mistake.line, mistake.message) == (2, "a table is expected, not `3`")


@pytest.mark.parametrize("key", ["opset", "timeout", "memory", "models = [{ factory = 'a:b', timeout", "jobs"])
def test_a_number_beyond_64_bits_is_one_message(key: str) -> None:
    settings, mistakes = read(f"select = ['ONX1']\n{key} = 0x{'f' * 5000}{' }]' * ('[' in key)}\n")
    assert [message for _, message in mistakes] == [
        "this is not valid TOML: a whole number has more than 64 bits; nothing of this file is used"
    ]
    assert settings.select == ("ONX",)
    assert load_settings(Path.cwd(), inline=[f"opset = 0x{'f' * 5000}"], isolated=True)[1][0].level == "error"


def test_a_file_extends_another_and_a_circle_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "two words").mkdir()
    base, own = tmp_path / "two words" / "größe.toml", tmp_path / "onnxlint.toml"
    base.write_text("opset = 19\njobs = 3\n")
    own.write_text("extend = 'two words/größe.toml'\nopset = 20\n", encoding="utf-8")
    file, layers = locate(tmp_path, None, isolated=False)
    assert file == own
    assert [(layer.table["opset"], layer.root) for layer in layers] == [(19, base.parent), (20, tmp_path)]
    base.write_text("extend = '../onnxlint.toml'\n")
    _, layers = locate(tmp_path, None, isolated=False)
    (mistake,) = [d for layer in layers for d in layer.problems.diagnostics]
    assert mistake.message == "extend: `../onnxlint.toml` extends this file in turn; break the circle"
    own.write_text("extend = 'gone.toml'\n")
    _, layers = locate(tmp_path, None, isolated=False)
    assert "gone.toml" in str([d for layer in layers for d in layer.problems.diagnostics])


def test_the_user_s_own_file_holds_where_a_project_has_none(tmp_path: Path) -> None:
    user = user_file()
    assert user.is_relative_to(tmp_path / "home")
    assert locate(tmp_path, None, isolated=False) == (None, [])
    user.parent.mkdir(parents=True)
    user.write_text("opset = 19\n")
    file, (layer,) = locate(tmp_path, None, isolated=False)
    assert (file, layer.of_user, layer.root) == (user, True, None)
    assert locate(tmp_path, None, isolated=True) == (None, [])


def test_an_assignment_is_read_as_in_a_file(tmp_path: Path) -> None:
    good, bad = inline_layers(["per-file-ignores.'größe/*.py' = ['ONX1']", "opset: 18"], tmp_path)
    assert (good.table, good.problems.diagnostics) == ({"per-file-ignores": {"größe/*.py": ["ONX1"]}}, [])
    assert bad.table == {}
    (mistake,) = bad.problems.diagnostics
    assert (mistake.path, mistake.line) == ("--config", None)
    assert mistake.message.startswith("`opset: 18` is not an assignment as in the file, such as `opset = 18`")


def test_a_file_that_is_too_long_or_none_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text("#" * (MAX_BYTES + 1))
    for path in (tmp_path / "long.toml", tmp_path):
        table, problems = read_file(path)
        assert table is None
        (mistake,) = problems.diagnostics
        assert mistake.message.startswith("the configuration cannot be read: ")
