"""What the calls of a project give to constructors and scripts: a default that no call changes is what is exported."""

import ast
import re
from collections.abc import Iterable, Iterator

from onnxlint.flow.values.domain import Const
from onnxlint.project.classes import ClassInfo, FunctionUnit, ModuleInfo

IN_TEST = re.compile(r"(?:^|/)(?:tests?/|test_[^/]*$|[^/]*_test\.py$|conftest\.py$)")
_BEGINS = re.compile(r"(?<!\w)(?<!class )")  # a call, by what is before it
LONGEST = 4000  # characters of a call


class ConstructorCalls:
    """The calls of classes by their names, in the modules of a part, tests aside.

    `foreign` are classes that are called elsewhere as well, by path and qualified name.
    """

    def __init__(self, modules: Iterable[ModuleInfo] = (), foreign: frozenset[str] = frozenset()) -> None:
        self._modules = {m: None for m in modules if not IN_TEST.search(m.path)}
        self._foreign = foreign
        self._calls: dict[str, list[ast.Call | None]] = {}

    def change(self, cls: ClassInfo, position: int, name: str, default: Const) -> bool:
        """True where a call gives a parameter another value than its default, or one that only a run tells."""
        return self.elsewhere(cls) or any(_changes(call, position, name, default) for call in self._of(cls))

    def elsewhere(self, cls: ClassInfo) -> bool:
        """True where the code of other parts builds the class, or may."""
        return f"{cls.module.source.path}:{cls.qualname}" in self._foreign

    def _of(self, cls: ClassInfo) -> list[ast.Call | None]:
        """The calls of the name of a class; None for one that cannot be read by itself."""
        name = cls.name
        if name not in self._calls:
            texts = [m.source.text for m in cls.module.project.naming(name) if m in self._modules]
            begun = ((text, at) for text in texts for at in _places(text, f"{name}(") if _BEGINS.match(text, at))
            self._calls[name] = [_call(text, at) for text, at in begun]
        return self._calls[name]


def _places(text: str, part: str) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def changed_numbers(unit: FunctionUnit, modules: Iterable[ModuleInfo]) -> set[str]:
    """The parameters that a function asks of in a condition, whose number by default some call does not leave alone."""
    bound = unit.cls is not None and not unit.has_decorator("staticmethod")
    numbers = {
        p.arg: (i - bound, default)
        for i, (p, default) in enumerate(unit.positional)
        if isinstance(default, ast.Constant) and type(default.value) in (int, float)
    }
    tests = [n.test for n in ast.walk(unit.node) if isinstance(n, (ast.If, ast.IfExp, ast.While))] if numbers else []
    asked = {n.id for test in tests for n in ast.walk(test) if isinstance(n, ast.Name)}
    if not numbers.keys() & asked:
        return set()
    pattern = re.compile(rf"(?<!def )(?<!onnx\.)(?<!export\.)\b{re.escape(unit.name)}\(")
    texts = (m.source.text for m in modules if unit.name in m.source.text and not IN_TEST.search(m.path))
    calls = [call for text in texts for match in pattern.finditer(text) if (call := _call(text, match.start()))]
    return {
        name
        for name, (position, default) in numbers.items()
        if name in asked and any(_changes(call, position, name, Const(default.value)) for call in calls)
    }


def _call(text: str, at: int) -> ast.Call | None:
    """The call that begins there."""
    depth, part = 0, text[at : at + LONGEST]
    for bracket in re.finditer(r"[()\[\]{}]", part):
        depth += 1 if bracket[0] in "([{" else -1
        if depth == 0:
            try:
                node = ast.parse(part[: bracket.end()], mode="eval").body
            except (SyntaxError, ValueError, MemoryError, RecursionError):  # a bracket in a string
                return None
            return node if isinstance(node, ast.Call) else None
    return None


def _changes(call: ast.Call | None, position: int, name: str, default: Const) -> bool:
    if call is None:
        return True
    value = next((k.value for k in call.keywords if k.arg == name), None)
    before = call.args[: position + 1]
    if value is None and len(before) > position >= 0 and not any(isinstance(a, ast.Starred) for a in before):
        value = call.args[position]
    return value is not None and not (isinstance(value, ast.Constant) and repr(value.value) == repr(default.literal))
