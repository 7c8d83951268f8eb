"""Tests mirror the source: each module of the rooms that are complete has a test file of its name, and at its place."""

from __future__ import annotations

from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
PACKAGE = TESTS.parent / "onnxlint"

# A room comes in here when its last module has tests, and does not leave again.
COMPLETE = (
    "base",
    "cli",
    "config",
    "flow",
    "integrations",
    "probes",
    "project",
    "report",
    "rules/engine",
    "rules/helpers",
    "run",
    "source",
    "testing.py",
)


def modules_of(room: str) -> list[Path]:
    """The modules of a folder, or the one module that is a room by itself."""
    place = PACKAGE / room
    paths = [place] if place.is_file() else sorted(place.rglob("*.py"))
    return [path for path in paths if path.name != "__init__.py"]


def place_of_tests(module: Path) -> Path:
    """Where the tests of a module stand: `onnxlint/report/html/plot.py` has `tests/report/html/test_plot.py`."""
    return TESTS / module.relative_to(PACKAGE).with_name(f"test_{module.name}")


@pytest.mark.parametrize("room", COMPLETE)
def test_every_module_has_tests_of_its_name(room: str) -> None:
    modules = modules_of(room)
    assert modules, f"there is no room {room}"
    missing = [place_of_tests(path).relative_to(TESTS) for path in modules if not place_of_tests(path).is_file()]
    assert missing == []


@pytest.mark.parametrize("room", COMPLETE)
def test_a_file_of_a_module_s_name_stands_where_the_module_does(room: str) -> None:
    """A file of tests that no module of the room has the name of is about several; one that has it is not elsewhere."""
    modules = {f"test_{path.name}": path for path in modules_of(room)}
    files = [path for path in sorted((TESTS / room).rglob("test_*.py")) if path.name in modules]
    assert [path.relative_to(TESTS) for path in files if path != place_of_tests(modules[path.name])] == []


@pytest.mark.parametrize("room", COMPLETE)
def test_every_one_of_them_holds_a_test(room: str) -> None:
    files = sorted((TESTS / room).rglob("test_*.py"))
    assert [path.name for path in files if "def test_" not in path.read_text(encoding="utf-8")] == []
