"""From the error of a try to a guess that the model takes; the errors are those that torch raises here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from onnxlint.probes.guess.attempts import Bench
from onnxlint.probes.guess.error_repair import at_fault, of_rank, repairs
from onnxlint.probes.guess.model_facts import Guess, Plain, Slot, read_facts


class Applied(nn.Module):
    def __init__(self, function: Callable[..., Any], **layers: nn.Module) -> None:
        super().__init__()
        self.function = function
        for name, layer in layers.items():
            self.add_module(name, layer)

    def forward(self, x: Any, y: Any = None) -> Any:
        return self.function(self, x) if y is None else self.function(self, x, y)


def floats(*shape: int) -> Slot:
    return Slot("float32", shape)


def in_windows(x: torch.Tensor) -> torch.Tensor:
    if x.shape[-1] % 48:
        raise ValueError("the sides have to be divisible by 48")
    return x


MENDED = {
    "a layer of other features": (Applied(lambda m, x: m.a(x), a=nn.Linear(11, 3)), {"x": floats(2, 16)}),
    "a layer behind another": (Applied(lambda m, x: m.a(x * 2), a=nn.Linear(11, 3)), {"x": floats(2, 16)}),
    "channels of an image": (Applied(lambda m, x: m.a(x + 1), a=nn.Conv2d(5, 3, 3)), {"x": floats(2, 3, 16, 16)}),
    "a product of matrices": (Applied(lambda m, x: x @ torch.ones(17, 3)), {"x": floats(2, 16)}),
    "a sum of two sizes": (Applied(lambda m, x: x + torch.ones(2, 9)), {"x": floats(2, 16)}),
    "another rank": (Applied(lambda m, x: [b for b, c, h, w in [x.shape]]), {"x": floats(2, 16)}),
    "whole numbers": (Applied(lambda m, x: nn.functional.one_hot(x, 16)), {"x": floats(2, 8)}),
    "truth values": (Applied(lambda m, x: torch.ones(2, 8).masked_fill(x, 0)), {"x": floats(2, 8)}),
    "an inverted mask": (Applied(lambda m, x: ~x), {"x": floats(2, 8)}),
    "two masks": (Applied(lambda m, x: x & torch.ones(2, 8, dtype=torch.bool)), {"x": floats(2, 8)}),
    "a number, and no tensor": (Applied(lambda m, x: list(range(x))), {"x": floats(2, 8)}),
    "a multiple": (Applied(lambda m, x: in_windows(x)), {"x": floats(2, 3, 64, 64)}),
}


@pytest.mark.parametrize("name", MENDED)
def test_one_of_the_better_guesses_is_taken(name: str) -> None:
    model, guess = MENDED[name]
    bench = Bench(model.eval(), 60, 20.0)
    trial = bench.run(guess)
    assert trial.error is not None
    better = repairs(guess, trial, read_facts(model), {})
    assert guess not in better
    assert any(bench.run(other).error is None for other in better), f"{trial.error}: {better}"


def test_a_parameter_that_the_message_names_is_passed() -> None:
    def needs(_: nn.Module, x: torch.Tensor) -> None:
        raise ValueError("you have to specify y")

    model = Applied(needs)
    guess: dict[str, Guess] = {"x": floats(2, 8)}
    trial = Bench(model, 10, 10.0).run(guess)
    options = {"y": lambda: [floats(2, 1)]}
    assert repairs(guess, trial, read_facts(model), options)[0] == {**guess, "y": floats(2, 1)}


def test_an_error_that_says_nothing_mends_nothing() -> None:
    def refuses(_: nn.Module, x: torch.Tensor) -> None:
        raise RuntimeError("not today")

    model = Applied(refuses)
    guess: dict[str, Guess] = {"x": floats(2, 8)}
    assert repairs(guess, Bench(model, 10, 10.0).run(guess), read_facts(model), {}) == []


def test_the_names_on_the_lines_that_raised_are_at_fault_innermost_first() -> None:
    def inner(mask: Any) -> None:
        mask.shape  # noqa: B018

    def outer(tokens: Any, mask: Any) -> None:
        inner(mask) if tokens else None

    with pytest.raises(AttributeError) as raised:
        outer(1, None)
    assert at_fault(raised.value, ["tokens", "mask", "other"]) == ["mask", "tokens"]


def test_what_tensors_of_a_rank_are_has_that_rank() -> None:
    facts = read_facts(nn.Identity())
    for rank in range(1, 6):
        assert {len(slot.shape) for slot in of_rank(rank, "float32", facts)} == {rank}
    assert of_rank(7, "float32", facts) == []
    assert len(of_rank(3, "int64", facts)[0].shape) == 3
    assert Plain(1) != floats(1)
