"""What a watched program hands down to the processes that it starts, so that Python in them is watched as well.

The program's own `os.environ` stays what it is without us. We add to the environment of the C library, which a process
inherits that is given none, and to the list that `subprocess` passes on where a program gives one.
"""

import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

HOOK = str(Path(__file__).parent / "hook")
PATH, BEFORE, CHANNEL, ROOT = "PYTHONPATH", "ONNXLINT_PYTHONPATH", "ONNXLINT_CHANNEL", "ONNXLINT_ROOT"
PREFIX = "ONNXLINT_PREFIX"
_LIST = 5  # where `_posixsubprocess.fork_exec` takes the environment, as `NAME=value` in bytes

_address = _root = ""


def variables(address: str, root: str, before: str) -> dict[str, str]:
    """What Python needs to be watched: where to tell of exports, and what PYTHONPATH is without us."""
    path = os.pathsep.join(part for part in (HOOK, before) if part)
    return {PATH: path, BEFORE: before, CHANNEL: address, ROOT: root, PREFIX: sys.prefix}


def hand_down(address: str, root: str) -> None:
    """Let the processes that this one starts be watched from now on."""
    global _address, _root
    _address, _root = address, root
    _inherit()
    if "subprocess" in sys.modules:
        pass_on(sys.modules["subprocess"])


def pass_on(module: ModuleType) -> None:
    """Let `subprocess` add what we hand down, where this Python has the function that we know."""
    fork_exec = getattr(module, "_fork_exec", None)
    if fork_exec is None:
        return

    def watched(*args: Any) -> Any:
        environment = args[_LIST] if len(args) > _LIST else ()
        if environment is None:
            _inherit()
        elif isinstance(environment, list):
            args = (*args[:_LIST], _added(environment), *args[_LIST + 1 :])
        return fork_exec(*args)

    vars(module)["_fork_exec"] = watched


def _inherit() -> None:
    """Put what we hand down where `os.environ` does not show it; the program may have changed PYTHONPATH since."""
    for name, value in variables(_address, _root, os.environ.get(PATH, "")).items():
        os.putenv(name, value)


def _added(environment: list[bytes]) -> list[bytes]:
    existing = dict(item.partition(b"=")[::2] for item in environment)
    if CHANNEL.encode() in existing:  # another onnxlint watches that one
        return environment
    ours = variables(_address, _root, os.fsdecode(existing.get(PATH.encode(), b"")))
    merged = {**existing, **{os.fsencode(name): os.fsencode(value) for name, value in ours.items()}}
    return [name + b"=" + value for name, value in merged.items()]
