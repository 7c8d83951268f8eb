"""Every tensor → Python conversion and every random draw of one eager run, with the user's line and the value.

Two layers see them, and both are needed: patched methods of torch.Tensor (`tolist` and `numpy` bypass dispatch), and a
dispatch mode (`zeros(t)`, `x[t]` bypass the methods).
"""

from __future__ import annotations

import contextlib
import dis
import functools
import hashlib
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any
from unittest import mock

import numpy
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from onnxlint.base.records import Location
from onnxlint.probes.common.userspace import is_installed, is_user_code, user_frames


class Reads(StrEnum):
    """What of a tensor became a Python value."""

    DATA = "data"  # its elements
    SIZE = "size"  # its length: `len(t)`, `for row in t`
    DATA_SHAPE = "data-shape"  # nothing yet: an operator made a tensor whose size depends on data


@dataclass(frozen=True, slots=True)
class Escape:
    """A tensor became a Python value. `value` is its repr, or a digest where that is long; `frames` innermost first."""

    kind: str
    frames: tuple[Location, ...]
    value: str
    reads: Reads


@dataclass(frozen=True, slots=True)
class Draw:
    """A random number was drawn, by the function or operator `kind`."""

    kind: str
    frames: tuple[Location, ...]


@dataclass(slots=True)
class Records:
    """What one run did, in order."""

    escapes: list[Escape] = field(default_factory=list)
    draws: list[Draw] = field(default_factory=list)


_METHODS = {
    "__bool__": ("bool", Reads.DATA),
    "__int__": ("int", Reads.DATA),
    "__float__": ("float", Reads.DATA),
    "__complex__": ("complex", Reads.DATA),
    "__index__": ("index", Reads.DATA),
    "__contains__": ("in", Reads.DATA),
    "__array__": ("numpy", Reads.DATA),
    "__dlpack__": ("dlpack", Reads.DATA),
    "item": ("item", Reads.DATA),
    "is_nonzero": ("bool", Reads.DATA),
    "tolist": ("tolist", Reads.DATA),
    "numpy": ("numpy", Reads.DATA),
    "__len__": ("len", Reads.SIZE),
    "__iter__": ("iter", Reads.SIZE),
}
_SILENT = ("__repr__", "__format__")  # printing reads data too, but nothing of it comes back into the graph

_RANDOM = (
    "betavariate",
    "choice",
    "choices",
    "expovariate",
    "gauss",
    "getrandbits",
    "normalvariate",
    "randint",
    "random",
    "randrange",
    "sample",
    "shuffle",
    "triangular",
    "uniform",
)
_NUMPY_RANDOM = (
    "beta",
    "binomial",
    "choice",
    "exponential",
    "normal",
    "permutation",
    "poisson",
    "rand",
    "randint",
    "randn",
    "random",
    "random_sample",
    "shuffle",
    "standard_normal",
    "uniform",
)
_TORCH = str(Path(torch.__file__).parent)
_SUBSCRIPT = 26  # the argument of BINARY_OP for `x[y]`, from Python 3.14 on
_SHORT = 80  # characters of a value that are kept as they are


class _Recorder:
    """Where patched functions report; quiet while one of them runs, since they call one another."""

    def __init__(self, root: str | None) -> None:
        self.root = root
        self.records = Records()
        self.busy = False

    def escape(self, kind: str, value: str, reads: Reads) -> None:
        frames = user_frames(sys._getframe(2), self.root)
        self.records.escapes.append(Escape(kind, frames, value, reads))

    def draw(self, kind: str) -> None:
        self.records.draws.append(Draw(kind, user_frames(sys._getframe(2), self.root)))


class _Dispatch(TorchDispatchMode):  # type: ignore[misc]  # torch is untyped here
    """Sees the reads and draws that C++ makes on its own."""

    def __init__(self, recorder: _Recorder) -> None:
        super().__init__()
        self.recorder = recorder

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        reads, draws = _nature(func)
        before = torch.default_generator.get_state() if draws else None
        result = func(*args, **kwargs)
        if self.recorder.busy:
            return result
        if before is not None and _drew(before, kwargs):
            self.recorder.draw(_name(func))
        if reads is Reads.DATA and not (func is torch.ops.aten._local_scalar_dense.default and _picks(sys._getframe())):
            self.recorder.escape(_name(func), _text(result), reads)
        elif reads is Reads.DATA_SHAPE and (func is not torch.ops.aten.index.Tensor or _boolean_index(args)):
            first = result[0] if isinstance(result, (tuple, list)) else result
            self.recorder.escape(_name(func), str(tuple(first.shape)), reads)
        return result


