"""Tests marked `exportable`: they return a model and what it is called with, and fail with the report."""

import inspect
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from onnxlint import api
from onnxlint.base.paths import display_path

_CHECKED = pytest.StashKey[bool]()
_SHOULD = "a test marked `exportable` returns a model, (model, args) or (model, args, kwargs)"


def run_marked(item: pytest.Function, mark: pytest.Mark) -> bool:
    """Call the test with its fixtures, and check what it returns. Always true: nobody else has to call it."""
    item.stash[_CHECKED] = True
    if mark.args:
        pytest.fail(
            f'the mark `exportable` takes settings by name, such as `exporters="dynamo"`, not {mark.args!r}', False
        )
    if inspect.iscoroutinefunction(item.obj):
        pytest.fail(f"{_SHOULD}, and this one is a coroutine", False)
    names = item._fixtureinfo.argnames
    model, args, kwargs = _parted(item.obj(**{name: item.funcargs[name] for name in names}))
    fault = ""
    try:
        result = api.check_model(model, args, kwargs, **mark.kwargs)
    except (TypeError, ValueError, RuntimeError) as error:
        fault = f"the mark `exportable`: {error}"
    if fault:
        pytest.fail(fault, False)
    if not result.ok:
        path, line, _ = item.reportinfo()  # the call of check_model stands in no file of the user's
        models = tuple(
            replace(model, path=display_path(Path(path)), line=(line or 0) + 1) for model in result.report.models
        )
        result = replace(result, report=replace(result.report, models=models))
        pytest.fail(f"{result.sentence}\n\n{result.text()}", False)
    return True


def require_checked(item: pytest.Item) -> None:
    """Fail a test that ran without being asked for its model."""
    if not item.stash.get(_CHECKED, False):
        pytest.fail(
            f"{_SHOULD}, from a function or a method of a plain class: what unittest calls returns nothing", False
        )


def _parted(returned: Any) -> tuple[Any, Any, dict[str, Any]]:
    parts = returned if isinstance(returned, tuple) else (returned,)
    kwargs = parts[2] if len(parts) > 2 else {}
    if not 1 <= len(parts) <= 3 or not callable(parts[0]) or not isinstance(kwargs, dict):
        pytest.fail(f"{_SHOULD}, not {type(returned).__name__}", False)
    return parts[0], parts[1] if len(parts) > 1 else (), kwargs
