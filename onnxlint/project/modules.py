"""The project index: which files are which modules, what each defines and imports, resolved across files on demand."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from onnxlint.project.classes import ClassInfo, FunctionUnit, dotted, nested_classes
from onnxlint.source.parse import SourceFile

LIBRARIES = frozenset(
    {"torch", "numpy", "math", "random", "functools", "typing", "onnx", "onnxruntime", "einops", "os", "sys"}
)


class ModuleInfo:
    """One file: its definitions and imports at module level. Function bodies are not walked here."""

    __slots__ = (
        "_found",
        "aliases",
        "assigns",
        "classes",
        "fallbacks",
        "file",
        "folder",
        "functions",
        "is_package",
        "lines",
        "name",
        "project",
        "stars",
    )

    def __init__(self, project: Project, file: SourceFile, name: str) -> None:
        self.project = project
        self.file = file
        self.name = name
        self.is_package = file.path.name == "__init__.py"
        self.lines: Sequence[str] = file.lines
        self.functions: dict[str, FunctionUnit] = {}
        self.classes: dict[str, ClassInfo] = {}
        self.assigns: dict[str, ast.Assign | ast.AnnAssign] = {}
        self.aliases: dict[str, str] = {}
        self.fallbacks: dict[str, str] = {}  # what a failed import is replaced by
        self.stars: list[str] = []
        self.folder = str(file.path.parent)
        self._found: dict[str, ClassInfo | str | None] = {}
        self._index(file.tree.body)

    def _index(self, body: Iterable[ast.stmt]) -> None:
        for statement in body:
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self.functions[statement.name] = FunctionUnit(self, statement, statement.name, None)
            elif isinstance(statement, ast.ClassDef):
                self._add_class(statement, statement.name)
            elif isinstance(statement, (ast.Import, ast.ImportFrom)):
                for name, target in imported(statement, self.name, self.is_package):
                    if name == "*":
                        self.stars.append(target)
                    else:
                        self.aliases[name] = target
            elif isinstance(statement, ast.Assign):
                for goal in statement.targets:
                    if isinstance(goal, ast.Name):
                        self.assigns[goal.id] = statement
            elif isinstance(statement, ast.AnnAssign):
                if isinstance(statement.target, ast.Name) and statement.value is not None:
                    self.assigns[statement.target.id] = statement
            elif isinstance(statement, ast.If):
                self._index(statement.body)
                self._index(statement.orelse)
            elif isinstance(statement, ast.Try):
                self._index(statement.body)
                for handler in statement.handlers:
                    # What a failed import falls back to does not replace what the import gives.
                    before = dict(self.aliases)
                    self._index(handler.body)
                    self.fallbacks.update({n: t for n, t in self.aliases.items() if before.get(n, t) != t})
                    self.aliases.update(before)
                self._index(statement.orelse)
            elif isinstance(statement, (ast.With, ast.AsyncWith)):
                self._index(statement.body)

    def _add_class(self, node: ast.ClassDef, qualname: str) -> None:
        info = ClassInfo(self, node, qualname)
        self.classes[qualname] = info
        for inner in nested_classes(info):
            self._add_class(inner, f"{qualname}.{inner.name}")

    def __repr__(self) -> str:
        return f"<module {self.name}>"

    @property
    def path(self) -> str:
        """The path that findings name."""
        return self.file.display

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
        return "\n".join(self.lines[first - 1 : last])

    def resolve_class(self, expression: ast.expr) -> ClassInfo | str | None:
        """The class a base expression means, or its dotted name where it is a library's, or None."""
        if isinstance(expression, ast.Subscript):  # Generic[T], Base["x"]
            return self.resolve_class(expression.value)
        name = dotted(expression)
        return self.lookup(name) if name else None

    def lookup(self, name: str, seen: frozenset[tuple[str, str]] = frozenset()) -> ClassInfo | str | None:
        """A class by the dotted name it has here: of the project, or the canonical dotted name of a library's."""
        if name in self._found:
            return self._found[name]
        if (self.name, name) in seen:
            return None
        result = self._lookup(name, seen | {(self.name, name)})
        if result is not None or not seen:  # within a cycle, None may only mean: not on this way round
            self._found[name] = result
        return result

    def _lookup(self, name: str, seen: frozenset[tuple[str, str]]) -> ClassInfo | str | None:
        if name in self.classes:
            return self.classes[name]
        head, _, tail = name.partition(".")
        if head in self.aliases:
            full = self.target(head) + ("." + tail if tail else "")
            return self.project.lookup_class(full, self, seen)
        if head in self.assigns and not tail:
            bound = self.assigns[head].value
            return self.lookup(dotted(bound), seen) if bound is not None and dotted(bound) else None
        for star in self.stars:
            origin = self.project.module(star, self)
            found = origin.lookup(name, seen) if origin is not None else None
            if found is not None:
                return found
        return None


class Project:
    """Every module of a run. A file that a module imports is read on demand when the run can see it."""

    def __init__(self, read: Callable[[Path], SourceFile | None]) -> None:
        self._read = read
        self.modules: dict[Path, ModuleInfo] = {}
        self._by_name: dict[tuple[str, str], ModuleInfo | None] = {}
        self._roots: list[Path] = []
        self._tops: set[str] = set()

    def add(self, file: SourceFile) -> ModuleInfo:
        """Index one parsed file."""
        path = file.path
        if path not in self.modules:
            name, root = module_name(path)
            self.modules[path] = ModuleInfo(self, file, name)
            self._tops.add(name.partition(".")[0])
            if root not in self._roots:
                self._roots.append(root)
        return self.modules[path]

    def module(self, name: str, importer: ModuleInfo | None = None) -> ModuleInfo | None:
        """The module of that dotted name: below a source root of the run, or beside `importer` if that is a script."""
        beside = importer.folder if importer is not None and "." not in importer.name else ""
        key = (name, beside)
        if key not in self._by_name:
            self._by_name[key] = self._find(name, Path(beside) if beside else None)
        return self._by_name[key]

    def _find(self, name: str, beside: Path | None) -> ModuleInfo | None:
        if not name:
            return None
        top = name.partition(".")[0]
        if top in LIBRARIES:
            return None
        relative = Path(*name.split("."))
        roots = ([beside] if beside is not None else []) + self._roots
        # Installed packages are libraries to a project, except the one that is being checked itself.
        roots = [r for r in roots if r.name not in ("site-packages", "dist-packages") or top in self._tops]
        for root in roots:
            for candidate in (root / relative / "__init__.py", (root / relative).with_suffix(".py")):
                if candidate in self.modules:
                    return self.modules[candidate]
                if candidate.is_file():
                    file = self._read(candidate)
                    if file is not None:
                        return self.add(file)
        return None

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
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.asname:
                yield alias.asname, alias.name
            else:
                head = alias.name.partition(".")[0]
                yield head, head
        return
    base = node.module or ""
    if node.level:
        parts = module.split(".") if module else []
        up = node.level - (1 if is_package else 0)
        parts = parts[: len(parts) - up] if up else parts
        base = ".".join([*parts, base] if base else parts)
    for alias in node.names:
        if alias.name == "*":
            yield "*", base
        else:
            yield alias.asname or alias.name, f"{base}.{alias.name}" if base else alias.name
