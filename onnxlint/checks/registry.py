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

from onnxlint.catalogue import Rule
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


# One statement, one cause, one finding: of these codes the first one at a statement stands for the others.
_ONE_CAUSE = (
    "ONX109",
    "ONX101",
    "ONX209",
    "ONX105",
    "ONX104",
    "ONX103",
    "ONX107",
    "ONX114",
    "ONX115",
    "ONX106",
    "ONX110",
    "ONX102",
    "ONX111",
    "ONX402",
    "ONX403",
    "ONX203",
    "ONX412",
    "ONX401",
    "ONX208",
    "ONX217",
    "ONX219",
    "ONX202",
)


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
    return tuple(sorted(_one_per_cause(found), key=_order)), tuple(diagnostics)


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


def _one_per_cause(found: Sequence[tuple[Fact, Finding]]) -> list[Finding]:
    best: dict[tuple[str, int], Finding] = {}
    kept: list[Finding] = []
    rank = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.NOTE: 2}
    for fact, finding in found:
        if finding.code not in _ONE_CAUSE:
            kept.append(finding)
            continue
        key = (finding.span.path, fact.statement)
        other = best.get(key)
        mine = (finding.severity is Severity.NOTE, _ONE_CAUSE.index(finding.code), rank[finding.severity])
        if other is None or mine < (
            other.severity is Severity.NOTE,
            _ONE_CAUSE.index(other.code),
            rank[other.severity],
        ):
            best[key] = finding
    unique: dict[tuple[str, Span], Finding] = {}
    for finding in _with_their_write([*kept, *best.values()]):
        key2 = (finding.code, finding.span)
        known = unique.get(key2)
        unique[key2] = finding if known is None else replace(known, effects={**finding.effects, **known.effects})
    return list(unique.values())


def _with_their_write(found: Sequence[Finding]) -> list[Finding]:
    """Leave out a `.data` that is there to write state: keeping none mends both, and dynamo refuses at the write."""
    writes = {(f.span.path, f.span.line, f.span.column): f for f in found if f.code == "ONX304"}
    kept: dict[int, Finding] = {id(f): f for f in found}
    for finding in found:
        write = writes.get((finding.span.path, finding.span.line, finding.span.column))
        if finding.code == "ONX411" and write is not None:
            del kept[id(finding)]
            kept[id(write)] = replace(write, effects={**write.effects, "dynamo": finding.effects["dynamo"]})
    return list(kept.values())


def _order(finding: Finding) -> tuple[str, int, int, str]:
    return finding.span.path, finding.span.line, finding.span.column, finding.code
