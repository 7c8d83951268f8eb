"""Marks that a user's source may carry for onnxlint: standard library only, harmless at run time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T", bound=type[Any])

ATTRIBUTE = "__onnxlint_example__"


def example(**specs: str) -> Callable[[T], T]:
    """Mark a module class with its example inputs: `@onnxlint.example(image="float32[batch, 3, 224, 224]")`.

    The specs are read, and mistakes in them reported, by `onnxlint check`, so that a mark can never break an import.
    """

    def mark(cls: T) -> T:
        setattr(cls, ATTRIBUTE, dict(specs))
        return cls

    return mark
