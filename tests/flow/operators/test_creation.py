"""Tensors that are made: their sizes and the numbers in them; and what a tensor is asked for its size."""

from __future__ import annotations

import pytest
from analysing import BATCH, LENGTH, told, words_of

from onnxlint.flow.values.domain import Const, Tensor

X = Tensor((BATCH, LENGTH, Const(4)), kind="float")
MADE = {
    "torch.linalg.cond(x)": "tensor",  # a number of the matrices, no control flow
    "torch.zeros(x.shape[0], 3)": "made/float:batch,3",
    "torch.zeros((x.shape[0], 3), dtype=torch.long)": "made/int:batch,3",
    "torch.zeros(x.shape)": "made/float:batch,length,4",
    "torch.full((x.shape[0], 2), 1.0)": "made:batch,2",
    "x.new_zeros(x.shape[0], 1)": "made/float:batch,1",
    "torch.ones_like(x, dtype=torch.bool)": "made/bool:batch,length,4",
    "torch.arange(x.shape[1])": "made/index:length",
    "torch.arange(1, x.shape[1] + 1)": "made/index:*",
    "torch.arange(3.5)": "made/index:4",
    "torch.arange(-3, 3)": "made/int:6",
    "torch.arange(10, 0, -3)": "made/int:4",
    "torch.linspace(0, 1, x.shape[1])": "made/float:length",
    "torch.eye(3, 5)": "made/float:3,5",
    "torch.randint(0, 5, (x.shape[0], 3))": "made/int:batch,3",
    "torch.meshgrid(torch.arange(x.shape[0]), torch.arange(4), indexing='xy')": " & ".join(["made/index:4,batch"] * 2),
}
CONTENTS = {
    "torch.tensor([[1, 2], [3, 4]])": "made/int:2,2",
    "torch.tensor([1, 2.5])": "made/float:2",
    "torch.tensor([True, False])": "made/bool:2",
    "torch.tensor([])": "made:0",
    "torch.tensor([x.shape[0], 2])": "sizes:2",
}


@pytest.mark.parametrize(("expression", "words"), [*MADE.items(), *CONTENTS.items()])
def test_what_is_made_by(expression: str, words: str) -> None:
    assert words_of(expression, X) == words


@pytest.mark.parametrize(
    ("asked", "words"),
    [("x.size(1)", "dim:length"), ("x.size(-1)", "4"), ("x.dim()", "3"), ("x.numel()", "dim"), ("x.size()", "shape")],
)
def test_what_a_tensor_says_of_its_size(asked: str, words: str) -> None:
    assert words_of(asked, X) == words


def test_a_tensor_of_unknown_rank_says_nothing_of_it() -> None:
    assert words_of("x.dim()", Tensor(None, BATCH)) == "config"
    assert words_of("x.numel()", Tensor((Const(2), Const(3)), source="weight")) == "config"


@pytest.mark.parametrize(
    ("made", "objected"),
    [
        ("torch.tensor([x.sum()])", ["TensorFromPython torch.tensor tensor: torch.tensor([x.sum()])"]),
        ("torch.tensor(x)", []),
        (
            "torch.tensor([0] + [3] * x.sum() + [x.max()])",
            ["TensorFromPython torch.tensor tensor: torch.tensor([0] + [3] * x.sum() + [x.max()])"],
        ),
        ("torch.as_tensor(x)", []),
        ("torch.tensor(2.0)", []),
        ("torch.tensor(x.shape[0])", ["TensorFromPython torch.tensor size: torch.tensor(x.shape[0])"]),
    ],
)
def test_a_list_of_tensors_and_a_bare_size_are_observed(made: str, objected: list[str]) -> None:
    source = f"class M(nn.Module):\n    def forward(self, x: Tensor):\n        return x * {made}\n"
    assert [line.rstrip("?") for line in told(source)] == objected


def test_a_copy_of_an_input_depends_on_it() -> None:
    test = "        if torch.tensor(x).sum() > 0:\n            x = -x\n        return x\n"
    source = f"class M(nn.Module):\n    def forward(self, x: Tensor):\n{test}"
    assert any(line.startswith("Branch data") for line in told(source))
