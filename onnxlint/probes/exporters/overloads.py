"""Calls that Python has and TorchScript has not, such as `tensor | True`: which line makes the one that it names."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from onnxlint.base.records import text_of
from onnxlint.probes.common.userspace import user_frames
from onnxlint.probes.exporters import Refusal

_NONE_FITS = re.compile(r"We don't have an op for aten::(\w+) but it isn't a special case\.\s+Argument types: ([^\n]*)")


class _Calls(TorchFunctionMode):  # type: ignore[misc]
    """Notes the lines that call an operator with arguments of these kinds."""

    def __init__(self, name: str, kinds: list[str], root: str) -> None:
        super().__init__()
        self._name = name
        self._kinds = kinds
        self._root = root
        self.refusals: dict[tuple[str, int], Refusal] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if _plain(getattr(func, "__name__", "")) == self._name and self._fits(args):
            frames = user_frames(root=self._root)
            if frames:
                operands = " and ".join(f"a {kind}" for kind in self._kinds)
                message = f"TorchScript has no `{self._name.strip('_')}` of {operands}"
                self.refusals.setdefault((frames[0].path, frames[0].line), Refusal(message, frames))
        return func(*args, **(kwargs or {}))

    def _fits(self, args: tuple[Any, ...]) -> bool:
        """Whether the arguments are of these kinds, in whichever order: `True | t` is traced as `t | True`."""
        kinds = sorted(_kind(value) for value in args[: len(self._kinds)])
        return kinds == sorted(self._kinds[: len(kinds)])


def refused(error: Exception, again: Callable[[], None], root: str) -> list[Refusal]:
    """The lines of an operator that the trace has for arguments which it has not; none where that is not the error.

    `again` is the export, which is traced once more: sizes are tensors in it alone.
    """
    match = _NONE_FITS.search(text_of(error))
    if match is None:
        return []
    kinds = [kind.strip() for kind in match.group(2).split(",") if kind.strip()]
    with _Calls(_plain(match.group(1)), kinds, root) as calls, contextlib.suppress(Exception):  # the error, once more
        again()
    return list(calls.refusals.values())


def _plain(name: str) -> str:
    """The name of an operator without what says that its sides are exchanged, or that it writes in place."""
    match = re.fullmatch(r"__[ri]?(or|and|xor|lshift|rshift)__", name)
    return f"__{match.group(1)}__" if match else name


def _kind(value: Any) -> str:
    """What TorchScript calls the type of a value."""
    return "Tensor" if isinstance(value, torch.Tensor) else type(value).__name__
