"""What a review says: one comment for a finding, and the summary."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from onnxlint.integrations.review.markdown import block, code, text
from onnxlint.integrations.review.places import Place, PullDiff
from onnxlint.records import Finding, ModelReport, ModelStatus, Outcome, Report, Safety
from onnxlint.report import words
from onnxlint.report.hunks import Hunk, hunks

Sources = Callable[[str], list[str]]

_LONGEST = 60_000  # characters of one text; GitHub takes 65,536
_LISTED = 30  # findings that the summary names
_STEPS = 12  # steps of a trace that a comment tells
_MODELS = 30  # rows of the summary's table
_MARK = re.compile(r"<!-- onnxlint:([0-9a-f]{16}) -->\s*\Z")
_SUMMARY = "<!-- onnxlint:summary -->"


@dataclass(frozen=True, slots=True)
class Comment:
    """A finding at its place, with the text of the comment."""

    finding: Finding
    fingerprint: str
    place: Place
    body: str


def fingerprint_of(body: str) -> str | None:
    """The fingerprint in a comment of ours; None for everybody else's. Only the end counts: a text cannot hide one."""
    found = _MARK.search(body)
    return found[1] if found else None


def is_summary(body: str) -> bool:
    """Whether this is the text of a review that holds our summary."""
    return body.rstrip().endswith(_SUMMARY)


def comment(finding: Finding, fingerprint: str, path: str, diff: PullDiff, sources: Sources) -> Comment | None:
    """The comment on a finding in a file, `path` in the repository; None where the diff shows no line of it."""
    span = finding.span
    lines = sources(span.path)
    place = diff.place(path, span.line, max(span.line, span.end_line))
    found = hunks(finding.fix, sources) if finding.fix is not None and finding.fix.edits else []
    suggested = _suggested(finding, path, found, diff)
    if suggested is not None:
        whole = diff.whole(path, suggested.first, suggested.last)
        assert whole is not None
        place = whole
    if place is None or not diff.same(place, lines):
        return None
    body = _body(finding, suggested, [hunk for hunk in found if hunk is not suggested], sources)
    return Comment(finding, fingerprint, place, f"{body}\n\n<!-- onnxlint:{fingerprint} -->\n")


def _suggested(finding: Finding, path: str, found: Sequence[Hunk], diff: PullDiff) -> Hunk | None:
    """The part of the fix at the finding's own lines, where the diff shows all that it replaces."""
    span = finding.span
    last = max(span.line, span.end_line)
    near = [h for h in found if h.path == span.path and h.first <= last and span.line <= h.last]
    if len(near) != 1 or sum(map(len, near[0].lines)) > _LONGEST // 2:
        return None
    return near[0] if diff.whole(path, near[0].first, near[0].last) is not None else None


def _body(finding: Finding, suggested: Hunk | None, others: Sequence[Hunk], sources: Sources) -> str:
    parts = [_title(finding), text(finding.message)]
    effects = [f"- **{name}**: {text(what)}" for name, what in words.effects_of(finding)]
    if effects:
        parts.append("\n".join(effects))
    fix = finding.fix
    if fix is not None:
        unsafe = " (this may change what PyTorch computes)" if fix.safety is Safety.UNSAFE else ""
        parts.append(f"**Fix**: {text(fix.title)}{unsafe}")
    if suggested is not None:
        parts.append(block("suggestion", list(suggested.lines)))
    if others:
        drawn = [line for hunk in others for line in _drawn(hunk, sources)]
        if suggested is not None:
            parts.append("It takes this as well:")
        short = sum(map(len, drawn)) < _LONGEST // 4
        parts.append(block("diff", drawn) if short else "The change is long: `onnxlint check --diff` shows it.")
    if finding.trace:
        steps = [f"1. {code(f'{step.path}:{step.line}')}: {text(step.message)}" for step in finding.trace[-_STEPS:]]
        parts.append("\n".join(["<details><summary>How the value gets here</summary>", "", *steps, "", "</details>"]))
    parts.append(f"<sub>{code(f'onnxlint explain {finding.code}')} · silence: {code(f'# noqa: {finding.code}')}</sub>")
    return "\n\n".join(parts)


