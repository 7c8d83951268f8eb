"""Recordings that can be kept: what was read, with a hash of each part, and whether it is all still so.

A part that only moved (lines were added above it) is still the same; where to is told, so that places can follow.
"""

from collections.abc import Callable
from pathlib import Path

import msgspec

from onnxlint.base.cache import digest
from onnxlint.base.records import grouped
from onnxlint.project.classes import WHOLE, ModuleInfo, Reads
from onnxlint.project.modules import Project
from onnxlint.project.outline import FunctionOutline, ValueOutline

_encode = msgspec.msgpack.Encoder(order="deterministic").encode


class Part(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A part of a file: the hash of what it says, and its lines; none (0, 0) for what has no place."""

    digest: bytes
    first: int = 0
    last: int = 0


class FileRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What was read of one file. `digest` is that of all of it; `parts` is empty where all of it was read."""

    path: str
    module: str
    display: str
    digest: bytes
    parts: dict[str, Part]


class Record(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A recording. `modules` are names with the folder of the script that asked, and the path that was found, or ""."""

    modules: list[tuple[str, str, str]]
    files: list[FileRecord]


Moves = dict[str, list[tuple[int, int, int]]]  # by display path: first and last line of a part, and how far it moved


class Fingerprints:
    """Hashes of the parts of modules, each made once."""

    def __init__(self, project: Project, digest_of: Callable[[Path], bytes], hash_of: Callable[[str], bytes]) -> None:
        self._project, self._digest_of, self._hash_of = project, digest_of, hash_of
        self._paths: dict[tuple[str, str], str] = {}  # the same few are asked for by every recording
        self._infos: dict[str, ModuleInfo | None] = {}
        self._parts: dict[tuple[ModuleInfo, str], Part] = {}

    def record(self, reads: Reads) -> Record:
        """A recording in a form that can be kept."""
        keys = grouped(reads.keys, lambda read: read[0])
        files = []
        for info in sorted(keys, key=lambda m: str(m.source.path)):
            parts = {} if (info, WHOLE) in reads.keys else {key: self.part(info, key) for _, key in sorted(keys[info])}
            path = info.source.path
            files.append(FileRecord(str(path), info.name, info.path, self._digest_of(path), parts))
        return Record(sorted((name, beside, str(path or "")) for (name, beside), path in reads.modules.items()), files)

    def moves(self, record: Record) -> Moves | None:
        """Where the parts of a recording are by now; None if one of them is not as it was."""
        for name, beside, path in record.modules:
            if (name, beside) not in self._paths:
                module = self._project.find(name, beside)
                self._paths[name, beside] = str(module.source.path) if module is not None else ""
            if self._paths[name, beside] != path:
                return None
        moves: Moves = {}
        for file in record.files:
            if file.path not in self._infos:
                self._infos[file.path] = self._project.modules.get(Path(file.path))
            info = self._infos[file.path]
            if info is None or (info.name, info.path) != (file.module, file.display):
                return None
            if self._hash_of(file.path) == file.digest:
                continue
            if not file.parts:
                return None
            moves[file.display] = moved = []
            for key, part in file.parts.items():
                now = self.part(info, key)
                if now.digest != part.digest:
                    return None
                if part.first:
                    moved.append((part.first, part.last, now.first - part.first))
        return moves

    def part(self, info: ModuleInfo, key: str) -> Part:
        """The hash and the lines of a part of a module."""
        if (info, key) not in self._parts:
            self._parts[info, key] = _part(info, key)
        return self._parts[info, key]


def _part(info: ModuleInfo, key: str) -> Part:
    kind, _, name = key.partition(":")
    if kind == "name":
        return Part(_binding(info, name))
    spot = _lines(info, kind, name)
    if spot is None:
        return Part(b"")
    first, last = spot
    return Part(digest("\n".join(info.source.lines[first - 1 : last]))[:8], first, last)


def _lines(info: ModuleInfo, kind: str, name: str) -> tuple[int, int] | None:
    outline: FunctionOutline | ValueOutline | None
    owner, _, member = name.rpartition(".")
    cls = next((c for c in info.outline.classes if c.qualname == (name if kind == "class" else owner)), None)
    if kind == "class":
        return (cls.first, cls.last) if cls is not None else None
    if kind == "value":
        values = info.outline.values if not owner else {}
        outline = values.get(name) if cls is None else cls.attributes.get(member)
    else:
        functions = cls.methods if cls is not None else info.outline.functions if not owner else ()
        outline = next((f for f in functions if f.name == member), None)
    return (outline.first, outline.last) if outline is not None else None


def _binding(info: ModuleInfo, name: str) -> bytes:
    """A hash of what a module binds a name to: all but the text of bodies and the place in the file."""
    outline = info.outline
    functions = [f.decorators for f in outline.functions if f.name == name]
    classes = []
    for c in (c for c in outline.classes if c.qualname == name):
        methods = [(m.name, m.decorators) for m in c.methods]
        attributes = [(n, v.alias) for n, v in c.attributes.items()]
        classes.append((c.decorators, c.bases, c.fields, c.late, methods, attributes))
    values = [outline.values[name].alias] if name in outline.values else []
    return digest(_encode((functions, classes, values, [i for i in outline.imports if i.name in (name, "*")])))[:8]
