"""Contracts are read whole, and every mistake in one is named with its file and line."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import onnxlint
from onnxlint.base.catalogue import CatalogueError, load_catalogue, read_rule, speakers
from onnxlint.base.records import EXPORTERS, Outcome, Safety, Severity

GOOD = """\
---
code: ONX101
name: tensor-branch
severity: error
fix: unsafe
torchscript: wrong-values
dynamo: export-error
---
# Python branch on a tensor value

## What it does
Flags it.

## Why is this bad?
It is.

## Bad
```python
# a comment is no heading
## nor is this
x = 1
```

## Good
```python
x = 2
```

## Fix
Mend it.

## How it is confirmed
```python
example = ()
```
"""


def write(folder: Path, text: str, name: str = "ONX101-tensor-branch.md") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_contract_is_read_whole(tmp_path: Path) -> None:
    rule = read_rule(write(tmp_path, GOOD))
    assert (rule.code, rule.name, rule.severity, rule.fix) == (
        "ONX101",
        "tensor-branch",
        Severity.ERROR,
        Safety.UNSAFE,
    )
    assert rule.effects == {"torchscript": Outcome.WRONG_VALUES, "dynamo": Outcome.EXPORT_ERROR}
    assert rule.title == "Python branch on a tensor value"
    assert (rule.what, rule.why, rule.advice) == ("Flags it.", "It is.", "Mend it.")
    assert rule.bad == "# a comment is no heading\n## nor is this\nx = 1\n"
    assert rule.good == "x = 2\n"
    assert "example = ()" in rule.confirm
    assert rule.text.startswith("# Python branch")


def test_windows_newlines_make_no_difference(tmp_path: Path) -> None:
    path = tmp_path / "ONX101-tensor-branch.md"
    path.write_bytes(GOOD.replace("\n", "\r\n").encode())
    assert read_rule(path).bad.endswith("x = 1\n")


@pytest.mark.parametrize(
    ("before", "after", "line", "message"),
    [
        ("---\ncode", "code", 1, "does not begin with `---`"),
        ("dynamo: export-error\n---\n", "dynamo: export-error\n", 8, "`key: value` was expected, not `# Python branch"),
        ("code: ONX101", "code: ONX102", 2, "code is `ONX102`, but the file's name says `ONX101`"),
        ("name: tensor-branch", "name: branch", 3, "name is `branch`, but the file's name says `tensor-branch`"),
        ("severity: error", "severity: fatal", 4, "severity is `fatal`, which is not one of error, warning, note"),
        ("fix: unsafe", "fix: maybe", 5, "fix is `maybe`"),
        ("torchscript: wrong-values", "torchscript: diverges", 6, "torchscript is `diverges`"),
        ("fix: unsafe", "fix:", 5, "`key: value` was expected, not `fix:`"),
        ("fix: unsafe", "since: 1", 5, "`since` is not one of code, name"),
        ("fix: unsafe", "code: ONX101", 5, "`code` is given twice"),
        ("fix: unsafe\n", "", 7, "the front matter lacks fix"),
        ("# Python branch on a tensor value\n", "\n", 9, "no `# Title`"),
        ("## Fix\nMend it.\n", "", 9, "the contract lacks `## Fix`"),
        ("Mend it.", "", 29, "`## Fix` is empty"),
        ("## Fix", "## Repair", 29, "`## Repair` is not a section"),
        ("## Fix", "## Good", 29, "`## Good` is there twice"),
        ("```python\nx = 2\n```", "x = 2", 24, "`## Good` holds no ```python block"),
        ("## Why is this bad?", "## What it does", 14, "`## What it does` is there twice"),
        (
            "error\n---\n",
            "error\nconfirmed-by: refusal\n---\n",
            8,
            "confirmed-by is `refusal`, which is not one of refused,",
        ),
        ("error\n---\n", "error\nsaid-once: run\n---\n", 8, "said-once is `run`, which is not one of file"),
        ("error\n---\n", "error\nconfirmed-by: guard, guard\n---\n", 8, "confirmed-by names a cause twice"),
        ("error\n---\n", "error\nshows-here: runtime\n---\n", 8, "shows-here names a cause that confirmed-by does not"),
    ],
)
def test_every_mistake_has_its_line(tmp_path: Path, before: str, after: str, line: int, message: str) -> None:
    assert before in GOOD
    path = write(tmp_path, GOOD.replace(before, after, 1))
    with pytest.raises(CatalogueError) as caught:
        read_rule(path)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert message in str(caught.value)


def test_a_file_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    path = tmp_path / "ONX101-tensor-branch.md"
    path.write_bytes(b"---\n\xff")
    with pytest.raises(CatalogueError, match="cannot be read"):
        read_rule(path)


def test_a_file_with_a_wrong_name_is_named(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match="is not named ONXnnn-some-name"):
        load_catalogue(write(tmp_path, GOOD, "ONX101_branch.md").parent)


def test_two_contracts_of_one_code_are_refused(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    write(tmp_path, GOOD.replace("tensor-branch", "tensor-fork"), "ONX101-tensor-fork.md")
    with pytest.raises(CatalogueError, match="ONX101 is already the code of"):
        load_catalogue(tmp_path)


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match="no contract"):
        load_catalogue(tmp_path)


LINKED = {"ONX101": "ONX102", "ONX102": "ONX103", "ONX103": None}


def linked(folder: Path, links: dict[str, str | None], key: str = "spoken-for-by") -> Path:
    for code, other in links.items():
        line = f"{key}: {other}\n" if other else ""
        write(
            folder,
            GOOD.replace("ONX101", code).replace("error\n---\n", f"error\n{line}---\n"),
            f"{code}-tensor-branch.md",
        )
    return folder


def test_the_rules_that_speak_for_a_rule_come_first_in_its_chain(tmp_path: Path) -> None:
    rules = load_catalogue(linked(tmp_path, LINKED))
    assert [speakers(rule, rules) for rule in rules.values()] == [
        ("ONX103", "ONX102", "ONX101"),
        ("ONX103", "ONX102"),
        ("ONX103",),
    ]


@pytest.mark.parametrize(
    ("links", "key", "message"),
    [
        (LINKED | {"ONX103": "ONX101"}, "spoken-for-by", "spoken-for-by leads from ONX101 back to ONX101"),
        (LINKED | {"ONX103": "ONX104"}, "spoken-for-by", "spoken-for-by is `ONX104`, which is the code of no rule"),
        ({"ONX101": "ONX104"}, "merged-into", "merged-into is `ONX104`, which is the code of no rule"),
    ],
)
def test_links_between_rules_lead_somewhere(
    tmp_path: Path, links: dict[str, str | None], key: str, message: str
) -> None:
    with pytest.raises(CatalogueError, match=message):
        load_catalogue(linked(tmp_path, links, key))


def test_a_rule_is_a_part_of_rules_that_there_are() -> None:
    rules = load_catalogue()
    assert all(code in rules for rule in rules.values() for code in rule.part_of)
    assert rules["ONX101"].part_of == ("ONX101",)


def test_codes_of_rules_are_named_in_the_files_of_these_rules_alone() -> None:
    package = Path(onnxlint.__file__).parent
    named = []
    for path in sorted(package.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        texts = {
            id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)
        }  # docstrings may give an example
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in texts:
                codes = re.findall(r"ONX[1-6]\d\d", node.value)
                named += [f"{path}:{node.lineno}: {c}" for c in codes if not path.name.startswith(f"{c.lower()}_")]
    assert not named


def test_rules_found_by_running_need_no_example_code(tmp_path: Path) -> None:
    start, end = GOOD.index("## Bad"), GOOD.index("## Fix")
    text = (GOOD[:start] + GOOD[end:]).replace("ONX101", "ONX703")
    rule = read_rule(write(tmp_path, text, "ONX703-tensor-branch.md"))
    assert (rule.bad, rule.good) == ("", "")


def test_the_shipped_catalogue_is_whole() -> None:
    rules = load_catalogue()
    assert len(rules) >= 20
    assert list(rules) == sorted(rules)
    assert all(set(rule.effects) == set(EXPORTERS) for rule in rules.values())


def test_reading_the_catalogue_loads_no_heavy_module() -> None:
    script = (
        "import sys; from onnxlint.base.catalogue import load_catalogue; load_catalogue(); "
        "print([m for m in ('torch', 'libcst', 'rich', 'click', 'yaml') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
