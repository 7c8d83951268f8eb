"""What a run decides: each answer and number read from a tensor, its line, and how far it is from another answer."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from onnxlint.probes.observe.decisions import Decision, decide

ROOT = str(Path(__file__).parent)


class Asks(torch.nn.Module):
    """Does what it is given with its input."""

    def __init__(self, question: Callable[[torch.Tensor], object]) -> None:
        super().__init__()
        self.question = question

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.question(x)
        return x


def asked(question: Callable[[torch.Tensor], object], *values: float, gradients: bool = False) -> list[Decision]:
    x = torch.tensor(values, requires_grad=gradients)
    decided = decide(Asks(question), (x,), {}, ROOT, gradients=gradients)
    assert decided.error is None
    return decided.decisions


NOT_READ = {
    "a comparison": lambda x: x > 0,
    "a shape": lambda x: x.shape[0] > 2,
    "a list of several elements": lambda x: x.tolist(),
    "a complex number": lambda x: bool(x.sum() * 1j),
}


@pytest.mark.parametrize("question", NOT_READ.values(), ids=NOT_READ)
def test_what_reads_no_element_decides_nothing(question: Callable[[torch.Tensor], object]) -> None:
    assert asked(question, 1.0, 2.0) == []


MARGINS = {
    "greater": (lambda x: x[0] > 5, -4.0),
    "greater or equal, by a function": (lambda x: torch.ge(x[0], 5), -4.0),
    "less": (lambda x: x[0] < 5, 4.0),
    "less than a tensor": (lambda x: x[0] < x[1], 2.0),
    "the same": (lambda x: x[0] == 5, -4.0),
    "another": (lambda x: x[0] != 5, 4.0),
    "not": (lambda x: ~(x[0] > 5), 4.0),
    "both": (lambda x: (x[0] > 0) & (x[1] > 5), -2.0),
    "one of two": (lambda x: (x[0] > 0) | (x[1] > 5), 1.0),
    "and something that never moves": (lambda x: (x[0] > 0) & torch.tensor(True), 1.0),
    "any": (lambda x: (x > 5).any(), -2.0),
    "all": (lambda x: (x > 0).all(), 1.0),
    "all along an axis": (lambda x: (x[None] > 0).all(dim=1)[0], 1.0),
    "one element of a test": (lambda x: (x > 0)[1], 3.0),
    "a number that is not 0": (lambda x: x[1], 3.0),
}


@pytest.mark.parametrize(("question", "margin"), MARGINS.values(), ids=MARGINS)
def test_a_margin_is_above_0_where_the_answer_is_yes(
    question: Callable[[torch.Tensor], torch.Tensor], margin: float
) -> None:
    (decision,) = asked(lambda x: bool(question(x)), 1.0, 3.0)
    assert decision.margin is not None
    assert float(decision.margin) == margin
    assert decision.distance == abs(margin)
    assert (decision.truth, decision.value) == (True, margin > 0)


def test_a_test_that_is_not_followed_is_infinitely_far_from_its_other_answer() -> None:
    (decision,) = asked(lambda x: bool(torch.isnan(x).any()), 1.0)
    assert (decision.margin, decision.distance) == (None, math.inf)


def test_a_count_is_exact_and_has_a_gradient() -> None:
    (decision,) = asked(lambda x: int((x > 2).sum()), 1.0, 3.0, 4.0, gradients=True)
    assert (decision.truth, decision.value) == (False, 2.0)
    assert decision.margin is not None
    assert float(decision.margin.detach()) == 2.0
    assert decision.margin.requires_grad


def test_a_number_has_a_margin_only_where_something_moves_it() -> None:
    (still,) = asked(lambda x: x[0].item(), 1.0)
    (moving,) = asked(lambda x: x[0].item(), 1.0, gradients=True)
    assert (still.value, still.margin) == (1.0, None)
    assert moving.margin is not None


def test_numbers_that_tensors_are_compared_with_are_kept_in_order() -> None:
    x = torch.tensor([1.0])
    decided = decide(Asks(lambda x: (x > 7, x < 0.5, x == 7, x > x * 2, x == True)), (x,), {}, ROOT)  # noqa: E712
    assert list(decided.constants) == [7.0, 0.5]


def test_the_line_that_reads_is_the_site() -> None:
    question = lambda x: bool(x[0] > 0)  # noqa: E731
    (decision,) = asked(question, 1.0)
    assert decision.site == (Path(__file__).name, question.__code__.co_firstlineno)


class Loop(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for k in range(3):
            if x[k] > 0:
                x = x + 10
        return x


def test_only_the_first_answer_of_a_line_is_negated() -> None:
    x = torch.tensor([1.0, -50.0, 1.0])
    plain = decide(Loop(), (x,), {}, ROOT)
    site = plain.decisions[0].site
    forced = decide(Loop(), (x,), {}, ROOT, invert=site)
    assert plain.answers(site) == forced.answers(site) == [True, False, True]
    assert plain.outputs[0].tolist() == [21.0, -30.0, 21.0]
    assert forced.outputs[0].tolist() == [11.0, -40.0, 11.0]
    elsewhere = decide(Loop(), (x,), {}, ROOT, invert=(site[0], site[1] + 1))
    assert torch.equal(elsewhere.outputs[0], plain.outputs[0])


def test_what_a_model_raises_is_the_result_and_what_it_decided_before_is_kept() -> None:
    def question(x: torch.Tensor) -> None:
        if x[0] > 0:
            raise ValueError("no")

    decided = decide(Asks(question), (torch.ones(1),), {}, ROOT)
    assert isinstance(decided.error, ValueError)
    assert [d.value for d in decided.decisions] == [True]
    assert decided.outputs == ()


def test_two_runs_draw_the_same() -> None:
    model = Asks(lambda x: bool(torch.rand(()) > 0.5))
    one, two = (decide(model, (torch.ones(1),), {}, ROOT) for _ in range(2))
    assert [d.distance for d in one.decisions] == [d.distance for d in two.decisions]


def test_margins_follow_truth_values_through_logic_and_counts() -> None:
    class Logic(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if ~(x > 2).any():
                x = x + 1
            if ((x > 0) & (x < 9)).sum() > 2 or (x == 5).all():
                x = x + 1
            return x

    x = torch.tensor([0.5, 1.0, 1.5], requires_grad=True)
    first, second, *_ = decide(Logic(), (x,), {}, None, gradients=True).decisions
    assert (first.value, second.value) == (True, True)
    assert first.margin is not None
    assert float(first.margin.detach()) == pytest.approx(0.5)
    assert second.margin is not None
    assert float(second.margin.detach()) == 1.0
    (gradient,) = torch.autograd.grad(second.margin, x)
    assert float(gradient.abs().sum()) > 0
