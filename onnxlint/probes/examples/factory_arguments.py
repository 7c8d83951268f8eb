"""Arguments of a factory as configuration holds them; a table with `_target_` stands for an object to build."""

import pkgutil
from collections.abc import Mapping
from typing import Any

from onnxlint.base.probe_records import TARGET


def build(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments themselves, lists as tuples; imports and calls what tables with a `_target_` name."""
    return {name: _value(value) for name, value in arguments.items()}


def _value(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_value(item) for item in value)
    if not isinstance(value, Mapping):
        return value
    inner = build({k: v for k, v in value.items() if k != TARGET})
    return inner if TARGET not in value else pkgutil.resolve_name(value[TARGET])(**inner)


def spell(arguments: Mapping[str, Any]) -> str:
    """The arguments as Python writes them in a call; needs `importlib` where something is to be built."""
    return ", ".join(f"{name}={_spelled(value)}" for name, value in arguments.items())


def _spelled(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return "(" + "".join(f"{_spelled(item)}, " for item in value) + ")"
    if not isinstance(value, Mapping):
        return repr(value)
    inner = {k: v for k, v in value.items() if k != TARGET}
    if TARGET not in value:
        return "{" + ", ".join(f"{k!r}: {_spelled(v)}" for k, v in inner.items()) + "}"
    module, _, path = str(value[TARGET]).partition(":")
    return f"importlib.import_module({module!r}).{path}({spell(inner)})"
