"""Inputs that hold tensors in lists and dicts, by labels such as `states.0` and `batch.mask`."""

from collections.abc import Mapping
from typing import Any, TypeVar

T = TypeVar("T")


def root(label: str) -> str:
    """The parameter that a label belongs to."""
    return label.partition(".")[0]


def word(label: str) -> str:
    """The part of a label that says what the tensor is: `mask` of `batch.mask`, `states` of `states.0`."""
    return next((part for part in reversed(label.split(".")) if not part.isdigit()), label)


def nested(labelled: Mapping[str, T]) -> dict[str, Any]:
    """The values by parameter: what shares one becomes a list where the labels go on in numbers, else a dict."""
    groups: dict[str, dict[str, T]] = {}
    result: dict[str, Any] = {}
    for label, value in labelled.items():
        name, _, rest = label.partition(".")
        if rest:
            groups.setdefault(name, {})[rest] = value
            result[name] = None  # in its place
        else:
            result[name] = value
    for name, items in groups.items():
        inner = nested(items)
        result[name] = [inner[key] for key in sorted(inner, key=int)] if all(key.isdigit() for key in inner) else inner
    return result
