"""The keys that a project keeps flags and counts under: who reads one, as in `batch["normalized"]`, reads no tensor."""

import re
from collections.abc import Sequence

from onnxlint.project.classes import ModuleInfo

_KEPT = re.compile(r"""\[(['"])(\w+)\1\] *[-+*/|&]?=(?!=) *((?:True|False|\d+) *(?:#.*)?$)?""", re.MULTILINE)


def keys_of_flags(modules: Sequence[ModuleInfo]) -> frozenset[str]:
    """The keys of dicts that every statement that sets them sets to True, False or a whole number."""
    kept = [match for info in modules for match in _KEPT.findall(info.source.text)]
    return frozenset(key for _, key, flag in kept if flag) - {key for _, key, flag in kept if not flag}
