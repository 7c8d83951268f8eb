"""Which axes of an example eager accepts at other sizes, alone and together, and what they are called."""

from __future__ import annotations

import torch
from torch import nn

from onnxlint.probes.guess.attempts import Bench
from onnxlint.probes.guess.axes import Shaped, find_axes, resized
from onnxlint.probes.guess.model_facts import Plain, Slot


class Classifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(6, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(x)


class Product(nn.Module):
    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return image @ image


class Masked(nn.Module):
    def forward(self, tokens: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return tokens * mask


class Fixed(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.view(2, 6)


def axes_of(model: nn.Module, **shapes: tuple[int, ...]) -> Shaped:
    return find_axes(Bench(model, 200, 20.0), {name: Slot("float32", shape) for name, shape in shapes.items()})


def names(shaped: Shaped) -> dict[str, list[str | None]]:
    return {name: [dim.name for dim in spec.dims] for name, spec in shaped.inputs.items()}


def test_axes_of_features_stay_and_the_batch_moves() -> None:
    shaped = axes_of(Classifier(), x=(2, 8, 6))
    assert names(shaped) == {"x": ["batch", "sequence", None]}
    assert 1 in shaped.sizes["batch"], "a batch of one is tried where it is taken"
    assert len(shaped.sizes["sequence"]) >= 2


def test_axes_that_only_move_together_have_one_name() -> None:
    assert names(axes_of(Product(), image=(2, 3, 8, 8))) == {"image": ["batch", None, "side", "side"]}
    slots = {"tokens": Slot("int64", (2, 8)), "mask": Slot("int64", (2, 8))}
    dims = names(find_axes(Bench(Masked(), 200, 20.0), slots))
    assert dims["tokens"] == dims["mask"] == ["batch", "sequence"]


def test_a_model_that_takes_one_size_has_no_dynamic_axis() -> None:
    shaped = axes_of(Fixed(), x=(2, 6))
    assert names(shaped) == {"x": [None, None]}
    assert shaped.sizes == {}


def test_other_sizes_leave_what_is_no_tensor() -> None:
    guess = {"x": Slot("float32", (2, 8)), "n": Plain(3)}
    assert resized(guess, {("x", 1): 5}) == {"x": Slot("float32", (2, 5)), "n": Plain(3)}
