"""onnxlint finds the PyTorch code that will not survive the export to ONNX, and proves it."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onnxlint.api import Result, assert_exportable, check_model, check_paths
    from onnxlint.base.marks import example

__version__ = "0.1.0"
__all__ = ["Result", "__version__", "assert_exportable", "check_model", "check_paths", "example"]

# `import onnxlint` costs nothing: it stands in production code next to `@onnxlint.example`.
_LAZY = {
    "Result": "onnxlint.api",
    "assert_exportable": "onnxlint.api",
    "check_model": "onnxlint.api",
    "check_paths": "onnxlint.api",
    "example": "onnxlint.base.marks",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
