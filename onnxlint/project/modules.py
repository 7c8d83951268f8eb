"""The project index: which files are which modules, what each defines and imports, resolved across files on demand."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from functools import lru_cache, partial
from pathlib import Path
from typing import TypeVar

from onnxlint.project.classes import ClassInfo, FunctionUnit
from onnxlint.project.lookups import WHOLE, Names, Reads
from onnxlint.project.outline import ImportOutline, ModuleOutline, ValueOutline, import_outlines, outline_of
from onnxlint.source.parse import SourceFile, tree_of

Node = TypeVar("Node", bound=ast.AST)

LIBRARIES = frozenset(
    {"torch", "numpy", "math", "random", "functools", "typing", "onnx", "onnxruntime", "einops", "os", "sys"}
)
TREES = 3000  # functions, and texts of functions, whose trees are kept


STARS = 500  # star imports of a module that are asked one by one, each name noted as read


class ModuleInfo:
    """One file: its definitions and imports at module level. Function bodies are not walked here.

    `source` is the file as read. Asking for `file` counts as reading all of it, `lines` too.
    """

    __slots__ = (
        "__weakref__",
        "_outline",
        "aliases",
        "assigns",
        "classes",
        "fallbacks",
        "folder",
        "functions",
        "is_package",
        "name",
        "project",
        "source",
        "stars",
    )

    functions: Names[FunctionUnit]
    classes: Names[ClassInfo]
    aliases: Names[str]
    assigns: Assigns
    fallbacks: dict[str, str]  # what a failed import is replaced by
    stars: tuple[str, ...]

    def __init__(self, project: Project, source: SourceFile, name: str, outline: Callable[[], ModuleOutline]) -> None:
        self.project = project
        self.source = source
        self.name = name
        self.is_package = source.path.name == "__init__.py"
        self.folder = str(source.path.parent)
        self._outline: ModuleOutline | Callable[[], ModuleOutline] = outline

    def __getattr__(self, name: str) -> object:
        """Make what the outline tells of when it is first asked for: most modules of a large tree never are."""
        if name not in _MADE:
            raise AttributeError(name)
        self._make()
        return getattr(self, name)

    def _make(self) -> None:
        outline = self.known
        aliases: dict[str, str] = {}
        fallbacks: dict[str, str] = {}
        stars: list[str] = []
        for found in outline.imports:
            target = full_name(found, self.name, self.is_package)
            if found.name == "*":
                stars.append(target)
            elif found.fallback and aliases.get(found.name, target) != target:
                fallbacks[found.name] = target
            else:
                aliases[found.name] = target
        self.functions = Names(self, {f.name: FunctionUnit(self, f, f.name, None) for f in outline.functions})
        self.classes = Names(self, {c.qualname: ClassInfo(self, c, c.qualname) for c in outline.classes})
        self.aliases = Names(self, aliases)
        self.assigns = Assigns(self, outline.values)
        self.fallbacks = fallbacks
        self.stars = tuple(stars)

    def __repr__(self) -> str:
        return f"<module {self.name}>"

    @property
    def path(self) -> str:
        """The path that findings name."""
        return self.source.display

    @property
    def file(self) -> SourceFile:
        """The file as read, all of it."""
        self.note(WHOLE)
        return self.source

    @property
    def known(self) -> ModuleOutline:
        """What the file defines. Asking is not noted: who reads more of it than a name has to be noted on his own."""
        if not isinstance(self._outline, ModuleOutline):
            self._outline = self._outline()
        return self._outline

    def note(self, key: str) -> None:
        """Tell the recording that is on, if one is, that a part of this module was read."""
        reads = self.project.reads
        if reads is not None:
            reads.keys.add((self, key))

    def target(self, name: str) -> str:
        """The full dotted name of an imported name; its fallback where the import finds no file and no library."""
        full = self.aliases[name]
        if name not in self.fallbacks or full.partition(".")[0] in LIBRARIES:
            return full
        parts = full.split(".")
        seen = any(self.project.module(".".join(parts[:cut]), self) is not None for cut in range(len(parts), 0, -1))
        return full if seen else self.fallbacks[name]

    def text_of(self, node: ast.AST) -> str:
        """The source lines that a node covers."""
        first, last = getattr(node, "lineno", 1), getattr(node, "end_lineno", 1)
        return "\n".join(self.source.lines[first - 1 : last])

    def statement(self, outline: ValueOutline) -> ast.Assign | ast.AnnAssign:
        """The tree of an assignment, with the lines and columns of the file."""
        for node in _nodes(self.source, outline.first, outline.last):
            if not isinstance(node, (ast.Assign, ast.AnnAssign)):
                continue
            if (node.lineno, node.col_offset) == (outline.first, outline.column):  # several may stand on one line
                return node
        raise AssertionError(f"{self.path}:{outline.first}: no assignment")

    def lookup(self, name: str, seen: frozenset[tuple[str, str]] = frozenset()) -> ClassInfo | str | None:
        """A class by the dotted name it has here: of the project, or the canonical dotted name of a library's."""
        known = self.project.session.lookups
        if (self, name) in known:
            return known[self, name]
        if (self.name, name) in seen:
            return None
        result = self._lookup(name, seen | {(self.name, name)})
        if result is not None or not seen:  # within a cycle, None may only mean: not on this way round
            known[self, name] = result
        return result

    def origins(self, name: str) -> Iterator[ModuleInfo]:
        """The modules that a name may come from by a star import, in their order."""
        known = self.project.session.stars
        if len(self.stars) > STARS and self not in known:
            known[self] = {}
            for origin in filter(None, (self.project.module(star, self) for star in self.stars)):
                names = {*origin.functions, *origin.classes, *origin.aliases, *origin.assigns}
                for bound in ("*",) if origin.stars else names:
                    known[self].setdefault(bound.partition(".")[0], []).append(origin)
        if self in known:
            yield from (*known[self].get(name.partition(".")[0], ()), *known[self].get("*", ()))
        else:
            yield from filter(None, (self.project.module(star, self) for star in self.stars))

    def _lookup(self, name: str, seen: frozenset[tuple[str, str]]) -> ClassInfo | str | None:
        if name in self.classes:
            return self.classes[name]
        head, _, tail = name.partition(".")
        if head in self.aliases:
            full = self.target(head) + ("." + tail if tail else "")
            return self.project.lookup_class(full, self, seen)
        if not tail and head in self.assigns:
            alias = self.known.values[head].alias
            return self.lookup(alias, seen) if alias else None
        for origin in self.origins(name):
            found = origin.lookup(name, seen)
            if found is not None:
                return found
        return None


