"""`pytest --onnxlint`: every model that the configuration declares is a test."""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from onnxlint import api
from onnxlint.base.records import Outcome
from onnxlint.config.declared_models import ModelConfig
from onnxlint.config.settings import load_settings
from onnxlint.report.common import words


def add_configuration(config: pytest.Config) -> None:
    """Have the configuration files that hold for the root folder, and for what is asked for, collected beside it."""
    asked = [os.path.realpath(config.invocation_params.dir / str(arg).partition("::")[0]) for arg in config.args]
    files = dict.fromkeys(
        os.path.realpath(settings.config_file)
        for settings, faults in map(load_settings, dict.fromkeys([config.rootpath, *map(_folder, asked)]))
        if settings.config_file is not None and (settings.models or faults)
    )
    if not files:
        raise pytest.UsageError(
            f"--onnxlint: no configuration for {config.rootpath} declares models; see onnxlint init"
        )
    config.args += [file for file in files if file not in asked]


def _folder(path: str) -> Path:
    return Path(path) if os.path.isdir(path) else Path(path).parent


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
        if isinstance(excinfo.value, NotExportable):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where the model is declared."""
        return self.path, max(0, self.model.line - 1), f"onnxlint: {words.clean(self.name)}"
