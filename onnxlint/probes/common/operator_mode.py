"""A dispatch mode that sees operators one by one, those in the bodies of `torch.cond` and its like included."""

from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode


class OperatorMode(TorchDispatchMode):  # type: ignore[misc]  # torch is untyped here
    """Hands every operator to `_run`, which has to call it and to return what it gave.

    Control flow as a function (`torch.cond`, `while_loop`, `scan`, `map`) is a higher-order operator, which torch does
    not run under a mode that does not claim to support it: `supports_higher_order_operators` in
    torch/utils/_python_dispatch.py. It is called as it is, and its bodies run under the mode again.
    """

    supports_higher_order_operators = True

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if isinstance(func, torch._ops.OpOverload):
            return self._run(func, args, kwargs or {})
        return func(*pytree.tree_map_only(_BODIES, self._watched, args), **(kwargs or {}))

    def _run(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return func(*args, **kwargs)

    def _watched(self, body: Any) -> Any:
        def watched(*args: Any) -> Any:
            with self:
                return body(*args)

        return watched


_BODIES = (torch.nn.Module, type(lambda: None))
