"""Operators that view, move, join and split axes: where each axis goes, and which results are views."""

from __future__ import annotations

import pytest
from analysing import BATCH, LENGTH, result_of, words_of

from onnxlint.flow.state.variable_kinds import describe
from onnxlint.flow.values.domain import CONFIG, Const, Seq, Tensor

X = Tensor((BATCH, LENGTH, Const(4)), kind="float")
MOVED = {
    "x.reshape(x.shape[0], -1, 2)": "batch,*,2",
    "x.reshape(x.shape[:2] + (2, 2))": "batch,length,2,2",
    "x.permute(2, 0, 1)": "4,batch,length",
    "x.movedim(0, -1)": "length,4,batch",
    "x.unsqueeze(1)": "batch,1,length,4",
    "x[:, :1].squeeze(1)": "batch,4",
    "x.squeeze(2)": "batch,length,4",
    "x.unflatten(2, (2, -1))": "batch,length,2,2",
    "x.unsqueeze(0).expand(3, -1, -1, -1)": "3,batch,length,4",
    "x.repeat(2, 1, 1, 1)": "2,batch,length,4",
    "x.tile(2)": "batch,length,8",
    "x.repeat_interleave(2, 2)": "batch,length,8",
    "torch.cat([x, x[..., :1]], -1)": "batch,length,5",
    "torch.cat([x, x], 0)": "*,length,4",
    "torch.stack([x, x], 1)": "batch,2,length,4",
}
PIECES = {
    "x.chunk(2, -1)": ["batch,length,2", "batch,length,2"],
    "x.chunk(3, -1)": ["batch,length,2", "batch,length,2"],  # of four, torch gives two pieces
    "x.split(3, -1)": ["batch,length,3", "batch,length,1"],
    "x.split([1, 3], -1)": ["batch,length,1", "batch,length,3"],
    "torch.tensor_split(x, 3, 2)": ["batch,length,2", "batch,length,1", "batch,length,1"],
    "x.unbind(2)": ["batch,length"] * 4,
}


@pytest.mark.parametrize(("expression", "sizes"), MOVED.items())
def test_where_the_axes_are_after(expression: str, sizes: str) -> None:
    assert words_of(expression, X) == f"tensor/float:{sizes}"


@pytest.mark.parametrize(("expression", "pieces"), PIECES.items())
def test_the_pieces_of(expression: str, pieces: list[str]) -> None:
    assert words_of(expression, X) == " & ".join(f"tensor/float:{sizes}" for sizes in pieces)


@pytest.mark.parametrize("expression", ["x.split(2, 1)", "x.unbind(1)"])
def test_of_a_dynamic_axis_the_number_of_pieces_is_not_known(expression: str) -> None:
    assert words_of(expression, X).startswith("many tensor/float:batch,")


def test_a_view_to_another_dtype_keeps_the_sizes() -> None:
    assert words_of("x.view(torch.int32)", X) == "tensor/int:batch,length,4"


@pytest.mark.parametrize(
    ("expression", "view"),
    [("x.view(-1)", "view"), ("x.chunk(2, -1)[0]", "chunk"), ("x.repeat(2, 1, 1)", None), ("x + 1", None)],
)
def test_an_in_place_write_reaches_what_a_view_is_of(expression: str, view: str | None) -> None:
    result = result_of(f"def f(x):\n    return {expression}\n", X)
    assert isinstance(result, Tensor)
    assert result.view == view


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("x.view(2, *shape)", "tensor/float:2,..."),
        ("x.view(*shape)", "tensor/float"),
        ("x.view(2, *x.shape[1:])", "tensor/float:2,length,4"),
    ],
)
def test_sizes_of_which_nobody_knows_how_many_there_are(expression: str, words: str) -> None:
    result = result_of(f"def f(x, shape):\n    return {expression}\n", X, Seq(CONFIG))
    assert describe(result) == words
