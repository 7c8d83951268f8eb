"""What stands under the pointer: the rule of a finding, or of a code in a comment, in short."""

import re
from collections.abc import Mapping, Sequence

from onnxlint.base.catalogue import Contract
from onnxlint.base.records import Finding
from onnxlint.report.common import words

_CODE = re.compile(r"\bONX[A-Z]*\d{3}\b")
_MOST_EVIDENCE = 2  # observations that are shown for one finding


def of_findings(findings: Sequence[Finding], catalogue: Mapping[str, Contract]) -> str:
    """Markdown: each rule once, with what was observed here."""
    rules = [catalogue[code] for code in dict.fromkeys(finding.code for finding in findings) if code in catalogue]
    return "\n\n---\n\n".join(of_rule(rule, [f for f in findings if f.code == rule.code]) for rule in rules)


def code_at(line: str, column: int) -> tuple[str, int, int] | None:
    """The rule's code in a comment at a column (from 1), and where it begins and ends."""
    start = line.find("#")
    for match in _CODE.finditer(line, max(start, 0)) if start >= 0 else ():
        if match.start() < column <= match.end() + 1:
            return match[0], match.start() + 1, match.end() + 1
    return None


def of_rule(rule: Contract, findings: Sequence[Finding] = ()) -> str:
    """Markdown: one rule, with what was observed."""
    parts = [f"**{rule.code}** {rule.name}: {rule.title}"]
    seen = [e for finding in findings for e in words.most_telling(finding.evidence) if words.observed(e)]
    for evidence in seen[:_MOST_EVIDENCE]:
        size = words.error_size(evidence)
        on = f" on {words.variation(evidence)}" if evidence.variation else ""
        message = ": ".join(part for part in (size, words.observed(evidence)) if part)
        message = re.sub(r"([\\`*_{}\[\]<>()#+!|&~])", r"\\\1", message)  # of others, as it is: no Markdown
        parts.append(f"*{words.exporter_name(evidence.exporter)}*{on} – {message}")
        if evidence.repro:
            parts.append(f"Re-run: `python {words.clean(evidence.repro)}`")
    what, why, fix = (section.strip().split("\n\n")[0] for section in (rule.what, rule.why, rule.advice))
    parts += [what, why, f"**Fix.** {fix}"]
    parts.append(f"`onnxlint explain {rule.code}` tells more.")
    return "\n\n".join(part for part in parts if part)
