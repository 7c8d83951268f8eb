"""Models whose sequences are as long as a setting says: a linear layer of theirs has that many weights."""

from __future__ import annotations

import re
from collections.abc import Sequence

from onnxlint.flow.state.partitions import name_of
from onnxlint.project.classes import ModuleInfo

_LENGTH = r"(?:seq_?len(?:gth)?|sequence_length|input_len(?:gth)?|context_(?:window|length)|look_?back)"
_AS_WIDE = re.compile(rf"Linear(?<!\wLinear)\((?:[^()]|\([^()]*\))*?\b{_LENGTH}\b")
_WORD = re.compile(r"\b[A-Z]\w*")


def of_set_length(modules: Sequence[ModuleInfo]) -> frozenset[str]:
    """The classes with such a layer, and those that they name, by path and qualified name."""
    texts = [info for info in modules if "Linear(" in info.source.text and _AS_WIDE.search(info.source.text)]
    models = [c for info in texts for c in info.classes.values() if _AS_WIDE.search(c.text)]
    parts = {word for c in models for word in _WORD.findall(c.text) if word != c.name}
    named = [c for info in modules if parts for c in info.classes.values() if c.name in parts]
    return frozenset(name_of(c) for c in (*models, *named))
