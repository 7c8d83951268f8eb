"""The libcst pass over one file: the rules look at what was observed in it, on the nodes that it was observed at."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import libcst as cst

from onnxlint.catalogue import Rule as Contract
from onnxlint.flow.facts import ExportCall, Fact
from onnxlint.records import EXPORTERS, Diagnostic, Finding, Fix, Outcome, Severity, described
from onnxlint.rules.observations import ObservationProvider
from onnxlint.rules.page import Page
from onnxlint.rules.registry import all_rules
from onnxlint.rules.rule import Handler, Objection, Rule
from onnxlint.rules.tree import Tree


def look_through(
    path: str,
    text: str,
    facts: Sequence[Fact],
    codes: Collection[str],
    catalogue: Mapping[str, Contract],
    exporters: Sequence[str],
) -> tuple[tuple[tuple[int, Finding], ...], tuple[Diagnostic, ...]]:
    """What the rules of some codes say of what was observed in one file; each finding with its statement's first line.

    Only functions with observations that one of them looks at are read. A rule that raises is a Diagnostic.
    """
    page = Page(path, text)
    handlers: dict[type[Fact], list[tuple[Rule, Handler]]] = {}
    for rule in (rule for code, rule in all_rules().items() if code in codes):
        for kind, handler in rule.handlers.items():
            handlers.setdefault(kind, []).append((rule, handler))
    findings: list[tuple[int, Finding]] = []
    broken: list[Diagnostic] = []
    for node, fact in _visited(page, [fact for fact in facts if type(fact) in handlers], broken):
        for rule, handler in handlers[type(fact)]:
            try:
                objections = list(handler(rule, node, fact))
            except Exception as error:  # noqa: BLE001 - a broken rule must not lose the others' findings
                message = f"internal error in {rule.code}: {described(error)}"
                broken.append(Diagnostic("error", message, fact.span.path, fact.span.line))
                continue
            for objection in objections:
                finding = _finding(catalogue[rule.code], fact, objection, exporters)
                if finding is not None:
                    findings.append((fact.statement, finding))
    return tuple(findings), tuple(broken)


def _visited(page: Page, facts: Sequence[Fact], broken: list[Diagnostic]) -> Iterator[tuple[cst.CSTNode, Fact]]:
    """The observations of a file with their nodes, function by function; of those functions alone.

    What libcst does not read, such as a form feed in an indentation, Python does: an empty module stands for its nodes.
    """
    trees: dict[Tree, list[Fact]] = {}
    for fact in facts:
        line = fact.span.line
        try:
            trees.setdefault(page.region(line).around(line), []).append(fact)
        except (cst.ParserSyntaxError, RecursionError):
            yield _UNREAD, fact
        except Exception as error:  # noqa: BLE001 - an error of our own must not lose the findings of the file
            broken.append(_internal(error, fact))
            yield _UNREAD, fact
    for tree, own in trees.items():
        try:
            nodes = ObservationProvider(tree, own).by_node()
        except Exception as error:  # noqa: BLE001 - as above
            broken.append(_internal(error, own[0]))
            nodes = {_UNREAD: own}
        yield from ((node, fact) for node, seen in nodes.items() for fact in seen)


_UNREAD = cst.Module([])


def _internal(error: Exception, fact: Fact) -> Diagnostic:
    return Diagnostic("error", f"internal error before the rules: {described(error)}", fact.span.path, fact.span.line)


def _finding(rule: Contract, fact: Fact, objection: Objection, exporters: Sequence[str]) -> Finding | None:
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
    """What every fix may ask for: the variables that were known, and the names around an export call."""
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
