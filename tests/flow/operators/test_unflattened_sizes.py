"""Sizes after `unflatten` and `.data`: numbers in TorchScript's trace until an operator gives symbols again."""

from __future__ import annotations

import pytest
from analysing import BATCH, result_of

from onnxlint.flow.values.domain import Const, Dim, Tensor

X, PLAIN = Tensor((BATCH, Const(4)), kind="float"), Tensor((BATCH, Const(2), Const(2)), kind="float")


def is_number(expression: str, x: Tensor = X) -> bool:
    """True where the batch of what an expression gives is a plain number in the trace."""
    head = "import torch\nimport torch.nn.functional as F\ndef f(x, y):\n    u = x.unflatten(1, (2, 2))\n"
    size = result_of(f"{head}    return ({expression}).shape[0]\n", x, PLAIN)
    assert isinstance(size, Dim)
    return size.site is not None and "unflatten" in size.site.how


@pytest.mark.parametrize(
    "hides", ["u", "u.sum(1)", "u.transpose(1, 2)", "u[:, :1]", "u.relu()", "x.data", "u + 1", "u + u"]
)
def test_a_size_is_a_number_after(hides: str) -> None:
    assert is_number(hides)


@pytest.mark.parametrize("expression", ["x", "y", "x.view(x.shape[0], 2, 2)", "x.detach()"])
def test_a_size_is_none_after(expression: str) -> None:
    assert not is_number(expression)


@pytest.mark.parametrize("again", ["u + y", "y * u", "torch.add(u, y)", "u @ y", "F.pad(u, (1, 1))"])
def test_arithmetic_with_symbols_and_padding_give_symbols_again(again: str) -> None:
    assert not is_number(again)


@pytest.mark.parametrize("kept", ["torch.maximum(u, y)", "F.pad(u, (1, 1), mode='circular')"])
def test_what_is_no_operator_of_arithmetic_and_a_circular_padding_do_not(kept: str) -> None:
    assert is_number(kept)


def test_a_weight_has_no_sizes_to_hide() -> None:
    assert not is_number("u", Tensor((BATCH, Const(4)), source="weight"))
