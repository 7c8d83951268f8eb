"""Findings of a run: what the rules say of each file, from the cache where neither it nor what was observed is new.

libcst and the rules are imported only where there is something to look at: a run that knows all need not wait for them.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import msgspec

from onnxlint.base.cache import Store, digest
from onnxlint.base.catalogue import Contract, speakers
from onnxlint.base.records import EXPORTER_NAMES, Diagnostic, Finding, Fix, Outcome, Severity, Span, grouped
from onnxlint.base.workers import ALONE, Workers
from onnxlint.flow.state.observations import ExportCall, Observation

KIND = "findings"
WORTH_PROCESSES = 40  # files to work on before other processes are worth their start


class Said(msgspec.Struct, frozen=True, array_like=True):
    """What the rules say of one file."""

    findings: tuple[Finding, ...]
    broken: tuple[Diagnostic, ...] = ()


class Written(msgspec.Struct, frozen=True, array_like=True):
    """The fixes of one file, in the order of its findings; `whole` is a hash of these and of its text."""

    whole: bytes
    fixes: list[Fix | None]
    broken: tuple[Diagnostic, ...] = ()


R = TypeVar("R", Said, Written)
_NOTHING = Store(None)


def run_rules(
    observations: Sequence[Observation],
    catalogue: Mapping[str, Contract],
    exporters: Sequence[str],
    wanted: Callable[[str, str], bool],
    text_of: Callable[[str], str | None],
    store: Store = _NOTHING,
    workers: Workers = ALONE,
) -> tuple[tuple[Finding, ...], tuple[Diagnostic, ...]]:
    """Run every wanted rule over what was observed. A rule that raises is a Diagnostic; the others go on.

    `text_of(path)` is the text that was checked. What the rules said of a file is kept in `store` for the next run.
    """
    codes = sorted(code for code, contract in catalogue.items() if wanted(code, contract.name))
    by_path = grouped(observations, lambda observation: observation.span.path)
    texts = {path: text_of(path) or "" for path in by_path}
    asked = msgspec.msgpack.encode((codes, list(exporters), [catalogue[code].version for code in codes]))

    def key(path: str) -> bytes:
        return digest(path, texts[path], asked, msgspec.msgpack.encode([(type(o).__name__, o) for o in by_path[path]]))

    def work(path: str) -> Said:
        from onnxlint.rules.engine.look_through import look_through

        return Said(*look_through(path, texts[path], by_path[path], codes, catalogue, exporters))

    def fits(path: str, said: Said) -> bool:
        return all(finding.span.path == path for finding in said.findings)

    results = by_file(KIND, by_path, Said, key, work, fits, store, workers)
    said = [finding for path in by_path for finding in results[path].findings]
    broken = tuple(dict.fromkeys(d for path in by_path for d in results[path].broken))
    merged = (_in_its_class(finding, texts[finding.span.path]) for finding in _one_per_cause(said, catalogue))
    running = _of_calls_that_run(merged, observations)
    of_use = _of_chosen_sizes(_of_chosen_exporter(running, observations, exporters), observations, catalogue)
    read = _with_something_to_read(list(of_use))
    return tuple(sorted(read, key=lambda f: (f.span.path, f.span.line, f.span.column, f.code))), broken


def by_file(
    kind: str,
    paths: Iterable[str],
    struct: type[R],
    key: Callable[[str], bytes],
    work: Callable[[str], R],
    fits: Callable[[str, R], bool],
    store: Store,
    workers: Workers,
) -> dict[str, R]:
    """A result for each file: from the cache where one `fits`, else worked out; one without an error is kept."""
    keys: dict[str, bytes] = {}
    results: dict[str, R] = {}
    for path in paths if store.usable else ():
        try:
            keys[path] = key(path)
            data = store.get(kind, keys[path])
            cached = msgspec.msgpack.decode(data, type=struct) if data is not None else None
        except (UnicodeEncodeError, msgspec.MsgspecError, RecursionError):  # the first for a path that is no text
            continue
        if cached is not None and fits(path, cached):
            results[path] = cached
    left = [path for path in paths if path not in results]
    worth = len(left) >= WORTH_PROCESSES
    if left:
        import libcst  # noqa: F401 - once, before there are processes that would each do it

    def take(number: int, result: R) -> None:
        path = left[number]
        results[path] = result
        if path in keys and not result.broken:
            store.put(kind, keys[path], msgspec.msgpack.encode(result))

    workers.run(lambda n: work(left[n]), range(len(left)), take, worth)
    return results


def _one_per_cause(findings: Sequence[Finding], catalogue: Mapping[str, Contract]) -> list[Finding]:
    """Keep one finding for each chain of rules that speak for each other at a statement, but all of any other rule."""
    spoken_for = {rule.spoken_for_by for rule in catalogue.values()}
    best: dict[tuple[str, int, str], tuple[tuple[bool, int, int], Finding]] = {}
    alone: list[Finding] = []
    rank = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.NOTE: 2}
    for finding in findings:
        chain = speakers(catalogue[finding.code], catalogue)
        if len(chain) == 1 and finding.code not in spoken_for:
            alone.append(finding)
            continue
        mine = (finding.severity is Severity.NOTE, len(chain), rank[finding.severity])
        key = (finding.span.path, finding.statement or finding.span.line, chain[0])
        if key not in best or mine < best[key][0]:
            best[key] = mine, finding
    unique: dict[tuple[str, Span], Finding] = {}
    for finding in _merged([*alone, *(finding for _, finding in best.values())], catalogue):
        place = (finding.code, finding.span)
        earlier = unique.get(place)
        unique[place] = finding if earlier is None else replace(earlier, effects={**finding.effects, **earlier.effects})
    return list(unique.values())


def _merged(findings: Sequence[Finding], catalogue: Mapping[str, Contract]) -> list[Finding]:
    """Make what begins where a finding of the rule that it is merged into begins a part of that one."""
    into = {rule.code: rule.merged_into for rule in catalogue.values() if rule.merged_into is not None}
    hosts = {(f.span.path, f.span.line, f.span.column, f.code): f for f in findings if f.code in into.values()}
    by_id: dict[int, Finding] = {id(f): f for f in findings}
    for finding in findings:
        host = hosts.get((finding.span.path, finding.span.line, finding.span.column, into.get(finding.code, "")))
        if host is not None:
            del by_id[id(finding)]
            refused = {e: o for e, o in finding.effects.items() if o is Outcome.EXPORT_ERROR}
            by_id[id(host)] = replace(by_id[id(host)], effects={**by_id[id(host)].effects, **refused})
    return list(by_id.values())


def _of_chosen_exporter(
    findings: Iterable[Finding], observations: Iterable[Observation], exporters: Sequence[str]
) -> Iterator[Finding]:
    """The findings; where every export call asks for one exporter, those that only the other one suffers are notes."""
    calls = [o for o in observations if isinstance(o, ExportCall) and not o.outside]
    chosen = {call.chosen for call in calls}
    other = {"torchscript": "dynamo", "dynamo": "torchscript"}.get("".join(chosen), "")
    for finding in findings:
        harmed = {e for e, outcome in finding.effects.items() if outcome is not Outcome.OK}
        if harmed == {other} and chosen.issubset(exporters) and not finding.outside:
            path, line = min((call.span.path, call.span.line) for call in calls)
            harms, used = EXPORTER_NAMES[other], EXPORTER_NAMES[min(chosen)]
            reason = f"only {harms} is affected, and {path}:{line} exports with {used}"
            finding = replace(finding, severity=Severity.NOTE, outside=reason)
        yield finding


def _of_calls_that_run(findings: Iterable[Finding], observations: Iterable[Observation]) -> Iterator[Finding]:
    """The findings; where another export runs, those of calls that hardly ever do are notes."""
    calls = [o for o in observations if isinstance(o, ExportCall) and not o.outside]
    idle = [call for call in calls if call.unlikely] if not all(call.unlikely for call in calls) else []
    for finding in findings:
        at = finding.span
        call = next((c for c in idle if c.span.path == at.path and c.span.line <= at.line <= c.span.end_line), None)
        if call is not None and not finding.outside:
            finding = replace(finding, severity=Severity.NOTE, outside=call.unlikely)
        yield finding


_IN_A_TEST = re.compile(r"(?:^|/)(?:tests?/|test_[^/]*$)|_test\.py$")


def _of_chosen_sizes(
    findings: Iterable[Finding], observations: Iterable[Observation], catalogue: Mapping[str, Contract]
) -> Iterator[Finding]:
    """The findings; where every export call has one size in mind, those of sizes that may change are notes."""
    calls = [o for o in observations if isinstance(o, ExportCall) and not o.outside]
    own = [call for call in calls if not _IN_A_TEST.search(call.span.path)]
    fixed = bool(own) and all(call.asks_for_fixed_sizes or call.takes_one_image for call in own)
    for finding in findings:
        rule = catalogue.get(finding.code)
        if fixed and rule is not None and rule.of_sizes and not finding.outside:
            path, line = min((call.span.path, call.span.line) for call in own)
            reason = f"{path}:{line} exports for one size"
            finding = replace(finding, severity=Severity.NOTE, outside=reason)
        yield finding


def _with_something_to_read(findings: list[Finding]) -> list[Finding]:
    """The findings; if all are notes, those that only an undeclared height, width or length decides are warnings.

    Of these, what ends an export comes first: the rest is left for when the export goes through.
    """
    if any(finding.severity is not Severity.NOTE for finding in findings):
        return findings
    left = [f for f in findings if f.doubt == "axis" and not f.outside]
    shown = [f for f in left if Outcome.EXPORT_ERROR in f.effects.values()] or left
    return [replace(f, severity=Severity.WARNING) if f in shown else f for f in findings]


def _in_its_class(finding: Finding, text: str) -> Finding:
    """The finding with the class that it stands in, else the function, as a part of what it is about."""
    if not finding.about or finding.about.startswith((f"{finding.symbol} ", f"{finding.span.path} ")):
        return finding
    names = finding.symbol.split(".")
    named = (i for i in range(len(names), 0, -1) if f"class {names[i - 1]}" in text)
    classes = (i for i in named if re.search(rf"^\s*class {re.escape(names[i - 1])}\b", text, re.M))
    owner = ".".join(names[: next(classes, len(names))])
    return replace(finding, about=f"{owner} {finding.about}")
