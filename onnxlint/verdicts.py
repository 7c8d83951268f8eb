"""A pure truth table: findings × evidence → findings with a verdict, and ONX7xx for evidence that no finding explains.

1. Evidence attaches to the findings in the statement of its innermost frame that holds one which its cause can confirm.
   A cause is looked for up to the first frame in the user's own files, since a call site is not the cause; only a
   consequence may go back to a caller that passed the value in.
2. Causes come first. What only shows consequences is used where nothing else speaks for that model and exporter; it
   may then confirm a finding further up in the same function whose rule foretells exactly this symptom.
3. Attached evidence of a failure confirms. A statement that ran in models that are all right is not reproduced,
   unless it has an arm that no input took and that would change the outputs.
   Everything else stays suspected.
4. Evidence of a failure that attached nowhere becomes a finding of its own, and so does what makes a graph large.
"""

import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from pathlib import PurePosixPath

from onnxlint.base import records
from onnxlint.base.catalogue import Contract
from onnxlint.base.files import own_text
from onnxlint.base.paths import package_path
from onnxlint.base.probe_records import ProbeResult
from onnxlint.base.records import Cause, Evidence, Finding, Location, Outcome, Severity, Step, VerdictKind

EXAMPLE = "example"  # the variation that is the example itself
StatementLines = Callable[[str, int], tuple[int, int]]

# These point at where an error shows, not at where it is made.
CONSEQUENCES = frozenset({Cause.MISMATCH, Cause.CONSTANT, Cause.RUNTIME, Cause.INPUT_VANISHED, Cause.EAGER})

# The export is right, and larger than it had to be, or without an input that nothing depended on.
LARGE = frozenset({Cause.UNROLLED, Cause.WEIGHTS, Cause.TABLE, Cause.INPUT_VANISHED})

# At one statement these say the same, the first the most plainly: later ones join the first one that is there.
_SAME_CAUSE = ("ONX703", "ONX704")
_JOINS = frozenset({"ONX704", "ONX701", "ONX702", "ONX705", "ONX706", "ONX708"})
_CODE_AND_MESSAGE: Mapping[str, tuple[str, str]] = tomllib.loads(own_text(__file__, "verdicts.toml"))  # of each cause
_CALLS_TOLD = 4  # of a stack that ends in a library: the innermost ones
_HARMLESS = frozenset({Outcome.OK, Outcome.SKIPPED})
_CONFIRMED_BY, _SHOWS_HERE = attrgetter("confirmed_by"), attrgetter("shows_here")


def join(
    findings: Sequence[Finding],
    results: Sequence[ProbeResult],
    statement_lines: StatementLines,
    catalogue: Mapping[str, Contract],
    *,
    is_checked: Callable[[str], bool] | None = None,
    source_line: Callable[[str, int], str] | None = None,
) -> tuple[Finding, ...]:
    """Give every finding its verdict and add the ONX7xx ones, sorted by place.

    `statement_lines(path, line)` is the first and the last line of the statement that holds the line (of its header
    if it is compound). `is_checked(path)` says whether a file is the user's own, by default: it lies in the working
    directory and in no site-packages. `source_line(path, line)` is the text of a line, for the columns of ONX7xx.
    """
    if not results:  # no evidence, so nobody has to know where statements begin and end
        return tuple(sorted((_judge(f, (), (), statement_lines) for f in findings), key=place))
    is_checked = is_checked or _in_working_directory
    table = _Table(findings, catalogue, statement_lines, is_checked)
    line_at = source_line or (lambda path, line: "")
    every = [evidence for result in results for evidence in result.evidence]
    large = [e for e in every if e.cause in LARGE and not failing(e)]
    every = [e for e in every if e not in large]
    waiting = [e for e in every if not table.attach(e, _SHOWS_HERE if _is_consequence(e) else _CONFIRMED_BY)]
    reached = {result.report.name: frozenset(map(_normal, result.reached)) for result in results}
    waiting = [e for e in waiting if not table.attach_declared(e, reached.get(e.model, frozenset()))]
    waiting = [e for e in waiting if not table.attach_whole(e, line_at) and not table.attach_return(e)]
    models = {r.report.name: Location(r.report.path, r.report.line) for r in results if r.report.path}
    own = _Own(statement_lines, is_checked, line_at, models)
    for evidence in waiting:
        if not _is_consequence(evidence) and not table.explains(evidence):
            own.add(evidence)
    explained = table.explained() | own.explained()
    for evidence in waiting:
        if not _is_consequence(evidence) or _covers(explained, evidence):
            continue
        if not table.attach(evidence, _CONFIRMED_BY) and not table.attach_upstream(evidence):
            own.add(evidence)
    judged = [_judge(finding, table.evidence[i], results, statement_lines) for i, finding in enumerate(findings)]
    return tuple(sorted([*judged, *own.findings(catalogue), *own.large(large, catalogue)], key=place))