_MADE = frozenset({"functions", "classes", "aliases", "assigns", "fallbacks", "stars"})


class Assigns(Mapping[str, ast.Assign | ast.AnnAssign]):
    """Assignments at module level, by the name they bind, parsed on demand."""

    __slots__ = ("_known", "_module")

    def __init__(self, module: ModuleInfo, known: Mapping[str, ValueOutline]) -> None:
        self._module = module
        self._known = known

    def __getitem__(self, name: str) -> ast.Assign | ast.AnnAssign:
        self._module.note(f"value:{name}")
        return self._module.project.assignment(self._module, self._known[name])

    def __contains__(self, name: object) -> bool:
        self._module.note(f"name:{name}")
        return name in self._known

    def __iter__(self) -> Iterator[str]:
        self._module.note(WHOLE)
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


class Session:
    """What was resolved so far; a new recording starts a new one, so that nothing is known before it is read."""

    __slots__ = ("deep", "lookups", "stars")

    def __init__(self) -> None:
        self.deep: dict[str, ClassInfo] = {}  # by path, the first class that has more bases than are looked at
        self.stars: dict[ModuleInfo, dict[str, list[ModuleInfo]]] = {}  # by a name that they bind, "*" for any
        self.lookups: dict[tuple[ModuleInfo, str], ClassInfo | str | None] = {}


