"""The files of a run, read once: their texts, what they define (parsed, or as an earlier run kept it), their faults."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from onnxlint.base import workers
from onnxlint.base.cache import Store, digest
from onnxlint.base.paths import display_path
from onnxlint.base.records import Diagnostic
from onnxlint.project.classes import ModuleInfo
from onnxlint.project.modules import Project, module_name
from onnxlint.project.outline import ModuleOutline, full_name, outline_of
from onnxlint.source.parse import SourceFile, decode_source, read_bytes, syntax_fault

KIND = "outline"
CHUNK = 1_000_000  # characters that a process parses at a time
WORTH_PROCESSES = 4_000_000  # characters to parse before other processes are worth their start

_encoder = msgspec.msgpack.Encoder()


@dataclass(frozen=True, slots=True)
class _Parsed:
    """What parsing a file gave: its outline, or what is wrong with it."""

    outline: bytes = b""
    fault: Diagnostic | None = None


_outlines = msgspec.msgpack.Decoder(ModuleOutline)


class Index:
    """Files by resolved path. A file that never mentions torch is of interest only if another one imports it.

    `asked` are those of the run, `own` those of them that are of interest, `sources` these and what they import;
    `digests` are the hashes of all that were looked at, `faulty` tells of those that cannot be read or do not parse.
    """

    def __init__(self, store: Store, overlay: Mapping[Path, bytes], processes: int = 1) -> None:
        self.asked: list[Path] = []
        self.own: list[Path] = []
        self.sources: dict[Path, SourceFile] = {}
        self.digests: dict[Path, bytes] = {}
        self.faulty: dict[Path, Diagnostic] = {}
        self._project = Project(self.load, self._outline)
        self._held: dict[Path, bytes] = {}
        self._told: dict[str, bytes] = {}
        self._store = store
        self._overlay = overlay
        self._processes = processes
        self._indexed = False

    def read(self, paths: Iterable[Path], tell: Callable[[], None] = lambda: None) -> None:
        """Read files, and decode those that mention torch. A file that cannot be decoded counts, for its diagnostic."""
        for path in paths:
            path = path.resolve()
            self.asked.append(path)
            if self._read(path, only_torch=True) is not None:
                self.own.append(path)
            tell()

    def parse(self) -> Project:
        """The project: what every file of interest defines, taken down in other processes if that is worth it."""
        if self._indexed:
            return self._project
        self._indexed = True
        found = self._add(self.own)
        plain = {module_name(path)[0]: path for path in self.asked if path in self.digests and path not in self.sources}
        while found and plain:  # what those of interest import, and what that imports
            wanted = dict.fromkeys(plain.pop(name) for info in found for name in _imported(info) if name in plain)
            found = self._add([path for path in wanted if self._read(path, only_torch=False) is not None])
        return self._project

    def _add(self, paths: Sequence[Path]) -> list[ModuleInfo]:
        """Index files; of those that do not parse, the ones of interest are noted as faulty."""
        known = {path: self._store.get(KIND, self.digests[path]) for path in paths}
        missing = [self.sources[path] for path, outline in known.items() if outline is None]
        own = frozenset(self.own)
        for source, parsed in zip(missing, self._parse(missing), strict=True):
            if parsed.fault is None:
                known[source.path] = parsed.outline
                self._store.put(KIND, self.digests[source.path], parsed.outline)
            elif source.path in own:
                self.faulty[source.path] = parsed.fault
        self._held |= {path: outline for path, outline in known.items() if outline is not None}
        return [self._project.add(self.sources[path]) for path in paths if path in self._held]

    def files(self) -> dict[str, SourceFile]:
        """Every file of interest that parses, by the path that findings name."""
        found = (self.sources[path] for path in self.own if path not in self.faulty)
        return {source.display: source for source in found}

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """What is wrong with the files of the run, and with those that they import."""
        asked = dict.fromkeys(path for path in self.asked if path in self.faulty)
        return [self.faulty[path] for path in (*asked, *sorted(self.faulty.keys() - asked.keys()))]

    def digest_of(self, path: Path) -> bytes:
        """The hash of a file that may not be one of the run; b"" where there is none that can be read."""
        if path not in self.digests and path not in self.faulty and path.is_file():
            self._read(path, only_torch=False)
        return self.digests.get(path, b"")

    def hash_of(self, path: str) -> bytes:
        """The same for a path as text, looked at once."""
        if path not in self._told:
            self._told[path] = self.digest_of(Path(path))
        return self._told[path]

    def _parse(self, missing: Sequence[SourceFile]) -> list[_Parsed]:
        chunks: list[list[SourceFile]] = []
        size = CHUNK
        for source in missing:
            if size >= CHUNK:
                chunks.append([])
                size = 0
            chunks[-1].append(source)
            size += len(source.text)
        worth = sum(len(s.text) for s in missing) >= WORTH_PROCESSES

        def work(number: int) -> list[_Parsed]:
            return [_parse_one(source) for source in chunks[number]]

        results = dict(workers.run(work, range(len(chunks)), self._processes if worth else 1))
        return [parsed for number in range(len(chunks)) for parsed in results[number]]

    def load(self, path: Path) -> SourceFile | None:
        """A file that parses, read on demand because another one imports it."""
        path = path.resolve()
        source = self.sources.get(path) or self._read(path, only_torch=False)
        if source is None or path in self.faulty:
            return None
        if path not in self._held:
            kept = self._store.get(KIND, self.digests[path])
            parsed = _parse_one(source) if kept is None else _Parsed(kept)
            if parsed.fault is not None:
                self.faulty[path] = parsed.fault
                return None
            self._held[path] = parsed.outline
            if kept is None:
                self._store.put(KIND, self.digests[path], parsed.outline)
        return source

    def _outline(self, source: SourceFile) -> ModuleOutline:
        """What a file defines, as it was kept."""
        held = self._held.get(source.path)
        return _decoded(held, source) if held is not None else outline_of(source.tree, source.text, source.lines)

    def _read(self, path: Path, only_torch: bool) -> SourceFile | None:
        if path in self.faulty:
            return None
        data = self._overlay.get(path)
        given = data is not None
        if data is None:
            found = read_bytes(path)
            if isinstance(found, Diagnostic):
                self.faulty[path] = found
                return None
            data = found
        self.digests[path] = digest(data)
        if only_torch and not given and b"torch" not in data and _is_text(data):
            return None
        source = decode_source(path, data, display_path(path))
        if isinstance(source, Diagnostic):
            self.faulty[path] = source
            return None
        self.sources[path] = source
        return source


def _imported(info: ModuleInfo) -> Iterator[str]:
    """Dotted names of what may be modules that a module imports, with the packages around them."""
    for found in info.outline.imports:
        name = full_name(found, info.name, info.is_package)
        while name:
            yield name
            name = name.rpartition(".")[0]


def _parse_one(source: SourceFile) -> _Parsed:
    fault = syntax_fault(source)
    if fault is not None:
        return _Parsed(fault=fault)
    return _Parsed(_encoder.encode(outline_of(source.tree, source.text, source.lines)))


def _decoded(outline: bytes, source: SourceFile) -> ModuleOutline:
    """An outline as it was kept; made again where that cannot be read, or tells of lines that the file has not."""
    try:
        found = _outlines.decode(outline)
    except (msgspec.MsgspecError, RecursionError):
        return outline_of(source.tree, source.text, source.lines)
    lines = source.length
    spans = [(c.first, c.line, c.last) for c in found.classes]
    spans += [(f.first, f.line, f.last) for f in found.functions]
    spans += [(m.first, m.line, m.last) for c in found.classes for m in c.methods]
    spans += [(v.first, v.first, v.last) for v in found.values.values()]
    spans += [(v.first, v.first, v.last) for c in found.classes for v in c.attributes.values()]
    if all(1 <= first <= line <= last <= lines for first, line, last in spans):
        return found
    return outline_of(source.tree, source.text, source.lines)


def _is_text(data: bytes) -> bool:
    """False for bytes that are no UTF-8: such a file is read in full, so that its reason gets told."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
