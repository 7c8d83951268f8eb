"""The search for tensors that the forward of a model takes."""

from __future__ import annotations

import inspect

import guessed
import pytest
import torch
from torch import nn

from onnxlint.probes.guess.attempts import Bench
from onnxlint.probes.guess.input_search import asked, find_inputs, options
from onnxlint.probes.guess.model_facts import Plain, Slot, read_facts


class NoInput(nn.Module):
    def forward(self) -> None:
        return None


class Anything(nn.Module):
    def forward(self, *rows: torch.Tensor) -> torch.Tensor:
        return rows[0]


class ByPosition(nn.Module):
    def forward(self, x: torch.Tensor, /) -> torch.Tensor:
        return x


def searched(model: nn.Module, tries: int = 60) -> tuple[dict[str, object] | None, str]:
    result = find_inputs(Bench(model.eval(), tries, 20.0))
    return None if result.guess is None else dict(result.guess), result.reason


@pytest.mark.parametrize(
    ("kind", "guess"),
    [
        (guessed.ByFirstLayer, {"x": Slot("float32", (2, 11))}),
        (guessed.ByTokenName, {"input_ids": Slot("int64", (2, 8))}),
        (guessed.ByMatmulMessage, {"x": Slot("float32", (2, 17))}),
        (guessed.Keyed, {"batch.input_ids": Slot("int64", (2, 8)), "batch.attention_mask": Slot("bool", (2, 8))}),
    ],
    ids=["by its layer", "by its name", "by what it raises", "in a dict"],
)
def test_what_forward_takes_is_found(kind: type[nn.Module], guess: dict[str, object]) -> None:
    assert searched(kind())[0] == guess


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (NoInput(), "takes no input"),
        (Anything(), "takes `*args`"),
        (ByPosition(), "by position"),
        (guessed.NeverTakes(), "not today"),
    ],
)
def test_where_nothing_is_taken_the_reason_is_given(model: nn.Module, words: str) -> None:
    guess, reason = searched(model)
    assert guess is None
    assert words in reason


def test_no_more_is_tried_than_the_bench_allows() -> None:
    result = find_inputs(Bench(guessed.NeverTakes(), 3, 20.0))
    assert len(result.tried) == 3


def test_a_list_holds_what_forward_goes_through_and_a_dict_what_it_reads() -> None:
    def labels(model: nn.Module) -> list[str]:
        return [one.label for one in asked(model, inspect.signature(model.forward).parameters.values())]

    assert labels(guessed.Pyramid()) == ["features.0", "features.1", "features.2"]
    assert labels(guessed.States()) == ["x", "state.0", "state.1"]
    assert labels(guessed.Keyed()) == ["batch.input_ids", "batch.attention_mask"]
    assert labels(guessed.ByFirstLayer()) == ["x"]


def test_annotations_say_what_is_no_tensor() -> None:
    model = guessed.ByAnnotation()
    x, steps, flag = asked(model, inspect.signature(model.forward).parameters.values())
    facts = read_facts(model)
    main = options(x, facts, None)[0]
    assert isinstance(main, Slot)
    assert isinstance(options(steps, facts, main)[0], Plain)
    assert options(flag, facts, main)[0] == Plain(False)
