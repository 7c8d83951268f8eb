"""Every rule by its code: those of the package `onnxlint.rules`, and those of installed packages."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterable, Mapping
from functools import cache

from onnxlint.base import workers
from onnxlint.base.catalogue import load_catalogue
from onnxlint.base.plugins import Plugin, PluginError
from onnxlint.base.records import Diagnostic, Safety, described
from onnxlint.rules.engine.rule import Rule

OUR_RULES = "onnxlint.rules"  # found by name, as a plug-in is: the engine knows none of them


@cache
def all_rules() -> Mapping[str, Rule]:
    """Every rule by code: a module of the package that starts with one holds it. Raises TypeError for twins."""
    package = importlib.import_module(OUR_RULES)
    rules: dict[str, Rule] = {}
    for info in pkgutil.iter_modules(package.__path__):
        if info.name.startswith("onx"):
            module = importlib.import_module(f"{OUR_RULES}.{info.name}")
            for _, kind in inspect.getmembers(module, inspect.isclass):
                if issubclass(kind, Rule) and kind.__module__ == module.__name__:
                    kind.code = info.name.partition("_")[0].upper()
                    kind.safety = load_catalogue()[kind.code].fix or Safety.MANUAL
                    if kind.code in rules:
                        twin = type(rules[kind.code]).__name__
                        raise TypeError(f"{kind.code} is the code of {kind.__name__} and {twin}")
                    rules[kind.code] = kind()
    return dict(sorted(rules.items()))


def rules_of(codes: Iterable[str]) -> tuple[dict[str, Rule], list[Diagnostic]]:
    """The rules of some codes, with those of installed packages, which are imported here; why one cannot be."""
    rules: dict[str, Rule] = {}
    broken: list[Diagnostic] = []
    ours, catalogue = all_rules(), load_catalogue()
    for code in codes:
        contract = catalogue.get(code)
        if code in ours:
            rules[code] = ours[code]
        elif contract is not None and contract.plugin is not None:
            loaded = _loaded(contract.plugin, contract.fix or Safety.MANUAL)
            if isinstance(loaded, Rule):
                rules[code] = loaded
            else:
                broken.append(Diagnostic("error", f"{contract.plugin} cannot be used: {loaded}"))
    return rules, broken


def titled(code: str) -> str:
    """A code, and the distribution that the rule comes from, where that is not onnxlint."""
    contract = load_catalogue().get(code)
    return code if contract is None or contract.plugin is None else str(contract.plugin)


def ends_run(error: BaseException) -> bool:
    """Tell an interrupt of the run, or of a process that works for it, from an error of a rule: `SystemExit` is one."""
    return isinstance(error, KeyboardInterrupt) or type(error).__module__ == workers.__name__


@cache
def _loaded(plugin: Plugin, promised: Safety) -> Rule | str:
    """The rule of a package, or what is wrong with it."""
    name = plugin.target.partition(":")[2]
    try:
        plugin.package()  # sys.path may lead elsewhere by now
        kind = getattr(importlib.import_module(plugin.module), name, None)
        if not (isinstance(kind, type) and issubclass(kind, Rule)):
            return f"`{plugin.target}` is not a class derived from onnxlint.rules.engine.rule.Rule"
        if getattr(kind, "code", None) != plugin.code:
            return f"the `code` of {name} is {getattr(kind, 'code', None)!r}"
        if kind.safety is not promised:
            return f"the contract says `fix: {promised}`, and {name} says {kind.safety}"
        return kind()
    except PluginError as error:
        return str(error)
    except BaseException as error:  # whatever happens in it must not lose the run
        if ends_run(error):
            raise
        return f"{plugin.target}: {described(error)}"
