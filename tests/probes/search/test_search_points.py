"""One input as the search moves it: inside its ranges, away from the gradient, and never the user's own tensors."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from test_branch_search import probe

from onnxlint.probes.examples.vary import Variation
from onnxlint.probes.exporters import Example
from onnxlint.probes.observe.decisions import decide
from onnxlint.probes.observe.eager import Eager, execute, prepare
from onnxlint.probes.search.search_points import Point

ROOT = str(Path(__file__).parent)


class Takes(torch.nn.Module):
    """A model of any inputs."""

    def forward(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        return torch.ones(1)


def point(
    inputs: Mapping[str, Any], limits: Mapping[str, tuple[float, float]] | None = None, model: Any = None
) -> Point:
    """The point at some inputs by name."""
    model = model or Takes()
    example = Example(tuple(inputs.values()), {}, tuple(inputs))
    run = execute(model, example, Variation("example", example.args, {}, {}), ROOT)
    return Point(Eager(lambda: model, model, example, run), run, limits or {})


X = torch.tensor([[1.0, -2.0], [3.0, 4.0]])


def test_arguments_are_copies() -> None:
    here = point({"x": X.clone()})
    (x,), _ = here.arguments()
    x.fill_(9.0)
    assert torch.equal(here.arguments()[0][0], X)


def test_a_model_may_write_to_what_gradients_arrive_at() -> None:
    here = point({"x": X.clone(), "ids": torch.tensor([1, 2])})
    args, kwargs, moving = here.with_gradients()
    args[0].mul_(2)
    assert (len(moving), kwargs) == (1, {})
    (gradient,) = torch.autograd.grad(args[0].sum(), moving)
    assert gradient.tolist() == [[2.0, 2.0], [2.0, 2.0]]


WHOLE = {
    "a truth value": ({"x": torch.tensor([True, False])}, {}, (0, 1)),
    "a mask of numbers": ({"attention_mask": torch.tensor([1, 1])}, {}, (0, 1)),
    "bytes": ({"x": torch.tensor([1, 2], dtype=torch.uint8)}, {}, (0, 255)),
    "a count": ({"steps": torch.tensor(3)}, {}, (0, 1024)),
    "a count with a declared range": ({"steps": torch.tensor(3)}, {"steps": (2.0, 9.0)}, (2, 9)),
    "a truth value with a declared range": ({"x": torch.tensor([True, False])}, {"x": (0.0, 9.0)}, (0, 1)),
}


@pytest.mark.parametrize(("inputs", "limits", "whole"), WHOLE.values(), ids=WHOLE)
def test_a_whole_number_has_a_range(inputs: Mapping[str, Any], limits: Any, whole: tuple[int, int]) -> None:
    assert list(point(inputs, limits).whole.values()) == [whole]


def test_indices_stay_within_the_embedding() -> None:
    model = Takes()
    model.words = torch.nn.Embedding(50, 3)
    here = point({"ids": torch.tensor([[1, 2]])}, model=model)
    assert here.whole == {"ids": (0, 49)}
    values = [here.mutated(number, random.Random(number), [1e9]).flat[0] for number in range(60)]
    assert all(0 <= int(ids.min()) <= int(ids.max()) <= 49 for ids in values)
    assert {49} <= {int(ids.max()) for ids in values}


def test_scaling_moves_floating_point_leaves_within_their_range_and_leaves_the_rest() -> None:
    here = point({"x": X.clone(), "y": X.clone(), "ids": torch.tensor([1, 2])}, {"y": (-10.0, 10.0)})
    x, y, ids = here.scaled(100.0).flat
    assert torch.equal(x, X * 100)
    assert y.tolist() == [[10.0, -10.0], [10.0, 10.0]]
    assert ids.tolist() == [1, 2]
    assert torch.equal(here.flat[0], X)


def test_one_tensor_that_is_passed_twice_stays_one() -> None:
    here = point({"query": X, "key": X})
    for other in (here.scaled(2.0), here.drawn(3), here.mutated(0, random.Random(0), [])):
        assert other.flat[0] is other.flat[1]


def test_a_hint_of_the_code_is_put_into_the_input() -> None:
    here, chance = point({"x": X.clone()}), random.Random(0)
    moved = [here.mutated(number, chance, [7.5]).flat[0] for number in range(8)]
    assert any((x == 7.5).all() for x in moved)
    assert any(0 < int((x == 7.5).sum()) < 4 for x in moved)


def test_the_fourth_of_each_round_changes_one_place() -> None:
    here = point({"x": X.clone()})
    counts = [int((here.mutated(number, random.Random(0), []).flat[0] != X).sum()) for number in (3, 7, 15)]
    assert counts[1:] == [1, 1]
    assert counts[0] <= 1


def test_drawn_numbers_have_the_spread_of_the_example_and_repeat() -> None:
    wide = torch.linspace(90.0, 110.0, 400)
    here = point({"x": wide, "ids": torch.tensor([1, 2])})
    one, again, other = (here.drawn(number).flat for number in (1, 1, 2))
    assert torch.equal(one[0], again[0])
    assert not torch.equal(one[0], other[0])
    assert float(one[0].mean()) == pytest.approx(100.0, abs=1.5)
    assert float(one[0].std()) == pytest.approx(float(wide.std()), rel=0.2)
    assert torch.equal(one[1], torch.tensor([1, 2]))


@pytest.mark.parametrize("leaf", [torch.zeros(0), torch.tensor([1j])], ids=["an empty tensor", "complex numbers"])
def test_what_cannot_be_moved_stays(leaf: torch.Tensor) -> None:
    here = point({"x": leaf})
    assert torch.equal(here.mutated(0, random.Random(0), [1.0]).flat[0], leaf)
    assert torch.equal(here.drawn(0).flat[0], leaf)


class Far(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2 if x.sum() > 100 else x


class Flat(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2 if (x * 0).sum() > 100 else x


def stepped(model: torch.nn.Module, limits: Mapping[str, tuple[float, float]] | None = None) -> tuple[bool, Point]:
    here = point({"x": X.clone()}, limits, model)
    args, kwargs, moving = here.with_gradients()
    (decision,) = decide(model, args, kwargs, ROOT, gradients=True).decisions
    assert decision.margin is not None
    return here.step(decision, moving, float(decision.margin.detach())), here


def test_a_step_takes_a_linear_margin_to_0() -> None:
    moved, here = stepped(Far())
    assert moved
    assert float(here.flat[0].sum()) == pytest.approx(100.0)


def test_no_step_is_made_where_the_gradient_is_0() -> None:
    moved, here = stepped(Flat())
    assert not moved
    assert torch.equal(here.flat[0], X)


def test_a_step_that_the_range_stops_is_none() -> None:
    moved, here = stepped(Far(), {"x": (-2.0, 4.0)})
    assert moved
    assert float(here.flat[0].max()) == 4.0
    (low, high) = (float(X.min()), float(X.max()))
    here = point({"x": torch.full((2,), high)}, {"x": (low, high)}, Far())
    args, kwargs, moving = here.with_gradients()
    (decision,) = decide(Far(), args, kwargs, ROOT, gradients=True).decisions
    assert decision.margin is not None
    assert not here.step(decision, moving, float(decision.margin.detach()))


def test_the_labels_are_those_of_a_real_probe() -> None:
    eager = prepare(probe("ShareOfMask", inputs="masked"))
    here = Point(eager, eager.base, {})
    assert here.names == ["x", "mask"]
    assert here.floats == [0]
    assert here.whole == {"mask": (0, 1)}
