"""The project index: which files are which modules, what each defines and imports, resolved across files on demand."""

import ast
import os
import re
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import TypeVar

from onnxlint.project.classes import ClassInfo, FunctionUnit, ModuleInfo, Reads, Session
from onnxlint.project.outline import LIBRARIES, FunctionNode, ModuleOutline, full_name, import_outlines, outline_of
from onnxlint.source.parse import SourceFile, tree_of

Node = TypeVar("Node", bound=ast.AST)

_CAPITALIZED = re.compile(r"[A-Z]\w*")
TREES = 3000  # functions, and texts of functions, whose trees are kept


class Project:
    """Every module of a run. A file that a module imports is read on demand when the run can see it."""

    def __init__(
        self, read: Callable[[Path], SourceFile | None], outline: Callable[[SourceFile], ModuleOutline] | None = None
    ) -> None:
        self._read = read
        self._outline = outline or (lambda source: outline_of(source.tree, source.text, source.lines))
        self.modules: dict[Path, ModuleInfo] = {}
        self.session = Session()
        self.reads: Reads | None = None
        self.texts = lru_cache(maxsize=TREES)(_function)
        self.definition = lru_cache(maxsize=TREES)(partial(_definition, self.texts))
        self.assignment = lru_cache(maxsize=TREES)(ModuleInfo.statement)
        self.late: set[Path] = set()  # files that were read because another one imports them
        self._paths: set[str] = set()  # of all others
        self._entries = lru_cache(maxsize=None)(_entries)
        self._around = lru_cache(maxsize=None)(lambda folder: (Path(folder), *Path(folder).parents))
        self._by_name: dict[tuple[str, str], tuple[ModuleInfo | None, tuple[str, ...]]] = {}
        self._roots: list[Path] = []
        self._top: Path | None = None  # the deepest folder that holds all of them
        self._tops: set[str] = set()
        self.name_of = partial(module_name, package=lru_cache(maxsize=None)(_package))  # looks at a folder once
        self._naming: dict[str, list[ModuleInfo]] = {}  # by word with a capital
        self._searched = 0  # modules whose words are in there

    def add(self, source: SourceFile) -> ModuleInfo:
        """Index one file."""
        path = source.path
        if path not in self.modules:
            name, root = self.name_of(path)
            self.modules[path] = ModuleInfo(self, source, name, partial(self._outline, source), str(root))
            if path not in self.late:  # what is found must not depend on what was looked for before
                self._paths.add(str(path))
                self._tops.add(name.partition(".")[0])
                if root not in self._roots:
                    self._roots = sorted([*self._roots, root])  # the first that has a module has it for all
                    self._top = self._top or root
                    while not root.is_relative_to(self._top):
                        self._top = self._top.parent
        return self.modules[path]

    def naming(self, word: str) -> Sequence[ModuleInfo]:
        """The modules in whose texts a word with a capital occurs, and in none of its words begins further left."""
        if self._searched < len(self.modules):
            for info in islice(self.modules.values(), self._searched, None):
                for name in set(_CAPITALIZED.findall(info.source.text)):
                    self._naming.setdefault(name, []).append(info)
            self._searched = len(self.modules)
        return self._naming.get(word, ())

    def record(self, reads: Reads | None) -> None:
        """Write down in `reads` what is read from now on, and forget what was looked up before."""
        self.reads, self.session = reads, Session()

    def module(self, name: str, importer: ModuleInfo | None = None) -> ModuleInfo | None:
        """The module of that dotted name: below the source root of `importer`, or another of the run."""
        return self.find(name, importer.root if importer is not None else "")

    def find(self, name: str, beside: str) -> ModuleInfo | None:
        """The same, with the source root of who imports it ("" for nobody)."""
        key = (name, beside)
        module, probed = self._by_name.get(key) or self._by_name.setdefault(key, self._find(name, beside))
        if self.reads is not None:
            self.reads.modules[key] = module.source.path if module is not None else None
            self.reads.probed.update(probed)
        return module

    def _find(self, name: str, beside: str) -> tuple[ModuleInfo | None, tuple[str, ...]]:
        """A module, and the paths past the files of the run that were looked at for it."""
        top = name.partition(".")[0]
        if not name or top in LIBRARIES:
            return None, ()
        probed: list[str] = []
        around = self._around(beside) if beside else ()
        roots = dict.fromkeys((*around[:1], *(r for r in around if r in self._roots), *self._roots))
        # Installed packages are libraries to a project, except the one that is being checked itself.
        for root in (r for r in roots if r.name not in ("site-packages", "dist-packages") or top in self._tops):
            stem = os.path.join(root, *name.split("."))
            for text in (f"{stem}{os.sep}__init__.py", f"{stem}.py"):
                if text in self._paths:
                    return self.modules[Path(text)], tuple(probed)
                probed.append(text)
                if self._entries(root).isdisjoint((top, f"{top}.py")):
                    continue
                candidate = Path(text)
                file = self._read(candidate) if candidate.is_file() else None
                if file is not None:
                    self.late.add(file.path)
                    return self.add(file), tuple(probed)
        # Scripts put a folder above them on sys.path for packages without an `__init__.py`: of these, files of the run.
        above = around[1 : around.index(self._top) + 1] if self._top in around else ()
        ends = f"{os.sep}__init__.py", ".py"
        texts = (os.path.join(folder, *name.split(".")) + end for folder in above for end in ends)
        return next((self.modules[Path(text)] for text in texts if text in self._paths), None), tuple(probed)

    def lookup_class(
        self, full: str, importer: ModuleInfo, seen: frozenset[tuple[str, str]] = frozenset()
    ) -> ClassInfo | str | None:
        """A class by its full dotted name; the name itself where no file of the project has it."""
        parts = full.split(".")
        for cut in range(len(parts) - 1, 0, -1):
            origin = self.module(".".join(parts[:cut]), importer)
            if origin is not None:
                return origin.lookup(".".join(parts[cut:]), seen)
        return full

    def classes(self) -> Iterator[ClassInfo]:
        """Every class of every module."""
        for info in list(self.modules.values()):
            yield from info.classes.values()


