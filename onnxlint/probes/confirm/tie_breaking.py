"""Eager PyTorch with the other choice among equal values, where the choice is nobody's promise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

_ATEN = torch.ops.aten
_CHOOSING = {
    _ATEN.topk.default: ("k", "dim", "largest", "sorted"),
    _ATEN.sort.default: ("dim", "descending"),
    _ATEN.sort.stable: (),
}


class OtherTies(TorchDispatchMode):  # type: ignore[misc]
    """Within it, `topk` and unstable sorts look at a dim from its end, so that equal values come in another order.

    Their values stay the same. `argmax` and its like, and a stable sort, promise the first of equal values: they keep
    it, and so must a runtime.
    """

    def __torch_dispatch__(
        self, operator: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        options = dict(kwargs or {})
        if operator not in _CHOOSING or options.get("stable") or not args[0].dim():
            return operator(*args, **options)
        options = {"dim": -1, **options, **dict(zip(_CHOOSING[operator], args[1:], strict=False))}
        values, dim = args[0], options["dim"]
        best, indices = operator(values.flip(dim), **options)
        return best, values.shape[dim] - 1 - indices
