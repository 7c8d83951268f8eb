"""What the editor offers to do about findings: take over a fix, suppress one, take over all safe fixes of a file."""

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lsprotocol import types

from onnxlint.base.edits import choose, lines_of, newline_of
from onnxlint.base.records import Edit, Finding, Safety, grouped, to_json
from onnxlint.integrations.server.convert import Places, diagnostic
from onnxlint.integrations.server.editor_analysis import encoded
from onnxlint.integrations.server.projects import Document, Project
from onnxlint.source.annotate import AnnotateError, annotate
from onnxlint.source.parse import SourceFile, parse_source
from onnxlint.source.suppress import UNUSED

FIX_ALL = "source.fixAll.onnxlint"
_MOST_AT_ONCE = 4  # suppressions that are written for an editor that cannot ask for one


@dataclass(frozen=True, slots=True)
class Silence:
    """What a suppression that is offered without its edit will be: `code` at `line` of a version of a document."""

    uri: str
    version: int | None
    line: int
    code: str


@dataclass(frozen=True, slots=True)
class Offer:
    """The actions for the findings of one document, whose text is the one that was analysed.

    The editor may take edits for a version, and ask for them when they are chosen.
    """

    project: Project
    document: Document
    places: Places
    versioned: bool
    resolving: bool

    def fixes(self, findings: Sequence[Finding]) -> list[types.CodeAction]:
        """One action for each fix that stays in the document; those that may change the output say so."""
        actions = []
        for finding in findings:
            fix = finding.fix
            edits = self._edits([finding]) if fix is not None and fix.edits else None
            if fix is None or edits is None:
                continue
            safe = fix.safety is Safety.SAFE
            warning = "" if safe else " (unsafe: may change what PyTorch computes)"
            action = types.CodeAction(f"{finding.code}: {fix.title}{warning}", types.CodeActionKind.QuickFix)
            action.diagnostics, action.is_preferred = [self._diagnostic(finding)], safe or None
            action.edit = self._edit(edits)
            actions.append(action)
        return actions

    def suppressions(self, findings: Sequence[Finding]) -> list[types.CodeAction]:
        """One action for each code and line: a `# noqa` at the statement.

        To make sure of it takes longer than an editor may wait at each move of the pointer: it is done when the action
        is chosen, or for few of them where the editor has no such request.
        """
        by_place = grouped((f for f in findings if f.code != UNUSED), lambda f: (f.span.line, f.code))
        actions = []
        for (line, code), here in by_place.items():
            action = types.CodeAction(f"{code}: suppress it here with `# noqa`", types.CodeActionKind.QuickFix)
            action.diagnostics = [self._diagnostic(finding) for finding in here]
            if self.resolving:
                action.data = to_json(Silence(self.document.uri, self.document.version, line, code))
                actions.append(action)
            elif len(actions) < _MOST_AT_ONCE:
                with contextlib.suppress(AnnotateError):
                    action.edit = self.silence(line, code)
                    actions.append(action)
        return actions

    def silence(self, line: int, code: str) -> types.WorkspaceEdit:
        """The edit that suppresses a rule at a line. Raises AnnotateError where no comment can do that."""
        path = self.document.path
        source = parse_source(Path(path), encoded(self.document.text), path)
        if not isinstance(source, SourceFile):
            raise AnnotateError(source.message)
        return self._edit(self._changed_lines(annotate(source, {line: [code]}).decode(source.encoding)))

    def fix_all(self, findings: Sequence[Finding]) -> list[types.CodeAction]:
        """One action for all safe fixes that go together; none where there is no such fix."""
        safe = [f for f in findings if f.fix is not None and f.fix.edits and f.fix.safety is Safety.SAFE]
        safe = [f for f in safe if self._edits([f]) is not None]
        if not safe:
            return []
        edits = self._edits(choose(safe, {safe[0].span.path: self.document.text}))
        title = "onnxlint: fix all that is safe"
        return [types.CodeAction(title=title, kind=FIX_ALL, edit=self._edit(edits or []))]

    def _edits(self, findings: Sequence[Finding]) -> list[types.TextEdit] | None:
        """The edits of some fixes; None where one is of another file, or does not fit the text."""
        wanted: dict[Edit, None] = {}
        for finding in findings:
            assert finding.fix is not None
            wanted |= dict.fromkeys(finding.fix.edits)
        for edit in wanted:
            outside = os.path.join(self.project.root, edit.path) != self.document.path
            if outside or edit.end[0] > len(self.places.lines):
                return None
        newline = newline_of(self.document.text)
        return [self.places.edit(edit, newline) for edit in wanted]

    def _changed_lines(self, after: str) -> list[types.TextEdit]:
        """The lines that differ, where no line came or went."""
        lines = lines_of(after)
        edits = []
        for number, (old, new) in enumerate(zip(self.places.lines, lines, strict=True), start=1):
            if old != new:
                end = self.places.position(number, len(old) + 1)
                edits.append(types.TextEdit(types.Range(types.Position(number - 1, 0), end), new))
        return edits

    def _diagnostic(self, finding: Finding) -> types.Diagnostic:
        return diagnostic(finding, self.places, self.project.uri)

    def _edit(self, edits: list[types.TextEdit]) -> types.WorkspaceEdit:
        document = types.OptionalVersionedTextDocumentIdentifier(self.document.uri, self.document.version)
        if self.versioned:
            return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(document, list(edits))])
        return types.WorkspaceEdit(changes={document.uri: edits})
