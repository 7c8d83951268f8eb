"""The folders that are open in the editor: what is analysed when, and what is known of each file."""

import asyncio
import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from pygls import uris

from onnxlint.base.records import Diagnostic, Finding, VerdictKind
from onnxlint.integrations.server.convert import to_path
from onnxlint.integrations.server.document_state import View, carried, merged
from onnxlint.integrations.server.editor_analysis import Answer, Job, relevant
from onnxlint.integrations.server.processes import Analyser

DEBOUNCE = 0.25  # seconds without a further change before an analysis begins
QUICK = 1.0  # seconds: a project whose analysis takes no longer is analysed as a whole on every change
_MOST_PROVED = 10_000  # findings that are remembered as confirmed


@dataclass(slots=True)
class Document:
    """A file that is open. The editor knows it by `uri`; two of these may be one file, at `path`, which is resolved.

    `shown` is what was published of it last.
    """

    path: str
    uri: str
    version: int | None
    text: str
    shown: View = field(default_factory=lambda: View("", ()))
    faults: tuple[Diagnostic, ...] = ()
    alone: View | None = None
    whole: View | None = None


@dataclass(slots=True)
class Project:
    """A workspace folder, or the folder of a file that is in none (`loose`): of that, nothing else is read.

    `root` is resolved, and `named` is what the editor calls it. `documents` are the open ones by URI, the one that was
    changed last at the end. `seconds` is what an analysis of all takes: a slow one, as the first is, counts for less
    with each one after it. `due`: the one of all files has to be made again; `begun`: when the last such one began.
    """

    root: str
    named: str
    loose: bool = False
    documents: dict[str, Document] = field(default_factory=dict)
    seconds: float | None = None
    due: bool = True
    begun: int = 0
    members: frozenset[str] | None = None
    faults: tuple[Diagnostic, ...] = ()
    proved: dict[str, Finding] = field(default_factory=dict)
    task: asyncio.Task[None] | None = None

    def before(self, finding: Finding) -> Finding | None:
        """The same finding as an earlier text of the file had it, if it was confirmed there."""
        return None if finding.evidence else self.proved.get(finding.fingerprint)

    def uri(self, shown: str) -> str:
        """The URI of a file as the editor names it; `shown` is its path in findings."""
        path = os.path.normpath(os.path.join(self.root, shown))
        opened = next((document.uri for document in self.documents.values() if document.path == path), None)
        return opened or str(uris.from_fs_path(os.path.normpath(os.path.join(self.named, shown))))


