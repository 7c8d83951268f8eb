"""The libcst pass over one file: the rules look at what was observed in it, on the nodes that it was observed at."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import libcst as cst
import msgspec

from onnxlint.base.catalogue import Contract
from onnxlint.base.records import EXPORTERS, Diagnostic, Finding, Fix, Outcome, Severity, described
from onnxlint.flow.state.observations import ExportCall, Observation
from onnxlint.rules.engine.cst_tree import Tree
from onnxlint.rules.engine.metadata import ObservationProvider
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

    Only functions with observations that one of them looks at are read. A rule that raises is a Diagnostic.
    """
    page = Page(path, text)
    handlers: dict[type[Observation], list[tuple[Rule, Handler]]] = {}
    rules, broken = rules_of(codes)
    for rule in rules.values():
        for kind, handler in rule.handlers.items():
            handlers.setdefault(kind, []).append((rule, handler))
    findings: list[tuple[int, Finding]] = []
    for node, observation in _visited(
        page, [observation for observation in observations if type(observation) in handlers], broken
    ):
        for rule, handler in handlers[type(observation)]:
            try:
                made = [
                    _finding(catalogue[rule.code], observation, o, exporters) for o in handler(rule, node, observation)
                ]
            except Exception as error:  # noqa: BLE001 - a broken rule must not lose the others' findings
                message = f"internal error in {titled(rule.code)}: {described(error)}"
                broken.append(Diagnostic("error", message, observation.span.path, observation.span.line))
                continue
            findings += ((observation.statement, finding) for finding in made if finding is not None)
    return tuple(findings), tuple(broken)


def _visited(
    page: Page, observations: Sequence[Observation], broken: list[Diagnostic]
) -> Iterator[tuple[cst.CSTNode, Observation]]:
    """The observations of a file with their nodes, function by function; of those functions alone.

    What libcst does not read, such as a form feed in an indentation, Python does: an empty module stands for its nodes.
    """
    trees: dict[Tree, list[Observation]] = {}
    for observation in observations:
        line = observation.span.line
        try:
            trees.setdefault(page.region(line).around(line), []).append(observation)
        except (cst.ParserSyntaxError, RecursionError):
            yield _UNREAD, observation
        except Exception as error:  # noqa: BLE001 - an error of our own must not lose the findings of the file
            broken.append(_internal(error, observation))
            yield _UNREAD, observation
    for tree, own in trees.items():
        try:
            nodes = ObservationProvider(tree, own).by_node()
        except Exception as error:  # noqa: BLE001 - as above
            broken.append(_internal(error, own[0]))
            nodes = {_UNREAD: own}
        yield from ((node, observation) for node, seen in nodes.items() for observation in seen)


_UNREAD = cst.Module([])


def _internal(error: Exception, observation: Observation) -> Diagnostic:
    return Diagnostic(
        "error", f"internal error before the rules: {described(error)}", observation.span.path, observation.span.line
    )


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
    if not observation.sure:
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
    )
    # What a package's rule says may be of any type, and has to be found out here rather than in a report.
    return finding if rule.plugin is None else msgspec.msgpack.decode(msgspec.msgpack.encode(finding), type=Finding)


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
