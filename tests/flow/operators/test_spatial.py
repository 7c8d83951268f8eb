"""Spatial axes: the sizes after convolution, pooling, resizing, padding and folding; a dynamic axis stays one."""

from __future__ import annotations

import pytest
from analysing import BATCH, LENGTH, words_of

from onnxlint.flow.operators.spatial import pad
from onnxlint.flow.values.domain import CONFIG, Const, Dim, Tensor, Tuple

IMAGE = Tensor((BATCH, Const(4), Const(8), Const(8)), kind="float")
SOUND = Tensor((BATCH, Const(4), LENGTH), kind="float")


@pytest.mark.parametrize(
    ("expression", "sizes"),
    [
        ("F.conv2d(x, torch.zeros(5, 4, 3, 3), None, 2, 1)", "batch,5,4,4"),
        ("F.conv2d(x, torch.zeros(5, 4, 3, 3), padding='same')", "batch,5,8,8"),
        ("F.conv2d(x, torch.zeros(5, 4, 3, 3), dilation=2)", "batch,5,4,4"),
        ("F.conv_transpose2d(x, torch.zeros(4, 5, 2, 2), stride=2)", "batch,5,16,16"),
        ("F.conv_transpose2d(x, torch.zeros(4, 5, 2, 2), groups=2)", "batch,10,9,9"),
        ("F.max_pool2d(x, 3, 2, 1)", "batch,4,4,4"),
        ("F.max_pool2d(x, 2)", "batch,4,4,4"),  # a stride of its own that is not given is the kernel
        ("F.avg_pool2d(x, 3, stride=1)", "batch,4,6,6"),
        ("F.interpolate(x, scale_factor=2)", "batch,4,16,16"),
        ("F.interpolate(x, size=(4, 5))", "batch,4,4,5"),
        ("F.interpolate(x, x[..., :3].shape[2:])", "batch,4,8,3"),
        ("F.adaptive_avg_pool2d(x, (1, None))", "batch,4,1,8"),
        ("F.grid_sample(x, torch.zeros(2, 5, 6, 2))", "batch,4,5,6"),
        ("F.pixel_shuffle(x, 2)", "batch,1,16,16"),
        ("F.pixel_unshuffle(x, 2)", "batch,16,4,4"),
        ("F.pad(x, (1, 2))", "batch,4,8,11"),
        ("F.pad(x, (0, 0, 1, 0))", "batch,4,9,8"),
        ("F.unfold(x, 3)", "batch,36,36"),
        ("F.fold(F.unfold(x, 2), (8, 8), 2)", "batch,4,8,8"),
        ("x.unfold(2, 3, 2)", "batch,4,3,8,3"),
    ],
)
def test_the_sizes_of(expression: str, sizes: str) -> None:
    assert words_of(expression, IMAGE) == f"tensor/float:{sizes}"


@pytest.mark.parametrize(
    "expression",
    ["F.conv1d(x, torch.zeros(4, 4, 3))", "F.max_pool1d(x, 2)", "F.interpolate(x, scale_factor=2)", "F.pad(x, (1, 1))"],
)
def test_a_dynamic_axis_is_one_after(expression: str) -> None:
    assert words_of(f"({expression}).shape[2]", SOUND) == "dim"
    assert words_of(f"({expression}).shape[0]", SOUND) == "dim:batch"


def test_amounts_that_do_nothing_leave_an_axis_as_it_is() -> None:
    dims = (BATCH, LENGTH)
    assert pad(dims, Tuple((Const(0), Const(0)))) == dims
    assert pad(None, Tuple((Const(0), Const(0)))) is None


@pytest.mark.parametrize("amounts", [CONFIG, None, Tuple((Const(1),)), Tuple((Const(1),) * 6)])
def test_amounts_that_are_not_known_or_do_not_fit_may_change_every_axis(amounts: Tuple | None) -> None:
    padded = pad((BATCH, Const(4)), amounts)
    assert padded is not None
    assert isinstance(padded[0], Dim)
    assert padded[0].plain is False
    assert padded[1] == CONFIG
