"""What one eager run shows, and where two runs part."""

from __future__ import annotations

import random
import sys
from typing import Any

import numpy
import pytest
import torch
from observed import HERE, Counted, EarlyExit, Gate, Odd, Raises, Skipping, line

from onnxlint.probes.observe.observe import Divergence, divergences, observe

UP, DOWN = torch.ones(2, 3), -torch.ones(2, 3)


def places(results: list[Divergence], kind: str) -> list[int]:
    assert all(divergence.location.path == HERE for divergence in results)
    return sorted(divergence.location.line for divergence in results if divergence.kind == kind)


def test_runs_on_the_same_path_with_the_same_reads_do_not_diverge() -> None:
    base = observe(Gate(), (UP,))
    assert divergences(base, [observe(Gate(), (UP,)), observe(Gate(), (UP * 7,))]) == []


def test_a_branch_is_named_by_its_own_line_and_the_reads_in_it_too() -> None:
    base = observe(Gate(), (UP,))
    results = divergences(base, [observe(Gate(), (UP * 2,)), observe(Gate(), (DOWN,))])
    assert places(results, "branch") == [line("gate")]
    assert places(results, "escape") == [line("gate")]
    assert [divergence.variation for divergence in results] == [1, 1]
    assert [divergence.read for divergence in results] == ["", "bool"]
    branch = next(d for d in results if d.kind == "branch")
    assert "if x.sum() > 0" in branch.detail
    assert branch.frames[0].function == "Gate.forward"


def test_a_branch_on_a_size_has_no_read_but_a_path() -> None:
    results = divergences(observe(Gate(), (UP,)), [observe(Gate(), (torch.ones(6, 3),))])
    assert places(results, "branch") == [line("gate-size")]
    assert places(results, "escape") == []


def test_both_branches_are_found_where_the_paths_meet_between_them() -> None:
    results = divergences(observe(Gate(), (UP,)), [observe(Gate(), (-torch.ones(6, 3),))])
    assert places(results, "branch") == [line("gate"), line("gate-size")]


def test_a_break_names_the_test_in_the_loop_and_not_the_loop() -> None:
    results = divergences(observe(EarlyExit(), (UP * 3,)), [observe(EarlyExit(), (UP * 30,))])
    assert places(results, "branch") == [line("exit")]


def test_a_skipped_turn_of_a_loop_does_not_set_later_turns_against_each_other() -> None:
    base = observe(Skipping(), (torch.tensor([1.0, 1, 1, 1, 1, 1]),))
    results = divergences(base, [observe(Skipping(), (torch.tensor([1.0, -1, 1, 1, -1, 1]),))])
    assert places(results, "branch") == [line("skip")]


def test_a_loop_that_runs_more_often_is_named_by_its_header() -> None:
    steps = torch.tensor(2), torch.tensor(4)
    base, other = (observe(Counted(), (DOWN, count)) for count in steps)
    assert places(divergences(base, [other]), "branch") == [line("counted")]


def test_a_branch_in_a_helper_is_found_in_its_own_activation_with_its_caller() -> None:
    base = observe(Counted(), (UP * 2, torch.tensor(3)))
    results = divergences(base, [observe(Counted(), (UP * 5, torch.tensor(3)))])
    assert places(results, "branch") == [line("step")]
    branch = next(d for d in results if d.kind == "branch")
    assert branch.frames[1].line == line("counted") + 1
    assert branch.frames[1].function == "Counted.forward"


def test_several_variations_that_show_one_place_make_one_divergence() -> None:
    base = observe(Gate(), (UP,))
    results = divergences(base, [observe(Gate(), (DOWN * k,)) for k in (1, 2)])
    assert [d.variations for d in results if d.kind == "branch"] == [(0, 1)]


@pytest.mark.parametrize("seed", [0, 5])
def test_a_seed_makes_runs_repeatable(seed: int) -> None:
    class Seeded(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * torch.rand(()) * random.random() * numpy.random.rand()

    one, two = (observe(Seeded(), (UP,), seed=seed).outputs for _ in range(2))
    assert torch.equal(one, two)
    assert not torch.equal(one, observe(Seeded(), (UP,), seed=seed + 1).outputs)


def test_observing_changes_neither_the_outputs_nor_the_inputs() -> None:
    x, rows = torch.arange(6.0).reshape(3, 2), [torch.ones(2)]
    seen = observe(Odd(), (x, rows))
    assert torch.equal(x, torch.arange(6.0).reshape(3, 2))
    assert torch.equal(rows[0], torch.ones(2))
    plain = Odd()(x, rows)
    assert seen.error is None
    assert torch.equal(seen.outputs["total"], plain["total"])
    assert all(torch.equal(a, b) for a, b in zip(seen.outputs["square"], plain["square"], strict=True))


def test_one_tensor_passed_twice_stays_one_tensor() -> None:
    class Same(torch.nn.Module):
        def forward(self, query: torch.Tensor, keys: list[torch.Tensor]) -> bool:
            return query is keys[0]

    x = torch.ones(2)
    assert observe(Same(), (x,), {"keys": [x]}).outputs is True


def test_everything_is_put_back_even_after_an_error() -> None:
    def state() -> tuple[Any, ...]:
        own = {name: torch.Tensor.__dict__.get(name) for name in ("item", "tolist", "__bool__", "__len__", "__repr__")}
        return own, random.random, numpy.random.rand, sys.modules["observed"].uniform, sys.gettrace()  # type: ignore

    before = state()
    assert isinstance(observe(Raises(), (torch.ones(4, 3),)).error, RuntimeError)
    assert state() == before
    with pytest.raises(SystemExit):
        observe(Leaves(), (UP,))
    assert state() == before


class Leaves(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        sys.exit(3)


def test_an_error_is_recorded_with_its_line_and_is_not_taken_for_a_branch() -> None:
    base = observe(Raises(), (torch.ones(2, 3),))
    raised = observe(Raises(), (torch.ones(4, 3),))
    assert raised.outputs is None
    assert raised.error_frames[0].line == line("view")
    assert places(divergences(base, [raised]), "branch") == [line("guarded")]
    assert places(divergences(base, [observe(Raises(), (torch.ones(1, 3),))]), "branch") == []


def test_the_lines_that_ran_are_reported_by_path() -> None:
    steps = observe(Gate(), (UP,)).steps
    reached = {number for path, number in steps if path == HERE}
    assert len(reached) == len(steps)
    assert {line("gate"), line("gate") + 1, line("gate-size")} <= reached
    assert not {line("gate") + 3, line("gate-size") + 1} & reached


def test_paths_are_relative_to_the_root() -> None:
    root = HERE.rpartition("/")[0]
    seen = observe(Gate(), (UP,), root=root)
    assert {path for path, _ in seen.steps} == {"observed.py"}
    assert {frame.path for escape in seen.escapes for frame in escape.frames} == {"observed.py"}


def test_a_generator_that_yields_more_often_is_named_by_its_loop() -> None:
    base, other = (observe(Odd(), (torch.ones(n, 2), [torch.ones(2)])) for n in (2, 4))
    assert line("parts") in places(divergences(base, [other]), "branch")
