"""Models as tests: those that the configuration declares, and those that tests marked `exportable` return."""

import inspect
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from onnxlint import api
from onnxlint.base.paths import display_path
from onnxlint.base.records import Outcome
from onnxlint.config.declared_models import ModelConfig
from onnxlint.config.settings import load_settings
from onnxlint.report.common import words

_CHECKED = pytest.StashKey[bool]()
_SHOULD = "a test marked `exportable` returns a model, (model, args) or (model, args, kwargs)"


def add_configuration(config: pytest.Config) -> None:
    """Have the configuration files that hold for the root folder, and for what is asked for, collected beside it."""
    asked = [os.path.realpath(config.invocation_params.dir / str(arg).partition("::")[0]) for arg in config.args]
    folders = (Path(path if os.path.isdir(path) else os.path.dirname(path)) for path in asked)
    read = map(load_settings, dict.fromkeys([config.rootpath, *folders]))
    declaring = (s.config_file for s, faults in read if s.config_file is not None and (s.models or faults))
    files = dict.fromkeys(map(os.path.realpath, declaring))
    if not files:
        fault = f"--onnxlint: no configuration for {config.rootpath} declares models; see onnxlint init"
        raise pytest.UsageError(fault)
    config.args += [file for file in files if file not in asked]


def declared_models(path: str, parent: pytest.Collector) -> pytest.Collector | None:
    """The collector of a configuration file; None for every other file."""
    if os.path.splitext(path)[1] != ".toml":
        return None
    settings, _ = load_settings(Path(path).parent)
    if settings.config_file is None or os.path.realpath(settings.config_file) != os.path.realpath(path):
        return None
    collector: pytest.Collector = ConfigurationFile.from_parent(parent, path=Path(path))
    return collector


class ConfigurationFile(pytest.File):
    """A configuration file, whose tests are the models that it declares."""

    def collect(self) -> Iterator[pytest.Item]:
        """One test for each model; where a factory is declared twice, the second has a number."""
        settings, faults = load_settings(self.path.parent)
        errors = [fault.message for fault in faults if fault.level == "error"]
        if errors:
            raise self.CollectError(f"{self.path}: {'; '.join(errors)}")
        seen: Counter[str] = Counter()
        for model in settings.models:
            seen[model.factory] += 1
            number = f"#{seen[model.factory]}" if seen[model.factory] > 1 else ""
            yield ModelItem.from_parent(self, name=model.factory + number, model=model)


class NotExportable(Exception):
    """A declared model that does not survive the export; the message is the report."""


class ModelItem(pytest.Item):
    """The test of one declared model."""

    def __init__(self, *, model: ModelConfig, **more: Any) -> None:
        super().__init__(**more)
        self.model = model
        self.add_marker("onnxlint")

    def runtest(self) -> None:
        """Check the project with this model probed, and fail for what concerns this model."""
        result = api.check_declared(self.path.parent, self.model)
        if not result.models:  # nothing was run, so that nothing is known
            messages = [diagnostic.message for diagnostic in result.report.diagnostics]
            raise NotExportable(f"{self.model.factory} was not probed: {'; '.join(messages) or 'nothing was run'}")
        harmless = (Outcome.OK, Outcome.SKIPPED)
        concerned = result.about([f for f in result.findings if any(e.symptom not in harmless for e in f.evidence)])
        if not concerned.ok:
            raise NotExportable(f"{concerned.sentence}\n\n{concerned.text()}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The report, where that is what the test failed with."""
        return str(excinfo.value) if isinstance(excinfo.value, NotExportable) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where the model is declared."""
        return self.path, max(0, self.model.line - 1), f"onnxlint: {words.clean(self.name)}"


def run_marked(item: pytest.Function, mark: pytest.Mark) -> bool:
    """Call the test with its fixtures, and check what it returns. Always true: nobody else has to call it."""
    item.stash[_CHECKED] = True
    if mark.args:
        fault = f'the mark `exportable` takes settings by name, such as `exporters="dynamo"`, not {mark.args!r}'
        pytest.fail(fault, False)
    if inspect.iscoroutinefunction(item.obj):
        pytest.fail(f"{_SHOULD}, and this one is a coroutine", False)
    model, args, kwargs = _parted(item.obj(**{name: item.funcargs[name] for name in item._fixtureinfo.argnames}))
    fault = ""
    try:
        result = api.check_model(model, args, kwargs, **mark.kwargs)
    except (TypeError, ValueError, RuntimeError) as error:
        fault = f"the mark `exportable`: {error}"
    if fault:
        pytest.fail(fault, False)
    if not result.ok:
        path, line, _ = item.reportinfo()  # the call of check_model stands in no file of the user's
        shown, number = display_path(Path(path)), (line or 0) + 1
        models = tuple(replace(model, path=shown, line=number) for model in result.report.models)
        result = replace(result, report=replace(result.report, models=models))
        pytest.fail(f"{result.sentence}\n\n{result.text()}", False)
    return True


def require_checked(item: pytest.Item) -> None:
    """Fail a test that ran without being asked for its model."""
    if not item.stash.get(_CHECKED, False):
        whence = "from a function or a method of a plain class: what unittest calls returns nothing"
        pytest.fail(f"{_SHOULD}, {whence}", False)


def _parted(returned: Any) -> tuple[Any, Any, dict[str, Any]]:
    parts = returned if isinstance(returned, tuple) else (returned,)
    kwargs = parts[2] if len(parts) > 2 else {}
    if not 1 <= len(parts) <= 3 or not callable(parts[0]) or not isinstance(kwargs, dict):
        pytest.fail(f"{_SHOULD}, not {type(returned).__name__}", False)
    return parts[0], parts[1] if len(parts) > 1 else (), kwargs
