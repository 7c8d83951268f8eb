"""One cause, one finding: what stems from one value, or one decision, is shown at one place, which names the others."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import filterfalse
from pathlib import PurePath

from onnxlint.base.catalogue import load_catalogue
from onnxlint.base.records import Finding, Outcome, Report, Severity, Sources, VerdictKind, grouped, number_frozen
from onnxlint.project.outline import is_compiled
from onnxlint.report.common.words import hidden
from onnxlint.source.parse import source_lines

_CERTAINTY, _SEVERITIES = tuple(VerdictKind), tuple(Severity)
_OPSET = re.compile(r"(?<=opset )\d+|(?<=convert it to )\d+|(?<=converts it to )\d+")
_WORD = re.compile(r"\w+")
_LONG = 20  # lines of a function that are no accident where they are the same


def one_per_cause(report: Report, sources: Sources = source_lines) -> Report:
    """The report with one finding for each cause; notes and what was not reproduced stay as they are.

    It is for showing: baselines, comments that silence a line and fixes go by each finding of its own. Of a definition
    that several files have word by word, one is shown, and what is found in the copies are notes that lead there.
    `sources(path)` is the lines of a file.
    """
    called = {rule.code: rule.shows_at_calls_of for rule in load_catalogue().values()}
    once = frozenset(rule.code for rule in load_catalogue().values() if rule.said_once)
    elsewhere = {(f.span.path, f.symbol, name): f.about for f in report.findings for name in called.get(f.code, ())}
    groups: dict[tuple[str, str], list[Finding]] = {}
    findings = _shown_as_one(report.findings, _blocks(report.findings, sources))
    for finding in findings:
        about = _about(finding, elsewhere)
        if about and not hidden(finding):
            groups.setdefault((finding.span.path, about), []).append(finding)
    for members in groups.values():
        members.sort(key=_first)
    of_calls = _one_of_calls(_kernels_alone(_shown_as_one(findings, _with_what_follows(groups))), once)
    return replace(report, findings=_one_of_copies(_one_of_twins(of_calls), sources, once))


def _kernels_alone(findings: Sequence[Finding]) -> list[Finding]:
    """The findings; of a function around a compiled kernel, which is replaced whole, all but the kernel as notes."""

    def is_kernel(f: Finding) -> bool:
        *_, name, verb, kind = ["", "", "", *f.about.split(" ")]
        runs = f.doubt == "flag" or not hidden(f)
        return (verb, kind) == ("is", "custom") and runs and any(map(is_compiled, name.split(".")))

    around = {(f.span.path, f.symbol) for f in findings if is_kernel(f)}
    wrapped = (f for f in findings if (f.span.path, f.symbol) in around and not is_kernel(f))
    spared = {id(f) for f in wrapped if f.verdict is VerdictKind.SUSPECTED}
    return [replace(f, severity=Severity.NOTE) if id(f) in spared else f for f in findings]


def _one_of_twins(findings: Sequence[Finding]) -> list[Finding]:
    """What is said in the same words of one statement in the same method of several classes of a file, at the first."""
    suspected = (f for f in findings if f.verdict is VerdictKind.SUSPECTED and not hidden(f))
    alike = grouped(suspected, lambda f: (f.span.path, f.code, f.message, f.text, f.symbol.rpartition(".")[2]))
    twins = (members for members in alike.values() if len({f.symbol for f in members}) == len(members) > 1)
    return _shown_as_one(findings, twins)


def _blocks(findings: Sequence[Finding], sources: Sources) -> Iterator[list[Finding]]:
    """What is found in the block of a branch or a loop that is told, and whose rule makes it a part of that."""
    suspected = (f for f in findings if f.verdict is VerdictKind.SUSPECTED and not hidden(f))
    for members in grouped(suspected, lambda f: (f.span.path, f.symbol)).values():
        while 1 < len(members) <= 60:  # of more, each is shown
            head, *rest = sorted(members, key=lambda f: f.span.line)
            parts = [f for f in rest if head.code in load_catalogue()[f.code].part_of and _below(head, f, sources)]
            members = [f for f in rest if f not in parts]
            yield [head, *parts]


def _below(head: Finding, finding: Finding, sources: Sources) -> bool:
    """True where all lines from the head of a statement down to a finding are indented deeper than the statement."""
    lines, at = sources(head.span.path), head.statement or head.span.line
    rows = filter(str.strip, (*lines[at - 1 : at], *lines[head.span.end_line : finding.span.line]))
    first, *below = [len(row) - len(row.lstrip()) for row in rows] or [0]
    return bool(below) and min(below) > first


def _shown_as_one(findings: Sequence[Finding], groups: Iterable[Sequence[Finding]]) -> list[Finding]:
    """The findings, with the first of each group for the group."""
    shown: dict[int, Finding | None] = {}
    for members in groups:
        shown.update((id(member), None) for member in members)
        shown[id(members[0])] = _together(members)
    return [f for f in (shown.get(id(finding), finding) for finding in findings) if f is not None]


def _one_of_calls(findings: Sequence[Finding], once: Set[str]) -> list[Finding]:
    """What is said of several export calls of a file in the same words, but for opsets, at the first of them."""
    of_calls = (f for f in findings if f.code in once and not hidden(f))
    alike = grouped(of_calls, lambda f: (f.span.path, f.code, _OPSET.sub("", f.message)))
    return _shown_as_one(findings, (members for members in alike.values() if len(members) > 1))


def _with_what_follows(groups: Mapping[tuple[str, str], list[Finding]]) -> list[list[Finding]]:
    """The groups; behind one of complex numbers, those of its file whose numbers were all assigned in its lines."""
    flowing = [(path, members) for (path, about), members in groups.items() if about.endswith(" complex numbers")]
    for path, members in flowing:
        for file, origin in flowing:
            if file == path and origin and members and origin is not members and _follow(members, origin):
                origin += members
                members.clear()
    return [*filter(None, groups.values())]


def _follow(members: Sequence[Finding], origin: Sequence[Finding]) -> bool:
    lines, harmed = {(f.span.path, f.span.line) for f in origin}, {e for f in origin for e in f.effects}
    values = [{(s.path, s.line) for s in f.trace if s.message.endswith("is assigned")} for f in members]
    return all(lines & assigned for assigned in values) and all(harmed.issuperset(f.effects) for f in members)


def _one_of_copies(findings: Sequence[Finding], sources: Sources, once: Set[str]) -> tuple[Finding, ...]:
    alike: dict[tuple[str, ...], list[Finding]] = {}
    for f in filterfalse(hidden, findings):
        name = _name_in_file(f) if f.code in once else f.symbol.rpartition(".")[2]
        alike.setdefault((f.code, name, f.message, f.text), []).append(f)
    copies: dict[tuple[str, str, int, int], list[Finding]] = {}
    for (code, name, *_), members in alike.items():
        for f in members if len({f.span.path for f in members}) > 1 else ():
            text, line = _definition(sources(f.span.path), f)
            if code in once and len({PurePath(m.span.path).name for m in members}) == 1:
                text, line = name, 0  # versions of one script, of which it says the same
            elif text.count("\n") < _LONG:  # a few lines may be the same in quite another class
                text = f"{_name_in_file(f)}\n{text}" * bool(text)
            copies.setdefault((code, text, line, f.span.column), []).append(f)
    shown: dict[int, Finding] = {}
    for (_, text, *_), members in copies.items():
        head, *others = sorted(members, key=_nearest)
        others = [f for f in others if text and f.verdict is VerdictKind.SUSPECTED and f.span.path != head.span.path]
        for f in others:
            shown[id(f)] = replace(f, severity=Severity.NOTE, also=(head.span, *f.also))
        shown[id(head)] = replace(head, also=(*head.also, *(span for f in others for span in (f.span, *f.also))))
    return tuple(shown.get(id(f), f) for f in findings)


def _name_in_file(finding: Finding) -> str:
    """The qualified name of the function that a finding stands in, without the module."""
    return f".{finding.symbol}".rpartition(f".{PurePath(finding.span.path).stem}.")[2]


def _definition(lines: Sequence[str], finding: Finding) -> tuple[str, int]:
    """The source of the function that a finding stands in, empty where it is not there, and its line in it."""
    header = re.compile(rf"\s*(?:async )?def {re.escape(finding.symbol.rpartition('.')[2])}\b")
    above = range(min(finding.span.line, len(lines)) - 1, -1, -1)
    first = next((n for n in above if header.match(lines[n])), len(lines))
    inside = re.compile(rf"{lines[first][: -len(lines[first].lstrip())]}[\s)]|\s*$") if first < len(lines) else header
    last = next((n for n in range(first + 1, len(lines)) if not inside.match(lines[n])), len(lines))
    return "\n".join(lines[first:last]).strip(), finding.span.line - first


def _nearest(finding: Finding) -> tuple[bool, int, int, int, int, str]:
    """What is seen to be exported comes before its copies, then the most certain and the worst, then the file whose
    module is imported from nearest to the top: its symbol names more of its path."""
    certainty, severity = _CERTAINTY.index(finding.verdict), _SEVERITIES.index(finding.severity)
    path, depth = finding.span.path, len(PurePath(finding.span.path).parts)
    return not finding.exported, certainty, severity, depth - finding.symbol.count("."), depth, path


def _about(finding: Finding, elsewhere: Mapping[tuple[str, str, str], str]) -> str:
    """What a finding is about; what an exporter says of a call is about what a rule speaks of in the same function."""
    if not finding.code.startswith("ONX7"):
        return finding.about
    keys = ((finding.span.path, finding.symbol, name) for name in _WORD.findall(finding.text))
    return next((elsewhere[key] for key in keys if key in elsewhere), finding.about)


def _first(finding: Finding) -> tuple[bool, bool, int, int, bool, bool, bool, int, int]:
    """Where a number was frozen comes before its uses, a rule's finding before an exporter's word, then the most
    certain, then what is wrong and not only other than asked, then the kernel that forward itself calls, then what is
    kept and not the test for it, then what the file has first."""
    span, measured = finding.span, finding.code.startswith("ONX7")
    certainty, severity = _CERTAINTY.index(finding.verdict), _SEVERITIES.index(finding.severity)
    called = finding.about.endswith(" is custom") and not finding.symbol.endswith(".forward")
    used = not finding.about.endswith(number_frozen(span))
    harmless = {*finding.effects.values()} <= {Outcome.OK}
    follows = finding.hints.get("follows") == 1
    return used, measured, certainty, severity, harmless, called, follows, span.line, span.column


def _together(members: Sequence[Finding]) -> Finding:
    head = members[0]
    effects = {e: o for member in reversed(members) for e, o in member.effects.items() if o is not Outcome.OK}
    also = {span for member in members for span in (member.span, *member.also) if span != head.span}
    return replace(
        head,
        severity=min((member.severity for member in members), key=_SEVERITIES.index),
        verdict=min((member.verdict for member in members), key=_CERTAINTY.index),
        exported=any(member.exported for member in members),
        effects={**head.effects, **effects},
        evidence=tuple(dict.fromkeys(evidence for member in members for evidence in member.evidence)),
        also=tuple(sorted(also, key=lambda span: (span.line, span.column))),
    )
