"""What scripts do to models that are not known here before they export them: `registry.create(name).deploy()`."""

import re
from collections.abc import Iterable, Sequence

from onnxlint.flow.state.protocols import Calling
from onnxlint.flow.values import domain as dom
from onnxlint.project.classes import ClassInfo, FunctionUnit

_CALLED = re.compile(r"\.([a-z]\w*)\(\s*\)")
_PUT_IN_PLACE = re.compile(r"^[ \t]*(?:\w+\.)+(forward = )(?:\w+\.)+(\w+)\b(?![(\[.])", re.MULTILINE)
_SET = re.compile(r"^[ \t]*(\w+)\.(\w+ = (?:True|False))\b", re.MULTILINE)
_SETS_A_FLAG = re.compile(r"^[ \t]+self\.(?:\w+ *= *(?:True|False)\b|forward = self\.)", re.MULTILINE)
_MODES = frozenset(("eval", "train", "forward"))


def methods_called(texts: Iterable[str], roots: Sequence[str]) -> tuple[str, ...]:
    """The methods that the texts of scripts call without arguments, on whatever it is.

    One that each of the `roots`, which export, puts in the place of its forward is there as `forward = infer`, and as
    `export = True` a flag that one sets."""
    set_ = {flag for text in roots for name, flag in _SET.findall(text) if re.search(rf"export\(\s*{name}\b", text)}
    called = {name for text in texts for name in _CALLED.findall(text)} - _MODES
    put = [{"".join(pair) for pair in _PUT_IN_PLACE.findall(text)} for text in roots]
    return tuple(sorted(called.union(set_, set.intersection(*put) if put else ())))


def deploying(cls: ClassInfo, called: Sequence[str]) -> list[FunctionUnit]:
    """The methods of a class, among those that a script calls, that set a flag of its object."""
    units = [unit for name in called if (unit := cls.find_method(name)) is not None]
    return [u for u in units if len(u.args.args) - len(u.args.defaults) == 1 and _SETS_A_FLAG.search(u.text)]


def concerns(cls: ClassInfo, called: Sequence[str]) -> bool:
    """True where what scripts call does something to models of a class, or may do."""
    return bool(deploying(cls, called)) or any(" = " in name for name in called)


def deploy(engine: Calling, model: dom.Object, called: Sequence[str]) -> None:
    """Run what scripts call, untraced, on what stands for any model of the class, and put what they put in place."""
    for unit in deploying(model.cls, called):
        engine.call_function(dom.Function(unit, dom.Instance(model)), [], {}, None)
    flags = {name.partition(" = ")[0] for name in called if name.endswith(("= True", "= False"))} & model.attrs.keys()
    either = {name for name in flags if {f"{name} = True", f"{name} = False"}.issubset(called)}  # by two scripts
    own = {name: dom.CONFIG if name in either else dom.Const(f"{name} = True" in called) for name in sorted(flags)}
    model.attrs.update(own)
    model.settled.update(own)
    names = (name for name in called if name.startswith("forward = ") and name != "forward = forward")
    put = [m for name in names if (m := model.cls.find_method(name[10:])) is not None]
    if len(put) == 1 and model.cls.find_method("forward") is not None:
        model.attrs["forward"] = dom.Function(put[0], dom.Instance(model))
