"""Fixtures before and after: the fix is what stands there, lints clean, and eager gives the same on every input."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from applying import fix_all, lint

from onnxlint.rules.engine.registry import all_rules

torch = pytest.importorskip("torch")

FIXTURES = Path(__file__).resolve().parent.parent.parent / "fixtures" / "fixes"
FOLDERS = sorted(path.name for path in FIXTURES.iterdir() if (path / "before.py").exists())
PROVED = [name for name in FOLDERS if "def cases()" in (FIXTURES / name / "before.py").read_text()]
# In train mode, where they change nothing, for those fixes whose point is what happens in eval mode.
TRAINING = ("modes",)


@pytest.mark.parametrize("name", FOLDERS)
def test_the_fixed_file_is_the_one_beside_it(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    path = tmp_path / "before.py"
    shutil.copy(FIXTURES / name / "before.py", path)
    assert fix_all(path)
    expected = FIXTURES / name / "after.py"
    if request.config.getoption("--update-golden", default=False):
        expected.write_bytes(path.read_bytes())
    assert path.read_text() == expected.read_text()


@pytest.mark.parametrize("name", FOLDERS)
def test_what_is_fixed_offers_no_fix_again(name: str, tmp_path: Path) -> None:
    shutil.copy(FIXTURES / name / "after.py", tmp_path / "after.py")
    assert [(f.code, f.span.line, f.text) for f in lint(tmp_path) if f.fix is not None and f.fix.edits] == []


def loaded(path: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def outputs(model: Any, inputs: tuple[Any, ...]) -> Any:
    """What eager gives, seeded; what it raises where it does."""
    import random

    torch.manual_seed(3)
    random.seed(3)
    try:
        with torch.no_grad():
            return model(*(t.clone() for t in inputs))
    except (RuntimeError, ValueError, AssertionError, IndexError) as error:
        return type(error).__name__


def same(one: Any, other: Any, compare: Callable[[Any, Any], bool]) -> bool:
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(same(a, b, compare) for a, b in zip(one, other, strict=True))
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return one.shape == other.shape and compare(one, other)
    return bool(one == other)


def close(one: Any, other: Any) -> bool:
    return bool(torch.allclose(one, other, 1e-5, 1e-6, equal_nan=True))


def models(module: ModuleType, *, training: bool) -> Iterator[tuple[str, Any, list[tuple[Any, ...]]]]:
    for cls, inputs in module.cases():
        torch.manual_seed(0)
        model = cls()
        yield cls.__name__, model.train(training), inputs


@pytest.mark.parametrize("name", PROVED)
def test_eager_gives_the_same_before_and_after(name: str) -> None:
    before = models(loaded(FIXTURES / name / "before.py", "before"), training=name in TRAINING)
    after = models(loaded(FIXTURES / name / "after.py", "after"), training=name in TRAINING)
    compared = 0
    for (title, old, inputs), (_, new, _) in zip(before, after, strict=True):
        for given in inputs:
            expected = outputs(old, given)
            assert same(outputs(new, given), expected, close), (title, [tuple(t.shape) for t in given])
            compared += not isinstance(expected, str)
    assert compared


@pytest.mark.parametrize("name", [n for n in PROVED if n not in TRAINING])
def test_safe_fixes_alone_change_no_bit(name: str, tmp_path: Path) -> None:
    path = tmp_path / "safely.py"
    shutil.copy(FIXTURES / name / "before.py", path)
    if not fix_all(path, safe=True):
        pytest.skip("all fixes of this fixture are unsafe")
    before, after = loaded(FIXTURES / name / "before.py", "before"), loaded(path, "safely")
    for (title, old, inputs), (_, new, _) in zip(
        models(before, training=False), models(after, training=False), strict=True
    ):
        for given in inputs:
            assert same(outputs(new, given), outputs(old, given), torch.equal), title


def test_no_safe_remedy_is_meant_to_change_the_output() -> None:
    assert [r.code for r in all_rules().values() if r.changes_output and r.safety == "safe"] == []
