"""The files of a run, read once: their texts, what they define (parsed, or as an earlier run kept it), their faults."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from onnxlint.base.cache import Store, digest
from onnxlint.base.paths import display_path
from onnxlint.base.records import Diagnostic
from onnxlint.base.workers import ALONE, Workers
from onnxlint.project.classes import ModuleInfo
from onnxlint.project.modules import Project
from onnxlint.project.outline import ModuleOutline, full_name, outline_of
from onnxlint.project.outline_cache import OutlineCache
from onnxlint.source.parse import SourceFile, decode_source, read_bytes, tree_or_fault

FILES, CHARACTERS = 256, 4_000_000  # of a project whose trees are kept
WORTH_PROCESSES = 4_000_000  # characters to parse before other processes are worth their start

_encoder = msgspec.msgpack.Encoder()
_outlines = msgspec.msgpack.Decoder(ModuleOutline)


class Index:
    """Files by resolved path. A file that never mentions torch is of interest only if another one imports it.

    `asked` are those of the run, `own` those of them that are of interest, `sources` these and what they import;
    `digests` are the hashes of all that were looked at, `faulty` tells of those that cannot be read or do not parse.
    """

    def __init__(self, store: Store, overlay: Mapping[Path, bytes], workers: Workers = ALONE) -> None:
        self.asked: list[Path] = []
        self.own: list[Path] = []
        self.sources: dict[Path, SourceFile] = {}
        self.digests: dict[Path, bytes] = {}
        self.faulty: dict[Path, Diagnostic] = {}
        self._project = Project(self.load, self._outline)
        self.name_of = self._project.name_of
        self._encoded: dict[Path, bytes] = {}
        self._by_text: dict[str, bytes] = {}
        self._cache, self._overlay, self._workers = OutlineCache(store), overlay, workers
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
        added = self._add(self.own)
        plain = {self.name_of(p)[0]: p for p in self.asked if p in self.digests and p not in self.sources}
        while added and plain:  # what those of interest import, and what that imports
            wanted = dict.fromkeys(plain.pop(name) for info in added for name in _imported(info) if name in plain)
            added = self._add([path for path in wanted if self._read(path, only_torch=False) is not None])
        self._cache.write()
        return self._project

    def _add(self, paths: Sequence[Path]) -> list[ModuleInfo]:
        """Index files; of those that do not parse, the ones of interest are noted as faulty."""
        outlines = {path: self._cache.get(path, self.digests[path]) for path in paths}
        missing = [self.sources[path] for path, outline in outlines.items() if outline is None]
        own = frozenset(self.own)
        for source, parsed in zip(missing, self._parse(missing), strict=True):
            if isinstance(parsed, bytes):
                outlines[source.path] = parsed
                self._cache.put(source.path, self.digests[source.path], parsed)
            elif source.path in own:
                self.faulty[source.path] = parsed
        self._encoded |= {path: outline for path, outline in outlines.items() if outline is not None}
        infos = [self._project.add(self.sources[path]) for path in paths if path in self._encoded]
        for info in infos:
            info.parsed = info.source.keeps_tree
        return infos

    def files(self) -> dict[str, SourceFile]:
        """Every file of interest that parses, by the path that findings name."""
        sources = (self.sources[path] for path in self.own if path not in self.faulty)
        return {source.display: source for source in sources}

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
        if path not in self._by_text:
            self._by_text[path] = self.digest_of(Path(path))
        return self._by_text[path]

    def _parse(self, missing: Sequence[SourceFile]) -> list[bytes | Diagnostic]:
        worth = sum(len(s.text) for s in missing) >= WORTH_PROCESSES
        sources = [*(info.source for info in self._project.modules.values()), *missing]
        keep = len(sources) <= FILES and sum(len(s.text) for s in sources) <= CHARACTERS
        results: dict[int, bytes | Diagnostic] = {}
        self._workers.run(lambda n: _parse_one(missing[n], keep), range(len(missing)), results.__setitem__, worth)
        return [results[number] for number in range(len(missing))]

    def load(self, path: Path) -> SourceFile | None:
        """A file that parses, read on demand because another one imports it."""
        path = path.resolve()
        source = self.sources.get(path) or self._read(path, only_torch=False)
        if source is None or path in self.faulty:
            return None
        if path not in self._encoded:
            cached = self._cache.get(path, self.digests[path])
            outline = _parse_one(source) if cached is None else cached
            if isinstance(outline, Diagnostic):
                self.faulty[path] = outline
                return None
            self._encoded[path] = outline
            if cached is None:
                self._cache.put(path, self.digests[path], outline)
                self._cache.write()
        return source

    def _outline(self, source: SourceFile) -> ModuleOutline:
        with contextlib.suppress(KeyError, msgspec.MsgspecError, RecursionError):
            return _outlines.decode(self._encoded[source.path])
        return outline_of(source.tree, source.text, source.lines)

    def _read(self, path: Path, only_torch: bool) -> SourceFile | None:
        if path in self.faulty:
            return None
        data = self._overlay[path] if path in self._overlay else read_bytes(path)
        if isinstance(data, bytes):
            self.digests[path] = digest(data)
            if only_torch and path not in self._overlay and b"torch" not in data and _is_text(data):
                return None
        source = decode_source(path, data, display_path(path)) if isinstance(data, bytes) else data
        if isinstance(source, Diagnostic):
            self.faulty[path] = source
            return None
        self.sources[path] = source
        return source


def _imported(info: ModuleInfo) -> Iterator[str]:
    """Dotted names of what may be modules that a module imports, with the packages around them."""
    for item in info.outline.imports:
        name = full_name(item, info.name, info.is_package)
        while name:
            yield name
            name = name.rpartition(".")[0]


def _parse_one(source: SourceFile, keep: bool = False) -> bytes | Diagnostic:
    tree = tree_or_fault(source)
    if isinstance(tree, Diagnostic):
        return tree
    if keep:
        source.keep_tree(tree)
    return _encoder.encode(outline_of(tree, source.text, source.lines))


def _is_text(data: bytes) -> bool:
    """False for bytes that are no UTF-8: such a file is read in full, so that its reason gets told."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