def _picks(inner: FrameType) -> bool:
    """Whether this happens at `x[t]` or `x[t] = y`: eager reads the number, both exporters keep the tensor as index.

    What is no tensor asks `t.__index__` for it, which is seen there.
    """
    frame: FrameType | None = inner
    while frame is not None and (frame.f_code.co_filename == __file__ or _TORCH in frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None:
        return False
    code = frame.f_code.co_code
    name = dis.opname[code[frame.f_lasti]]
    return name in ("BINARY_SUBSCR", "STORE_SUBSCR") or (name == "BINARY_OP" and code[frame.f_lasti + 1] == _SUBSCRIPT)


@functools.cache
def _nature(func: Any) -> tuple[Reads | None, bool]:
    """What an operator reads, and whether it may draw random numbers."""
    tags = set(func.tags)
    draws = torch.Tag.nondeterministic_seeded in tags
    if torch.Tag.data_dependent_output in tags:
        return Reads.DATA, draws
    if torch.Tag.dynamic_output_shape in tags or func is torch.ops.aten.index.Tensor:
        return Reads.DATA_SHAPE, draws
    return None, draws


def _name(func: Any) -> str:
    """What a user would call the operator: `item` where torch itself reads an element, `nonzero`, `equal` …"""
    name = str(func._schema.name).partition("::")[2]
    return "item" if name == "_local_scalar_dense" else name


def _drew(before: torch.Tensor, kwargs: dict[str, Any]) -> bool:
    """Whether the operator really drew: dropout with p=0 and attention without dropout carry the tag too."""
    return kwargs.get("generator") is not None or not torch.equal(before, torch.default_generator.get_state())


def _boolean_index(args: tuple[Any, ...]) -> bool:
    return any(index is not None and index.dtype in (torch.bool, torch.uint8) for index in args[1])


def _text(value: Any) -> str:
    """A short text that differs when the value differs."""
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu().numpy()
    if isinstance(value, numpy.ndarray):
        if value.size <= 8:
            return repr(value.tolist())
        data = value.tobytes() if value.dtype != object else repr(value.tolist()).encode()
        return f"array of shape {value.shape}, sha1 {hashlib.sha1(data).hexdigest()[:12]}"
    text = repr(value)
    if len(text) <= _SHORT:
        return text
    return f"{text[: _SHORT // 2]}…, sha1 {hashlib.sha1(text.encode()).hexdigest()[:12]}"


def _watch_method(name: str, method: Callable[..., Any], recorder: _Recorder) -> Callable[..., Any]:
    kind, reads = _METHODS.get(name, ("", None))

    @functools.wraps(method)
    def watched(self: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        if recorder.busy:
            return method(self, *args, **kwargs)
        recorder.busy = True
        try:
            result = method(self, *args, **kwargs)
            if reads is None:
                return result
            if reads is Reads.SIZE:
                value = str(self.shape[0]) if self.dim() else "a scalar"
            else:
                value = _text(self if name == "__dlpack__" else result)
        finally:
            recorder.busy = False
        recorder.escape(kind, value, reads)
        return result

    return watched


def _watch_draw(name: str, function: Callable[..., Any], recorder: _Recorder) -> Callable[..., Any]:
    @functools.wraps(function)
    def watched(*args: Any, **kwargs: Any) -> Any:
        if not recorder.busy and user_frames(sys._getframe(1), limit=1):
            recorder.draw(name)
        return function(*args, **kwargs)

    return watched


def _watch_generator(function: Callable[..., Any], recorder: _Recorder) -> Callable[..., Any]:
    @functools.wraps(function)
    def watched(seed: Any = None, *args: Any, **kwargs: Any) -> Any:
        if seed is None:  # seeded, it gives the same numbers in every call
            recorder.draw("numpy.random.default_rng")
        return function(seed, *args, **kwargs)

    return watched


@contextlib.contextmanager
def _watched_methods(recorder: _Recorder) -> Iterator[None]:
    """Patch torch.Tensor; undone on exit, whatever happened."""
    with contextlib.ExitStack() as stack:
        for name in (*_METHODS, *_SILENT):
            method = getattr(torch.Tensor, name, None)
            if method is not None:
                stack.enter_context(mock.patch.object(torch.Tensor, name, _watch_method(name, method, recorder)))
        yield


@contextlib.contextmanager
def _watched_draws(recorder: _Recorder) -> Iterator[None]:
    """Patch the functions of `random` and `numpy.random`, also where user code imported them by name."""
    replaced: dict[int, Any] = {}  # by the id of a function, which its module keeps alive
    for module, names in ((random, _RANDOM), (numpy.random, _NUMPY_RANDOM)):
        for name in names:
            function = getattr(module, name)
            replaced[id(function)] = _watch_draw(f"{module.__name__}.{name}", function, recorder)
    maker = numpy.random.default_rng
    replaced[id(maker)] = _watch_generator(maker, recorder)
    changed: list[tuple[dict[str, Any], str, Any]] = []
    try:
        for module in (random, numpy.random, *_user_modules(len(sys.modules))):
            for name, value in list(vars(module).items()):
                if id(value) in replaced:
                    changed.append((vars(module), name, value))
                    vars(module)[name] = replaced[id(value)]
        yield
    finally:
        for namespace, name, function in changed:
            namespace[name] = function


@functools.lru_cache(maxsize=1)
def _user_modules(loaded: int) -> tuple[ModuleType, ...]:
    """The loaded modules that a user wrote; looked for again when the number of `loaded` modules has changed.

    Installed libraries import `random` itself, not its functions.
    """
    return tuple(
        module
        for module in list(sys.modules.values())
        if isinstance(module, ModuleType)
        and (file := module.__dict__.get("__file__"))
        and is_user_code(file)
        and not is_installed(file)
    )


@contextlib.contextmanager
def recording(root: str | None) -> Iterator[Records]:
    """Record escapes and draws of this thread's torch code; paths are relative to `root` where they lie below it."""
    recorder = _Recorder(root)
    with _watched_methods(recorder), _watched_draws(recorder), _Dispatch(recorder):
        yield recorder.records
