"""What a file defines, as a small record made from its tree: the tree is dropped, the record is kept and cached.

Bodies of functions are not in it: they are parsed again from their lines when the analysis enters them. Lines count
from 1; `first` is the line of the first decorator, `line` that of the name, `last` the last line, all inclusive.
"""

import ast
import re
from collections.abc import Iterable, Iterator

import msgspec

from onnxlint.source.parse import first_line

LIBRARIES = frozenset("torch numpy math random functools typing onnx onnxruntime einops os sys".split())
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
_IMPORTS = (ast.Import, ast.ImportFrom)
_LOCAL_IMPORT = re.compile(r"\n[ \t]+from[ \t]+(\w[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n#;\\(]+)")
_CAPITALIZED = re.compile(r"\b[A-Z]\w*")
_SWITCHES = ("enable_", "disable_", "prepare_for_onnx_export")  # the last one of fairseq
# Without `\b` in front, which takes six times as long: `myself.x = 1` may count.
_SELF_WRITE = re.compile(r"self\.(\w++)\s*+(?::[^=\n]{1,1000}+)?(?:[-+*/|&]|//|\*\*)?=(?!=)")


class FunctionOutline(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A function or method."""

    name: str
    first: int
    line: int
    last: int
    decorators: tuple[str, ...] = ()


class ValueOutline(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A statement that binds a name to a value; `alias` is that value's dotted name, if it is one."""

    first: int
    last: int
    column: int
    alias: str = ""


class ClassOutline(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A class: `bases` as dotted names, `fields` that its body annotates, `late` what methods but `__init__` write."""

    qualname: str
    first: int
    line: int
    last: int
    decorators: tuple[str, ...]
    bases: tuple[str, ...]
    fields: tuple[str, ...]
    late: tuple[str, ...]
    methods: tuple[FunctionOutline, ...]
    attributes: dict[str, ValueOutline]


class ImportOutline(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What one import binds: `name` (`*` for a star import) to `target` of `module` (or to the module, if it is "").

    `level` counts the dots before the module; `fallback` stands for an import in an `except` block.
    """

    name: str
    level: int
    module: str
    target: str
    fallback: bool = False


class ModuleOutline(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A file. `mentions` are the imported names with a capital that its code calls, assigns or has for a default, those
    that a function imports by their full names."""

    functions: tuple[FunctionOutline, ...]
    classes: tuple[ClassOutline, ...]
    values: dict[str, ValueOutline]
    imports: tuple[ImportOutline, ...]
    mentions: tuple[str, ...]


def outline_of(tree: ast.Module, text: str, lines: tuple[str, ...]) -> ModuleOutline:
    """Take down what the module level of a file and the bodies of its classes define."""
    outliner = _Outliner(lines)
    outliner.block(tree.body)
    own = (i.name for i in outliner.imports if i.level or i.module.partition(".")[0] not in LIBRARIES)
    mentions = tuple(n for n in sorted({name for name in own if name[0].isupper()}) if _is_used(n, text))
    local = ((m, name) for m, names in _LOCAL_IMPORT.findall(text) for name in _CAPITALIZED.findall(names))
    used = {f"{m}.{name}" for m, name in local if m.partition(".")[0] not in LIBRARIES and _is_used(name, text)}
    mentions += tuple(sorted(used))
    functions, classes = tuple(outliner.functions.values()), tuple(outliner.classes.values())
    return ModuleOutline(functions, classes, outliner.values, tuple(outliner.imports), mentions)


def _is_used(name: str, text: str) -> bool:
    """True where a text calls a name, assigns it, or has it for a default; one walk over the text for all three."""
    at = text.find(name)
    while at >= 0:
        end = at + len(name)
        if text.startswith("(", end) or text.endswith(("=", "= "), 0, at):
            return True
        at = text.find(name, end)
    return False


class _Outliner:
    """Collects what is bound at module level, whichever branch of an `if` or a `try` binds it."""

    def __init__(self, lines: tuple[str, ...]) -> None:
        self.lines = lines
        self.functions: dict[str, FunctionOutline] = {}
        self.classes: dict[str, ClassOutline] = {}
        self.values: dict[str, ValueOutline] = {}
        self.imports: list[ImportOutline] = []

    def block(self, body: Iterable[ast.stmt], fallback: bool = False) -> None:
        for s in body:
            if isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self.functions[s.name] = function_outline(s)
            elif isinstance(s, ast.ClassDef):
                self.classes.update((c.qualname, c) for c in class_outlines(s, s.name, self.lines))
            elif isinstance(s, _IMPORTS):
                self.imports.extend(import_outlines(s, fallback))
            elif isinstance(s, (ast.Assign, ast.AnnAssign)):
                self.values.update(_values(s))
            elif isinstance(s, ast.If):
                self.block([*s.body, *s.orelse], fallback)
            elif isinstance(s, ast.Try):
                before = dict(self.values)
                self.block(s.body, fallback)
                bound = {n: v for n, v in self.values.items() if before.get(n) is not v and _imports_torch(s.body)}
                for handler in s.handlers:
                    self.block(handler.body, True)
                self.values.update(bound)  # torch has what is asked of it, and the handler is for older ones
                self.block(s.orelse, fallback)
            elif isinstance(s, (ast.With, ast.AsyncWith)):
                self.block(s.body, fallback)


def _imports_torch(body: Iterable[ast.stmt]) -> bool:
    """True where all that a body imports is of torch."""
    modules = [i.module for s in body if isinstance(s, _IMPORTS) for i in import_outlines(s)]
    return bool(modules) and all(module.partition(".")[0] == "torch" for module in modules)


def function_outline(node: FunctionNode, shift: int = 0) -> FunctionOutline:
    """The record of a function; `shift` is what the lines of its tree lack to those of the file."""
    decorators = tuple(dotted(d) for d in node.decorator_list)
    first, last = first_line(node), node.end_lineno or node.lineno
    return FunctionOutline(node.name, first + shift, node.lineno + shift, last + shift, decorators)


def class_outlines(node: ast.ClassDef, qualname: str, lines: tuple[str, ...], shift: int = 0) -> Iterator[ClassOutline]:
    """The records of a class and of the classes in its body; `shift` as for a function."""
    methods: dict[str, FunctionOutline] = {}
    attributes: dict[str, ValueOutline] = {}
    _members(node.body, methods, attributes, shift)
    fields = (s.target.id for s in node.body if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name))
    line, last = node.lineno + shift, (node.end_lineno or node.lineno) + shift
    first, own = first_line(node) + shift, tuple(methods.values())
    decorators = tuple(dotted(d) for d in node.decorator_list)
    bases = tuple(dotted(b.value if isinstance(b, ast.Subscript) else b) for b in node.bases)
    late = _late_writes(own, "\n".join(lines[line - 1 : last]), lines)
    yield ClassOutline(qualname, first, line, last, decorators, bases, tuple(fields), late, own, attributes)
    for s in node.body:
        if isinstance(s, ast.ClassDef):
            yield from class_outlines(s, f"{qualname}.{s.name}", lines, shift)


def _members(
    body: Iterable[ast.stmt], methods: dict[str, FunctionOutline], attributes: dict[str, ValueOutline], shift: int
) -> None:
    for s in body:
        if isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef)):
            method = function_outline(s, shift)
            if not any(d.rpartition(".")[2] in ("setter", "deleter", "overload") for d in method.decorators):
                methods[s.name] = method
        elif isinstance(s, (ast.Assign, ast.AnnAssign)):
            attributes.update(_values(s, shift))
        elif isinstance(s, (ast.If, ast.Try)):
            _members(s.body, methods, attributes, shift)


def _late_writes(methods: Iterable[FunctionOutline], whole: str, lines: tuple[str, ...]) -> tuple[str, ...]:
    """What methods but `__init__` assign, and but switches (`enable_tiling`) that no method of the class calls."""
    names: set[str] = set()
    for method in methods:
        name = method.name
        if name == "__init__" or (name.startswith(_SWITCHES) and f"self.{name}(" not in whole):
            continue
        text = "\n".join(lines[method.line - 1 : method.last])
        if "self." in text:
            names.update(_SELF_WRITE.findall(text))
    return tuple(sorted(names))


def _values(s: ast.Assign | ast.AnnAssign, shift: int = 0) -> Iterator[tuple[str, ValueOutline]]:
    if s.value is None:
        return
    made = ValueOutline(s.lineno + shift, (s.end_lineno or s.lineno) + shift, s.col_offset, dotted(s.value))
    for target in s.targets if isinstance(s, ast.Assign) else [s.target]:
        if isinstance(target, ast.Name):
            yield target.id, made


def import_outlines(s: ast.Import | ast.ImportFrom, fallback: bool = False) -> Iterator[ImportOutline]:
    """The records of what an import statement binds."""
    if isinstance(s, ast.ImportFrom):
        for a in s.names:
            yield ImportOutline(a.asname or a.name, s.level, s.module or "", "" if a.name == "*" else a.name, fallback)
        return
    for a in s.names:
        head = a.name.partition(".")[0]
        yield ImportOutline(a.asname or head, 0, a.name if a.asname else head, "", fallback)


def full_name(item: ImportOutline, module: str, is_package: bool) -> str:
    """The full dotted name of what an import in a module binds."""
    base = item.module
    if item.level:
        parts = module.split(".") if module else []
        up = item.level - (1 if is_package else 0)
        parts = parts[: len(parts) - up] if up else parts
        base = ".".join([*parts, base] if base else parts)
    return f"{base}.{item.target}" if base and item.target else base or item.target


def is_compiled(module: str) -> bool:
    """True for the name of a module that is compiled of C++ or CUDA, by what such are called."""
    return module.endswith(("_cuda", "_C", "_ext"))


def dotted(node: ast.AST) -> str:
    """`a.b.c` of a name, an attribute or the function of a call; "" for anything else."""
    parts: list[str] = []
    while True:
        if isinstance(node, ast.Call):
            node = node.func
        elif isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        elif isinstance(node, ast.Name):
            parts.append(node.id)
            return ".".join(reversed(parts))
        else:
            return ""
