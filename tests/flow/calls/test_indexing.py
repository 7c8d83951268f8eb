"""Subscripts: which axes of a tensor are left, and which item of a sequence, a shape, a dict or a container it is."""

from __future__ import annotations

import pytest
from analysing import BATCH, LENGTH, told, words_of

from onnxlint.flow.values.domain import Const, Tensor

X = Tensor((BATCH, LENGTH, Const(4)), kind="float")
INDEX = Tensor((Const(3),), kind="index")


@pytest.mark.parametrize(
    ("index", "sizes"),
    [
        ("0", "length,4"),
        ("-1", "length,4"),
        ("..., 0", "batch,length"),
        (":, None", "batch,1,length,4"),
        (":, :2", "batch,2,4"),
        (":, -2:", "batch,2,4"),
        (":, 1:", "batch,*,4"),
        (":, : x.shape[0]", "batch,*,4"),
        (":, :, 1:3", "batch,length,2"),
        (":, :, 9:", "batch,length,0"),
        ("y", "3,length,4"),
        (":, y", "batch,3,4"),
        (":, [0, 1]", "batch,2,4"),
        ("y, :, y", "3,length"),
        (":, y, y", "batch,3"),
        ("y[:, None], y", "3,3,4"),
        ("x[..., 0] > 0", "*,4"),
        ("x > 0", "*"),
    ],
)
def test_what_an_index_leaves_of_a_tensor(index: str, sizes: str) -> None:
    assert words_of(f"x[{index}]", X, INDEX) == f"tensor/float:{sizes}"


def test_of_an_unknown_rank_the_first_axis_is_told() -> None:
    unranked = Tensor(None, BATCH)
    assert words_of("x[..., 0]", unranked) == "tensor:batch,..."
    assert words_of("x[None]", unranked) == "tensor:1,..."
    assert words_of("x[:, 0]", unranked) == "tensor:batch,..."
    assert words_of("x[0]", unranked) == "tensor"
    assert words_of("x[0, None]", unranked) == "tensor:1,..."
    assert words_of("x[x.shape[0] - 1, None]", unranked) == "tensor:1,..."
    assert words_of("x[1:, None]", unranked) == words_of("x[1:]", unranked)


def test_the_sizes_behind_the_first_of_an_unknown_rank_are_told_one_by_one() -> None:
    unranked = Tensor(None, BATCH)
    for size in ("x.shape[1:][0]", "x.shape[1:-1][0]"):
        assert words_of(size, unranked) == words_of("x.shape[1]", unranked)
    assert words_of("x.shape[2:][-1]", unranked) == words_of("x.shape[1:][1:][0]", unranked) == "config"


@pytest.mark.parametrize("sizes", ["x.shape[2:]", "x.size()[2:]", "x.shape[2:4]", "x.shape[2:] if x.any() else (1, 1)"])
def test_two_sizes_are_unpacked_from_behind_the_channels(sizes: str) -> None:
    body = f"h, w = {sizes}\n        return y.repeat(1, int(h * 0.5), int(w * 0.5))"
    seen = told(f"class M(nn.Module):\n    def forward(self, x, y: Tensor):\n        {body}\n")
    escapes = [line for line in seen if "int(" in line]
    assert len(escapes) == (0 if " if " in sizes else 2)


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("x.shape[:2]", "dim:batch & dim:length"),
        ("x.shape[-2:]", "dim:length & 4"),
        ("[1, 2, 3][-1]", "3"),
        ("[1, 2, 3][::-1]", "3 & 2 & 1"),
        ("(1, x)[1]", "tensor/float:batch,length,4"),
        ("[1, 2][5]", "config"),
        ("{'a': 1, 2: x}[2]", "tensor/float:batch,length,4"),
        ("{'a': 1}['b']", "unknown"),
    ],
)
def test_which_item_it_is(expression: str, words: str) -> None:
    assert words_of(expression, X) == words


@pytest.mark.parametrize(("index", "size"), [("0", 4), ("1", 9), ("-1", 9), ("1:", 9), (":1", 4)])
def test_the_layers_of_a_container(index: str, size: int) -> None:
    assert words_of(f"nn.Sequential(nn.ReLU(), nn.Linear(4, 9))[{index}](x)", X).endswith(f"length,{size}")


def test_a_layer_by_its_name() -> None:
    container = "nn.ModuleDict({'keep': nn.ReLU(), 'widen': nn.Linear(4, 9)})"
    assert words_of(f"{container}['widen'](x)", X).endswith("length,9")


def test_an_object_with_getitem_is_asked() -> None:
    source = """
    class Rows:
        def __init__(self, x):
            self.x = x
        def __getitem__(self, i):
            return self.x if self.x.sum() > i else -self.x
    class M(nn.Module):
        def forward(self, x: Tensor):
            return Rows(x)[0]
    """
    assert told(source) == ["Branch data: self.x.sum() > i"]
