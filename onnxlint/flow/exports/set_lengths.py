"""Models whose sequences are as long as a setting says: a layer takes that many features, or they are built for it."""

import re
from collections.abc import Sequence

from onnxlint.flow.state.partitions import name_of
from onnxlint.project.classes import ModuleInfo

_LENGTH = r"(?:seq_?len(?:gth)?|sequence_length|input_len(?:gth)?|context_(?:window|length)|look_?back)"
_ARGUMENTS = r"\((?:[^()]|\([^()]*\))*?"
_AS_WIDE = re.compile(rf"(?:Linear(?<!\wLinear){_ARGUMENTS}\b|Conv1d\(\s*(?:in_channels ?= ?)?(?:\w+\.)*){_LENGTH}\b")
_ASKS = re.compile(rf"def __init__\(\s*self\b[^()]*,\s*{_LENGTH}(?:_\w+)?\b(?![^,)]*\bNone\b)")
_WORD = re.compile(r"\b[A-Z]\w*")


def of_set_length(modules: Sequence[ModuleInfo]) -> frozenset[str]:
    """By qualified name: the classes with such a layer, those that build one for a length, those that they name; and
    those whose constructor asks for a length."""
    asking = [c for info in modules if _ASKS.search(info.source.text) for c in info.classes.values()]
    texts = [info for info in modules if any(layer in info.source.text for layer in ("Linear(", "Conv1d("))]
    texts = [info for info in texts if _AS_WIDE.search(info.source.text)]
    models = [c for info in texts for c in info.classes.values() if _AS_WIDE.search(c.text)]
    for model in models:  # grows
        built = re.compile(rf"\b{model.name}{_ARGUMENTS}\b{_LENGTH}\b")
        wholes = (c for info in model.module.project.naming(model.name) for c in info.classes.values())
        models += [c for c in wholes if c not in models and c is not model and built.search(c.text)]
    parts = {word for c in models for word in _WORD.findall(c.text) if word != c.name}
    named = [c for info in modules if parts for c in info.classes.values() if c.name in parts]
    return frozenset(name_of(c) for c in (*models, *named, *(c for c in asking if _ASKS.search(c.text))))
