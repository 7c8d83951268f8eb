"""Which of several fixes go together."""

from collections.abc import Mapping, Sequence

from onnxlint.base.edits import Lines
from onnxlint.base.records import Finding

Range = tuple[int, int]


def choose(findings: Sequence[Finding], texts: Mapping[str, str]) -> tuple[Finding, ...]:
    """Take fixes in source order as long as none touches text that one before it changes; an equal edit is shared."""
    lines = {path: Lines(text) for path, text in texts.items()}
    taken: list[Finding] = []
    changes: dict[str, dict[tuple[int, int], str]] = {}
    for finding in sorted(findings, key=_order):
        assert finding.fix is not None
        wanted = [
            (e.path, (lines[e.path].offset(e.start), lines[e.path].offset(e.end)), e.text) for e in finding.fix.edits
        ]
        if not any(_collides(changes.get(path, {}), where, text) for path, where, text in wanted):
            taken.append(finding)
            for path, where, text in wanted:
                changes.setdefault(path, {})[where] = text
    return tuple(taken)


def _order(finding: Finding) -> tuple[tuple[str, tuple[int, int]], str, str, tuple[tuple[tuple[int, int], str], ...]]:
    """In source order, and in one order whatever the order in which the findings came."""
    assert finding.fix is not None
    first = min((e.path, e.start) for e in finding.fix.edits)
    return first, finding.code, finding.text, tuple((e.end, e.text) for e in finding.fix.edits)


def _collides(changes: Mapping[Range, str], where: Range, text: str) -> bool:
    if changes.get(where) == text:
        return False
    start, end = where
    for low, high in changes:
        if start < high and low < end:
            return True
        if (start == end or low == high) and low <= end and start <= high:
            return True  # an insertion at, or beside, what is changed: which comes first would be chance
    return False
