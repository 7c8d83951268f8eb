"""The keys under which a project keeps truths alone, as in `batch["normalized"] = True`: who reads one asks a flag."""

import re
from collections.abc import Sequence

from onnxlint.project.classes import ModuleInfo

_KEPT = re.compile(r"""\[(['"])(\w+)\1\] *[-+*/|&]?=(?!=) *((?:True|False|\d+) *(?:#.*)?$)?""", re.MULTILINE)


def keys_of_flags(modules: Sequence[ModuleInfo]) -> frozenset[str]:
    """The keys of dicts that some statement sets to True or False, and none to anything else."""
    flags, others = set[str](), set[str]()
    texts = (info.source.text for info in modules)
    for text in [text for text in texts if "] = " in text]:
        flags.update(key for _, key, truth in _KEPT.findall(text) if truth)
    for info in modules if flags else ():
        others.update(key for _, key, truth in _KEPT.findall(info.source.text) if not truth)
    return frozenset(flags - others)
