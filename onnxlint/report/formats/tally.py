"""How often each rule was found: counts by severity and verdict, as a table or as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from onnxlint.base.records import Finding, Report, Severity, VerdictKind
from onnxlint.report.common import words
from onnxlint.report.formats.concise import place


@dataclass(frozen=True, slots=True)
class Tally:
    """The findings of one rule, counted."""

    code: str
    rule: str
    count: int
    severities: Mapping[str, int]
    verdicts: Mapping[str, int]


def tallies(report: Report, *, show_all: bool) -> list[Tally]:
    """Count the findings that a report shows, the most frequent rule first."""
    by_rule: dict[tuple[str, str], list[Finding]] = {}
    for finding in report.findings:
        if show_all or not words.hidden(finding):
            by_rule.setdefault((finding.code, finding.rule), []).append(finding)
    counted = [
        Tally(
            code,
            rule,
            len(findings),
            _counts(Severity, (f.severity for f in findings)),
            _counts(VerdictKind, (f.verdict for f in findings)),
        )
        for (code, rule), findings in by_rule.items()
    ]
    return sorted(counted, key=lambda tally: (-tally.count, tally.code))


def as_json(report: Report, *, show_all: bool) -> str:
    """Render the counts as a list of objects."""
    rows = [
        {
            "code": tally.code,
            "rule": tally.rule,
            "count": tally.count,
            "severities": dict(tally.severities),
            "verdicts": dict(tally.verdicts),
        }
        for tally in tallies(report, show_all=show_all)
    ]
    return json.dumps(rows, indent=2) + "\n"


def table(report: Report, *, show_all: bool) -> str:
    """Render one line for each rule: count, code, name, and what the count is made of; errors stand below."""
    rows = tallies(report, show_all=show_all)
    digits = max((len(str(tally.count)) for tally in rows), default=1)
    width = max((len(tally.rule) for tally in rows), default=1)
    lines = [f"{t.count:>{digits}}  {t.code}  {t.rule:<{width}}  {_parts(t)}" for t in rows]
    lines += [f"{place(d.path, d.line)}{d.level}: {words.clean(d.message)}" for d in report.diagnostics]
    told = words.summary(report, show_all=show_all)
    return "".join(f"{line}\n" for line in (*lines, told[:1].upper() + told[1:]))


def _counts(kinds: type[Severity] | type[VerdictKind], found: Iterable[str]) -> dict[str, int]:
    counts = Counter(found)
    return {kind.value: counts[kind] for kind in kinds if counts[kind]}


def _parts(tally: Tally) -> str:
    severities = ", ".join(f"{number} {name}" for name, number in tally.severities.items())
    verdicts = ", ".join(f"{number} {words.VERDICT_WORDS[VerdictKind(n)]}" for n, number in tally.verdicts.items())
    return f"{severities}; {verdicts}"
