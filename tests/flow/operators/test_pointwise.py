"""Operators that keep the shape, broadcast or reduce: the axes that are left, and the kind of numbers."""

from __future__ import annotations

import pytest
from analysing import BATCH, LENGTH, words_of

from onnxlint.flow.values.domain import Const, Tensor

X = Tensor((BATCH, LENGTH, Const(4)), kind="float")
INDEX = Tensor((BATCH, LENGTH), kind="index")
MASK = Tensor((BATCH, LENGTH), kind="bool")
ROW = Tensor((Const(4),), source="weight", kind="float")


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("x.relu()", "tensor:batch,length,4"),
        ("x + y", "tensor/float:batch,length,4"),
        ("y + x", "tensor/float:batch,length,4"),
        ("x[:, :1] * x", "tensor/float:batch,length,4"),
        ("torch.where(x > 0, x, y)", "tensor:batch,length,4"),
        ("torch.exp(y)", "weight:4"),
    ],
)
def test_operands_are_broadcast_and_an_input_outweighs_a_weight(expression: str, words: str) -> None:
    assert words_of(expression, X, ROW) == words


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("x.sum()", "tensor:"),
        ("x.mean(1)", "tensor:batch,4"),
        ("x.sum(1, keepdim=True)", "tensor:batch,1,4"),
        ("x.amax((-1, -2))", "tensor:batch"),
        ("x.max(-1)", "tensor:batch,length & tensor/index:batch,length"),
        ("x.max()", "tensor:"),
        ("torch.max(x, x)", "tensor:batch,length,4"),
        ("x.argmax(-1)", "tensor/index:batch,length"),
        ("torch.std_mean(x, 1)", "tensor:batch,4 & tensor:batch,4"),
        ("x.any()", "tensor/bool:"),
        ("F.glu(x)", "tensor/float:batch,length,2"),
        ("x.diff(dim=2)", "tensor/float:batch,length,3"),
    ],
)
def test_a_reduction_leaves_the_other_axes(expression: str, words: str) -> None:
    assert words_of(expression, X) == words


def test_of_an_unknown_rank_the_batch_is_left_unless_it_is_what_is_reduced() -> None:
    unranked = Tensor(None, BATCH)
    assert words_of("x.mean(1)", unranked) == "tensor:batch,..."
    assert words_of("x.mean(0)", unranked) == "tensor"


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("x * 2", "index"),
        ("x - 1", "int"),
        ("-x", "signed"),
        ("torch.abs(x - 1)", "index"),
        ("(x - 1).clamp(min=0)", "index"),
        ("(x - 1).clamp(min=-1)", "int"),
        ("x.float()", "float"),
        ("x.to(torch.int64)", "index"),
        ("x > 1", "bool"),
        ("(x > 1).long()", "index"),
        ("(x > 1).cumsum(1)", "index"),
        ("torch.complex(x.float(), x.float())", "complex"),
        ("torch.complex(x.float(), x.float()).abs()", "float"),
        ("torch.stft(x, 4, return_complex=True)", "complex"),
        ("torch.stft(x, 4, return_complex=False)", "float"),
        ("torch.stft(x, 4)", "float"),
        ("x.argsort()", "index"),
    ],
)
def test_the_kind_of_numbers_says_whether_one_can_be_negative(expression: str, kind: str) -> None:
    assert words_of(expression, INDEX).partition(":")[0] == f"tensor/{kind}"


def test_the_sum_of_a_mask_counts() -> None:
    assert words_of("x.sum(-1)", MASK) == "tensor/index:batch"
    assert words_of("x.sort()", X).endswith("& tensor/index:batch,length,4")
