"""What a review says: one comment for a finding, and the summary."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from onnxlint.base.records import Finding, ModelReport, ModelStatus, Outcome, Report, Safety, Sources, short_digest
from onnxlint.integrations.review.diff_places import Place, PullDiff
from onnxlint.integrations.review.markdown import block, code, text
from onnxlint.report.common import run_summary, words
from onnxlint.report.common.hunks import Hunk, hunks
from onnxlint.report.common.printed import steering

_LONGEST = 60_000  # characters of one text; GitHub takes 65,536
_LONGEST_LIST = 12_000  # of one list in it
_SENTENCE = 1_000  # of what the checked code or another program has a say in
_LISTED = 30  # rows of a list
_STEPS = 12  # steps of a trace that a comment tells
_MODELS = 30  # rows of the summary's table
_MARK = re.compile(r"^<!-- onnxlint:([0-9a-f]{16}) -->\s*\Z", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Comment:
    """The text of a comment, and its place."""

    place: Place
    body: str


def fingerprint_of(body: str) -> str | None:
    """The fingerprint in a comment of ours; None for everybody else's. Only the last line counts, and no quotation."""
    mark = _MARK.search(body)
    return mark[1] if mark else None


def is_summary(body: str, part: str = "") -> bool:
    """Whether this is the text of a review that holds our summary of a part of the repository, else of all of it."""
    return body.rstrip().endswith(f"\n{_summary_mark(part)}")


def _summary_mark(part: str) -> str:
    return f"<!-- onnxlint:summary{f' {short_digest(part)}' if part else ''} -->"


def comment(finding: Finding, fingerprint: str, path: str, diff: PullDiff, sources: Sources) -> Comment | None:
    """The comment on a finding in a file, `path` in the repository; None where the diff shows no line of it."""
    span = finding.span
    fixed = hunks(finding.fix, sources) if finding.fix is not None and finding.fix.edits else []
    suggested = _suggested(finding, path, fixed, diff)
    if suggested is not None:
        place = diff.whole(path, suggested.first, suggested.last)
    else:
        place = diff.place(path, span.line, max(span.line, span.end_line))
    if place is None:
        return None
    body = _body(finding, suggested, [hunk for hunk in fixed if hunk is not suggested], sources)
    return Comment(place, f"{body}\n\n<!-- onnxlint:{fingerprint} -->\n")


def _suggested(finding: Finding, path: str, fixed: Sequence[Hunk], diff: PullDiff) -> Hunk | None:
    """The part of the fix at the finding's own lines, where the diff shows all that it replaces."""
    span = finding.span
    last = max(span.line, span.end_line)
    near = [h for h in fixed if h.path == span.path and h.first <= last and span.line <= h.last]
    if len(near) != 1 or sum(map(len, near[0].lines)) > _LONGEST // 2:
        return None
    if any(steering(line, logged=False) for line in near[0].lines):  # a reader would not see what he takes over
        return None
    return near[0] if diff.whole(path, near[0].first, near[0].last) is not None else None


def _body(finding: Finding, suggested: Hunk | None, others: Sequence[Hunk], sources: Sources) -> str:
    parts = [_title(finding), _sentence(finding.message)]
    effects = [f"- **{name}**: {_sentence(what)}" for name, what in words.effects_of(finding)]
    if effects:
        parts.append("\n".join(effects))
    fix = finding.fix
    if fix is not None:
        unsafe = " (this may change what PyTorch computes)" if fix.safety is Safety.UNSAFE else ""
        parts.append(f"**Fix**: {_sentence(fix.title)}{unsafe}")
    if suggested is not None:
        parts.append(block("suggestion", list(suggested.lines)))
    if others:
        drawn = [line for hunk in others for line in _drawn(hunk, sources)]
        if suggested is not None:
            parts.append("It takes this as well:")
        short = sum(map(len, drawn)) < _LONGEST // 4
        parts.append(block("diff", drawn) if short else "The change is long: `onnxlint check --diff` shows it.")
    if finding.trace:
        steps = [f"1. {code(f'{s.path}:{s.line}')}: {_sentence(s.message)}" for s in finding.trace[-_STEPS:]]
        parts.append(_details("How the value gets here", steps))
    parts.append(f"<sub>{code(f'onnxlint explain {finding.code}')} · silence: {code(f'# noqa: {finding.code}')}</sub>")
    return _fitting(parts)


