"""A constructor that did only bookkeeping a few times is recalled; one that makes a layer or a tensor always runs."""

from __future__ import annotations

import pytest
from analysing import project_of, told

from onnxlint.flow.state.budget import HABIT, IDLE
from onnxlint.flow.state.constructor_recall import Habits
from onnxlint.flow.values.domain import NONE, Const, Function, Instance, Object, Tensor, Value

CLASSES = """
class Named:
    def __init__(self, name):
        self.name = name
"""


def remembered(*stored: Value, harmless: bool = True) -> tuple[Habits, Function]:
    """What is noted of a constructor that stored each of these under one name, on a new object each time."""
    (info,) = project_of(CLASSES).modules.values()
    cls, habits = info.classes["Named"], Habits()
    for v in stored:
        obj = Object(cls)
        fn = Function(cls.methods["__init__"], Instance(obj))
        habits.note(fn.unit, fn.bound, NONE, [(obj, "name", v)], 0, harmless)
    return habits, fn


def test_bookkeeping_is_a_habit_after_a_few_times_and_joins_what_was_stored() -> None:
    habits, fn = remembered(*[Const("a")] * (HABIT - 1))
    assert habits.of(fn.unit) is None
    habits, fn = remembered(*[Const("a")] * HABIT)
    habit = habits.of(fn.unit)
    assert habit is not None
    assert dict(habit.effects) == {"name": Const("a")}
    habits, fn = remembered(*[Const("a")] * HABIT, Const("b"))
    habit = habits.of(fn.unit)
    assert habit is not None
    assert dict(habit.effects)["name"] not in (Const("a"), Const("b"))


def test_what_once_stored_a_tensor_or_did_harm_is_none_for_good() -> None:
    habits, fn = remembered(Tensor(), *[Const("a")] * (2 * HABIT))
    assert habits.of(fn.unit) is None
    habits, fn = remembered(*[Const("a")] * (2 * HABIT), harmless=False)
    assert habits.of(fn.unit) is None


def test_a_wrapper_is_idle_after_a_few_times() -> None:
    habits = Habits()
    for _ in range(IDLE):
        assert not habits.is_idle("wrapper")
        habits.was_idle("wrapper", always=False)
    assert habits.is_idle("wrapper")
    assert not habits.is_idle("another")
    habits.was_idle("another", always=True)
    assert habits.is_idle("another")


COUNTS = "class Base(nn.Module):\n    def __init__(self, name):\n        super().__init__()\n        self.name = name\n"
NAMES = """
def named(v, name=""):
    if name == "":
        return nn.Parameter(torch.ones(v))
    v.name = name
"""


@pytest.mark.parametrize(
    ("helper", "base", "calls"),
    [
        pytest.param(
            COUNTS, "Base", "super().__init__('m{n}')\n        self.p = nn.Parameter(torch.ones(3))", id="a base"
        ),
        pytest.param(
            NAMES,
            "nn.Module",
            "super().__init__()\n        named(self, 'm{n}')\n        self.p = named({n} + 3)",
            id="a function that makes what it is asked for by a number",
        ),
    ],
)
def test_what_only_counts_hides_no_layer_that_is_made_after_it(helper: str, base: str, calls: str) -> None:
    """More classes than make a habit: the constructor of the last one still gives its object what it computes with."""
    models = "".join(
        f"class M{n}({base}):\n    def __init__(self):\n        {calls.format(n=n)}\n    def forward(self, x):\n"
        f"        return x if self.p.sum() > {n} else -x\n"
        for n in range(HABIT + 3)
    )
    assert told(helper + models) == [f"Branch weight: self.p.sum() > {n}" for n in range(HABIT + 3)]
