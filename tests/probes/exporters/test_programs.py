"""What an exported program tells of itself: the class that it was made of, and the axes that it leaves open."""

from __future__ import annotations

import sys

import pytest
import torch
from torch import nn
from torch.export import Dim, ExportedProgram

from onnxlint.probes.exporters import Example
from onnxlint.probes.exporters.programs import class_of, dims_of


class Pair(nn.Module):
    """Takes a tensor, a dict and a number."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x, more, scale):
        return self.linear(x) * scale, more["y"] + 1


ROWS, WIDE = Dim("rows", min=2, max=9), Dim("wide")
X, Y = torch.ones(4, 3), torch.ones(5, 6)
EXAMPLE = Example((X, {"y": Y}), {"scale": 2}, ("x", "more", "scale"))


@pytest.fixture(scope="module")
def program() -> ExportedProgram:
    """The pair, with the rows of the one tensor and the columns of the other open."""
    shapes = {"x": {0: ROWS}, "more": {"y": {1: WIDE}}, "scale": None}
    return torch.export.export(Pair(), EXAMPLE.args, dict(EXAMPLE.kwargs), dynamic_shapes=shapes)


def test_a_program_tells_the_class_that_it_was_made_of(program: ExportedProgram) -> None:
    assert class_of(program) == (Pair.__module__, "Pair")
    assert class_of(program.run_decompositions()) == (Pair.__module__, "Pair")
    assert class_of(torch.export.export(nn.Identity(), (X,))) is None, "nothing is left of it"


def test_the_axes_that_are_open_are_told_by_leaf_with_their_limits(program: ExportedProgram) -> None:
    dynamic, limits = dims_of(program, EXAMPLE)
    assert {leaf: list(axes) for leaf, axes in dynamic.items()} == {"x": [0], "more.y": [1]}
    rows, wide = dynamic["x"][0], dynamic["more.y"][1]
    assert limits == {rows: (2, 9), wide: (limits[wide][0], sys.maxsize)}


class Doubled(nn.Module):
    def forward(self, x, y):
        return torch.cat([x, x]) + y


def test_an_axis_that_is_computed_from_another_is_left_out_with_what_it_is_computed_from() -> None:
    example = Example((torch.ones(4, 3), torch.ones(8, 3)), {}, ("x", "y"))
    rows, width = Dim("rows", max=16), Dim("width", max=32)
    shapes = ({0: rows, 1: width}, {0: 2 * rows, 1: width})
    dynamic, limits = dims_of(torch.export.export(Doubled(), example.args, dynamic_shapes=shapes), example)
    (dim,) = {*dynamic["x"].values(), *dynamic["y"].values()}
    assert (list(dynamic["x"]), list(dynamic["y"])) == ([1], [1]), "other sizes of the rows alone would not fit"
    assert limits[dim][1] == 32


def test_a_program_without_open_axes_has_none() -> None:
    example = Example((torch.ones(4, 3),), {}, ("x",))
    assert dims_of(torch.export.export(nn.ReLU(), example.args), example) == ({}, {})
