"""The libcst pass over one file: the rules look at what was observed in it, on the nodes that it was observed at."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import libcst as cst
import msgspec

from onnxlint.base.catalogue import Contract
from onnxlint.base.records import EXPORTERS, Diagnostic, Finding, Fix, Outcome, Severity, described
from onnxlint.flow.state.observations import ExportCall, Loop, Observation, OpCall, StateWrite
from onnxlint.rules.engine.registry import rules_of, titled
from onnxlint.rules.engine.rule import Handler, Objection, Rule
from onnxlint.rules.engine.source_page import Page


def look_through(
    path: str,
    text: str,
    observations: Sequence[Observation],
    codes: Collection[str],
    catalogue: Mapping[str, Contract],
    exporters: Sequence[str],
) -> tuple[tuple[tuple[int, Finding], ...], tuple[Diagnostic, ...]]:
    """What the rules of some codes say of what was observed in one file; each finding with its statement's first line.

    Only what was observed and one of them looks at is parsed. A rule that raises is a Diagnostic.
    """
    page = Page(path, text)
    handlers: dict[type[Observation], list[tuple[Rule, Handler]]] = {}
    rules, broken = rules_of(codes)
    for rule in rules.values():
        for kind, handler in rule.handlers.items():
            handlers.setdefault(kind, []).append((rule, handler))
    findings: list[tuple[int, Finding]] = []
    for observation in (observation for observation in observations if type(observation) in handlers):
        node = _node_of(page, observation, broken)
        objected: list[tuple[bool, Finding]] = []
        for rule, handler in handlers[type(observation)]:
            try:
                made = [
                    (o.ends, _finding(catalogue[rule.code], observation, o, exporters))
                    for o in handler(rule, node, observation)
                ]
            except Exception as error:  # noqa: BLE001 - a broken rule must not lose the others' findings
                message = f"internal error in {titled(rule.code)}: {described(error)}"
                broken.append(Diagnostic("error", message, observation.span.path, observation.span.line))
                continue
            objected += ((ends, finding) for ends, finding in made if finding is not None)
        ended = any(ends for ends, _ in objected)
        findings += [
            (observation.statement, replace(f, severity=Severity.NOTE) if ended and not ends else f)
            for ends, f in objected
        ]
    return tuple(findings), tuple(broken)


def _node_of(page: Page, observation: Observation, broken: list[Diagnostic]) -> cst.CSTNode:
    """The expression or statement that was observed; an empty module where libcst does not read it alone."""
    try:
        return page.node(observation.span)
    except (cst.ParserSyntaxError, RecursionError):
        pass
    except Exception as error:  # noqa: BLE001 - an error of our own must not lose the findings of the file
        message = f"internal error before the rules: {described(error)}"
        broken.append(Diagnostic("error", message, observation.span.path, observation.span.line))
    return _UNREAD


_UNREAD = cst.Module([])


def _finding(
    rule: Contract, observation: Observation, objection: Objection, exporters: Sequence[str]
) -> Finding | None:
    told = objection.effects if objection.effects is not None else rule.effects
    effects = {e: told[e] for e in EXPORTERS if e in told and e in exporters and e in observation.exporters}
    if not effects or all(o is Outcome.OK for o in effects.values()):
        return None
    severity = objection.severity or rule.severity
    if not observation.certain and severity is Severity.ERROR:
        severity = Severity.WARNING
    if not observation.sure or observation.outside:
        severity = Severity.NOTE
    finding = Finding(
        code=rule.code,
        rule=rule.name,
        severity=severity,
        message=objection.message,
        span=objection.span or observation.span,
        symbol=observation.symbol,
        trace=observation.trace,
        effects=effects,
        fix=Fix(objection.advice),
        text=observation.text,
        hints={**_hints(observation), **objection.hints},
        outside=observation.outside,
        doubt=observation.doubt,
        about=f"{observation.symbol} {objection.about}" if objection.about else _about(observation),
    )
    # What a package's rule says may be of any type, and has to be found out here rather than in a report.
    return finding if rule.plugin is None else msgspec.msgpack.decode(msgspec.msgpack.encode(finding), type=Finding)


def _about(observation: Observation) -> str:
    """What all findings of one cause have in common inside a class, or a function; nothing where each is its own."""
    function, about = observation.symbol, ""
    match observation:
        case OpCall(hazard="complex"):
            return "complex numbers"
        case Loop(axes=(_, *_)):
            return f"loops over {' and '.join(observation.axes)}"
        case OpCall(hazard="unsupported"):
            about = f"{observation.op} {observation.detail}"
        case OpCall(hazard="packed"):
            about = "packed sequence"
        case StateWrite(kind="cache"):
            about = "caches"
    return f"{function} {about}" if about else ""


def _hints(observation: Observation) -> dict[str, str | int]:
    """What every fix may ask for: the variables that were known, and the names around an export call."""
    hints: dict[str, str | int] = {f"${name}": told for name, told in observation.known.items()}
    if isinstance(observation, ExportCall):
        names = {
            "parameters": observation.parameters,
            "inputs": observation.input_names,
            "outputs": observation.output_names,
        }
        hints |= {key: ",".join(told) for key, told in names.items() if told is not None}
        hints["model"] = observation.model
        if observation.dynamo is not None:
            hints["dynamo"] = int(observation.dynamo)
        if observation.examples is not None:
            hints["examples"] = ",".join("" if e.sizes is None else str(len(e.sizes)) for e in observation.examples)
    return hints
