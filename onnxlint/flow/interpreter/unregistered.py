"""Modules that a class keeps in a plain list and that nobody has to register."""

import re
from collections.abc import Sequence

from onnxlint.flow.exports.train_modes import heeds_mode
from onnxlint.flow.values import domain as dom

_HELD_ITEM = re.compile(r"\bfor (?:\w+, *)?(\w+) in (?:enumerate\()?self\.\w")
_WITHOUT_WEIGHTS = re.compile(
    r"(?:Pool\dd|Pad\dd|Identity|Flatten|Upsample|(?:[a-z]LU|ELU|GELU)6?|Tanh|Sigmoid|Softmax)$"
)


def left_out_rightly(text: str, name: str, modules: Sequence[dom.Value]) -> bool:
    """True for modules that nobody has to register: without weights, frozen, or around such as an attribute holds."""
    if any(heeds_mode(m) for m in modules):
        return False
    frozen = re.search(rf"self\.{name}\[\w+\]\.requires_grad_\(False\)", text) is not None
    if frozen or not any(_has_weights(m) for m in modules):
        return True
    around = (re.search(rf"\b[A-Z]\w*\(\s*{item}\b", text) for item in _HELD_ITEM.findall(text))
    return any(around)


def _has_weights(v: dom.Value) -> bool:
    """False for a module that is known to have none."""
    if isinstance(v, dom.Instance):
        cls, attrs = v.object.cls, v.object.attrs
        return "*" in attrs or cls.extends_library_model() or any(_has_weights(i) for i in attrs.values())
    if isinstance(v, dom.Layer):
        return _WITHOUT_WEIGHTS.search(v.name) is None
    return not isinstance(v, (dom.Const, dom.Config))
