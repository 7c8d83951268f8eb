"""An editor for tests: pygls' own client, on the standard input and output of a real server, without async in tests."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.lsp.client import BaseLanguageClient

Diagnostics = list[types.Diagnostic]


class Editor:
    """Starts a server and speaks with it. `published` is every notification of diagnostics, in order.

    `watching`: it tells of files that change on the disk. `resolving`: it asks for the edit of an action when chosen.
    """

    def __init__(self, *folders: Path, watching: bool = True, resolving: bool = False, **environment: str) -> None:
        self.published: list[types.PublishDiagnosticsParams] = []
        self.logged: list[str] = []
        self.watched: list[str] = []
        self.stderr = b""
        self._versions: dict[str, int] = {}
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        self._client = BaseLanguageClient("test", "1")
        self._news = threading.Condition()
        self._hear()
        env = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2]), **environment}
        command = [sys.executable, "-m", "onnxlint", "server"]
        self.await_(self._client.start_io(*command, env=env, cwd=str(folders[0] if folders else Path("/"))))
        workspace = [types.WorkspaceFolder(folder.as_uri(), folder.name) for folder in folders]
        self.capabilities = self.await_(
            self._client.initialize_async(
                types.InitializeParams(
                    capabilities=types.ClientCapabilities(
                        workspace=types.WorkspaceClientCapabilities(
                            workspace_edit=types.WorkspaceEditClientCapabilities(document_changes=True),
                            workspace_folders=True,
                            did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(
                                dynamic_registration=watching
                            ),
                        ),
                        text_document=types.TextDocumentClientCapabilities(
                            code_action=types.CodeActionClientCapabilities(
                                resolve_support=types.ClientCodeActionResolveOptions(["edit"]) if resolving else None
                            )
                        ),
                    ),
                    workspace_folders=workspace or None,
                )
            )
        ).capabilities
        self._call(self._client.initialized, types.InitializedParams())

    def _hear(self) -> None:
        @self._client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(params: types.PublishDiagnosticsParams) -> None:
            with self._news:
                self.published.append(params)
                self._news.notify_all()

        @self._client.feature(types.WINDOW_LOG_MESSAGE)
        def logged(params: types.LogMessageParams) -> None:
            self.logged.append(params.message)

        @self._client.feature(types.CLIENT_REGISTER_CAPABILITY)
        def registered(params: types.RegistrationParams) -> None:
            for registration in params.registrations:
                self.watched += [w["globPattern"] for w in _plain(registration.register_options)["watchers"]]

    def await_(self, work: Coroutine[Any, Any, Any], timeout: float = 60) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout)

    def _call(self, function: Callable[[Any], Any], params: Any) -> None:
        async def call() -> None:
            function(params)

        self.await_(call())

    @property
    def pid(self) -> int:
        server = self._client._server
        assert server is not None
        return int(server.pid)

    def open(self, path: Path | str, text: str | None = None) -> None:
        """Open a file, or a document that has a URI only."""
        told = path.read_text(encoding="utf-8") if text is None and isinstance(path, Path) else text or ""
        uri = _uri(path)
        self._versions[uri] = 1
        item = types.TextDocumentItem(uri, "python", 1, told)
        self._call(self._client.text_document_did_open, types.DidOpenTextDocumentParams(item))

    def change(self, path: Path, text: str) -> int:
        uri = path.as_uri()
        self._versions[uri] += 1
        self._call(
            self._client.text_document_did_change,
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(self._versions[uri], uri),
                [types.TextDocumentContentChangeWholeDocument(text)],
            ),
        )
        return self._versions[uri]

    def save(self, path: Path, text: str) -> None:
        path.write_text(text, encoding="utf-8")
        told = types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(path.as_uri()))
        self._call(self._client.text_document_did_save, told)

    def close(self, path: Path | str) -> None:
        told = types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(_uri(path)))
        self._call(self._client.text_document_did_close, told)

    def changed_outside(self, path: Path) -> None:
        event = types.FileEvent(path.as_uri(), types.FileChangeType.Changed)
        self._call(self._client.workspace_did_change_watched_files, types.DidChangeWatchedFilesParams([event]))

    def folders(self, added: list[Path], removed: list[Path]) -> None:
        change = types.WorkspaceFoldersChangeEvent(
            [types.WorkspaceFolder(p.as_uri(), p.name) for p in added],
            [types.WorkspaceFolder(p.as_uri(), p.name) for p in removed],
        )
        self._call(self._client.workspace_did_change_workspace_folders, types.DidChangeWorkspaceFoldersParams(change))

    def codes(self, path: Path) -> list[str]:
        """The codes of what is shown of a file now."""
        return [str(d.code) for d in self.shown(path)]

    def shown(self, path: Path) -> Diagnostics:
        last = [p for p in self.published if p.uri == path.as_uri()]
        return list(last[-1].diagnostics) if last else []

    def wait(
        self,
        path: Path | str,
        wanted: Callable[[Diagnostics], bool] = lambda _: True,
        *,
        version: int = 0,
        timeout: float = 60,
    ) -> Diagnostics:
        """Wait until what is shown of a file, of that version or a later one, is as wanted."""
        ends = time.monotonic() + timeout
        with self._news:
            while True:
                last = [p for p in self.published if p.uri == _uri(path)]
                if last and (last[-1].version or 0) >= version and wanted(list(last[-1].diagnostics)):
                    return list(last[-1].diagnostics)
                assert self._news.wait(ends - time.monotonic()), f"{last[-1:]} {self.logged}"

    def hover(self, path: Path, line: int, character: int) -> str:
        params = types.HoverParams(types.TextDocumentIdentifier(path.as_uri()), types.Position(line, character))
        found = self.await_(self._client.text_document_hover_async(params))
        return "" if found is None else found.contents.value

    def actions(self, path: Path, where: types.Range, only: list[str] | None = None) -> list[types.CodeAction]:
        context = types.CodeActionContext(diagnostics=[], only=only)
        params = types.CodeActionParams(types.TextDocumentIdentifier(path.as_uri()), where, context)
        return list(self.await_(self._client.text_document_code_action_async(params)) or [])

    def resolved(self, action: types.CodeAction) -> types.CodeAction:
        """An action with all that the editor asks for when it is chosen."""
        found = self.await_(self._client.code_action_resolve_async(action))
        assert isinstance(found, types.CodeAction)
        return found

    def end(self) -> int:
        """Shut the server down; return its exit code."""
        self.await_(self._client.shutdown_async(None))
        return self.quit()

    def quit(self) -> int:
        """Tell the server to exit; return its exit code."""
        self._call(self._client.exit, None)
        return self.left()

    def left(self) -> int:
        """Wait until the server has ended; return its exit code."""
        server = self._client._server
        assert server is not None

        async def ended() -> int:
            code = await asyncio.wait_for(server.wait(), 20)
            if server.stderr is not None:
                self.stderr = await server.stderr.read()
            return int(code)

        code = self.await_(ended())
        self.await_(self._client.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        return int(code)


def _uri(path: Path | str) -> str:
    return path if isinstance(path, str) else path.as_uri()


def _plain(value: Any) -> Any:
    """What arrived untyped, as dictionaries."""
    if hasattr(value, "_asdict"):
        return {name: _plain(v) for name, v in value._asdict().items()}
    if hasattr(value, "watchers"):
        return {"watchers": [{"globPattern": w.glob_pattern} for w in value.watchers]}
    return [_plain(v) for v in value] if isinstance(value, (list, tuple)) else value


def applied(text: str, edits: list[types.TextEdit]) -> str:
    """A text after edits, whose columns are UTF-16 units, as an editor applies them."""
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.encode("utf-16-le")) + 2)
    data = text.encode("utf-16-le")

    def offset(place: types.Position) -> int:
        return min(starts[min(place.line, len(lines))] + 2 * place.character, len(data))

    for edit in sorted(edits, key=lambda e: offset(e.range.start), reverse=True):
        data = data[: offset(edit.range.start)] + edit.new_text.encode("utf-16-le") + data[offset(edit.range.end) :]
    return data.decode("utf-16-le")
