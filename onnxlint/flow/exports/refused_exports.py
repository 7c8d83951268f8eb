"""Classes that refuse the export of their base: they override a method around its export call to raise, on purpose."""

import ast
import re
from collections import Counter
from collections.abc import Collection, Sequence
from functools import cache

from onnxlint.base.edits import words_like
from onnxlint.base.records import grouped
from onnxlint.flow.exports.unheld import code_of
from onnxlint.flow.values.node_places import last_name
from onnxlint.project.classes import ClassInfo, FunctionUnit, ModuleInfo

_CALLED = re.compile(r"\bself\.(\w+)\(")
# Where a name stands that uses nothing: imports, and what a module offers.
_OFFERED = re.compile(r"^(?:from[^\n]*)?import (?:\([^)]*\)|[^\n]*)|^__all__\b[^\]]*\]", re.MULTILINE)


def refused(
    modules: Sequence[ModuleInfo], roots: Sequence[tuple[ModuleInfo, str]], models: Collection[ClassInfo]
) -> dict[ClassInfo, str]:
    """The classes that refuse every way to an export call of their bases, and the models that only these use. `roots`
    are the functions with an export call, by module and name. Each class comes with the reason."""
    owners = ((info.classes.get(name.rpartition(".")[0]), name.rpartition(".")[2]) for info, name in roots)
    ways = [(owner, [name], _outermost(owner, name)) for owner, name in owners if owner is not None]
    if not ways or not any("NotImplementedError" in info.source.text for info in modules):
        return {}
    reasons: dict[ClassInfo, str] = {}
    for c in (c for info in modules for c in info.classes.values()):
        methods = [_raising(c, inner) or _raising(c, outer) for owner, inner, outer in ways if owner in c.mro()]
        if methods and all(methods):
            reasons[c] = f"not exported: `{methods[0]}` raises NotImplementedError"
    return reasons | used_only_by(modules, reasons, models)


def used_only_by(
    modules: Sequence[ModuleInfo], reasons: dict[ClassInfo, str], models: Collection[ClassInfo]
) -> dict[ClassInfo, str]:
    """The models that nothing in some modules names but classes that are not exported, which come with the reason."""
    by_name = grouped(models if reasons else (), lambda c: c.name)
    own, word = set(modules), words_like(by_name)

    @cache
    def words_in(info: ModuleInfo) -> Counter[str]:
        return Counter(word.findall(code_of(_OFFERED.sub("", info.source.text))))

    apart = {c: Counter(word.findall(code_of(c.text))) for c in reasons}
    inside = sum(apart.values(), Counter())
    used: dict[ClassInfo, str] = {}
    users = list(apart)
    for user in users:  # it grows meanwhile
        for c in (c for name in apart[user] for c in by_name.get(name, ()) if c not in apart):
            words = Counter(word.findall(code_of(c.text)))
            naming = own.intersection(c.module.project.naming(c.name))
            if words[c.name] + inside[c.name] == sum(words_in(info)[c.name] for info in naming):
                apart[c], used[c] = words, used.get(user) or f"used only by classes that are {reasons[user]}"
                inside += words
                users.append(c)
    return used


def _outermost(owner: ClassInfo, name: str) -> list[str]:
    """The methods through which a class comes to the one that exports, and which it does not call itself."""
    calls = {n: set(_CALLED.findall(unit.text)) for c in reversed(owner.mro()) for n, unit in c.methods.items()}
    around = {name}
    while more := {n for n, called in calls.items() if n not in around and not called.isdisjoint(around)}:
        around |= more
    return sorted(n for n in around if not any(n in calls[m] for m in around - {n}))


def _raising(c: ClassInfo, names: Sequence[str]) -> str:
    """One of these methods of a class if all of them do no more than raise NotImplementedError; else empty."""
    units = [unit for name in names if (unit := c.find_method(name)) is not None and _raises(unit)]
    return units[0].qualname if units and len(units) == len(names) else ""


def _raises(unit: FunctionUnit) -> bool:
    if "NotImplementedError" not in unit.text:
        return False
    body = [s for s in unit.node.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    match body:
        case [ast.Raise(ast.Call(func=error) | (ast.Name() as error))]:
            return last_name(error) == "NotImplementedError"
    return False
