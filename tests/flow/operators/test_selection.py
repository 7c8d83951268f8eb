"""Operators that select: sizes come from the index or from a number, and where the data decides, the size says so."""

from __future__ import annotations

import pytest
from analysing import BATCH, LENGTH, result_of, words_of

from onnxlint.flow.values.domain import Const, Data, Tensor

X = Tensor((BATCH, LENGTH, Const(4)), kind="float")
INDEX = Tensor((Const(3),), kind="index")


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("x.topk(3)", "tensor/float:batch,length,3 & tensor/index:batch,length,3"),
        ("x.topk(3, dim=0)", "tensor/float:3,length,4 & tensor/index:3,length,4"),
        ("x.topk(x.shape[1], 1)", "tensor/float:batch,length,4 & tensor/index:batch,length,4"),
        ("x.index_select(1, y)", "tensor/float:batch,3,4"),
        ("x.index_select(-1, y)", "tensor/float:batch,length,3"),
        ("x.gather(1, x[:, :2].long())", "tensor/float:batch,2,4"),
        ("F.one_hot(y, 7)", "tensor/index:3,7"),
        ("F.one_hot(y, x.shape[1])", "tensor/index:3,length"),
    ],
)
def test_the_index_or_a_number_decides_the_size_of(expression: str, words: str) -> None:
    assert words_of(expression, X, INDEX) == words


@pytest.mark.parametrize(
    "expression",
    ["x.nonzero()", "x.nonzero(as_tuple=True)[1]", "torch.where(x > 0)[0]", "x.masked_select(x > 0)", "x.unique()"],
)
def test_the_data_decides_the_size_of(expression: str) -> None:
    result = result_of(f"import torch\ndef f(x):\n    return {expression}\n", X)
    assert isinstance(result, Tensor)
    assert result.dims is not None
    assert isinstance(result.dims[0], Data)
    assert not result.dims[0].fixed


def test_the_size_of_what_is_selected_of_a_weight_is_fixed() -> None:
    weight = Tensor((Const(4), Const(5)), source="weight")
    result = result_of("def f(x):\n    return x.nonzero()\n", weight)
    assert isinstance(result, Tensor)
    assert isinstance(result.ragged, Data)
    assert result.ragged.fixed


def test_each_axis_has_a_tensor_of_positions_and_each_wish_of_unique_its_result() -> None:
    assert words_of("x.nonzero(as_tuple=True)", X).count("tensor/index:*") == 3
    wishes = words_of("torch.unique(x, return_inverse=True, return_counts=True)", X)
    assert wishes == "tensor/float:* & tensor/index:batch,length,4 & tensor/index:*"
    assert words_of("torch.unique_consecutive(x, return_counts=True)", X) == "tensor/float:* & tensor/index:*"


def test_unique_along_an_axis_keeps_the_others_and_tells_of_each_place_there() -> None:
    assert words_of("torch.unique(x, dim=1)", X) == "tensor/float:batch,*,4"
    assert words_of("x.unique(True, False, False, -3)", X) == "tensor/float:*,length,4"
    wishes = words_of("torch.unique(x, return_inverse=True, return_counts=True, dim=0)", X)
    assert wishes == "tensor/float:*,length,4 & tensor/index:batch & tensor/index:*"
    assert words_of("torch.unique_consecutive(x, True, False, 1)", X) == "tensor/float:batch,*,4 & tensor/index:length"
    rows = result_of("import torch\ndef f(x):\n    return torch.unique(x, dim=0).shape[0]\n", Tensor())
    assert isinstance(rows, Data)  # also where nothing is known of the other axes