def place(finding: Finding) -> tuple[str, int, int, str]:
    """The order of a report: path, line, column, code."""
    return finding.span.path, finding.span.line, finding.span.column, finding.code


def failing(evidence: Evidence) -> bool:
    """Whether the observation led to anything but a right export."""
    return evidence.symptom not in _HARMLESS


class _Table:
    """The findings by path, with the evidence that has attached to each."""

    def __init__(
        self,
        findings: Sequence[Finding],
        catalogue: Mapping[str, Contract],
        statement_lines: StatementLines,
        is_checked: Callable[[str], bool],
    ) -> None:
        self.evidence: dict[int, list[Evidence]] = {i: [] for i in range(len(findings))}
        self._findings = findings
        self._rules = [catalogue[finding.code] for finding in findings]
        self._lines = statement_lines
        self._is_checked = is_checked
        self._by_path: dict[str, list[tuple[int, int, int]]] = {}
        for i, finding in enumerate(findings):
            first, last = _statement_of(finding, statement_lines)
            self._by_path.setdefault(_normal(finding.span.path), []).append((first, last, i))

    def attach(self, evidence: Evidence, causes: Callable[[Contract], frozenset[Cause]]) -> bool:
        """Attach to the findings whose rules name the cause, at the innermost frame that has any."""
        for frame in evidence.frames:
            if self._attach(evidence, (i for i in self._at(frame) if evidence.cause in causes(self._rules[i]))):
                return True
            if not _is_consequence(evidence) and self._is_checked(frame.path):
                return False
        return False

    def attach_declared(self, evidence: Evidence, reached: frozenset[str]) -> bool:
        if not failing(evidence):
            return False
        paths = {_normal(frame.path) for frame in evidence.frames} or reached
        hits = (i for path in paths & reached for _, _, i in self._by_path.get(path, ()))
        return self._attach(evidence, (i for i in hits if evidence.cause in self._rules[i].shows_in_file))

    def attach_whole(self, evidence: Evidence, line_at: Callable[[str, int], str]) -> bool:
        """Attach what shows at the head of a function to the findings in it that speak of the function as a whole."""
        frame = next((frame for frame in evidence.frames if self._is_checked(frame.path)), None)
        if frame is None or not frame.function:
            return False
        if not line_at(frame.path, frame.line).lstrip().startswith(("def ", "async def ")):
            return False
        hits = (i for _, _, i in self._by_path.get(_normal(frame.path), ()) if self._foretells(i, evidence, frame))
        return self._attach(evidence, (i for i in hits if evidence.cause in self._rules[i].shows_in_function))

    def attach_upstream(self, evidence: Evidence) -> bool:
        """Attach to the nearest finding above in the function (a vanished input: to any) that foretells the symptom."""
        frame = next((frame for frame in evidence.frames if self._is_checked(frame.path)), None)
        if frame is None or not frame.function or not failing(evidence):
            return False
        anywhere = evidence.cause is Cause.INPUT_VANISHED
        eligible = [
            (abs(frame.line - first), i)
            for first, _, i in self._by_path.get(_normal(frame.path), ())
            if (first <= frame.line or anywhere) and self._foretells(i, evidence, frame)
        ]
        return self._attach(evidence, [i for _, i in sorted(eligible)[:1]])

    def attach_return(self, evidence: Evidence) -> bool:
        """Attach the refusal of Python data that becomes a tensor to what took it out of torch above, in that function.

        `lift_fresh` is the operator of `torch.tensor` and `torch.from_numpy` (torch 2.13, aten/native_functions.yaml).
        """
        if evidence.cause is not Cause.REFUSED or "aten::lift_fresh" not in evidence.detail or not evidence.frames:
            return False
        at = evidence.frames[0]
        above = [i for first, _, i in self._by_path.get(_normal(at.path), ()) if first <= at.line]
        escapes = ((i, o) for i in above for o in self.evidence[i] if o.cause is Cause.ESCAPE and failing(o))
        mine = {
            i for i, o in escapes if _covers({(o.model, o.exporter)}, evidence) and o.frames[1:] == evidence.frames[1:]
        }
        return self._attach(evidence, mine)

    def _attach(self, evidence: Evidence, numbers: Iterable[int]) -> bool:
        numbers = list(numbers)
        for number in numbers:
            self.evidence[number].append(evidence)
        return bool(numbers)

    def _foretells(self, number: int, evidence: Evidence, frame: Location) -> bool:
        finding = self._findings[number]
        foretold = finding.effects.get(evidence.exporter)
        outcomes = set(finding.effects.values()) if evidence.exporter not in records.EXPORTERS else {foretold}
        return (
            f".{finding.symbol}".endswith(f".{frame.function}")
            and evidence.cause in self._rules[number].confirmed_by
            and evidence.symptom in outcomes
        )

    def explains(self, evidence: Evidence) -> bool:
        if not evidence.frames:
            return False
        here = [other for i in self._at(evidence.frames[0]) for other in self.evidence[i] if failing(other)]
        return _covers(_pairs(here), evidence)

    def explained(self) -> set[tuple[str, str]]:
        return _pairs(evidence for attached in self.evidence.values() for evidence in attached)

    def _at(self, frame: Location) -> list[int]:
        first, last = self._lines(frame.path, frame.line)
        return [i for low, high, i in self._by_path.get(_normal(frame.path), ()) if low <= last and first <= high]


