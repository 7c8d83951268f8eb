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
    parts = []
    for code in dict.fromkeys(finding.code for finding in findings):
        rule = catalogue.get(code)
        if rule is not None:
            parts.append(_rule(rule, [finding for finding in findings if finding.code == code]))
    return "\n\n---\n\n".join(parts)


def code_at(line: str, column: int) -> tuple[str, int, int] | None:
    """The rule's code in a comment at a column (from 1), and where it begins and ends."""
    start = line.find("#")
    for match in _CODE.finditer(line, max(start, 0)) if start >= 0 else ():
        if match.start() < column <= match.end() + 1:
            return match[0], match.start() + 1, match.end() + 1
    return None


def of_code(code: str, catalogue: Mapping[str, Contract]) -> str:
    """Markdown: one rule; empty where there is none of that code."""
    rule = catalogue.get(code)
    return _rule(rule, ()) if rule is not None else ""


def _rule(rule: Contract, findings: Sequence[Finding]) -> str:
    parts = [f"**{rule.code}** {rule.name}: {rule.title}"]
    seen = [e for finding in findings for e in words.most_telling(finding.evidence) if words.observed(e)]
    for evidence in seen[:_MOST_EVIDENCE]:
        size = words.error_size(evidence)
        on = f" on {words.variation(evidence)}" if evidence.variation else ""
        message = ": ".join(part for part in (size, words.observed(evidence)) if part)
        parts.append(f"*{words.exporter_name(evidence.exporter)}*{on} – {_literal(message)}")
        if evidence.repro:
            parts.append(f"Re-run: `python {words.clean(evidence.repro)}`")
    parts += [_first(rule.what), _first(rule.why), f"**Fix.** {_first(rule.advice)}"]
    parts.append(f"`onnxlint explain {rule.code}` tells more.")
    return "\n\n".join(part for part in parts if part)


def _first(markdown: str) -> str:
    """The first paragraph."""
    return markdown.strip().split("\n\n")[0]


def _literal(text: str) -> str:
    """Text of another program, which may look like Markdown or HTML, as it is."""
    return re.sub(r"([\\`*_{}\[\]<>()#+!|&~])", r"\\\1", text)
