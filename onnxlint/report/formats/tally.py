"""How often each rule was found: counts by severity and verdict, as a table or as JSON."""

import json
from collections import Counter
from typing import Any

from onnxlint.base.records import Finding, Report, Severity, VerdictKind
from onnxlint.report.common import run_summary, words
from onnxlint.report.formats.concise import place


def tallies(report: Report, *, show_all: bool) -> list[dict[str, Any]]:
    """Count the findings that a report shows, the most frequent rule first."""
    by_rule: dict[tuple[str, str], list[Finding]] = {}
    for finding in report.findings:
        if show_all or not words.hidden(finding):
            by_rule.setdefault((finding.code, finding.rule), []).append(finding)
    counts = []
    for (code, rule), findings in by_rule.items():
        severities, verdicts = Counter(f.severity for f in findings), Counter(f.verdict for f in findings)
        counts.append(
            {
                "code": code,
                "rule": rule,
                "count": len(findings),
                "severities": {kind.value: severities[kind] for kind in Severity if severities[kind]},
                "verdicts": {kind.value: verdicts[kind] for kind in VerdictKind if verdicts[kind]},
            }
        )
    return sorted(counts, key=lambda tally: (-tally["count"], tally["code"]))


def as_json(report: Report, *, show_all: bool) -> str:
    """Render the counts as a list of objects."""
    return json.dumps(tallies(report, show_all=show_all), indent=2) + "\n"


def table(report: Report, *, show_all: bool) -> str:
    """Render one line for each rule: count, code, name, and what the count is made of; errors stand below."""
    rows = tallies(report, show_all=show_all)
    digits = max((len(str(row["count"])) for row in rows), default=1)
    width = max((len(row["rule"]) for row in rows), default=1)
    lines = []
    for row in rows:
        severities = ", ".join(f"{number} {name}" for name, number in row["severities"].items())
        verdicts = ", ".join(f"{n} {words.VERDICT_WORDS[VerdictKind(name)]}" for name, n in row["verdicts"].items())
        lines.append(f"{row['count']:>{digits}}  {row['code']}  {row['rule']:<{width}}  {severities}; {verdicts}")
    lines += [f"{place(d.path, d.line)}{d.level}: {words.clean(d.message)}" for d in report.diagnostics]
    return "".join(f"{line}\n" for line in (*lines, run_summary.headline(report, show_all=show_all)))
