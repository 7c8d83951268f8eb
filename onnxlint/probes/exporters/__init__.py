"""What both exporters have in common: the leaves of the arguments, and the record of one export."""

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self, TypeVar

import torch
from torch.utils import _pytree as pytree

from onnxlint.base.records import Location, text_of

T = TypeVar("T")
Frames = tuple[Location, ...]
Args = tuple[Any, ...]  # of a call: those by position
Kwargs = Mapping[str, Any]  # and those by name
Dynamic = Mapping[str, Mapping[int, str]]  # by input and axis: the name of the dim
SIGNS = {"Equality": "==", "Unequality": "!="}


@dataclass(frozen=True, slots=True)
class Example:
    """What `forward` is called with. `parameters` names the inputs in call order: positional first, then keywords.

    `dynamic` maps a parameter to {axis: name of the dim}, or a leaf of one such as `states.0`, which captured calls
    name. `options` are what else a captured call passes to its exporter.
    """

    args: Args
    kwargs: Kwargs = field(default_factory=dict)
    parameters: Sequence[str] = ()
    dynamic: Dynamic = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def values(self) -> tuple[Any, ...]:
        """The inputs in the order of `parameters`."""
        return (*self.args, *self.kwargs.values())

    def called_with(self, args: Args, kwargs: Kwargs) -> Self:
        """The same call with other values."""
        return replace(self, args=args, kwargs=kwargs)

    def named(self) -> list[tuple[str, Any]]:
        """Every argument with the name of its parameter, positional ones first."""
        names = [self.parameters[i] if i < len(self.parameters) else f"arg{i}" for i in range(len(self.args))]
        return [*zip(names, self.args, strict=True), *self.kwargs.items()]

    def leaves(self) -> dict[str, Any]:
        """Every leaf of the arguments, see `leaves`."""
        return leaves(self.parameters, self.args, self.kwargs)

    def leaf_names(self) -> list[str]:
        """The name of every leaf of the arguments in their order; an empty one for None."""
        names = iter(self.leaves())
        return [next(names) if leaf is not None else "" for leaf in pytree.tree_leaves((self.args, dict(self.kwargs)))]

    def mapped(self, change: Callable[[str, Any], Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with what `change` makes of the name and the value of each leaf."""
        flat, spec = pytree.tree_flatten((self.args, dict(self.kwargs)))
        leaves = [change(name, leaf) if name else leaf for name, leaf in zip(self.leaf_names(), flat, strict=True)]
        args, kwargs = pytree.tree_unflatten(leaves, spec)
        return args, kwargs


@dataclass(frozen=True, slots=True)
class Refusal:
    """One reason why an exporter raised, and the user's frames it points at, innermost first."""

    message: str
    frames: Frames = ()


@dataclass(frozen=True, slots=True)
class Conversion:
    """A traced tensor that became a Python value during the trace, which keeps `value`; as a `number` if it is one."""

    kind: str
    value: str
    frames: Frames
    number: float | None = None


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition on sizes that dynamo assumed. `symbols` maps its symbols to (leaf, axis); `expression` is sympy's."""

    expression: Any
    kind: str
    symbols: Mapping[str, tuple[str, int]]
    frames: Frames

    def holds(self, leaves: Mapping[str, Any]) -> bool | None:
        """Whether the condition holds for these inputs; None if it cannot be told."""
        values = {}
        for symbol in self.expression.free_symbols:
            leaf, axis = self.symbols.get(str(symbol), ("", 0))
            tensor = leaves.get(leaf)
            if not isinstance(tensor, torch.Tensor) or axis >= tensor.dim():
                return None
            values[symbol] = tensor.shape[axis]
        return {"True": True, "False": False}.get(str(self.expression.subs(values)))

    def implies(self, other: Self) -> bool:
        """Whether this guard pins an expression to a number with which the other condition holds anyway."""
        if type(self.expression).__name__ != "Equality":
            return False
        left, right = self.expression.args
        pinned, number = (left, right) if right.is_number else (right, left)
        return bool(number.is_number) and str(other.expression.subs(pinned, number)) == "True"

    @property
    def text(self) -> str:
        """The condition in terms of the inputs: `x.shape[0] > 4`."""
        sign = SIGNS.get(type(self.expression).__name__)
        words = f" {sign} ".join(map(str, self.expression.args)) if sign else str(self.expression)
        for symbol, (leaf, axis) in self.symbols.items():
            words = re.sub(rf"\b{symbol}\b", f"{leaf}.shape[{axis}]", words)
        return words


@dataclass(frozen=True, slots=True)
class Capture:
    """The torch.export.ExportedProgram that dynamo made of a model and then translated; `strategy` is torch's, which
    made it in so many CPU seconds."""

    program: Any
    strategy: Any
    seconds: float


@dataclass(slots=True)
class Export:
    """One run of an exporter. `path` is the ONNX file, None if the exporter raised.

    `inputs` maps the graph's inputs to leaves (see `leaves`); `asked` holds every leaf that the exporter turned into
    an input of the trace, before unused ones were dropped. `constants` are default values that became inputs.
    `program` is dynamo's torch.export.ExportedProgram as it was written to the file, None where there is none.
    `capture` is what that was made of; if the export failed although there is one, it failed in the translation.
    """

    exporter: str
    path: Path | None = None
    inputs: dict[str, str] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)
    error: str = ""
    refusals: list[Refusal] = field(default_factory=list)
    conversions: list[Conversion] = field(default_factory=list)
    guards: list[Guard] = field(default_factory=list)
    capture: Capture | None = None
    program: Any = None
    seconds: float = 0.0


def first_of_each(items: Iterable[T], key: Callable[[T], Hashable]) -> list[T]:
    """The items without those whose key an item before them has."""
    first: dict[Hashable, T] = {}
    for item in items:
        first.setdefault(key(item), item)
    return list(first.values())


def line_of(item: Refusal | Any) -> tuple[str, int]:
    """Path and line of the innermost frame of whatever has `frames`; an empty path where it has none."""
    return (item.frames[0].path, item.frames[0].line) if item.frames else ("", 0)


def leaves(parameters: Sequence[str], args: Args, kwargs: Kwargs) -> dict[str, Any]:
    """The leaves of the arguments by name: `x`, `batch.user`, `states.0`. None and containers are no leaves."""
    result: dict[str, Any] = {}
    for name, value in Example(args, kwargs, parameters).named():
        for path, leaf in pytree.tree_flatten_with_path(value)[0]:
            if leaf is not None:
                result[".".join([name, *(_step(key) for key in path)])] = leaf
    return result


def _step(key: Any) -> str:
    return next((str(getattr(key, name)) for name in ("key", "idx", "name") if hasattr(key, name)), str(key))


def axes_of(leaf: str, dynamic: Dynamic) -> Mapping[int, str]:
    """The dynamic axes of a leaf: declared for it, or for the argument that holds it."""
    return dynamic.get(leaf) or dynamic.get(leaf.partition(".")[0]) or {}


def first_line(error: BaseException) -> str:
    """The first lines of an error that say something, folded into one, with its type."""
    lines = [line.strip() for line in text_of(error).splitlines() if line.strip()]
    text = lines[0] if lines else ""
    if text.endswith(":") and len(lines) > 1:
        text += f" {lines[1]}"
    text = text if len(text) <= 300 else f"{text[:297]}…"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
