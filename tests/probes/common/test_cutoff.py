"""Runs that take too long are ended in the middle."""

from __future__ import annotations

import time

import pytest
from probing import burn

from onnxlint.probes.common.costs import Deadline, TooLong, cut_off


def test_a_run_that_takes_too_long_is_ended_and_the_clock_is_taken_back() -> None:
    with pytest.raises(TooLong), cut_off(0.05):
        burn(5.0)
    with cut_off(0.05):
        pass
    burn(0.1)


def test_a_run_that_waits_is_ended_as_well_and_one_that_waits_for_its_turn_is_not() -> None:
    with pytest.raises(TooLong), cut_off(0.02):
        time.sleep(60.0)
    with cut_off(5.0):
        time.sleep(0.1)
    assert 0 < Deadline.after(60.0).left <= 60.0
    assert Deadline.after(-1.0).left < 0