def _title(finding: Finding) -> str:
    return f"**{finding.code} {text(finding.rule)}** · {words.VERDICT_WORDS[finding.verdict]}"


def _drawn(hunk: Hunk, sources: Sources) -> list[str]:
    before = [line.rstrip("\r\n") for line in sources(hunk.path)][hunk.first - 1 : hunk.last]
    return [
        f"@@ {words.clean(hunk.path)}:{hunk.first} @@",
        *(f"-{line}" for line in before),
        *(f"+{line}" for line in hunk.lines),
    ]


@dataclass(frozen=True, slots=True)
class Summary:
    """What the summary tells beside the report: how many findings are commented on, and those that are not.

    `elsewhere` holds the others with their paths in the repository, those first that the pull request has to do with;
    `web` is the address under which the files of the commit are shown, ending in a slash.
    """

    commented: int
    elsewhere: Sequence[tuple[str, Finding]]
    unshown: Sequence[str]
    web: str


def summary(report: Report, told: Summary, *, show_all: bool) -> str:
    """The text of the review itself."""
    line = words.summary(report, show_all=show_all, timed=False)
    parts = ["### onnxlint", text(line[:1].upper() + line[1:])]
    parts += _models(report)
    if told.commented:
        parts.append(
            f"{told.commented} {'stands at its line' if told.commented == 1 else 'stand at their lines'} below."
        )
    if told.elsewhere:
        shown = [_listed(path, finding, told.web) for path, finding in told.elsewhere[:_LISTED]]
        left = len(told.elsewhere) - len(shown)
        more = [f"- and {left} more"] if left else []
        head = f"<details><summary>{len(told.elsewhere)} not on lines that this pull request shows</summary>"
        parts.append("\n".join([head, "", *shown, *more, "", "</details>"]))
    errors = [d for d in report.diagnostics if d.level == "error"]
    if errors:
        rows = [f"- {code(d.path) + ': ' if d.path else ''}{text(d.message)}" for d in errors[:_LISTED]]
        parts.append("\n".join(["The run could not do all that was asked:", "", *rows]))
    if told.unshown:
        names = ", ".join(code(name) for name in told.unshown[:_LISTED])
        parts.append(f"GitHub shows no lines of {names}: nothing is commented on there.")
    body = "\n\n".join(parts)
    return f"{body[:_LONGEST]}\n\n{_SUMMARY}\n"


def _models(report: Report) -> list[str]:
    probed = [model for model in report.models if model.status is ModelStatus.PROBED]
    if not probed:
        return []
    exporters = list(dict.fromkeys(name for model in probed for name in model.exporters))
    head = ["model", *map(words.exporter_name, exporters)]
    rows = [[code(model.name, cell=True), *(_cell(model, name) for name in exporters)] for model in probed[:_MODELS]]
    more = [f"\n{len(probed) - _MODELS} more models"] if len(probed) > _MODELS else []
    return ["\n".join(["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows)] + more)]


def _cell(model: ModelReport, exporter: str) -> str:
    result = model.exporters.get(exporter)
    if result is None or result.outcome is Outcome.SKIPPED:
        return "–"
    if result.outcome is Outcome.OK:
        return "✓"
    where = f" {code(f'{result.location.path}:{result.location.line}', cell=True)}" if result.location else ""
    return f"✗ {words.OUTCOME_LABELS[result.outcome]}{where}"


def _listed(path: str, finding: Finding, web: str) -> str:
    place = f"{path}:{finding.span.line}"
    link = f"[{code(place)}]({web}{quote(path, errors='surrogateescape')}#L{finding.span.line})" if web else code(place)
    return f"- {link} {_title(finding)}: {text(finding.message)}"
