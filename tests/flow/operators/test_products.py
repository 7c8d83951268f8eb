"""Products: which axis of which operand is in the result, and what is not known where they do not fit."""

from __future__ import annotations

import pytest
from analysing import BATCH, LENGTH, words_of

from onnxlint.flow.operators.products import einsum
from onnxlint.flow.values import shapes
from onnxlint.flow.values.domain import Const, Tensor

X = Tensor((BATCH, LENGTH, Const(4)))
WEIGHT = Tensor((Const(4), Const(5)), source="weight")
TOKENS = Tensor((BATCH, LENGTH), kind="index")


@pytest.mark.parametrize(
    ("expression", "sizes"),
    [
        ("x @ y", "batch,length,5"),
        ("torch.bmm(x, x.transpose(1, 2))", "batch,length,length"),
        ("torch.addmm(x, y.t(), y)", "5,5"),
        ("torch.matmul(x, y[:, 0])", "batch,length"),
        ("F.linear(x, y.t())", "batch,length,5"),
        ("torch.tensordot(x, y, 1)", "batch,length,5"),
        ("torch.outer(x[0, 0], y[0])", "4,5"),
        ("torch.kron(y, y) + x.sum()", "16,25"),
        ("torch.cdist(x, x[:, :3])", "batch,length,3"),
        ("F.scaled_dot_product_attention(x, x[:, :3], x[:, :3, :2])", "batch,length,2"),
        ("F.cosine_similarity(x, x, dim=-1)", "batch,length"),
        ("torch.einsum('bld,de->ble', x, y)", "batch,length,5"),
        ("torch.einsum('...d,de->...e', x, y)", "batch,length,5"),
    ],
)
def test_the_sizes_of(expression: str, sizes: str) -> None:
    assert words_of(expression, X, WEIGHT) == f"tensor:{sizes}"


def test_an_embedding_gives_floats_for_indices() -> None:
    assert words_of("F.embedding(x, y)", TOKENS, WEIGHT) == "tensor/float:batch,length,5"


def test_a_product_of_weights_does_not_depend_on_the_inputs() -> None:
    assert words_of("x @ x.t()", WEIGHT) == "weight:4,4"


def test_an_equation_without_an_arrow_gives_the_letters_that_stand_once_in_their_order() -> None:
    dims = einsum("bld,de", [X, WEIGHT], shapes.Axes())
    assert dims == (BATCH, Const(5), LENGTH)


@pytest.mark.parametrize("equation", ["bl,de->ble", "bld->ble", "bld,de->blq", "b,c,d->bcd"])
def test_an_equation_that_does_not_fit_its_operands_says_nothing(equation: str) -> None:
    assert einsum(equation, [X, WEIGHT], shapes.Axes()) is None
