"""How often each rule was found: counts by severity and verdict, as a table or as JSON."""

import json
from typing import Any

from onnxlint.base.records import Report, Severity, VerdictKind, grouped
from onnxlint.report.common import run_summary, words
from onnxlint.report.common.printed import printed
from onnxlint.report.formats.concise import place


def statistics(report: Report, *, show_all: bool, machine: bool) -> str:
    """How often each rule that shows was found, the most frequent first; diagnostics stand below. JSON for a machine,
    else a line for each rule: count, code, name, and what the count is made of."""
    shown = (finding for finding in report.findings if show_all or not words.hidden(finding))
    rows: list[dict[str, Any]] = [
        {
            "code": code,
            "rule": rule,
            "count": len(findings),
            "severities": {kind.value: n for kind in Severity if (n := sum(f.severity is kind for f in findings))},
            "verdicts": {kind.value: n for kind in VerdictKind if (n := sum(f.verdict is kind for f in findings))},
        }
        for (code, rule), findings in grouped(shown, lambda finding: (finding.code, finding.rule)).items()
    ]
    rows.sort(key=lambda tally: (-tally["count"], tally["code"]))
    if machine:
        return json.dumps(rows, indent=2) + "\n"
    digits = max((len(str(row["count"])) for row in rows), default=1)
    width = max((len(row["rule"]) for row in rows), default=1)
    lines = []
    for row in rows:
        severities = ", ".join(f"{number} {name}" for name, number in row["severities"].items())
        verdicts = ", ".join(f"{n} {words.VERDICT_WORDS[VerdictKind(name)]}" for name, n in row["verdicts"].items())
        lines.append(f"{row['count']:>{digits}}  {row['code']}  {row['rule']:<{width}}  {severities}; {verdicts}")
    lines += [f"{place(d.path, d.line)}{d.level}: {words.clean(d.message)}" for d in report.diagnostics]
    return printed("".join(f"{line}\n" for line in (*lines, run_summary.headline(report, show_all=show_all))))
