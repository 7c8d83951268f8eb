"""Which rules run, where, and what is wrong with a selector that names none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from onnxlint.config.rule_selectors import FileIgnore, FileIgnores, specificity, unknown_selector
from onnxlint.config.settings import Settings, load_settings
from onnxlint.config.typed_values import MOST

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
    ("selection", "chosen"),
    [
        ({}, {"ONX101", "ONX102", "ONX201"}),
        ({"select": ("ONX1",)}, {"ONX101", "ONX102"}),
        ({"select": ("onx1",)}, {"ONX101", "ONX102"}),
        ({"select": ("literal-batch",)}, {"ONX201"}),
        ({"ignore": ("ONX1",)}, {"ONX201"}),
        ({"select": ("ONX101",), "ignore": ("ONX1",)}, {"ONX101"}),
        ({"select": ("ONX1",), "ignore": ("ONX101",)}, {"ONX102"}),
        ({"select": ("ONX101",), "ignore": ("tensor-branch",)}, set()),
        ({"select": ("ONX2",), "extend_select": ("ONX102",)}, {"ONX201", "ONX102"}),
        ({"select": (), "extend_select": ("ONX2",)}, {"ONX201"}),
    ],
)
def test_the_more_specific_selector_wins(selection: dict[str, tuple[str, ...]], chosen: set[str]) -> None:
    settings = Settings(Path(), **selection)
    assert {code for code, name in RULES.items() if settings.selects(code, name)} == chosen


def test_many_words_that_mean_nothing_are_not_held_against_every_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr("onnxlint.config.rule_selectors.nearest", lambda word, _: asked.append(word))
    _, mistakes = read(f"select = [{','.join(repr(f'ONX{n}') for n in range(1000, 90_000))}]")
    assert len(mistakes) == MOST + 1
    assert len(asked) <= MOST + 1


def test_what_a_selector_spells_out_is_how_much_it_counts() -> None:
    assert [specificity(s, "ONX101", "tensor-branch") for s in ("ONX", "onx1", "ONX101", "Tensor-Branch")] == [
        3,
        4,
        6,
        6,
    ]
    assert [specificity(s, "ONX101", "tensor-branch") for s in ("ONX2", "ONX1011", "tensor", "")] == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("selector", "told"),
    [
        ("ONX1", None),
        ("tensor-branch", None),
        ("ONX1O1", "no rule is called `ONX1O1`; did you mean `ONX101`?"),
        ("ONX103", "no rule is called `ONX103`; did you mean `ONX102`?"),
        ("tensor_brnch", "no rule is called `tensor_brnch`; did you mean `tensor-branch`?"),
        ("größe", "no rule is called `größe`; see `onnxlint rules`"),
    ],
)
def test_a_selector_that_names_no_rule_is_told_with_what_is_meant(selector: str, told: str | None) -> None:
    assert unknown_selector(selector, RULES) == told


def test_a_pattern_ignores_in_its_files_and_one_with_a_mark_in_all_others(tmp_path: Path) -> None:
    ignores = FileIgnores(
        [
            FileIgnore("two words/*.py", tmp_path, ("ONX1",)),
            FileIgnore("!größe/", tmp_path, ("literal-batch",)),
        ]
    )

    def ignored(path: str) -> list[str]:
        return [code for code, name in RULES.items() if ignores.ignores(str(tmp_path / path), code, name)]

    assert ignored("two words/a.py") == ["ONX101", "ONX102", "ONX201"]
    assert ignored("größe/a.py") == []
    assert ignored("a.py") == ["ONX201"]
    assert ignored("two words/a.py") == ["ONX101", "ONX102", "ONX201"], "after another file the same"


def test_a_pattern_that_means_no_file_is_unused(tmp_path: Path) -> None:
    used, spare, other = (FileIgnore(pattern, tmp_path, ("ONX1",)) for pattern in ("a*.py", "gone.py", "!gone.py"))
    ignores = FileIgnores([used, spare, other])
    assert ignores.unused([str(tmp_path / "b.py"), str(tmp_path / "abc.py")]) == [spare]
    assert ignores.unused([]) == [used, spare, other]