def _definition(parse: Callable[[str], FunctionNode], unit: FunctionUnit) -> FunctionNode:
    """The tree of a function, from its own lines; from the whole file if they need it."""
    source = unit.module.source
    if unit.module.parsed:
        return source.functions[unit.line]
    try:
        return parse(source.rows(unit.first, unit.last))
    except (SyntaxError, ValueError):
        for node in ast.walk(source.tree):
            if isinstance(node, FunctionNode) and node.lineno == unit.line:
                return moved(node, -unit.shift)
    raise AssertionError(f"{unit.module.path}:{unit.line}: no function")


def _function(text: str) -> FunctionNode:
    """The tree of a function by its text; it starts on line FIRST."""
    first = tree_of(f"{'if 1:' if text[:1].isspace() else ''}\n{text}\n").body[0]
    node = first.body[0] if isinstance(first, ast.If) else first
    assert isinstance(node, FunctionNode)
    return node


def moved(node: Node, lines: int) -> Node:
    """A copy of a tree so many lines further down."""
    copy = deepcopy(node)
    ast.increment_lineno(copy, lines)
    return copy


def _entries(folder: Path) -> frozenset[str]:
    """The names in a folder; of one that cannot be listed none."""
    try:
        return frozenset(os.listdir(folder))
    except OSError:
        return frozenset()


def _package(folder: Path) -> tuple[str, Path]:
    """The dotted name of the package that a folder is ("" for none), and the folder that it is found in."""
    parts = []
    while (folder / "__init__.py").is_file():
        parts.append(folder.name)
        if folder.parent == folder:
            break
        folder = folder.parent
    return ".".join(reversed(parts)), folder


def module_name(path: Path, package: Callable[[Path], tuple[str, Path]] = _package) -> tuple[str, Path]:
    """The dotted name that a file is imported by, and the folder that has to be on sys.path for it."""
    name, root = package(path.parent)
    return name if path.name == "__init__.py" else f"{name}.{path.stem}".removeprefix("."), root


def imported(node: ast.Import | ast.ImportFrom, module: str, is_package: bool) -> Iterator[tuple[str, str]]:
    """Pairs of local name and full dotted name that an import statement binds; `*` for a star import."""
    for item in import_outlines(node):
        yield item.name, full_name(item, module, is_package)
