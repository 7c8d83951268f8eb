"""What is known of a document between two analyses, and what of it still holds after a change."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from onnxlint.base.edits import lines_of
from onnxlint.base.records import Finding


@dataclass(frozen=True, slots=True)
class View:
    """Findings of one file, and the text of it that they speak of."""

    text: str
    findings: tuple[Finding, ...]


def carried(view: View, text: str) -> tuple[Finding, ...]:
    """The findings of a view that stand, from the first line to the last, in lines that `text` still has.

    They follow their lines; their fixes, which speak of the old text, do not come along.
    """
    if text == view.text:
        return view.findings
    old, new = lines_of(view.text), lines_of(text)
    head, tail = _common(old, new)
    shift = len(new) - len(old)

    def moved(line: int, end: int) -> int | None:
        if end <= head:
            return 0
        return shift if line > len(old) - tail else None

    carried_over = []
    for finding in view.findings:
        span = finding.span
        by = moved(span.line, span.end_line)
        if by is not None:
            place = replace(span, line=span.line + by, end_line=span.end_line + by)
            shifts = ((step, moved(step.line, step.line) if step.path == span.path else 0) for step in finding.trace)
            steps = tuple(replace(step, line=step.line + by) if by else step for step, by in shifts)
            carried_over.append(replace(finding, span=place, trace=steps, fix=None))
    return tuple(carried_over)


def _common(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """How many lines two texts have in common at their beginning, and then at their end."""
    most = min(len(old), len(new))
    head = next((n for n in range(most) if old[n] != new[n]), most)
    most -= head
    return head, next((n for n in range(most) if old[-1 - n] != new[-1 - n]), most)


def merged(alone: tuple[Finding, ...], alone_before: View | None, whole: View | None, text: str) -> tuple[Finding, ...]:
    """What the analysis of a file alone found in `text`, with what the rest of the project adds and takes away.

    That is known from the last analysis of the project: `whole` and `alone_before` tell of the same text, which may be
    an older one. It holds on the lines that have not changed since.
    """
    if whole is None or alone_before is None or whole.text != alone_before.text:
        return alone
    prints_alone = {finding.fingerprint for finding in alone_before.findings}
    whole_fingerprints = {finding.fingerprint for finding in whole.findings}
    cleared = {_key(f) for f in carried(alone_before, text) if f.fingerprint not in whole_fingerprints}
    remaining = [finding for finding in alone if _key(finding) not in cleared]
    here = {_key(finding) for finding in remaining}
    added = [f for f in carried(whole, text) if f.fingerprint not in prints_alone and _key(f) not in here]
    return tuple(sorted([*remaining, *added], key=lambda f: (f.span.line, f.span.column, f.code)))


def _key(finding: Finding) -> tuple[str, int, int]:
    return finding.code, finding.span.line, finding.span.column
