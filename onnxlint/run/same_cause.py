"""One cause, one finding: what stems from one value, or one decision, is shown at one place, which names the others."""

from collections.abc import Sequence
from dataclasses import replace

from onnxlint.base.records import Finding, Outcome, Report, Severity, VerdictKind, number_frozen

_CERTAINTY, _SEVERITIES = tuple(VerdictKind), tuple(Severity)
_PACKED = "packed sequence"


def one_per_cause(report: Report) -> Report:
    """The report with one finding for each cause; notes and what was not reproduced stay as they are.

    It is for showing: baselines, comments that silence a line and fixes go by each finding of its own.
    """
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in report.findings:
        about = _about(finding)
        if about and finding.severity is not Severity.NOTE and finding.verdict is not VerdictKind.NOT_REPRODUCED:
            groups.setdefault((finding.span.path, about), []).append(finding)
    shown: dict[int, Finding | None] = {}
    for members in filter(lambda members: len(members) > 1, groups.values()):
        members.sort(key=_first)
        shown.update((id(member), None) for member in members)
        shown[id(members[0])] = _together(members)
    findings = (shown.get(id(finding), finding) for finding in report.findings)
    return replace(report, findings=tuple(finding for finding in findings if finding is not None))


def _about(finding: Finding) -> str:
    if finding.code.startswith("ONX7") and "pack_" in finding.text:  # an exporter's own word on what ONX418 speaks of
        return f"{finding.symbol} {_PACKED}"
    return finding.about


def _first(finding: Finding) -> tuple[bool, bool, int, int, int, int]:
    """Where a number was frozen comes before its uses, a rule's finding before an exporter's word, then the most
    certain, then what the file has first."""
    span = finding.span
    return (
        not finding.about.endswith(number_frozen(span)),
        finding.code.startswith("ONX7"),
        _CERTAINTY.index(finding.verdict),
        _SEVERITIES.index(finding.severity),
        span.line,
        span.column,
    )


def _together(members: Sequence[Finding]) -> Finding:
    head = members[0]
    effects = {e: o for member in reversed(members) for e, o in member.effects.items() if o is not Outcome.OK}
    also = dict.fromkeys(member.span for member in members[1:] if member.span != head.span)
    return replace(
        head,
        severity=min((member.severity for member in members), key=_SEVERITIES.index),
        verdict=min((member.verdict for member in members), key=_CERTAINTY.index),
        exported=any(member.exported for member in members),
        effects={**head.effects, **effects},
        evidence=tuple(dict.fromkeys(evidence for member in members for evidence in member.evidence)),
        also=tuple(sorted(also, key=lambda span: (span.line, span.column))),
    )
