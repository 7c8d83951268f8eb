"""The modules that attributes hold, and those among them that no container registers."""

import re
from collections.abc import Iterable, Mapping, Sequence

from onnxlint.flow.exports.train_modes import heeds_mode
from onnxlint.flow.state import observations
from onnxlint.flow.state.protocols import Reading
from onnxlint.flow.values import domain as dom
from onnxlint.flow.values.node_places import Place

_HELD_ITEM = re.compile(r"\bfor (?:\w+, *)?(\w+) in (?:enumerate\()?self\.\w")
_FREEZES_ITSELF = re.compile(r"in self\.parameters\(\):\s+\w+\.requires_grad(?: = |_\()False")
_PASSES_ON = re.compile(r"[(=,] *\[self\.\w+[,\]]")
_WEIGHTLESS = re.compile(r"(?:Pool\dd|Pad\dd|Identity|Flatten|Upsample|(?:[a-z]LU|ELU|GELU)6?|Tanh|Sigmoid|Softmax)$")


def _left_out_rightly(text: str, name: str, modules: Sequence[dom.Value]) -> bool:
    """True for modules that nobody has to register: without weights, frozen, around such as an attribute holds, one
    alone (`[parent]` is how to hide it), let go again; and for those that are registered beside their container."""
    alone = re.search(rf"\bself\.{name} *= *\[[a-z_]\w*+(?:\([^()\n]*\))?+\](?! *[*+])", text)
    if alone and not re.search(rf"self\.{name}(?: *\+=|\.(?:append|extend|insert)\()", text):
        return True
    if "add_module" in text or re.search(
        rf"\bdel self\.{name}\b|\b(?:Module(?:List|Dict)|Sequential)\([^#\n]*\bself\.{name}\b", text
    ):
        return True
    if any(heeds_mode(m) for m in modules):
        return False
    frozen = re.search(rf"self\.{name}\[\w+\]\.requires_grad_\(False\)", text) is not None
    frozen |= all(isinstance(m, dom.Instance) and _FREEZES_ITSELF.search(m.object.cls.text) for m in modules)
    if frozen or not any(_has_weights(m) for m in modules):
        return True
    return any(re.search(rf"\b[A-Z]\w*\(\s*{item}\b", text) for item in _HELD_ITEM.findall(text))


def _has_weights(v: dom.Value) -> bool:
    """False for a module that is known to have none."""
    if isinstance(v, dom.Instance):
        cls, attrs = v.object.cls, v.object.attrs
        return "*" in attrs or cls.extends_library_model() or any(_has_weights(i) for i in attrs.values())
    if isinstance(v, dom.Layer):
        return _WEIGHTLESS.search(v.name) is None
    return not isinstance(v, (dom.Const, dom.Config))


def _passed_on(holders: Iterable[dom.Object]) -> list[dom.Value]:
    """The modules of objects that are being built and pass such on in a list: `Stack([self.first, self.second])`."""
    passing = (o for o in holders if _PASSES_ON.search(o.cls.text))
    return [v for o in passing for v in o.attrs.values() if isinstance(v, dom.Instance)]


def report_hidden_modules(
    engine: Reading, obj: dom.Object, places: Mapping[tuple[int, str], Place], holders: Iterable[dom.Object]
) -> None:
    """Modules in a plain list or dict attribute that no container registers, nor one of the `holders` around it."""
    registered: list[dom.Value] = []
    hidden: list[tuple[str, dom.Value]] = []
    filled_later = False  # a container that starts empty: what it gets in a loop is not followed
    for name, v in obj.attrs.items():
        if isinstance(v, (dom.Instance, dom.Layer)):
            members = _members(v.items) if isinstance(v, dom.Layer) and v.items is not None else []
            registered += [v, *members]
            if isinstance(v, dom.Layer) and v.name.endswith(("ModuleDict", "ModuleList")):
                filled_later = filled_later or not members
        elif isinstance(v, (dom.Tuple, dom.Seq, dom.Dict)) and any(is_module(m) for m in _members(v)):
            hidden.append((name, v))
    if "*" in obj.attrs or not hidden or filled_later:
        return
    registered += _passed_on(holders)
    for name, v in hidden:
        modules = [m for m in _members(v) if is_module(m)]
        place = places.get((id(obj), name))
        listed = all(any(m is r or m == r for r in registered) for m in modules)
        unread = not engine.reads.read_by_forward(obj.cls, name, None)  # it leads to modules that others hold
        if place is not None and not (unread or listed or _left_out_rightly(obj.cls.text, name, modules)):
            container = "dict" if isinstance(v, dom.Dict) else "list"
            engine.emit(observations.HiddenModules, place, always=True, container=container)


def modules_in(v: dom.Value) -> list[dom.Value]:
    """The modules of a container, or what stands alone."""
    if isinstance(v, dom.Layer) and v.items is not None:
        return _members(v.items)
    return _members(v) if isinstance(v, (dom.Tuple, dom.Seq, dom.Dict)) else [v]


def _members(v: dom.Value) -> list[dom.Value]:
    """What a tuple, a list or a dict holds, and what those in it hold."""
    return [m for i in dom.contents(v) for m in (_members(i) if isinstance(i, (dom.Tuple, dom.Seq, dom.Dict)) else [i])]


def is_module(v: dom.Value) -> bool:
    """True for a module that a container can hold, losses and what does nothing aside."""
    if isinstance(v, dom.Instance):
        return v.object.cls.is_module()
    if not isinstance(v, dom.Layer) or v.name.endswith(("Loss", "Init", "Identity")):
        return False
    return not v.name.endswith(".Sequential") or bool(v.args or (v.items is not None and _members(v.items)))
