"""The server itself: what the editor tells, what it asks, and what is shown there."""

import asyncio
import os

import msgspec
from lsprotocol import types
from pygls.exceptions import JsonRpcContentModified, JsonRpcException, JsonRpcInternalError
from pygls.lsp.server import LanguageServer

from onnxlint import __version__
from onnxlint.base.catalogue import load_catalogue
from onnxlint.base.files import read_text
from onnxlint.config.config_files import MAX_BYTES
from onnxlint.integrations.server import disk_watch, hover
from onnxlint.integrations.server.code_actions import FIX_ALL, Offer, Silence
from onnxlint.integrations.server.convert import Places, at, diagnostic, fault, to_path
from onnxlint.integrations.server.projects import Document, Project, Projects
from onnxlint.source.annotate import AnnotateError

# What makes another analysis necessary though no editor has it open.
_WATCHED = tuple(f"**/{name}" for name in ("*.py", *disk_watch.NAMES))


class Server(LanguageServer):
    """The language server. Whole texts are sent: pygls parts lines where the protocol does not, as at form feeds."""

    def __init__(self) -> None:
        super().__init__("onnxlint", __version__, text_document_sync_kind=types.TextDocumentSyncKind.Full)
        self.projects = Projects(self._publish, self._publish_faults, self._tell)
        self.watching: asyncio.Task[None] | None = None
        self.ending = False
        self.code = 0
        self._faulty: dict[str, set[str]] = {}  # URIs of configuration files with mistakes, by project

    def report_server_error(self, error: Exception, source: type[Exception]) -> None:
        """An error of the server in one line of its log. A request that cannot be granted has its answer."""
        if isinstance(error, JsonRpcException) and not isinstance(error, JsonRpcInternalError):
            return
        self._tell(f"internal error: {type(error).__name__}: {(str(error).splitlines() or [''])[0]}")

    def places(self, text: str) -> Places:
        """Turns places of a text into those of the editor."""
        return Places(text, self.workspace.position_codec)

    def offer(self, project: Project, document: Document) -> Offer:
        """What can be done about the findings of a document, in this editor."""
        able = self.client_capabilities
        edit = able.workspace.workspace_edit if able.workspace is not None else None
        action = able.text_document.code_action if able.text_document is not None else None
        later = action.resolve_support.properties if action is not None and action.resolve_support is not None else ()
        versioned = bool(edit is not None and edit.document_changes)
        return Offer(project, document, self.places(document.text), versioned, "edit" in later)

    def _tell(self, message: str) -> None:
        self.window_log_message(types.LogMessageParams(types.MessageType.Error, f"onnxlint: {message}"))

    def _publish(self, project: Project, document: Document) -> None:
        places = self.places(document.text)
        shown = [diagnostic(f, places, project.uri, project.before(f)) for f in document.shown.findings]
        shown += [fault(diagnosed, places) for diagnosed in document.faults]
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(document.uri, shown, document.version))

    def _publish_faults(self, project: Project) -> None:
        """Mistakes in configuration files stand in them."""
        by_uri: dict[str, list[types.Diagnostic]] = {}
        for diagnosed in project.faults:
            text = read_text(os.path.join(project.root, diagnosed.path or ""), MAX_BYTES)
            by_uri.setdefault(project.uri(diagnosed.path or ""), []).append(fault(diagnosed, self.places(text)))
        for uri in self._faulty.get(project.root, set()) | by_uri.keys():
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, by_uri.get(uri, [])))
        self._faulty[project.root] = set(by_uri)


