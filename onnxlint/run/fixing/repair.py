"""`--fix`: fix, look again, undo what did not help, until nothing is left to fix; then put the files in place."""

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from onnxlint.base.edits import apply_edits, choose, written_lines
from onnxlint.base.paths import leads_out
from onnxlint.base.records import Diagnostic, Finding, Fix, Report, Safety, Severity
from onnxlint.report.progress import SILENT, Progress
from onnxlint.run import session
from onnxlint.run.changed_lines import Base
from onnxlint.run.fixing.fix_proof import Proof, unhelpful
from onnxlint.run.fixing.fix_writing import Change, unwritable
from onnxlint.run.scopes import Scope
from onnxlint.run.session import Session
from onnxlint.source.parse import SourceFile, parse_source, read_source, tree_of

ROUNDS = 10  # each takes every fix that touches no other; what is nested in more than ten others is left

Look = Callable[[Mapping[Path, bytes]], Report]


@dataclass(frozen=True, slots=True)
class Repaired:
    """What became of a run with fixes: the session after them, what was fixed, and the files as they are to be.

    `look` examines the files as they are by then, for a caller who could not write all of them.
    """

    session: Session
    fixed: tuple[Finding, ...]
    changes: tuple[Change, ...]
    look: Callable[[], Session]

    @property
    def overlay(self) -> dict[Path, bytes]:
        """The bytes of the fixed files, by resolved path."""
        return {change.target: change.after for change in self.changes}


@dataclass(slots=True)
class _Draft:
    """The files as they are so far, what was fixed in them, and what was undone, with the reason."""

    roots: Sequence[Path] | None = ()
    buffers: Mapping[Path, bytes] = field(default_factory=dict)
    sources: dict[str, SourceFile] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    fixed: list[Finding] = field(default_factory=list)
    undone: dict[str, tuple[Finding, str]] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)

    def load(self, path: str) -> bool:
        if path in self.texts:
            return True
        if path in self.refused:
            return False
        data = self.buffers.get(Path(path).resolve())
        source = read_source(Path(path)) if data is None else parse_source(Path(path), data, path)
        if isinstance(source, Diagnostic):
            self.refused[path] = source.message
            return False
        if self.roots is not None and data is None:
            reason = leads_out(Path(path), self.roots) or unwritable(Path(path))
            if reason is not None:
                self.refused[path] = reason
                return False
        self.sources[path], self.texts[path] = source, source.text
        return True

    def changes(self) -> tuple[Change, ...]:
        differing = []
        for path, text in sorted(self.texts.items()):
            source = self.sources[path]
            if text != source.text:
                before = source.text.encode(source.encoding)
                differing.append(Change(path, Path(path).resolve(), before, source.text, text, source.encoding))
        return tuple(differing)

    def overlay(self) -> dict[Path, bytes]:
        return {**self.buffers, **{change.target: change.after for change in self.changes()}}


def repair(
    scopes: Sequence[Scope],
    *,
    unsafe: bool,
    shown: Callable[[Finding], bool],
    progress: Progress = SILENT,
    base: Base | None = None,
    roots: Sequence[Path] | None = (),
    buffers: Mapping[Path, bytes] = MappingProxyType({}),
) -> Repaired:
    """Fix what can be fixed in the files of `scopes`, in memory: nothing is written, though it may be meant to be.

    `roots` are the paths to check: what a link leads to outside of them is not fixed. None where nothing is to be
    written; then what cannot be written is fixed as well.

    The bytes of `buffers` by resolved path, such as standard input, are fixed in the place of those on the disk.
    Fixes of findings that are not `shown`, and with `unsafe` False those that may change eager's output, are left.
    """
    ours = {os.path.realpath(file) for scope in scopes for file in scope.discovery.files}
    before = session.run(scopes, progress=progress, base=base, overlay=buffers, shown=shown)
    if before.report.interrupted:
        raise KeyboardInterrupt
    dismissed = {finding.fingerprint for finding in before.report.findings if not shown(finding)}

    def wanted(finding: Finding) -> bool:
        fix = finding.fix
        shows = shown(finding) and finding.fingerprint not in dismissed
        safe = fix is not None and (fix.safety is Safety.SAFE or (unsafe and fix.safety is Safety.UNSAFE))
        edits = fix.edits if fix is not None and safe and shows else ()
        return bool(edits) and all(os.path.realpath(edit.path) in ours for edit in edits)

    static = tuple(replace(s, settings=replace(s.settings, static_only=True)) for s in scopes)

    def look(overlay: Mapping[Path, bytes]) -> Report:
        return session.run(static, base=None, overlay=overlay, shown=shown).report

    def drafted(undone: Mapping[str, tuple[Finding, str]]) -> _Draft:
        return _converge(_Draft(roots, buffers, undone=dict(undone)), before.report, look, wanted)

    draft, after = drafted({}), before
    while draft.changes():
        with Proof(draft.overlay()) as proof:
            after = session.run(scopes, progress=progress, overlay=draft.overlay(), also=proof, shown=shown)
            if after.report.interrupted:
                raise KeyboardInterrupt
        suspects = proof.changed(draft.fixed)
        useless = unhelpful(draft.fixed, before.report, after.report)
        if not suspects and not useless:
            break
        undone = {**draft.undone, **useless, **suspects}
        for fingerprint in suspects if len(suspects) > 1 else ():
            alone = drafted({key: reason for key, reason in undone.items() if key != fingerprint})
            if _keeps_output(scopes, alone):
                del undone[fingerprint]
        if undone.keys() == draft.undone.keys():
            undone |= suspects  # each alone is harmless, together they are not
        draft, after = drafted(undone), before

    def finished(after: Session) -> Session:
        findings = after.report.findings
        compared = before.report.diagnostics if base is not None else ()
        if base is not None:  # lines have moved since the revision was compared
            known = {finding.fingerprint for finding in before.report.findings}
            findings = tuple(f for f in findings if f.fingerprint in known)
        findings = tuple(  # nobody is to be offered what was undone
            replace(f, fix=Fix(f.fix.title)) if f.fingerprint in draft.undone and f.fix is not None else f
            for f in findings
        )
        said = ((f.span, f"the fix of {f.code} was undone: {reason}") for f, reason in draft.undone.values())
        undone = (Diagnostic("warning", message, span.path, span.line) for span, message in said)
        faults = draft.refused.items()
        refused = (Diagnostic("error", f"{reason}; its findings are not fixed", path) for path, reason in faults)
        diagnostics = tuple(dict.fromkeys((*after.report.diagnostics, *compared, *refused, *undone)))
        return replace(after, report=replace(after.report, findings=findings, diagnostics=diagnostics))

    def look_again() -> Session:
        return finished(session.run(scopes, progress=progress, overlay=buffers, shown=shown))

    return Repaired(finished(after), tuple(draft.fixed), draft.changes(), look_again)


