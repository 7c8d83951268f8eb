"""Checks by rule: a generator over one kind of fact, registered by its code, subscribed by its annotation."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from onnxlint.catalogue import Rule, speakers
from onnxlint.flow.facts import ExportCall, Fact
from onnxlint.records import EXPORTERS, Diagnostic, Finding, Fix, Outcome, Severity, Span


@dataclass(frozen=True, slots=True)
class Objection:
    """What a check has to say of a fact: the fault, and what to write instead. The rule's contract says the rest.

    `span`, `severity` and `effects` are given where they differ from the fact's or the contract's. `hints` tell the
    rule's remedy what the source text alone does not.
    """

    message: str
    advice: str
    span: Span | None = None
    severity: Severity | None = None
    effects: Mapping[str, Outcome] | None = None
    hints: Mapping[str, str | int] = field(default_factory=dict)


Check = Callable[[Any], Iterator[Objection]]


@dataclass(frozen=True, slots=True)
class Registered:
    """A check, the code of its rule and the kind of fact that it takes."""

    code: str
    run: Check
    takes: type[Fact]


_CHECKS: dict[str, Registered] = {}


def check(code: str) -> Callable[[Check], Check]:
    """Register the check of a rule. Raises TypeError unless its one parameter is annotated with a kind of fact."""

    def register(function: Check) -> Check:
        hints = typing.get_type_hints(function)
        (parameter,) = inspect.signature(function).parameters
        takes = hints.get(parameter)
        if not (isinstance(takes, type) and issubclass(takes, Fact)):
            raise TypeError(f"the parameter of the check of {code} is annotated with {takes}, which is no kind of fact")
        if code in _CHECKS:
            raise TypeError(f"{code} has two checks")
        _CHECKS[code] = Registered(code, function, takes)
        return function

    return register


@cache
def all_checks() -> Mapping[str, Registered]:
    """Every check by code; a module beside this one that starts with `onx` holds one."""
    package = importlib.import_module("onnxlint.checks")
    for found in pkgutil.iter_modules(package.__path__):
        if found.name.startswith("onx"):
            importlib.import_module(f"onnxlint.checks.{found.name}")
    return dict(sorted(_CHECKS.items()))


def run_checks(
    facts: Sequence[Fact], catalogue: Mapping[str, Rule], exporters: Sequence[str], wanted: Callable[[str, str], bool]
) -> tuple[tuple[Finding, ...], tuple[Diagnostic, ...]]:
    """Run every wanted check over the facts. A check that raises is a Diagnostic; the others go on."""
    found: list[tuple[Fact, Finding]] = []
    diagnostics: list[Diagnostic] = []
    by_kind: dict[type[Fact], list[Registered]] = {}
    for registered in all_checks().values():
        rule = catalogue[registered.code]
        if wanted(rule.code, rule.name):
            by_kind.setdefault(registered.takes, []).append(registered)
    for fact in facts:
        for registered in by_kind.get(type(fact), ()):
            try:
                objections = list(registered.run(fact))
            except Exception as error:  # noqa: BLE001 - a broken check must not lose the others' findings
                message = f"internal error in the check of {registered.code}: {type(error).__name__}: {error}"
                diagnostics.append(Diagnostic("error", message, fact.span.path, fact.span.line))
                continue
            for objection in objections:
                finding = _finding(catalogue[registered.code], fact, objection, exporters)
                if finding is not None:
                    found.append((fact, finding))
    return tuple(sorted(_one_per_cause(found, catalogue), key=_order)), tuple(diagnostics)


def _finding(rule: Rule, fact: Fact, objection: Objection, exporters: Sequence[str]) -> Finding | None:
    told = objection.effects if objection.effects is not None else rule.effects
    effects = {e: told[e] for e in EXPORTERS if e in told and e in exporters and e in fact.exporters}
    if not effects or all(o is Outcome.OK for o in effects.values()):
        return None
    severity = objection.severity or rule.severity
    if not fact.certain and severity is Severity.ERROR:
        severity = Severity.WARNING
    if not fact.sure:
        severity = Severity.NOTE
    return Finding(
        code=rule.code,
        rule=rule.name,
        severity=severity,
        message=objection.message,
        span=objection.span or fact.span,
        symbol=fact.symbol,
        trace=fact.trace,
        effects=effects,
        fix=Fix(objection.advice),
        text=fact.text,
        hints={**_hints(fact), **objection.hints},
    )


def _hints(fact: Fact) -> dict[str, str | int]:
    """What every remedy may ask for: the variables that were known, and the names around an export call."""
    hints: dict[str, str | int] = {f"${name}": told for name, told in fact.known.items()}
    if isinstance(fact, ExportCall):
        names = {"parameters": fact.parameters, "inputs": fact.input_names, "outputs": fact.output_names}
        hints |= {key: ",".join(told) for key, told in names.items() if told is not None}
        hints["model"] = fact.model
        if fact.dynamo is not None:
            hints["dynamo"] = int(fact.dynamo)
        if fact.examples is not None:
            hints["examples"] = ",".join("" if e.sizes is None else str(len(e.sizes)) for e in fact.examples)
    return hints


def _one_per_cause(found: Sequence[tuple[Fact, Finding]], catalogue: Mapping[str, Rule]) -> list[Finding]:
    """Keep one finding for each chain of rules that speak for each other at a statement, but all of any other rule."""
    spoken_for = {rule.spoken_for_by for rule in catalogue.values()}
    best: dict[tuple[str, int, str], tuple[tuple[bool, int, int], Finding]] = {}
    kept: list[Finding] = []
    rank = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.NOTE: 2}
    for fact, finding in found:
        chain = speakers(catalogue[finding.code], catalogue)
        if len(chain) == 1 and finding.code not in spoken_for:
            kept.append(finding)
            continue
        mine = (finding.severity is Severity.NOTE, len(chain), rank[finding.severity])
        key = (finding.span.path, fact.statement, chain[0])
        if key not in best or mine < best[key][0]:
            best[key] = mine, finding
    unique: dict[tuple[str, Span], Finding] = {}
    for finding in _merged([*kept, *(finding for _, finding in best.values())], catalogue):
        place = (finding.code, finding.span)
        known = unique.get(place)
        unique[place] = finding if known is None else replace(known, effects={**finding.effects, **known.effects})
    return list(unique.values())


def _merged(found: Sequence[Finding], catalogue: Mapping[str, Rule]) -> list[Finding]:
    """Make what begins where a finding of the rule that it is merged into begins a part of that one."""
    into = {rule.code: rule.merged_into for rule in catalogue.values() if rule.merged_into is not None}
    hosts = {(f.span.path, f.span.line, f.span.column, f.code): f for f in found if f.code in into.values()}
    kept: dict[int, Finding] = {id(f): f for f in found}
    for finding in found:
        host = hosts.get((finding.span.path, finding.span.line, finding.span.column, into.get(finding.code, "")))
        if host is not None:
            del kept[id(finding)]
            refused = {e: o for e, o in finding.effects.items() if o is Outcome.EXPORT_ERROR}
            kept[id(host)] = replace(kept[id(host)], effects={**kept[id(host)].effects, **refused})
    return list(kept.values())


def _order(finding: Finding) -> tuple[str, int, int, str]:
    return finding.span.path, finding.span.line, finding.span.column, finding.code