def build() -> Server:
    """The server with all that it answers to."""
    server = Server()

    @server.feature(types.INITIALIZED)
    async def initialized(_: types.InitializedParams) -> None:
        folders = server.workspace.folders
        paths = [to_path(folder.uri) for folder in folders.values()] if folders else [server.workspace.root_path]
        for path in filter(None, paths):
            server.projects.add(path)
        if not await _watched(server):
            server.watching = asyncio.get_running_loop().create_task(disk_watch.look(server.projects))

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    async def opened(params: types.DidOpenTextDocumentParams) -> None:
        item = params.text_document
        path = to_path(item.uri) or server.projects.place_of(item.uri)
        if path is not None and (item.language_id == "python" or item.uri.endswith(".py")):
            text = item.text.removeprefix("\ufeff")
            server.projects.open(Document(os.path.realpath(path), item.uri, item.version, text))

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: types.DidChangeTextDocumentParams) -> None:
        uri = params.text_document.uri
        if server.projects.find(uri) is not None:
            text = server.workspace.get_text_document(uri).source
            server.projects.change(uri, text.removeprefix("\ufeff"), params.text_document.version)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def saved(params: types.DidSaveTextDocumentParams) -> None:
        opened = server.projects.find(params.text_document.uri)
        if opened is not None:
            server.projects.refresh(opened[0])  # other files that are open may read what was saved

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    async def closed(params: types.DidCloseTextDocumentParams) -> None:
        if server.projects.close(params.text_document.uri):
            server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(params.text_document.uri, []))

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    async def folders(params: types.DidChangeWorkspaceFoldersParams) -> None:
        for path in filter(None, (to_path(folder.uri) for folder in params.event.removed)):
            for document in server.projects.remove(path):
                server.projects.open(document)  # it is open still
        for path in filter(None, (to_path(folder.uri) for folder in params.event.added)):
            server.projects.add(path)

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    async def watched(params: types.DidChangeWatchedFilesParams) -> None:
        paths = [path for change in params.changes if (path := to_path(change.uri)) is not None]
        server.projects.changed_outside(map(os.path.realpath, paths))

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hovered(params: types.HoverParams) -> types.Hover | None:
        opened = server.projects.find(params.text_document.uri)
        if opened is None:
            return None
        _, document = opened
        places = server.places(document.text)
        catalogue = load_catalogue()
        here = types.Range(params.position, params.position)
        findings = at(document.shown.findings, here, places) if document.shown.text == document.text else []
        if findings:
            text, where = hover.of_findings(findings, catalogue), places.range(findings[0].span)
            return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text), where) if text else None
        line = places.lines[params.position.line] if params.position.line < len(places.lines) else ""
        named = hover.code_at(line, places.column(params.position))
        if named is None or named[0] not in catalogue:
            return None
        number = params.position.line + 1
        where = types.Range(places.position(number, named[1]), places.position(number, named[2]))
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, hover.of_rule(catalogue[named[0]])), where)

    kinds: list[types.CodeActionKind | str] = [types.CodeActionKind.QuickFix, FIX_ALL]
    options = types.CodeActionOptions(code_action_kinds=kinds, resolve_provider=True)

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, options)
    def actions(params: types.CodeActionParams) -> list[types.CodeAction]:
        opened = server.projects.find(params.text_document.uri)
        if opened is None or opened[1].shown.text != opened[1].text:
            return []  # what is known speaks of another text; the editor asks again when it is told more
        document, wanted, offer = opened[1], params.context.only, server.offer(*opened)
        offered: list[types.CodeAction] = []
        if _asked(types.CodeActionKind.QuickFix, wanted):
            here = at(document.shown.findings, params.range, server.places(document.text))
            offered += [*offer.fixes(here), *offer.suppressions(here)]
        if _asked(FIX_ALL, wanted):
            offered += offer.fix_all(document.shown.findings)
        return offered

    @server.feature(types.CODE_ACTION_RESOLVE)
    def resolved(action: types.CodeAction) -> types.CodeAction:
        if action.edit is not None or action.data is None:
            return action
        asked = msgspec.convert(action.data, Silence)
        opened = server.projects.find(asked.uri)
        if opened is None or opened[1].version != asked.version:
            raise JsonRpcContentModified("the text has changed since")
        try:
            action.edit = server.offer(*opened).silence(asked.line, asked.code)
        except AnnotateError as error:
            raise JsonRpcException(str(error), types.LSPErrorCodes.RequestFailed.value) from error
        return action

    @server.feature(types.SHUTDOWN)
    async def shutdown(_: None) -> None:
        server.ending = True
        await server.projects.end()

    @server.feature(types.EXIT)
    def exited(_: None) -> None:
        server.code = 0 if server.ending else 1

    return server


def _asked(kind: str, wanted: object) -> bool:
    """Whether an editor that asks for these kinds of actions, or for all, takes this one."""
    if not isinstance(wanted, (list, tuple)):
        return True
    kinds = [str(getattr(one, "value", one)) for one in wanted]
    return any(kind == one or kind.startswith(f"{one}.") or not one for one in kinds)


async def _watched(server: Server) -> bool:
    """Ask the editor to tell of files that change; tell whether it can."""
    workspace = server.client_capabilities.workspace
    ability = workspace.did_change_watched_files if workspace is not None else None
    if ability is None or not ability.dynamic_registration:
        return False
    options = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher(pattern) for pattern in _WATCHED])
    registration = types.Registration("onnxlint-files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
    await server.client_register_capability_async(types.RegistrationParams([registration]))
    return True
