"""What both exporters share: the names of the leaves, and guards."""

from __future__ import annotations

import sympy
import torch

from onnxlint.base.records import Location
from onnxlint.probes.exporters import Guard, leaves


def test_leaves_are_named_after_parameters_and_keys() -> None:
    one, two = torch.ones(1), torch.ones(2)
    results = leaves(("x", "batch"), (one, {"user": two, "none": None, "more": [3]}), {"scale": 2.0})
    assert list(results) == ["x", "batch.user", "batch.more.0", "scale"]
    assert results["batch.user"] is two


def test_a_guard_is_tested_on_an_input() -> None:
    s = sympy.Symbol("s7", positive=True, integer=True)
    guard = Guard(s <= 4, "guard", {"s7": ("x", 1)}, (Location("model.py", 3),))
    assert guard.text == "x.shape[1] <= 4"
    assert guard.holds({"x": torch.ones(9, 4)}) is True
    assert guard.holds({"x": torch.ones(4, 9)}) is False
    assert guard.holds({}) is None
    assert Guard(sympy.Eq(s, 3, evaluate=False), "", {"s7": ("x", 0)}, ()).text == "x.shape[0] == 3"


def test_a_guard_that_pins_a_size_implies_what_holds_for_it() -> None:
    s = sympy.Symbol("s7", integer=True)
    turns, place = s // 160 - 1, (Location("model.py", 3),)

    def guard(condition: object) -> Guard:
        return Guard(condition, "guard", {"s7": ("x", 1)}, place)

    pinned = guard(sympy.Eq(turns, 8))
    assert pinned.implies(guard(turns > 3))
    assert not pinned.implies(guard(turns > 8))
    assert not pinned.implies(guard(s > 3))
    assert not guard(turns > 3).implies(guard(turns > 2))
