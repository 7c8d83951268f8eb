"""What scripts do to models that are not known here before they export them: `registry.create(name).deploy()`."""

import re
from collections.abc import Iterable, Sequence

from onnxlint.flow.state.protocols import Engine
from onnxlint.flow.values import domain as dom
from onnxlint.project.classes import ClassInfo, FunctionUnit

_CALLED = re.compile(r"\.([a-z]\w*)\(\s*\)")
_SETS_A_FLAG = re.compile(r"^[ \t]+self\.\w+ *= *(?:True|False)\b", re.MULTILINE)
_MODES = frozenset(("eval", "train", "forward"))


def methods_called(texts: Iterable[str]) -> tuple[str, ...]:
    """The methods that the texts of scripts call without arguments, on whatever it is."""
    return tuple(sorted({name for text in texts for name in _CALLED.findall(text)} - _MODES))


def deploying(cls: ClassInfo, called: Sequence[str]) -> list[FunctionUnit]:
    """The methods of a class, among those that a script calls, that set a flag of its object."""
    units = [unit for name in called if (unit := cls.find_method(name)) is not None]
    return [u for u in units if len(u.args.args) - len(u.args.defaults) == 1 and _SETS_A_FLAG.search(u.text)]


def deploy(engine: Engine, model: dom.Object, units: Sequence[FunctionUnit]) -> None:
    """Run these methods, untraced, on what stands for any model of the class."""
    for unit in units:
        engine.call_function(dom.Function(unit, dom.Instance(model)), [], {}, None)
