"""What the editor offers to do about findings: take over a fix, suppress one, take over all safe fixes of a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from lsprotocol import types

from onnxlint.edits import newline_of
from onnxlint.fix.choose import choose
from onnxlint.integrations.server.analysis import encoded
from onnxlint.integrations.server.convert import Places, diagnostic
from onnxlint.integrations.server.state import lines_of
from onnxlint.records import Edit, Finding, Safety
from onnxlint.source.annotate import AnnotateError, annotate
from onnxlint.source.parse import SourceFile, parse_source

FIX_ALL = "source.fixAll.onnxlint"
UNUSED = "ONX901"  # a suppression that is not needed: one is not silenced by another


class Offer:
    """The actions for the findings of one document, whose text is the one that was analysed."""

    def __init__(
        self,
        path: str,
        root: str,
        document: types.OptionalVersionedTextDocumentIdentifier,
        text: str,
        places: Callable[[str], Places],
        versioned: bool,
    ) -> None:
        """`places` turns places of a text; `versioned` tells that the editor takes edits for a version."""
        self._path = path
        self._root = root
        self._document = document
        self._text = text
        self._places = places(text)
        self._versioned = versioned

    def fixes(self, findings: Sequence[Finding]) -> list[types.CodeAction]:
        """One action for each fix that stays in the document; those that may change the output say so."""
        found = []
        for finding in findings:
            fix = finding.fix
            edits = self._edits([finding]) if fix is not None and fix.edits else None
            if fix is None or edits is None:
                continue
            safe = fix.safety is Safety.SAFE
            found.append(
                types.CodeAction(
                    title=f"{finding.code}: {fix.title}"
                    + ("" if safe else " (unsafe: may change what PyTorch computes)"),
                    kind=types.CodeActionKind.QuickFix,
                    diagnostics=[diagnostic(finding, self._places, self._root)],
                    is_preferred=safe or None,
                    edit=self._edit(edits),
                )
            )
        return found

    def suppressions(self, findings: Sequence[Finding]) -> list[types.CodeAction]:
        """One action for each finding: a `# noqa` at its statement."""
        source = parse_source(Path(self._path), encoded(self._text), self._path)
        if not isinstance(source, SourceFile):
            return []
        found = []
        for finding in findings:
            if finding.code == UNUSED:
                continue
            try:
                after = annotate(source, {finding.span.line: [finding.code]}).decode(source.encoding)
            except AnnotateError:
                continue
            found.append(
                types.CodeAction(
                    title=f"{finding.code}: suppress it here with `# noqa`",
                    kind=types.CodeActionKind.QuickFix,
                    diagnostics=[diagnostic(finding, self._places, self._root)],
                    edit=self._edit(self._changed_lines(after)),
                )
            )
        return found

    def fix_all(self, findings: Sequence[Finding]) -> list[types.CodeAction]:
        """One action for all safe fixes that go together; none where there is no such fix."""
        safe = [f for f in findings if f.fix is not None and f.fix.edits and f.fix.safety is Safety.SAFE]
        safe = [f for f in safe if self._edits([f]) is not None]
        if not safe:
            return []
        shown = safe[0].span.path
        edits = self._edits(choose(safe, {shown: self._text}).taken)
        title = "onnxlint: fix all that is safe"
        return [types.CodeAction(title=title, kind=FIX_ALL, edit=self._edit(edits or []))]

    def _edits(self, findings: Sequence[Finding]) -> list[types.TextEdit] | None:
        """The edits of some fixes; None where one is of another file, or does not fit the text."""
        wanted: dict[Edit, None] = {}
        for finding in findings:
            assert finding.fix is not None
            wanted |= dict.fromkeys(finding.fix.edits)
        if any(os.path.join(self._root, edit.path) != self._path for edit in wanted):
            return None
        if any(edit.end[0] > len(self._places.lines) for edit in wanted):
            return None
        newline = newline_of(self._text)
        return [self._places.edit(edit, newline) for edit in wanted]

    def _changed_lines(self, after: str) -> list[types.TextEdit]:
        """The lines that differ, where no line came or went."""
        lines = lines_of(after)
        found = []
        for number, (old, new) in enumerate(zip(self._places.lines, lines, strict=True), start=1):
            if old != new:
                end = self._places.position(number, len(old) + 1)
                found.append(types.TextEdit(types.Range(types.Position(number - 1, 0), end), new))
        return found

    def _edit(self, edits: list[types.TextEdit]) -> types.WorkspaceEdit:
        if self._versioned:
            return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(self._document, list(edits))])
        return types.WorkspaceEdit(changes={self._document.uri: edits})
