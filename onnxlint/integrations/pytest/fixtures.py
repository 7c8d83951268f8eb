"""What the pytest fixture `onnxlint` gives to a test."""

from __future__ import annotations

from typing import Any

from onnxlint import api


class Linter:
    """Checks models; the arguments are those of `onnxlint.check_model` and `onnxlint.assert_exportable`."""

    def check(self, model: Any, args: Any = (), **more: Any) -> api.Result:
        """Check a model and return what was found."""
        return api.check_model(model, args, **more)

    def assert_exportable(self, model: Any, args: Any = (), **more: Any) -> api.Result:
        """Fail the test, with the report, unless the model survives the export."""
        __tracebackhide__ = True
        return api.assert_exportable(model, args, **more)
