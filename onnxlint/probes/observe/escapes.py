"""Every tensor → Python conversion and every random draw of one eager run, with the user's line and the value.

Two layers see them, and both are needed: patched methods of torch.Tensor (`tolist` and `numpy` bypass dispatch), and a
dispatch mode (`zeros(t)`, `x[t]` bypass the methods).
"""

import contextlib
import dis
import functools
import hashlib
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any
from unittest import mock

import numpy
import torch

from onnxlint.base.records import Location
from onnxlint.probes.common.operator_mode import OperatorMode
from onnxlint.probes.common.userspace import is_installed, is_own, is_user_code, user_frames


@dataclass(frozen=True, slots=True)
class Escape:
    """A tensor became a Python value. `value` is its repr, or a digest where that is long; `frames` innermost first."""

    kind: str
    frames: tuple[Location, ...]
    value: str


@dataclass(frozen=True, slots=True)
class Draw:
    """A random number was drawn, by the function or operator `kind`."""

    kind: str
    frames: tuple[Location, ...]


_METHODS = {f"__{kind}__": kind for kind in ("bool", "int", "float", "complex", "index", "dlpack", "len", "iter")}
_METHODS |= {"__contains__": "in", "__array__": "numpy", "is_nonzero": "bool"}
_METHODS |= {"item": "item", "tolist": "tolist", "numpy": "numpy"}
_METHODS |= {"__repr__": "", "__format__": ""}  # printing reads data too, but nothing of it comes back into the graph
_RANDOM = {"betavariate", "choice", "choices", "expovariate", "gauss", "getrandbits", "normalvariate"}
_RANDOM |= {"randint", "random", "randrange", "sample", "shuffle", "triangular", "uniform"}
_NUMPY_RANDOM = {"beta", "binomial", "choice", "exponential", "normal", "permutation", "poisson", "rand", "randint"}
_NUMPY_RANDOM |= {"randn", "random", "random_sample", "shuffle", "standard_normal", "uniform"}
_TORCH = str(Path(torch.__file__).parent)
_SUBSCRIPT = 26  # the argument of BINARY_OP for `x[y]`, from Python 3.14 on
_SHORT = 80  # characters of a value that are kept as they are


class Records:
    """What one run did, in order. Patched functions report here; quiet while one runs, since they call one another."""

    def __init__(self, root: str | None) -> None:
        self.root = root
        self.escapes: list[Escape] = []
        self.draws: list[Draw] = []
        self.busy = False

    def escape(self, kind: str, value: str) -> None:
        """Note a conversion at the line of the caller's caller."""
        self.escapes.append(Escape(kind, user_frames(sys._getframe(2), self.root), value))

    def draw(self, kind: str) -> None:
        """Note a random number at the line of the caller's caller."""
        self.draws.append(Draw(kind, user_frames(sys._getframe(2), self.root)))


class _Dispatch(OperatorMode):
    """Sees the reads and draws that C++ makes on its own."""

    def __init__(self, records: Records) -> None:
        super().__init__()
        self.records = records

    def _run(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        reads, draws = _nature(func)
        generator = torch.default_generator
        before = generator.get_state() if draws else None
        result = func(*args, **kwargs)
        if self.records.busy:
            return result
        # Dropout with p=0 and attention without dropout carry the tag of a draw too.
        if draws and (kwargs.get("generator") is not None or not torch.equal(before, generator.get_state())):
            self.records.draw(_name(func))
        if reads and not (func is torch.ops.aten._local_scalar_dense.default and _picks(sys._getframe())):
            self.records.escape(_name(func), _text(result))
        return result


def _picks(inner: FrameType) -> bool:
    """Whether this is `x[t]` or `x[t] = y` of a tensor x, where both exporters keep the index a tensor."""
    frame: FrameType | None = inner
    while frame is not None and (is_own(name := frame.f_code.co_filename) or _TORCH in name):
        frame = frame.f_back
    if frame is None:
        return False
    code = frame.f_code.co_code
    operation = dis.opname[code[frame.f_lasti]]
    subscript = operation == "BINARY_OP" and code[frame.f_lasti + 1] == _SUBSCRIPT
    return subscript or operation in ("BINARY_SUBSCR", "STORE_SUBSCR")


@functools.cache
def _nature(func: Any) -> tuple[bool, bool]:
    """Whether an operator makes a Python value of a tensor's elements, and whether it may draw random numbers."""
    return torch.Tag.data_dependent_output in func.tags, torch.Tag.nondeterministic_seeded in func.tags


def _name(func: Any) -> str:
    """What a user would call the operator: `item` where torch itself reads an element, `nonzero`, `equal` …"""
    name = str(func._schema.name).partition("::")[2]
    return "item" if name == "_local_scalar_dense" else name


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


def _watch_method(name: str, method: Callable[..., Any], records: Records) -> Callable[..., Any]:
    kind = _METHODS[name]

    @functools.wraps(method)
    def watched(self: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        if records.busy:
            return method(self, *args, **kwargs)
        records.busy = True
        try:
            result = method(self, *args, **kwargs)
            if not kind:
                return result
            if kind in ("len", "iter"):
                value = str(self.shape[0]) if self.dim() else "a scalar"
            else:
                value = _text(self if name == "__dlpack__" else result)
        finally:
            records.busy = False
        records.escape(kind, value)
        return result

    return watched


def _watch_draw(name: str, function: Callable[..., Any], records: Records) -> Callable[..., Any]:
    @functools.wraps(function)
    def watched(*args: Any, **kwargs: Any) -> Any:
        if name == "numpy.random.default_rng":
            draws = (args[0] if args else kwargs.get("seed")) is None  # seeded, it gives the same numbers in every call
        else:
            draws = not records.busy and bool(user_frames(sys._getframe(1), limit=1))
        if draws:
            records.draw(name)
        return function(*args, **kwargs)

    return watched


@contextlib.contextmanager
def _watched_draws(records: Records) -> Iterator[None]:
    """Patch the functions of `random` and `numpy.random`, also where user code imported them by name."""
    replaced: dict[int, Any] = {}  # by the id of a function, which its module keeps alive
    for module, names in ((random, _RANDOM), (numpy.random, _NUMPY_RANDOM | {"default_rng"})):
        for name in names:
            function = getattr(module, name)
            replaced[id(function)] = _watch_draw(f"{module.__name__}.{name}", function, records)
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
    """The loaded modules that a user wrote; looked for again when the number of `loaded` modules has changed."""
    modules = [module for module in list(sys.modules.values()) if isinstance(module, ModuleType)]
    files = ((module, module.__dict__.get("__file__")) for module in modules)
    return tuple(module for module, file in files if file and is_user_code(file) and not is_installed(file))


@contextlib.contextmanager
def recording(root: str | None) -> Iterator[Records]:
    """Record escapes and draws of this thread's torch code; paths are relative to `root` where they lie below it."""
    records = Records(root)
    methods: dict[str, Any] = {name: _watch_method(name, getattr(torch.Tensor, name), records) for name in _METHODS}
    with mock.patch.multiple(torch.Tensor, **methods), _watched_draws(records), _Dispatch(records):
        yield records
