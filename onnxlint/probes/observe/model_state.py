"""What a forward changes in its model, and which user line does it."""

import sys
from collections.abc import Callable, Hashable
from types import FrameType
from typing import Any

import numpy as np
import torch

from onnxlint.base.records import Location
from onnxlint.probes.common.userspace import is_user_code, user_frames

Frames = tuple[Location, ...]
_MOST = 8  # lines named; a loop over layers changes things at one


def snapshot(model: torch.nn.Module) -> dict[str, Hashable]:
    """What a forward could change in a model: which tensors it holds, how often they were written, plain attributes."""
    state: dict[str, Hashable] = {}
    for prefix, module in model.named_modules():
        plain = {name: value for name, value in vars(module).items() if name not in _BOOKKEEPING}
        for name, value in (*module._parameters.items(), *module._buffers.items(), *plain.items()):
            state[f"{prefix}.{name}".lstrip(".")] = _mark(value, 0)
    return state


_BOOKKEEPING = frozenset(vars(torch.nn.Module())) - {"training"} | {"_parameters", "_buffers", "_modules"}


def _mark(value: Any, depth: int) -> Hashable:
    """Something that changes when the value is replaced or written to."""
    if isinstance(value, torch.Tensor):
        return (id(value), value._version if not value.is_inference() else 0)
    if value is None or isinstance(value, (bool, int, float, str, bytes, complex)):
        return (type(value).__name__, repr(value))
    if isinstance(value, np.ndarray):
        return (id(value), hash(value.tobytes()))
    if isinstance(value, torch.nn.Module):  # held in a plain list or dict: not among the submodules
        return tuple(snapshot(value).items()) if depth else id(value)
    if isinstance(value, (list, tuple, set, frozenset)) and depth < 3:
        return (type(value).__name__, *(_mark(v, depth + 1) for v in value))
    if isinstance(value, dict) and depth < 3:
        return ("dict", *((repr(k), _mark(v, depth + 1)) for k, v in value.items()))
    return id(value)


def changed(before: dict[str, Hashable], after: dict[str, Hashable]) -> list[str]:
    """The names whose value is not what it was, new and lost ones included."""
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))


def blame(run: Callable[[], object], watched: Callable[[], object], root: str) -> list[Frames]:
    """The user's frames, innermost first, of every line or call during which `watched()` changed while `run()` ran."""
    blamed: dict[Location, Frames] = {}
    last = watched()
    current: Frames = ()

    def settle() -> None:
        nonlocal last
        now = watched()
        if now != last:
            last = now
            if current and len(blamed) < _MOST:
                blamed.setdefault(current[0], current)

    def local(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal current
        settle()
        if event == "line":
            current = user_frames(frame, root)
        elif event == "return" and frame.f_back is not None:
            current = user_frames(frame.f_back, root)
        return local

    def start(frame: FrameType, event: str, _: Any) -> Any:
        return local if is_user_code(frame.f_code.co_filename) else None

    before = sys.gettrace()
    sys.settrace(start)
    try:
        run()
    finally:
        sys.settrace(before)
    settle()
    return list(blamed.values())
