"""Steps are counted per entry point and per file: what takes more than it may ends there, and costs nobody else."""

from __future__ import annotations

import pytest

from onnxlint.flow.state.budget import ENTRY, FILE, LIGHT, LINE, READ, Budget, Exhausted
from onnxlint.flow.values.domain import NONE, Tuple


def test_the_last_step_may_be_taken_and_the_next_one_not() -> None:
    budget = Budget()
    budget.begin(2)
    budget.spend(2)
    with pytest.raises(Exhausted):
        budget.spend(1)


def test_a_value_that_holds_many_others_takes_steps_and_a_small_one_none() -> None:
    budget = Budget()
    budget.carry(LIGHT - 1)
    assert budget.left == ENTRY
    budget.carry(10 * LIGHT)
    assert budget.left == ENTRY - 10


def test_arguments_that_are_only_read_are_carried_for_less() -> None:
    budget = Budget()
    budget.carry_all([NONE, Tuple((NONE,) * 3)])
    assert budget.left == ENTRY
    budget.carry_all([NONE] * (2 * READ))
    assert budget.left == ENTRY - 2


def test_what_a_part_may_not_take_is_left_to_what_comes_after_it() -> None:
    budget = Budget()
    with pytest.raises(Exhausted), budget.at_most(5):
        budget.spend(6)
    assert budget.left == ENTRY - 6
    budget.begin(3)
    with pytest.raises(Exhausted), budget.at_most(5):
        budget.spend(4)
    assert budget.left < 0


def test_a_file_pays_for_what_its_entry_points_took_and_no_other_file_does() -> None:
    budget = Budget()
    with budget.entry("a.py", 10):
        assert budget.left == ENTRY + 10 * LINE
        budget.spend(300)
    assert budget.of_file("a.py", 10) == FILE + 10 * LINE - 300
    assert budget.of_file("b.py", 10) == FILE + 10 * LINE


def test_an_entry_point_gets_what_its_file_has_left_and_pays_for_it_when_it_runs_out() -> None:
    budget = Budget()
    for _ in range(3):
        with pytest.raises(Exhausted), budget.entry("a.py", 0):
            budget.spend(FILE + 1)
    assert budget.of_file("a.py", 0) == 0
    with budget.entry("a.py", 0):
        assert budget.left == 0
