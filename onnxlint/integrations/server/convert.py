"""Records → what the protocol calls them. Columns become units of the encoding that was agreed with the editor."""

from collections.abc import Callable, Sequence

from lsprotocol import types
from pygls import uris
from pygls.workspace import PositionCodec

from onnxlint.base.catalogue import load_catalogue
from onnxlint.base.edits import lines_of
from onnxlint.base.records import Diagnostic, Edit, Finding, Severity, Span, VerdictKind
from onnxlint.report.common import words

Uri = Callable[[str], str]
SOURCE = "onnxlint"
_KINDS = types.DiagnosticSeverity
_SEVERITIES = {Severity.ERROR: _KINDS.Error, Severity.WARNING: _KINDS.Warning, Severity.NOTE: _KINDS.Information}
_MOST_PLACES = 12  # of a trace that are listed


class Places:
    """Turns places (line and column in characters, from 1) of one text into those of the protocol, and back."""

    def __init__(self, text: str, codec: PositionCodec) -> None:
        self.lines = lines_of(text)
        self._codec = codec

    def position(self, line: int, column: int) -> types.Position:
        """The position of a place; one past the text is at its end."""
        if line > len(self.lines):
            return types.Position(len(self.lines) - 1, self._codec.client_num_units(self.lines[-1]))
        return types.Position(line - 1, self._codec.client_num_units(self.lines[line - 1][: column - 1]))

    def column(self, position: types.Position) -> int:
        """The column, in characters from 1, of a position."""
        return int(self._codec.position_from_client_units(self.lines, position).character) + 1

    def range(self, span: Span) -> types.Range:
        """The range of a span."""
        return types.Range(self.position(span.line, span.column), self.position(span.end_line, span.end_column))

    def edit(self, edit: Edit, newline: str) -> types.TextEdit:
        """An edit, with the newlines of the text."""
        where = types.Range(self.position(*edit.start), self.position(*edit.end))
        return types.TextEdit(where, edit.text.replace("\n", newline))


def diagnostic(finding: Finding, places: Places, uri: Uri, proved: Finding | None = None) -> types.Diagnostic:
    """A finding. `uri` names files; `proved` is the same one as it was confirmed before the file was changed."""
    rule = load_catalogue().get(finding.code)
    about = types.CodeDescription(rule.uri) if rule is not None else None
    what = message(finding, proved), _SEVERITIES[finding.severity], finding.code, about, SOURCE
    related, data = _related(finding, uri) or None, {"fingerprint": finding.fingerprint}
    return types.Diagnostic(places.range(finding.span), *what, related_information=related, data=data)


def message(finding: Finding, proved: Finding | None = None) -> str:
    """The finding, its verdict, and what becomes of it in each exporter: a line each."""
    lines = [words.clean(finding.message)]
    if finding.verdict is not VerdictKind.SUSPECTED:
        lines.append(words.VERDICT_WORDS[finding.verdict])
    lines += [f"{name}: {what}" for name, what in words.effects_of(finding)]
    if proved is not None and not finding.evidence:
        lines.append("confirmed before the last change; `onnxlint check` tells whether it still holds")
    return "\n".join(lines)


def fault(diagnosed: Diagnostic, places: Places) -> types.Diagnostic:
    """What is wrong with a file itself, at its line."""
    line = min(diagnosed.line or 1, len(places.lines))
    text = places.lines[line - 1].rstrip()
    first = len(text) - len(text.lstrip()) + 1
    where = types.Range(places.position(line, first), places.position(line, len(text) + 1))
    severity = _SEVERITIES[Severity.ERROR if diagnosed.level == "error" else Severity.WARNING]
    return types.Diagnostic(range=where, message=words.clean(diagnosed.message), severity=severity, source=SOURCE)


def _related(finding: Finding, uri: Uri) -> list[types.DiagnosticRelatedInformation]:
    """How the value came to be what it is, and where a failure was observed."""
    places = [(step.path, step.line, step.message) for step in finding.trace[-_MOST_PLACES:]]
    for evidence in words.most_telling(finding.evidence):
        if evidence.frames and (observed := words.observed(evidence)):
            where, exporter = evidence.frames[0], words.exporter_name(evidence.exporter)
            places.append((where.path, where.line, f"{exporter}: {observed}"))
    related = []
    for path, line, text in dict.fromkeys(places):
        first = max(line - 1, 0)
        rows = types.Range(types.Position(first, 0), types.Position(first + 1, 0))
        related.append(types.DiagnosticRelatedInformation(types.Location(uri(path), rows), words.clean(text)))
    return related


def to_path(uri: str) -> str | None:
    """The path of a document as the editor names it; None where it is no file."""
    path = uris.to_fs_path(uri)
    return path if path and "\0" not in path else None


def at(findings: Sequence[Finding], where: types.Range, places: Places) -> list[Finding]:
    """The findings that share a place with a range; one that is empty is a place."""
    ranges = [(finding, places.range(finding.span)) for finding in findings]
    return [finding for finding, its in ranges if its.start <= where.end and where.start <= its.end]
