"""What a model has changed of the process that it runs in: its limits, its user, its root, functions of others."""

import contextlib
import os
import resource
import sys
from collections.abc import Mapping
from pathlib import Path
from types import FunctionType

from onnxlint.probes.common.userspace import is_user_code

_NAMES = [name for name in dir(resource) if name.startswith("RLIMIT_") and name != "RLIMIT_OFILE"]  # NOFILE's old name
_LIMITS = {name: getattr(resource, name) for name in _NAMES}
_OTHERS = ("numpy", "onnx", "onnxruntime", "torch", "torch.export", "torch.onnx")  # beside the standard library
_MOST = 3  # changes that one message names
_getrlimit, _stat, _getuid, _getgid = resource.getrlimit, os.stat, os.geteuid, os.getegid


class Process:
    """A process as it is before a model runs in it."""

    def __init__(self) -> None:
        self._limits = {name: _getrlimit(number) for name, number in _LIMITS.items()}
        self._owner = _getuid(), _getgid()
        self._root = _stat("/")
        self._loaded = len(sys.modules)
        needed = [n for n in sys.modules if n in _OTHERS or n.partition(".")[0] in sys.stdlib_module_names]
        modules = [sys.modules[name] for name in needed]
        self._spaces: dict[str, Mapping[str, object]] = {module.__name__: vars(module) for module in modules}
        self._spaces["pathlib.Path"] = vars(Path)
        self._before = {name: dict(space) for name, space in self._spaces.items()}

    def altered(self, *, functions: bool = False) -> list[str]:
        """What is different now, as predicates of the model; `functions` of other modules too, which takes longer."""
        changes, root = [], None
        for name, number in _LIMITS.items():
            soft, hard = _getrlimit(number)
            if (soft, hard) != self._limits[name]:
                value = "no limit" if soft == resource.RLIM_INFINITY else soft
                changes.append(f"set {name} of its process to {value}")
        if (_getuid(), _getgid()) != self._owner:
            changes.append(f"changed the user of its process to {_getuid()}:{_getgid()}")
        with contextlib.suppress(OSError):
            root = _stat("/")
        if root is None or not os.path.samestat(root, self._root):
            changes.append("changed the root folder of its process")
        if functions and "torch" in sys.modules:
            torch = sys.modules["torch"]
            dtype, device = torch.get_default_dtype(), torch.get_default_device()
            defaults = ("dtype", dtype, torch.float32), ("device", device, torch.device("cpu"))
            changes += [f"set torch's default {key} to {now}" for key, now, usual in defaults if now != usual]
        if functions and len(sys.modules) < self._loaded:
            changes.append("removed modules from `sys.modules`")
        for name, before in self._before.items() if functions else ():  # what we need, and is the user's own by now
            mine = self._spaces[name]
            replaced = [key for key, was in before.items() if callable(was) and _of_user(mine.get(key), was)]
            changes += [f"replaced `{name}.{key}`" for key in replaced]
        return changes[:_MOST]


def filters(pid: int) -> list[str]:
    """The lines in which Linux tells of the filters (seccomp) for the system calls of a process, ended or not."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/status") as file:
        return [line for line in file if line.startswith("Seccomp")]
    return []


def _of_user(now: object, was: object) -> bool:
    if type(now) is FunctionType:
        return now is not was and is_user_code(now.__code__.co_filename)
    return now is not was and not callable(now)
