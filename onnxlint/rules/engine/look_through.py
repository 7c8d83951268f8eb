"""The libcst pass over one file: the rules look at what was observed in it, on the nodes that it was observed at."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any

import msgspec

from onnxlint.base.catalogue import Contract, watched
from onnxlint.base.records import EXPORTERS, Diagnostic, Finding, Fix, Outcome, Severity, Span, described, number_frozen
from onnxlint.flow.state.observations import Escape, Observation, SizeSplit
from onnxlint.rules.engine.observed_file import ObservedFile
from onnxlint.rules.engine.registry import ends_run, rules_of, titled
from onnxlint.rules.engine.rule import Objection, Rule
from onnxlint.rules.engine.source_page import Page

_Methods = Iterable[tuple[Rule, Callable[..., Any]]]


def look_through(
    path: str,
    text: str,
    observations: Sequence[Observation],
    codes: Collection[str],
    catalogue: Mapping[str, Contract],
    exporters: Sequence[str],
) -> tuple[tuple[Finding, ...], tuple[Diagnostic, ...]]:
    """What the rules of some codes say of what was observed in one file.

    Only the statements in which something was observed that one of them looks at are parsed, each once, and all rules
    go through their nodes together. A rule that raises is a Diagnostic.
    """
    rules, broken = rules_of(codes)
    running = [type(rule)() for rule in rules.values()]
    kinds: set[type[Any]] = {type(observation) for observation in observations}
    methods = {kind: _methods(((rule, rule.handlers) for rule in running), kind) for kind in kinds}
    visiting = {kind for rule in running for kind in rule.visitors}
    methods |= {kind: _methods(((rule, rule.visitors) for rule in running), kind) for kind in visiting}
    concerned = [observation for observation in observations if visiting or methods[type(observation)]]
    file = ObservedFile(Page(path, text), concerned, broken)
    operators = watched(catalogue)
    for rule in running:
        rule.look_at(file, operators.difference(catalogue[rule.code].operators))
    order = {id(observation): number for number, observation in enumerate(concerned)}
    findings: list[tuple[int, Finding]] = []
    for piece in file.pieces:
        for node in piece.nodes or piece.observed:
            calls: list[tuple[Observation, tuple[object, ...]]]
            calls = [(observation, (node, observation)) for observation in piece.observed.get(node, ())]
            if type(node) in methods:
                calls.append((file.around(node), (node,)))
            for observation, arguments in calls:
                wanted = [(r, m) for r, m in methods.get(type(arguments[-1]), ()) if r.concerns(arguments[-1])]
                objected = _objected(wanted, arguments, observation, file, catalogue, exporters, broken)
                findings += ((order[id(observation)], finding) for finding in objected)
    findings.sort(key=itemgetter(0))  # as they were observed
    return tuple(finding for _, finding in findings), tuple(broken)


def _objected(
    methods: _Methods,
    arguments: tuple[object, ...],
    observation: Observation,
    file: ObservedFile,
    catalogue: Mapping[str, Contract],
    exporters: Sequence[str],
    broken: list[Diagnostic],
) -> Sequence[Finding]:
    """What the rules say of one node, or of one observation at it."""
    objected: list[tuple[bool, Finding]] = []
    for rule, method in methods:
        rule.reports.clear()
        try:
            said = method(rule, *arguments)
            objections = (list(said) if len(arguments) > 1 else []) + rule.reports  # a visitor reports
            made = [(o.ends, _finding(catalogue[rule.code], observation, o, file, exporters)) for o in objections]
        except BaseException as error:  # it must not lose the others' findings
            if ends_run(error):
                raise
            message = f"internal error in {titled(rule.code)}: {described(error)}"
            broken.append(Diagnostic("error", message, observation.span.path, observation.span.line))
            continue
        objected += ((ends, finding) for ends, finding in made if finding is not None)
    ended = any(ends for ends, _ in objected)
    return [replace(f, severity=Severity.NOTE) if ended and not ends else f for ends, f in objected]


def _methods(rules: Iterable[tuple[Rule, Mapping[type[Any], Callable[..., Any]]]], kind: type[Any]) -> _Methods:
    """Each rule with its method for a kind of observation or node, or for the nearest that the kind is derived from."""
    methods = ((rule, next((own[k] for k in kind.__mro__ if k in own), None)) for rule, own in rules)
    return [(rule, method) for rule, method in methods if method is not None]


def _finding(
    rule: Contract, observation: Observation, objection: Objection, file: ObservedFile, exporters: Sequence[str]
) -> Finding | None:
    stated = objection.effects if objection.effects is not None else rule.effects
    if rule.plugin is not None and (not stated or not {*EXPORTERS}.issuperset(stated)):
        raise ValueError(f"effects={stated!r}; it is an outcome for one or more of {', '.join(EXPORTERS)}")
    advice = objection.advice or rule.instead
    if not advice:
        raise ValueError("an objection without advice, and the contract has no `instead`")
    effects = {e: stated[e] for e in EXPORTERS if e in stated and e in exporters and e in observation.exporters}
    right = objection.effects and set(objection.effects.values()) == {Outcome.OK}  # what is wrong is something else
    if not effects or (not right and all(o is Outcome.OK for o in effects.values())):
        return None
    severity = objection.severity or rule.severity
    if not observation.certain and severity is Severity.ERROR:
        severity = Severity.WARNING
    certain = observation.sure or (objection.static_too and observation.doubt == "axis")
    if not certain or observation.outside:
        severity = Severity.NOTE
    at = objection.at or observation.span
    owners = {"function": f"{observation.symbol} ", "class": "", "file": f"{observation.span.path} "}
    about = objection.about and f"{owners[objection.among]}{objection.about}"
    frozen = observation.frozen or observation.span
    if frozen in file.frozen and (observation.frozen or isinstance(observation, (Escape, SizeSplit))):
        about = number_frozen(file.frozen[frozen])
    span = at if isinstance(at, Span) else file.span(at)
    finding = Finding(
        code=rule.code,
        rule=rule.name,
        severity=severity,
        message=objection.message,
        span=span,
        symbol=observation.symbol,
        trace=observation.trace,
        effects=effects,
        fix=Fix(advice),
        statement=observation.statement if span.path == observation.span.path else 0,
        text=observation.text,
        hints={**{f"${name}": v for name, v in observation.described.items()}, **observation.hints, **objection.hints},
        outside=observation.outside,
        doubt=observation.doubt,
        about=about,
        exported=observation.exported,
    )
    # What a package's rule says may be of any type, and has to be found out here rather than in a report.
    return finding if rule.plugin is None else msgspec.msgpack.decode(msgspec.msgpack.encode(finding), type=Finding)
