"""The pytest plugin: the fixture `onnxlint`, which checks models in tests. Loads nothing until a test uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from onnxlint.integrations.fixture import Linter


@pytest.fixture(name="onnxlint")
def linter() -> Linter:
    """Check models: `onnxlint.check(model, args)` and `onnxlint.assert_exportable(model, args)`."""
    from onnxlint.integrations.fixture import Linter

    return Linter()
