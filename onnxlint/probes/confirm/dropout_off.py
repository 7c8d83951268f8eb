"""Dropout held still: what else is wrong with a model whose answers change from run to run."""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch


def hold_dropout_still() -> None:
    """Make every dropout of torch.nn.functional the identity, as it is in eval mode; layers call these too."""
    functional: Any = torch.nn.functional
    attention = functional.scaled_dot_product_attention
    for name in ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"):
        setattr(functional, name, lambda input, *_, **__: input.clone())
    functional.scaled_dot_product_attention = lambda query, key, value, attn_mask=None, dropout_p=0.0, *rest, **named: (
        attention(query, key, value, attn_mask, 0.0, *rest, **named)
    )


# The same for a script that imports torch alone.
SOURCE = f"from typing import Any\n\n\n{inspect.getsource(hold_dropout_still)}\n\nhold_dropout_still()\n"


@contextmanager
def without_dropout() -> Iterator[None]:
    """Hold dropout still in a `with` block."""
    functions = {k: v for k, v in vars(torch.nn.functional).items() if "dropout" in k or "attention" in k}
    with mock.patch.multiple(torch.nn.functional, **functions):  # puts them back
        hold_dropout_still()
        yield
