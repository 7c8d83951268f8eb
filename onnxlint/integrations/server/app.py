"""The server itself: what the editor tells, what it asks, and what is shown there."""

from __future__ import annotations

import logging
import os
import sys
from typing import BinaryIO

from lsprotocol import types
from pygls import uris
from pygls.lsp.server import LanguageServer
from pygls.workspace import PositionCodec

from onnxlint import __version__
from onnxlint.catalogue import load_catalogue
from onnxlint.integrations.server import hover
from onnxlint.integrations.server.actions import FIX_ALL, Offer
from onnxlint.integrations.server.convert import Places, at, diagnostic, fault, uri_of
from onnxlint.integrations.server.projects import Document, Project, Projects

# What makes another analysis necessary though no editor has it open; the last one is written when a check has proofs.
_WATCHED = (
    "**/*.py",
    "**/pyproject.toml",
    "**/onnxlint.toml",
    "**/.onnxlint.toml",
    "**/.gitignore",
    "**/.onnxlint/repro/index.json",
)


class Server(LanguageServer):
    """The language server. Whole texts are sent: pygls parts lines where the protocol does not, as at form feeds."""

    def __init__(self) -> None:
        super().__init__("onnxlint", __version__, text_document_sync_kind=types.TextDocumentSyncKind.Full)
        self.projects = Projects(self._publish, self._publish_faults, self._tell)
        self._told: set[str] = set()

    def report_server_error(self, error: Exception, source: type[Exception]) -> None:
        """An error of the server in one line of its log."""
        self._tell(f"internal error: {type(error).__name__}: {(str(error).splitlines() or [''])[0]}")

    def places(self, text: str) -> Places:
        """Turns places of a text into those of the editor."""
        return Places(text, self._codec)

    @property
    def _codec(self) -> PositionCodec:
        return self.workspace.position_codec

    def _tell(self, message: str) -> None:
        self.window_log_message(types.LogMessageParams(types.MessageType.Error, f"onnxlint: {message}"))

    def _publish(self, project: Project, document: Document) -> None:
        places = self.places(document.text)
        shown = [diagnostic(f, places, project.root, project.before(f)) for f in document.shown.findings]
        shown += [fault(found, places) for found in document.faults]
        self.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri=document.uri, diagnostics=shown, version=document.version)
        )

    def _publish_faults(self, project: Project) -> None:
        """Mistakes in configuration files stand in them."""
        by_path: dict[str, list[types.Diagnostic]] = {}
        for found in project.faults:
            path = os.path.join(project.root, found.path or "")
            by_path.setdefault(path, []).append(fault(found, self.places(_text_of(path))))
        gone = {path for path in self._told if path.startswith(project.root + os.sep)} - by_path.keys()
        for path in (*by_path, *gone):
            told = types.PublishDiagnosticsParams(uri=uri_of(path), diagnostics=by_path.get(path, []))
            self.text_document_publish_diagnostics(told)
        self._told = (self._told - gone) | by_path.keys()