def _sentence(message: str) -> str:
    return text(words.cut(words.clean(message), _SENTENCE))


def _fitting(parts: Iterable[str]) -> str:
    """The parts as paragraphs, without those that would make the text longer than GitHub takes."""
    fitting: list[str] = []
    left = _LONGEST
    for part in parts:
        if len(part) + 2 <= left:
            fitting.append(part)
            left -= len(part) + 2
    return "\n\n".join(fitting)


def _details(head: str, rows: Sequence[str]) -> str:
    """A list that is shown when it is asked for; what is too much of it is counted."""
    left = _LONGEST_LIST
    shown: list[str] = []
    for row in rows[:_LISTED]:
        left -= len(row) + 1
        if left < 0:
            break
        shown.append(row)
    more = [f"- and {len(rows) - len(shown)} more"] if len(shown) < len(rows) else []
    return "\n".join([f"<details><summary>{head}</summary>", "", *shown, *more, "", "</details>"])


def _title(finding: Finding) -> str:
    return f"**{finding.code} {text(finding.rule)}** · {words.VERDICT_WORDS[finding.verdict]}"


def _drawn(hunk: Hunk, sources: Sources) -> list[str]:
    before = [line.rstrip("\r\n") for line in sources(hunk.path)][hunk.first - 1 : hunk.last]
    rows = [*(("-", line) for line in before), *(("+", line) for line in hunk.lines)]
    shown = (f"{sign}{words.visible(line.expandtabs(4))}" for sign, line in rows)
    return [f"@@ {words.clean(hunk.path)}:{hunk.first} @@", *shown]


@dataclass(frozen=True, slots=True)
class Summary:
    """What the summary tells beside the report: how many findings are commented on, and those that are not.

    Findings come with their paths in the repository. `earlier` were commented on at lines that have changed since (with
    the address of the comment), `more` would have been too many comments, `elsewhere` are not on lines that the pull
    request shows, and `unshown` are the files among theirs that it shows nothing of. `web` is the address under which
    the files of the commit are shown, ending in a slash. `part` names the folders that were checked; empty for all.
    """

    commented: int
    earlier: Sequence[tuple[str, Finding, str]]
    more: Sequence[tuple[str, Finding]]
    elsewhere: Sequence[tuple[str, Finding]]
    unshown: Sequence[str]
    web: str
    part: str = ""


def summary(report: Report, content: Summary, *, show_all: bool) -> str:
    """The text of the review itself."""
    line = words.capitalized(run_summary.summary(report, show_all=show_all, timed=False))
    head = f"### onnxlint: {code(words.cut(content.part, _SENTENCE))}" if content.part else "### onnxlint"
    parts = [head, text(line), *_models(report)]
    if content.commented:
        parts.append(f"{content.commented} {'is' if content.commented == 1 else 'are'} commented on in the code.")
    if content.earlier:
        rows = [f"{_listed(path, f, content.web)} ([comment]({address}))" for path, f, address in content.earlier]
        parts.append(_details(f"{len(rows)} commented on before the lines changed", rows))
    lists = {"beyond the limit of comments": content.more}
    lists["not on lines that this pull request shows"] = content.elsewhere
    for head, findings in lists.items():
        if findings:
            rows = [_listed(path, f, content.web) for path, f in findings]
            parts.append(_details(f"{len(rows)} {head}", rows))
    errors = [d for d in report.diagnostics if d.level == "error"]
    if errors:
        rows = [f"- {code(d.path) + ': ' if d.path else ''}{_sentence(d.message)}" for d in errors[:_LISTED]]
        parts.append("\n".join(["The run could not do all that was asked:", "", *rows]))
    if content.unshown:
        names = ", ".join(code(name) for name in content.unshown[:_LISTED])
        parts.append(f"GitHub shows no lines of {names}: nothing is commented on there.")
    return f"{_fitting(parts)}\n\n{_summary_mark(content.part)}\n"


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
    return f"- {link} {_title(finding)}: {_sentence(finding.message)}"