Key = tuple[str, str, int, str, str]  # code, path, first line of the statement; path and function in a library


@dataclass
class _Own:
    """The ONX7xx findings in the making, by code and statement; those of a library by function, at its call."""

    _lines: StatementLines
    _is_checked: Callable[[str], bool]
    _line_at: Callable[[str, int], str]
    _models: Mapping[str, Location]
    _groups: dict[Key, list[tuple[Location, Evidence]]] = field(default_factory=lambda: defaultdict(list))

    def add(self, evidence: Evidence) -> None:
        """Take evidence of a failure; what is harmless, or has no place at all, is left."""
        spot = self._spot(evidence) if failing(evidence) else None
        if spot is None:
            return
        where, at = spot
        inner = self._in_library(evidence)
        deep = (_normal(inner.path), inner.function) if inner is not None else ("", "")
        self._groups[_code(evidence), *at, *deep].append((where, evidence))

    def _spot(self, evidence: Evidence) -> tuple[Location, tuple[str, int]] | None:
        """The innermost frame in the user's own files, or else the model; with path and first line of the statement."""
        where = next((frame for frame in evidence.frames if self._is_checked(frame.path)), None)
        where = where or self._models.get(evidence.model)
        return None if where is None else (where, (_normal(where.path), self._lines(where.path, where.line)[0]))

    def _in_library(self, evidence: Evidence) -> Location | None:
        inner = evidence.frames[0] if evidence.frames else None
        return None if inner is None or self._is_checked(inner.path) else inner

    def explained(self) -> set[tuple[str, str]]:
        return _pairs(evidence for group in self._groups.values() for _, evidence in group)

    def findings(self, catalogue: Mapping[str, Contract]) -> list[Finding]:
        merged: dict[Key, list[tuple[Location, Evidence]]] = {}
        plainest_first = sorted(self._groups.items(), key=lambda item: (item[0][0] not in _SAME_CAUSE, item[0][0]))
        for (code, *at), group in plainest_first:
            plain = next((c for c in _SAME_CAUSE if (c, *at) in merged and code in _JOINS), code)
            merged.setdefault((plain, *at), []).extend(group)  # type: ignore[arg-type]  # mypy forgets a tuple's tail
        return [self._finding(code, group, catalogue) for (code, *_), group in merged.items()]

    def large(self, evidence: Sequence[Evidence], catalogue: Mapping[str, Contract]) -> list[Finding]:
        """One warning for each statement that makes a graph large: nothing is wrong, so that nothing is confirmed."""
        groups: dict[tuple[Cause, tuple[str, int]], list[tuple[Location, Evidence]]] = defaultdict(list)
        for one in evidence:
            if (spot := self._spot(one)) is not None:
                groups[one.cause, spot[1]].append((spot[0], one))
        findings = (self._finding(_code(group[0][1]), group, catalogue) for group in groups.values())
        return [replace(f, severity=Severity.WARNING, verdict=VerdictKind.SUSPECTED) for f in findings]

    def _finding(self, code: str, group: list[tuple[Location, Evidence]], catalogue: Mapping[str, Contract]) -> Finding:
        where, first = group[0]
        _, message = _CODE_AND_MESSAGE[first.cause]
        exporter = records.EXPORTER_NAMES.get(first.exporter, first.exporter)
        inner = self._in_library(first)
        here = f"in `{inner.function}` ({package_path(inner.path)}:{inner.line})" if inner is not None else "here"
        source = self._line_at(where.path, where.line).rstrip("\r\n")
        text = source.strip()
        column = len(source) - len(source.lstrip()) + 1
        effects: dict[str, Outcome] = {}
        for _, evidence in group:
            if evidence.exporter in records.EXPORTERS:
                effects.setdefault(evidence.exporter, evidence.symptom)
        return Finding(
            code=code,
            rule=catalogue[code].name,
            severity=Severity.ERROR,
            message=message.format(exporter=exporter, here=here, runtime=first.runtime or "ONNX Runtime"),
            span=records.Span(where.path, where.line, column, where.line, column + len(text)),
            symbol=where.function,
            trace=_calls(first) if inner is not None else (),
            effects=effects,
            verdict=VerdictKind.CONFIRMED,
            evidence=tuple(evidence for _, evidence in group),
            text=" ".join(text.split()) + (f" → {inner.function}" if inner is not None else ""),
        )


