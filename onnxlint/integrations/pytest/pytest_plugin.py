"""The pytest plugin: a fixture, a mark and `--onnxlint` check models in tests. It loads nothing until it is used."""

from collections.abc import Generator
from types import SimpleNamespace

import pytest

_MARK = "exportable"


@pytest.fixture(name="onnxlint")
def linter() -> SimpleNamespace:
    """Check models: `onnxlint.check(model, args)` and `onnxlint.assert_exportable(model, args)`, as in the API."""
    from onnxlint import api

    return SimpleNamespace(check=api.check_model, assert_exportable=api.assert_exportable)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the flag that makes a test of every declared model."""
    group = parser.getgroup("onnxlint")
    group.addoption("--onnxlint", action="store_true", help="check every model that the configuration declares")


def pytest_configure(config: pytest.Config) -> None:
    """Make the marks known, and have the configuration collected where its models are asked for."""
    about = "the test returns a model and what it is called with; it fails unless that survives the export to ONNX"
    config.addinivalue_line("markers", f"{_MARK}(**settings): {about}")
    config.addinivalue_line("markers", "onnxlint: the test checks a declared model")
    if config.getoption("onnxlint", default=False):
        from onnxlint.integrations.pytest.model_tests import add_configuration

        add_configuration(config)


def pytest_collect_file(file_path: object, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect the models that a configuration file declares."""
    if not parent.config.getoption("onnxlint", default=False):
        return None
    from onnxlint.integrations.pytest.model_tests import declared_models

    return declared_models(str(file_path), parent)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fail a marked test whose model nobody looked at, since something else than pytest calls it, such as unittest."""
    called = yield
    if item.get_closest_marker(_MARK) is not None:
        from onnxlint.integrations.pytest.model_tests import require_checked

        require_checked(item)
    return called


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> object | None:
    """Run a test that is marked, and check the model that it returns."""
    mark = pyfuncitem.get_closest_marker(_MARK)
    if mark is None:
        return None
    from onnxlint.integrations.pytest.model_tests import run_marked

    return run_marked(pyfuncitem, mark)