def _keeps_output(scopes: Sequence[Scope], draft: _Draft) -> bool:
    """Whether eager gives with the fixed source what it gave before; nothing is exported."""
    eager = tuple(replace(scope, settings=replace(scope.settings, exporters=())) for scope in scopes)
    with Proof(draft.overlay()) as proof:
        if session.run(eager, overlay=draft.overlay(), also=proof).report.interrupted:
            raise KeyboardInterrupt
    return not proof.changed(draft.fixed)


def _converge(draft: _Draft, report: Report, look: Look, wanted: Callable[[Finding], bool]) -> _Draft:
    """Fix round after round until nothing is left to fix, or a bound is reached."""
    for _ in range(ROUNDS):
        todo = [f for f in report.findings if wanted(f) and f.fingerprint not in draft.undone]
        todo = [f for f in todo if f.fix is not None and all(draft.load(edit.path) for edit in f.fix.edits)]
        chosen = choose(todo, draft.texts)
        if not chosen:
            break
        report = _round(draft, report, chosen, look)
    return draft


def _round(draft: _Draft, report: Report, chosen: Sequence[Finding], look: Look) -> Report:
    """Apply the fixes, look at what is found then, and do it again without those that did not help."""
    start = dict(draft.texts)
    applied = list(chosen)
    while applied:
        for path, text in start.items():
            edits = [e for f in applied if f.fix is not None for e in f.fix.edits if e.path == path]
            draft.texts[path] = apply_edits(text, edits)
        broken = {path for path, text in draft.texts.items() if text != start[path] and not _parses(text)}
        useless = [f for f in applied if f.fix is not None and any(edit.path in broken for edit in f.fix.edits)]
        faults = {f.fingerprint: "the file no longer parses" for f in useless}
        after = look(draft.overlay()) if not faults else report
        if not faults:
            faults = _useless(applied, report, after)
        if not faults:
            draft.fixed += applied
            return after
        for finding in applied:
            if finding.fingerprint in faults:
                draft.undone[finding.fingerprint] = finding, faults[finding.fingerprint]
        applied = [f for f in applied if f.fingerprint not in faults]
    draft.texts.update(start)
    return report


def _useless(applied: Sequence[Finding], before: Report, after: Report) -> dict[str, str]:
    """Which fixes left their finding, or made another one that nothing can fix: reasons by fingerprint."""
    was = Counter(f.fingerprint for f in before.findings)
    now = Counter(f.fingerprint for f in after.findings)
    fixed = Counter(f.fingerprint for f in applied)
    faults = {print_: "the finding is still there" for print_ in fixed if now[print_] > was[print_] - fixed[print_]}
    fresh = [f for f in after.findings if f.fingerprint not in was and f.severity is not Severity.NOTE]
    fresh = [f for f in fresh if f.fix is None or not f.fix.edits]
    for path in {f.span.path for f in fresh}:
        edits = [(f, e) for f in applied if f.fix is not None for e in f.fix.edits if e.path == path]
        for (finding, _), (low, high) in zip(edits, written_lines([e for _, e in edits]), strict=True):
            new = next((f for f in fresh if f.span.path == path and low <= f.span.line <= high), None)
            if new is not None:
                faults.setdefault(finding.fingerprint, f"what it writes has the finding {new.code}")
    return faults


def _parses(text: str) -> bool:
    try:
        tree_of(text)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True
