"""Every rule by its code: those of the package `onnxlint.rules`."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Mapping
from functools import cache

from onnxlint.base.records import Safety
from onnxlint.rules.engine.rule import Rule

OUR_RULES = "onnxlint.rules"  # found by name, as a plug-in is: the engine knows none of them


@cache
def all_rules() -> Mapping[str, Rule]:
    """Every rule by code; a module of the package that starts with `onx` holds one. Raises TypeError for twins."""
    package = importlib.import_module(OUR_RULES)
    rules: dict[str, Rule] = {}
    for found in pkgutil.iter_modules(package.__path__):
        if found.name.startswith("onx"):
            module = importlib.import_module(f"{OUR_RULES}.{found.name}")
            for _, kind in inspect.getmembers(module, inspect.isclass):
                if issubclass(kind, Rule) and kind.__module__ == module.__name__:
                    if kind.code in rules:
                        raise TypeError(
                            f"{kind.code} is the code of {kind.__name__} and {type(rules[kind.code]).__name__}"
                        )
                    rules[kind.code] = kind()
    return dict(sorted(rules.items()))


@cache
def mending_rules() -> Mapping[str, Rule]:
    """The rules that write fixes, by code."""
    return {code: rule for code, rule in all_rules().items() if rule.safety is not Safety.MANUAL}