@dataclass(slots=True)
class Projects:
    """All projects of a session. `publish` shows what is known of a document, `faults` what is wrong with a project."""

    publish: Callable[[Project, Document], None]
    faults: Callable[[Project], None]
    tell: Callable[[str], None]
    _analyser: Analyser = field(default_factory=Analyser)
    _projects: dict[str, Project] = field(default_factory=dict)

    def add(self, named: str) -> None:
        """A workspace folder is opened; documents that are open already move to it."""
        root = os.path.realpath(named)
        project = self._projects.setdefault(root, Project(root, named))
        project.named, project.loose = named, False
        for other in list(self._projects.values()):
            for document in [d for d in other.documents.values() if self._of(d.path) is not other]:
                del other.documents[document.uri]
                self.open(document)
            self._drop_if_idle(other)
        if project.documents:
            self.refresh(project)

    def remove(self, named: str) -> list[Document]:
        """A workspace folder is closed; return the documents that were open in it."""
        project = self._projects.pop(os.path.realpath(named), None)
        if project is None:
            return []
        _cancel(project)
        project.faults = ()
        self.faults(project)
        return list(project.documents.values())

    def find(self, uri: str) -> tuple[Project, Document] | None:
        """An open document with its project."""
        return next(((p, p.documents[uri]) for p in self._projects.values() if uri in p.documents), None)

    def open(self, document: Document) -> None:
        """A document is opened."""
        project = self._of(document.path)
        if project is None:
            project = Project(_folder_of(document.path), _folder_of(to_path(document.uri) or document.path), loose=True)
            self._projects[project.root] = project
        project.documents[document.uri] = document
        self.refresh(project)

    def change(self, uri: str, text: str, version: int | None) -> None:
        """The text of a document changed."""
        match = self.find(uri)
        if match is not None:
            project, document = match
            document.text, document.version = text, version
            project.documents[uri] = project.documents.pop(uri)  # the last one: of two for one file it is what counts
            self._start(project, DEBOUNCE)

    def close(self, uri: str) -> bool:
        """A document is closed: what counts is the file again. Tells whether it was open."""
        match = self.find(uri)
        if match is not None:
            del match[0].documents[uri]
            self._drop_if_idle(match[0])
        return match is not None

    def place_of(self, uri: str) -> str | None:
        """Where a document that was never saved would come to lie: in the first workspace folder."""
        scheme, _, name = uri.partition(":")
        if scheme != "untitled" or not name:
            return None
        folders = (project.named for project in self._projects.values() if not project.loose)
        return os.path.join(next(folders, tempfile.gettempdir()), unquote(name).removesuffix(".py") + ".py")

    def refresh(self, project: Project, delay: float = 0.0) -> None:
        """Something changed that may concern all files of a project."""
        project.due = True
        self._start(project, delay)

    def changed_outside(self, paths: Iterable[str]) -> None:
        """Files changed on the disk: every project that they lie in, or above, is analysed again.

        Of a document that is open the editor tells by itself.
        """
        opened = {document.path for project in self._projects.values() for document in project.documents.values()}
        touched = [path for path in paths if path not in opened]
        for project in self._projects.values():
            folders = [project.root, *map(str, Path(project.root).parents)]
            near = (Path(path).is_relative_to(project.root) or os.path.dirname(path) in folders for path in touched)
            if project.documents and any(near):
                for document in project.documents.values():
                    document.alone = None
                self.refresh(project, DEBOUNCE)

    def read(self) -> list[tuple[str, frozenset[str], int]]:
        """Of the projects with documents: the folder, the files that were read, and when that began, in nanoseconds."""
        return [(p.root, p.members or frozenset(), p.begun) for p in self._projects.values() if p.documents and p.begun]

    async def end(self) -> None:
        """End every analysis."""
        tasks = [p.task for p in self._projects.values() if p.task is not None]
        for project in self._projects.values():
            _cancel(project)
        await asyncio.gather(*tasks, return_exceptions=True)

    def _of(self, path: str) -> Project | None:
        """The project of a file: the innermost workspace folder around it, or its own folder."""
        around = [p for p in self._projects.values() if not p.loose and Path(path).is_relative_to(p.root)]
        return max(around, key=lambda p: len(p.root), default=self._projects.get(_folder_of(path)))

    def _drop_if_idle(self, project: Project) -> None:
        if project.loose and not project.documents:
            _cancel(project)
            self._projects.pop(project.root, None)

    def _start(self, project: Project, delay: float) -> None:
        before = _cancel(project)
        project.task = asyncio.get_running_loop().create_task(self._after(before, project, delay))

    async def _after(self, before: asyncio.Task[None] | None, project: Project, delay: float) -> None:
        if before is not None:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([before])
        await asyncio.sleep(delay)
        await self._analyse(project)

    async def _analyse(self, project: Project) -> None:
        """Analyse what changed alone, which is soon done, then the whole if that is quick, or may have changed."""
        if project.due:
            project.begun = time.time_ns()
        documents = list(project.documents.values())
        unsaved = {d.path: d.text for d in documents}
        quick = not project.loose and project.seconds is not None and project.seconds <= QUICK
        fresh = [d for d in documents if d.alone is None or d.alone.text != d.text]
        if fresh:
            job = Job(project.root, tuple(d.path for d in fresh), unsaved)
            if (answer := await self._answer(job)) is not None:
                self._take_alone(project, fresh, unsaved, answer)
        if project.loose or not (project.due or quick):
            return
        if (answer := await self._answer(Job(project.root, (), unsaved))) is not None:
            project.due = False
            self._take_whole(project, documents, unsaved, answer)

    async def _answer(self, job: Job) -> Answer | None:
        answer = await self._analyser.run(job)
        if answer.fault:
            self.tell(answer.fault)
        return None if answer.fault else answer

    def _take_alone(self, project: Project, documents: list[Document], texts: dict[str, str], answer: Answer) -> None:
        for document in documents:
            text = texts[document.path]
            if document.text != text:
                continue  # another document of the same file was changed later
            outside = document.path not in answer.files or _left_out(project, document.path)
            findings = () if outside else relevant(answer.findings, project.root, document.path)
            faults = () if outside else _faults_of(document, project.root, answer)
            before, document.alone = document.alone, View(text, findings)
            if outside:
                shown: tuple[Finding, ...] = ()
            elif faults:  # while it is written it may not parse: what is known of the other lines stays
                shown, document.alone = carried(document.shown, text), before
            elif document.whole is not None and document.whole.text == text:
                shown = document.whole.findings
            else:
                shown = merged(findings, before, document.whole, text)
                if before is not None and document.whole is not None and document.whole.text == before.text:
                    # The pair speaks of one text; it moves along, so that the next change is held against this one.
                    document.whole = View(text, shown)
            self._show(project, document, View(text, shown), faults)

    def _take_whole(self, project: Project, documents: list[Document], texts: dict[str, str], answer: Answer) -> None:
        project.seconds = max(answer.seconds, (project.seconds or 0.0) / 2)
        project.members = frozenset(answer.files)
        placed = [(d, os.path.join(project.root, d.path)) for d in answer.diagnostics if d.path]
        # Those in configuration files, which are neither code nor folders.
        project.faults = tuple(d for d, path in placed if not path.endswith(".py") and not os.path.isdir(path))
        self.faults(project)
        for document in documents:
            if document.path not in project.members and not _left_out(project, document.path):
                continue  # it is on no disk yet
            text = texts[document.path]
            findings = relevant(answer.findings, project.root, document.path)
            faults = _faults_of(document, project.root, answer)
            shown = carried(document.shown, text) if faults else findings
            document.whole = None if faults else View(text, findings)
            self._show(project, document, View(text, shown), faults)

    def _show(self, project: Project, document: Document, view: View, faults: tuple[Diagnostic, ...]) -> None:
        confirmed = {f.fingerprint: f for f in view.findings if f.evidence and f.verdict is VerdictKind.CONFIRMED}
        if len(project.proved) < _MOST_PROVED:
            project.proved.update(confirmed)
        if document.text == view.text and project.documents.get(document.uri) is document:
            document.shown, document.faults = view, faults
            self.publish(project, document)


def _folder_of(path: str) -> str:
    """The folder of a file; of one that is still to be made, what there is above it."""
    return str(next((folder for folder in Path(path).parents if folder.is_dir()), Path(path).parent))


def _left_out(project: Project, path: str) -> bool:
    """Whether the settings leave out a file that is on the disk, as the last analysis of the project saw it."""
    return project.members is not None and path not in project.members and os.path.exists(path)


def _faults_of(document: Document, root: str, answer: Answer) -> tuple[Diagnostic, ...]:
    return tuple(d for d in answer.diagnostics if d.path and os.path.join(root, d.path) == document.path)


def _cancel(project: Project) -> asyncio.Task[None] | None:
    task, project.task = project.task, None
    if task is None or task.done():
        return None
    task.cancel()
    return task
