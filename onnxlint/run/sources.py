"""The files of a run: what is read, what could not be, and where a statement begins and ends."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from onnxlint.base.cache import Store
from onnxlint.base.records import Diagnostic
from onnxlint.base.workers import Workers, processes
from onnxlint.config.settings import Settings
from onnxlint.project.classes import ModuleInfo
from onnxlint.project.index import Index
from onnxlint.report.progress import Progress
from onnxlint.source.discover import Discovery
from onnxlint.source.parse import SourceFile, read_source, source_lines, statement_at, statement_spans


class Sources:
    """The files of a run: what is read, what could not be, and where a statement begins and ends."""

    def __init__(
        self, discovery: Discovery, settings: Settings, progress: Progress, overlay: Mapping[Path, bytes], store: Store
    ) -> None:
        self.count = len(discovery.files)
        self.workers = Workers(processes(settings.jobs))
        self.index = Index(store, overlay, self.workers)
        self.discovery = discovery
        self._settings = settings
        self._spans: dict[str, list[tuple[int, int]]] = {}
        progress.stage("reading", self.count)
        self.index.read(discovery.files, progress.advance)

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """What is wrong with the files."""
        return [*self.discovery.diagnostics, *self.index.diagnostics]

    @property
    def lost_work(self) -> list[Diagnostic]:
        """Which processes have ended so far that were to work on the files."""
        return [Diagnostic("warning", problem) for problem in self.workers.problems]

    def __call__(self, factory: str) -> tuple[str, int]:
        """Path and line of `module:attribute`; ("", 0) where the source does not show it."""
        module, _, name = factory.partition(":")
        info = self.index.parse().module(module) or self._under_roots(module)
        if info is None:
            return "", 0
        head = name.partition(".")[0]
        definition = info.functions.get(head) or info.classes.get(head)
        return info.path, definition.line if definition is not None else 1

    def _under_roots(self, module: str) -> ModuleInfo | None:
        for root in self._settings.source_roots or (self._settings.root, self._settings.root / "src"):
            base = root.joinpath(*module.split("."))
            for path in (base.with_suffix(".py"), base / "__init__.py"):
                if path.is_file():
                    source = self.index.load(path)
                    return self.index.parse().add(source) if source is not None else None
        return None

    def line(self, path: str, number: int) -> str:
        """The text of a line."""
        source = self.files.get(path)
        if source is not None:
            return source.line(number)
        lines = source_lines(path)
        return lines[number - 1] if 0 < number <= len(lines) else ""

    @cached_property
    def files(self) -> Mapping[str, SourceFile]:
        """The files read, by the path that findings name."""
        return self.index.files()

    def file(self, path: str) -> SourceFile | None:
        """A file by the path that findings name: of interest, or imported by one that is."""
        return self.files.get(path) or (self.index.load(Path(path)) if Path(path).is_file() else None)

    def text(self, path: str) -> str | None:
        """The text of such a file; None where there is none."""
        source = self.file(path)
        return source.text if source is not None else None

    def statement_lines(self, path: str, line: int) -> tuple[int, int]:
        """First and last line of the statement (of a compound one, its header) that holds a line."""
        if path not in self._spans:
            source = self.files.get(path) or (read_source(Path(path)) if Path(path).is_file() else None)
            self._spans[path] = statement_spans(source.tree) if isinstance(source, SourceFile) else []
        return statement_at(self._spans[path], line)