class Project:
    """Every module of a run. A file that a module imports is read on demand when the run can see it."""

    def __init__(
        self,
        read: Callable[[Path], SourceFile | None],
        outline: Callable[[SourceFile], ModuleOutline] | None = None,
    ) -> None:
        self._read = read
        self._outline = outline or _outlined
        self.modules: dict[Path, ModuleInfo] = {}
        self.session = Session()
        self.reads: Reads | None = None
        self.texts = lru_cache(maxsize=TREES)(_function)
        self.definition = lru_cache(maxsize=TREES)(partial(_definition, self.texts))
        self.assignment = lru_cache(maxsize=TREES)(ModuleInfo.statement)
        self.late: set[Path] = set()  # files that were read because another one imports them
        self._by_name: dict[tuple[str, str], tuple[ModuleInfo | None, tuple[str, ...]]] = {}
        self._roots: list[Path] = []
        self._tops: set[str] = set()

    def add(self, source: SourceFile) -> ModuleInfo:
        """Index one file."""
        path = source.path
        if path not in self.modules:
            name, root = module_name(path)
            self.modules[path] = ModuleInfo(self, source, name, partial(self._outline, source))
            if path not in self.late:  # what is found must not depend on what was looked for before
                self._tops.add(name.partition(".")[0])
                if root not in self._roots:
                    self._roots = sorted([*self._roots, root])  # the first that has a module has it for all
        return self.modules[path]

    def record(self, reads: Reads | None) -> None:
        """Write down in `reads` what is read from now on, and forget what was looked up before."""
        self.reads = reads
        self.session = Session()

    def module(self, name: str, importer: ModuleInfo | None = None) -> ModuleInfo | None:
        """The module of that dotted name: below a source root of the run, or beside `importer` if that is a script."""
        return self.find(name, importer.folder if importer is not None and "." not in importer.name else "")

    def find(self, name: str, beside: str) -> ModuleInfo | None:
        """The same, with the folder of a script ("" for a module of a package)."""
        key = (name, beside)
        if key not in self._by_name:
            self._by_name[key] = self._find(name, Path(beside) if beside else None)
        found, probed = self._by_name[key]
        if self.reads is not None:
            self.reads.modules[key] = found.source.path if found is not None else None
            self.reads.probed.update(probed)
        return found

    def _find(self, name: str, beside: Path | None) -> tuple[ModuleInfo | None, tuple[str, ...]]:
        """A module, and the paths past the files of the run that were looked at for it."""
        top = name.partition(".")[0]
        if not name or top in LIBRARIES:
            return None, ()
        probed: list[str] = []
        relative = Path(*name.split("."))
        roots = ([beside] if beside is not None else []) + self._roots
        # Installed packages are libraries to a project, except the one that is being checked itself.
        roots = [r for r in roots if r.name not in ("site-packages", "dist-packages") or top in self._tops]
        for root in roots:
            for candidate in (root / relative / "__init__.py", (root / relative).with_suffix(".py")):
                if candidate in self.modules and candidate not in self.late:
                    return self.modules[candidate], tuple(probed)
                probed.append(str(candidate))
                if candidate.is_file():
                    file = self._read(candidate)
                    if file is not None:
                        self.late.add(file.path)
                        return self.add(file), tuple(probed)
        return None, tuple(probed)

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


def _outlined(source: SourceFile) -> ModuleOutline:
    return outline_of(source.tree, source.text, source.lines)


def _definition(
    parse: Callable[[str], ast.FunctionDef | ast.AsyncFunctionDef], unit: FunctionUnit
) -> ast.FunctionDef | ast.AsyncFunctionDef:
    """The tree of a function, from its own lines; from the whole file if they need it."""
    source = unit.module.source
    try:
        return parse("\n".join(source.lines[unit.first - 1 : unit.last]))
    except (SyntaxError, ValueError):
        for node in ast.walk(source.tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.lineno == unit.line:
                return moved(node, -unit.shift)
    raise AssertionError(f"{unit.module.path}:{unit.line}: no function")


def _function(text: str) -> ast.FunctionDef | ast.AsyncFunctionDef:
    """The tree of a function by its text; it starts on line FIRST."""
    tree = tree_of(f"{'if 1:' if text[:1].isspace() else ''}\n{text}\n")
    first = tree.body[0]
    if isinstance(first, ast.If):
        first = first.body[0]
    if isinstance(first, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return first
    return next(n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)))


def moved(node: Node, lines: int) -> Node:
    """A copy of a tree so many lines further down."""
    copy = deepcopy(node)
    ast.increment_lineno(copy, lines)
    return copy


def _nodes(source: SourceFile, first: int, last: int) -> Iterator[ast.AST]:
    """The nodes of a few lines of a file, where they stand there; those of the whole file if the lines need it."""
    text = "\n".join(source.lines[first - 1 : last])
    try:
        if text[:1].isspace():
            tree = tree_of("\n" * (first - 2) + "if 1:\n" + text + "\n")
        else:
            tree = tree_of("\n" * (first - 1) + text + "\n")
    except (SyntaxError, ValueError):  # such as `else: x = 1`
        tree = source.tree
    return ast.walk(tree)


def module_name(path: Path) -> tuple[str, Path]:
    """The dotted name that a file is imported by, and the folder that has to be on sys.path for it."""
    parts = [] if path.name == "__init__.py" else [path.stem]
    folder = path.parent
    while (folder / "__init__.py").is_file():
        parts.append(folder.name)
        if folder.parent == folder:
            break
        folder = folder.parent
    return ".".join(reversed(parts)), folder


def imported(node: ast.Import | ast.ImportFrom, module: str, is_package: bool) -> Iterator[tuple[str, str]]:
    """Pairs of local name and full dotted name that an import statement binds; `*` for a star import."""
    for found in import_outlines(node):
        yield found.name, full_name(found, module, is_package)


def full_name(found: ImportOutline, module: str, is_package: bool) -> str:
    """The full dotted name of what an import in a module binds."""
    base = found.module
    if found.level:
        parts = module.split(".") if module else []
        up = found.level - (1 if is_package else 0)
        parts = parts[: len(parts) - up] if up else parts
        base = ".".join([*parts, base] if base else parts)
    return f"{base}.{found.target}" if base and found.target else base or found.target