def _calls(evidence: Evidence) -> tuple[Step, ...]:
    """How the user's line leads into the library, outermost call first."""
    frames = reversed(evidence.frames[:_CALLS_TOLD])
    return tuple(Step(f.path, f.line, f"in `{f.function}`" if f.function else "called from here") for f in frames)


def _judge(
    finding: Finding, attached: Sequence[Evidence], results: Sequence[ProbeResult], statement_lines: StatementLines
) -> Finding:
    failures = tuple(evidence for evidence in attached if failing(evidence))
    if failures:
        return replace(finding, verdict=VerdictKind.CONFIRMED, severity=Severity.ERROR, evidence=failures)
    reached_by: list[records.ModelReport] = []
    if results:
        first, last = _statement_of(finding, statement_lines)
        reached_by = [result.report for result in results if _reached(result, finding.span.path, first, last)]
    untried = any(evidence.cause is Cause.BRANCH and evidence.symptom is Outcome.SKIPPED for evidence in attached)
    if reached_by and not untried and _all_right(reached_by, finding):
        return replace(finding, verdict=VerdictKind.NOT_REPRODUCED, severity=Severity.NOTE, evidence=tuple(attached))
    return replace(finding, verdict=VerdictKind.SUSPECTED, evidence=tuple(attached))


def only_reached(
    findings: Sequence[Finding], results: Sequence[ProbeResult], statement_lines: StatementLines
) -> tuple[Finding, ...]:
    """Leave out the findings on lines that no model ran; all are kept where a model did not get to run."""
    if not results or any(not result.reached for result in results):
        return tuple(findings)

    def ran(finding: Finding) -> bool:
        return any(_reached(r, finding.span.path, *_statement_of(finding, statement_lines)) for r in results)

    return tuple(finding for finding in findings if finding.evidence or ran(finding))


def _all_right(models: Sequence[records.ModelReport], finding: Finding) -> bool:
    """Whether all that ran is `ok`, and what the rule speaks of ran, for one model of a script or another."""
    ran = [{n: r.outcome for n, r in model.exporters.items() if r.outcome is not Outcome.SKIPPED} for model in models]
    names = {name for model in models for name in model.exporters}
    affected = [e for e in records.EXPORTERS if finding.effects.get(e, Outcome.OK) is not Outcome.OK] or list(names)
    return (
        all(ran)
        and all(any(e in one for one in ran) for e in affected)
        and all(outcome is Outcome.OK for one in ran for outcome in one.values())
    )


def _reached(result: ProbeResult, path: str, first: int, last: int) -> bool:
    if result.report.status is not records.ModelStatus.PROBED:
        return False
    wanted = _normal(path)
    ran = (line for where, lines in result.reached.items() if _normal(where) == wanted for line in lines)
    return any(first <= line <= last for line in ran)


def _statement_of(finding: Finding, statement_lines: StatementLines) -> tuple[int, int]:
    """The lines of the statement, widened to the span: an expression may outgrow a header."""
    first, last = statement_lines(finding.span.path, finding.span.line)
    return min(first, finding.span.line), max(last, finding.span.line)


def _is_consequence(evidence: Evidence) -> bool:
    """A value that is wrong on the example itself has no other cause: nothing that was frozen there has changed."""
    wrong_from_the_start = evidence.cause is Cause.MISMATCH and evidence.variation == EXAMPLE
    return evidence.cause in CONSEQUENCES and not wrong_from_the_start


def _pairs(evidence: Iterable[Evidence]) -> set[tuple[str, str]]:
    return {(e.model, e.exporter) for e in evidence if failing(e)}


def _covers(pairs: set[tuple[str, str]], evidence: Evidence) -> bool:
    """Whether the pairs explain this failure; what eager itself does explains every exporter of the model."""
    return (evidence.model, evidence.exporter) in pairs or (evidence.model, "eager") in pairs


def _code(evidence: Evidence) -> str:
    refusals = {"torchscript": "ONX701", "dynamo": "ONX702"} if evidence.cause is Cause.REFUSED else {}
    return refusals.get(evidence.exporter, _CODE_AND_MESSAGE[evidence.cause][0])


def _normal(path: str) -> str:
    return str(PurePosixPath(path.replace("\\", "/")))


def _in_working_directory(path: str) -> bool:
    parts = PurePosixPath(_normal(path)).parts
    return bool(parts) and not path.startswith(("/", "<")) and ".." not in parts and "site-packages" not in parts