def _text_of(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace", newline="") as file:
            return file.read()
    except OSError:
        return ""


def _path(uri: str) -> str | None:
    """The path of a document, without symbolic links, as a check in its folder sees it; None where it is no file."""
    path = uris.to_fs_path(uri)
    return os.path.realpath(path) if path else None


def build() -> Server:
    """The server with all that it answers to."""
    server = Server()

    @server.feature(types.INITIALIZED)
    async def initialized(_: types.InitializedParams) -> None:
        for folder in server.workspace.folders.values():
            path = _path(folder.uri)
            if path is not None:
                server.projects.add(path)
        root = server.workspace.root_path
        if root and not server.workspace.folders:
            server.projects.add(os.path.realpath(root))
        await _watch(server)

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    async def opened(params: types.DidOpenTextDocumentParams) -> None:
        told = params.text_document
        path = _path(told.uri)
        if path is not None and (told.language_id == "python" or path.endswith(".py")):
            server.projects.open(Document(path, told.uri, told.version, told.text.removeprefix("\ufeff")))

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: types.DidChangeTextDocumentParams) -> None:
        path = _path(params.text_document.uri)
        if path is not None:
            text = server.workspace.get_text_document(params.text_document.uri).source
            server.projects.change(path, text.removeprefix("\ufeff"), params.text_document.version)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def saved(params: types.DidSaveTextDocumentParams) -> None:
        path = _path(params.text_document.uri)
        if path is not None:
            server.projects.saved(path)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    async def closed(params: types.DidCloseTextDocumentParams) -> None:
        path = _path(params.text_document.uri)
        if path is not None:
            server.projects.close(path)
            told = types.PublishDiagnosticsParams(uri=params.text_document.uri, diagnostics=[])
            server.text_document_publish_diagnostics(told)

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    async def folders(params: types.DidChangeWorkspaceFoldersParams) -> None:
        for folder in params.event.added:
            path = _path(folder.uri)
            if path is not None:
                server.projects.add(path)
        for folder in params.event.removed:
            path = _path(folder.uri)
            for document in server.projects.remove(path) if path is not None else ():
                server.projects.open(document)  # it is open still

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    async def watched(params: types.DidChangeWatchedFilesParams) -> None:
        paths = [path for change in params.changes if (path := _path(change.uri)) is not None]
        server.projects.changed_outside(paths)

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hovered(params: types.HoverParams) -> types.Hover | None:
        known = _known(server, params.text_document.uri)
        if known is None:
            return None
        _, document = known
        places = server.places(document.text)
        catalogue = load_catalogue()
        here = types.Range(params.position, params.position)
        found = at(document.shown.findings, here, places) if document.shown.text == document.text else []
        if found:
            told, where = hover.of_findings(found, catalogue), places.range(found[0].span)
            return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, told), where) if told else None
        line = places.lines[params.position.line] if params.position.line < len(places.lines) else ""
        named = hover.code_at(line, places.column(params.position))
        told = hover.of_code(named[0], catalogue) if named is not None else ""
        if named is None or not told:
            return None
        number = params.position.line + 1
        where = types.Range(places.position(number, named[1]), places.position(number, named[2]))
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, told), where)

    kinds: list[types.CodeActionKind | str] = [types.CodeActionKind.QuickFix, FIX_ALL]

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=kinds))
    def actions(params: types.CodeActionParams) -> list[types.CodeAction]:
        known = _known(server, params.text_document.uri)
        if known is None or known[1].shown.text != known[1].text:
            return []  # what is known speaks of another text; the editor asks again when it is told more
        project, document = known
        wanted = params.context.only
        offer = Offer(
            document.path,
            project.root,
            types.OptionalVersionedTextDocumentIdentifier(document.uri, document.version),
            document.text,
            server.places,
            _versioned(server),
        )
        found: list[types.CodeAction] = []
        if _asked(types.CodeActionKind.QuickFix, wanted):
            here = at(document.shown.findings, params.range, server.places(document.text))
            found += [*offer.fixes(here), *offer.suppressions(here)]
        if _asked(FIX_ALL, wanted):
            found += offer.fix_all(document.shown.findings)
        return found

    @server.feature(types.SHUTDOWN)
    async def shutdown(_: None) -> None:
        await server.projects.end()

    return server


def _known(server: Server, uri: str) -> tuple[Project, Document] | None:
    path = _path(uri)
    return server.projects.find(path) if path is not None else None


def _asked(kind: str, wanted: object) -> bool:
    """Whether an editor that asks for these kinds of actions, or for all, takes this one."""
    if not isinstance(wanted, (list, tuple)):
        return True
    return any(kind == one or kind.startswith(f"{one}.") or not one for one in map(_value, wanted))


def _value(kind: object) -> str:
    return str(getattr(kind, "value", kind))


def _versioned(server: Server) -> bool:
    workspace = server.client_capabilities.workspace
    edit = workspace.workspace_edit if workspace is not None else None
    return bool(edit is not None and edit.document_changes)


async def _watch(server: Server) -> None:
    """Ask the editor to tell of files that change, where it can."""
    workspace = server.client_capabilities.workspace
    ability = workspace.did_change_watched_files if workspace is not None else None
    if ability is None or not ability.dynamic_registration:
        return
    watchers = [types.FileSystemWatcher(pattern) for pattern in _WATCHED]
    options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
    registration = types.Registration("onnxlint-files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
    await server.client_register_capability_async(types.RegistrationParams([registration]))


def serve() -> None:
    """Serve on standard input and output until the editor ends it. Nothing but the protocol is written there."""
    logging.basicConfig(stream=sys.stderr, level=logging.CRITICAL)
    reading, writing = _own_channels()
    build().start_io(reading, writing)


def _own_channels() -> tuple[BinaryIO, BinaryIO]:
    """Standard input and output for the protocol alone: others, and processes that are started, get none of it."""
    reading, writing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return reading, writing
