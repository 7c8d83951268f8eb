"""State that forward leaves outside of its buffers: in globals, on classes, in plain lists and dicts."""

import ast
import re

from onnxlint.base.edits import whole_word
from onnxlint.flow.state import observations
from onnxlint.flow.state.protocols import Running
from onnxlint.flow.values.domain import Array, ClassRef, Data, Instance, Tensor, Tuple, Value

# What follows the name of a container that is filled or bound anew, as opposed to read.
_WRITTEN = (
    r"\s*\.\s*(?:append|extend|insert|add|update|clear|appendleft)\b",
    r"\s*(?::[^=\n]+)?=[^=]",
    r"\s*\[[^\]\n]*\]\s*=[^=]",
)


def stored(frame: Running, container: ast.expr, item: Value) -> None:
    """Forward puts `item` into a list or dict that may outlive the call."""
    engine = frame.engine
    if not engine.context.tracing or not _matters(item):
        return
    if isinstance(container, ast.Name):
        is_global = frame.scope.lookup(container.id) is None or container.id in frame.globals
        if is_global and _is_read(frame.module.source.text, container.id):
            engine.emit(observations.StateWrite, container, None, name=container.id, kind="global")
    elif isinstance(container, ast.Attribute):
        owner = frame.eval(container.value)
        if isinstance(owner, ClassRef):
            name = f"{owner.info.name}.{container.attr}"
            engine.emit(observations.StateWrite, container, None, name=name, kind="class")
        elif isinstance(owner, Instance) and owner.object.cls.is_module():
            methods = {n: unit for cls in reversed(owner.object.cls.mro()) for n, unit in cls.methods.items()}
            texts = [unit.text for n, unit in methods.items() if n != "__init__"]
            name = f"self.{container.attr}"
            assigned = re.compile(rf"{whole_word(name)}\s*(?::[^=\n]{{1,1000}}+)?=[^=]")
            read = not any(map(assigned.search, texts)) and any(_is_read(t, name) for t in texts)
            memo = rf"\bif (\w+) in {re.escape(name)}:\s+return {re.escape(name)}\[\1\]"
            if frame.unit is not None and re.search(memo, frame.unit.text):
                return  # what was kept under a key is what would be computed for it
            if read and engine.reads.read_by_forward(owner.object.cls, container.attr, frame.unit):
                engine.emit(observations.StateWrite, container, None, name=container.attr, kind="container")


def on_class(frame: Running, target: ast.Attribute) -> None:
    """Forward assigns an attribute of a class: every model of the class shares it, and no graph keeps it."""
    engine = frame.engine
    owner = target.value
    name = ""
    if isinstance(owner, ast.Name):
        v = frame.eval(owner)
        name = v.info.name if isinstance(v, ClassRef) else ""
    elif (isinstance(owner, ast.Attribute) and owner.attr == "__class__") or (
        isinstance(owner, ast.Call) and isinstance(owner.func, ast.Name) and owner.func.id == "type"
    ):
        name = frame.body.text(owner)
    if name and engine.context.tracing:
        engine.emit(observations.StateWrite, target, None, name=f"{name}.{target.attr}", kind="class")


def _matters(v: Value) -> bool:
    if isinstance(v, Tuple):
        return any(_matters(i) for i in v.items)
    return (isinstance(v, Tensor) and v.source == "input") or (isinstance(v, (Data, Array)) and not v.fixed)


def _is_read(text: str, name: str) -> bool:
    """True where `name` is used for more than to define it, to declare it global, and to put something into it."""
    for use in re.finditer(rf"(?<![\w.]){re.escape(name)}\b", text):
        line = text[text.rfind("\n", 0, use.start()) + 1 : use.start()]
        rest = text[use.end() : use.end() + 200]
        declared = line.lstrip().startswith(("global ", "nonlocal ", "#"))
        if not declared and not any(re.match(written, rest) for written in _WRITTEN):
            return True
    return False
