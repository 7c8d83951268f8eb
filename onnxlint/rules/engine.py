"""The libcst pass: every rule looks at what was observed in a file, on the nodes that it was observed at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import libcst as cst
import msgspec

from onnxlint import workers
from onnxlint.cache import Store, digest
from onnxlint.catalogue import Rule as Contract
from onnxlint.catalogue import speakers
from onnxlint.flow.facts import ExportCall, Fact
from onnxlint.records import EXPORTERS, Diagnostic, Finding, Fix, Outcome, Severity, Span, described
from onnxlint.rules.observations import ObservationProvider
from onnxlint.rules.page import Page
from onnxlint.rules.registry import all_rules
from onnxlint.rules.rule import Handler, Objection, Rule
from onnxlint.rules.tree import Tree

KIND = "findings"
WORTH_PROCESSES = 40  # files to look through before other processes are worth their start


class _Seen(msgspec.Struct, frozen=True, array_like=True):
    """What the rules say of one file: each finding with the first line of its statement."""

    findings: tuple[tuple[int, Finding], ...]
    broken: tuple[Diagnostic, ...] = ()


_seen = msgspec.msgpack.Decoder(_Seen)
_NOTHING = Store(None)


def run_rules(
    facts: Sequence[Fact],
    catalogue: Mapping[str, Contract],
    exporters: Sequence[str],
    wanted: Callable[[str, str], bool],
    text_of: Callable[[str], str | None],
    store: Store = _NOTHING,
    processes: int = 1,
) -> tuple[tuple[Finding, ...], tuple[Diagnostic, ...]]:
    """Run every wanted rule over what was observed. A rule that raises is a Diagnostic; the others go on.

    `text_of(path)` is the text that was checked. What the rules said of a file is kept in `store` for the next run.
    """
    rules = [rule for code, rule in all_rules().items() if wanted(code, catalogue[code].name)]
    kinds = {kind for rule in rules for kind in rule.handlers}
    by_path: dict[str, list[Fact]] = {}
    for fact in facts:
        if type(fact) in kinds:
            by_path.setdefault(fact.span.path, []).append(fact)
    told: dict[str, _Seen] = {}
    texts = {path: text_of(path) or "" for path in by_path}
    keys: dict[str, bytes] = {}
    asked = msgspec.msgpack.encode((sorted(rule.code for rule in rules), list(exporters)))
    for path, own in by_path.items():
        if store.usable:
            keys[path] = _key(path, texts[path], asked, own)
            known = _decoded(store.get(KIND, keys[path])) if keys[path] else None
            if known is not None and all(f.span.path == path for _, f in known.findings):
                told[path] = known
    left = [path for path in by_path if path not in told]

    def work(number: int) -> _Seen:
        path = left[number]
        return look_through(path, texts[path], by_path[path], rules, catalogue, exporters)

    worth = len(left) >= WORTH_PROCESSES
    for number, result in workers.run(work, range(len(left)), processes if worth else 1):
        path = left[number]
        told[path] = result
        if keys.get(path) and not result.broken:
            store.put(KIND, keys[path], msgspec.msgpack.encode(result))
    found = [pair for path in by_path for pair in told[path].findings]
    broken = tuple(d for path in by_path for d in told[path].broken)
    return tuple(sorted(_one_per_cause(found, catalogue), key=_order)), broken


def look_through(
    path: str,
    text: str,
    facts: Sequence[Fact],
    rules: Sequence[Rule],
    catalogue: Mapping[str, Contract],
    exporters: Sequence[str],
) -> _Seen:
    """What some rules say of what was observed in one file: of its classes and functions with observations alone."""
    page = Page(path, text)
    handlers: dict[type[Fact], list[tuple[Rule, Handler]]] = {}
    for rule in rules:
        for kind, handler in rule.handlers.items():
            handlers.setdefault(kind, []).append((rule, handler))
    findings: list[tuple[int, Finding]] = []
    broken: list[Diagnostic] = []
    for node, fact in _visited(page, facts, broken):
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
    return _Seen(tuple(findings), tuple(broken))


def _visited(page: Page, facts: Sequence[Fact], broken: list[Diagnostic]) -> Iterator[tuple[cst.CSTNode, Fact]]:
    """The observations of a file with their nodes, function by function; of those functions alone."""
    trees: dict[Tree, list[Fact]] = {}
    for fact in facts:
        line = fact.span.line
        try:
            trees.setdefault(page.region(line).around(line), []).append(fact)
        except Exception as error:  # noqa: BLE001 - what libcst does not read must not lose what else is in the file
            broken.append(Diagnostic("error", f"`{fact.text}` is not checked: {described(error)}", page.path, line))
    for tree, own in trees.items():
        yield from ((node, fact) for node, seen in ObservationProvider(tree, own).by_node().items() for fact in seen)


def _key(path: str, text: str, asked: bytes, facts: Sequence[Fact]) -> bytes:
    """What the findings of a file hang on; b"" for a path that is no text."""
    try:
        return digest(path, text, asked, msgspec.msgpack.encode([(type(f).__name__, f) for f in facts]))
    except UnicodeEncodeError:
        return b""


def _decoded(data: bytes | None) -> _Seen | None:
    if data is None:
        return None
    try:
        return _seen.decode(data)
    except (msgspec.MsgspecError, RecursionError):
        return None


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


def _one_per_cause(found: Sequence[tuple[int, Finding]], catalogue: Mapping[str, Contract]) -> list[Finding]:
    """Keep one finding for each chain of rules that speak for each other at a statement, but all of any other rule."""
    spoken_for = {rule.spoken_for_by for rule in catalogue.values()}
    best: dict[tuple[str, int, str], tuple[tuple[bool, int, int], Finding]] = {}
    kept: list[Finding] = []
    rank = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.NOTE: 2}
    for statement, finding in found:
        chain = speakers(catalogue[finding.code], catalogue)
        if len(chain) == 1 and finding.code not in spoken_for:
            kept.append(finding)
            continue
        mine = (finding.severity is Severity.NOTE, len(chain), rank[finding.severity])
        key = (finding.span.path, statement, chain[0])
        if key not in best or mine < best[key][0]:
            best[key] = mine, finding
    unique: dict[tuple[str, Span], Finding] = {}
    for finding in _merged([*kept, *(finding for _, finding in best.values())], catalogue):
        place = (finding.code, finding.span)
        known = unique.get(place)
        unique[place] = finding if known is None else replace(known, effects={**finding.effects, **known.effects})
    return list(unique.values())


def _merged(found: Sequence[Finding], catalogue: Mapping[str, Contract]) -> list[Finding]:
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
