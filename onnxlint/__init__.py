"""onnxlint finds the PyTorch code that will not survive the export to ONNX, and proves it."""

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from onnxlint.api import Result, assert_exportable, check_model, check_paths

T = TypeVar("T", bound=type[Any])

__version__ = "0.1.0"
__all__ = ["Result", "__version__", "assert_exportable", "check_model", "check_paths", "example"]

EXAMPLE = "__onnxlint_example__"


def example(**specs: str) -> Callable[[T], T]:
    """Mark a module class with its example inputs: `@onnxlint.example(image="float32[batch, 3, 224, 224]")`.

    The specs are read, and mistakes in them reported, by `onnxlint check`, so that a mark can never break an import.
    """

    def mark(cls: T) -> T:
        setattr(cls, EXAMPLE, dict(specs))
        return cls

    return mark


def __getattr__(name: str) -> Any:
    """The rest of the API, on first use: `import onnxlint` costs nothing, since it stands in production code."""
    if name in __all__:
        return getattr(importlib.import_module("onnxlint.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
