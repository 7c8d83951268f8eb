"""Tests marked `exportable`: they return a model and what it is called with, and fail with the report."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from onnxlint import api

_SHOULD = "a test marked `exportable` returns a model, (model, args) or (model, args, kwargs)"


def run_marked(item: pytest.Function, mark: pytest.Mark) -> bool:
    """Call the test with its fixtures, and check what it returns. Always true: nobody else has to call it."""
    if mark.args:
        pytest.fail(
            f'the mark `exportable` takes settings by name, such as `exporters="dynamo"`, not {mark.args!r}', False
        )
    if inspect.iscoroutinefunction(item.obj):
        pytest.fail(f"{_SHOULD}, and this one is a coroutine", False)
    names = item._fixtureinfo.argnames
    model, args, kwargs = _parted(item.obj(**{name: item.funcargs[name] for name in names}))
    try:
        result = api.check_model(model, args, kwargs, **mark.kwargs)
    except (TypeError, ValueError) as error:
        pytest.fail(f"the mark `exportable`: {error}", False)
    if not result.ok:
        pytest.fail(f"{result.sentence}\n\n{result.text()}", False)
    return True


def _parted(returned: Any) -> tuple[Any, Any, dict[str, Any]]:
    parts = returned if isinstance(returned, tuple) else (returned,)
    kwargs = parts[2] if len(parts) > 2 else {}
    if not 1 <= len(parts) <= 3 or not callable(parts[0]) or not isinstance(kwargs, dict):
        pytest.fail(f"{_SHOULD}, not {type(returned).__name__}", False)
    return parts[0], parts[1] if len(parts) > 1 else (), kwargs
