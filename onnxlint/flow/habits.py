"""What constructors of a large library always do: bookkeeping that is recalled after a few times, not run again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from onnxlint.flow.budget import EFFECTS, HABIT
from onnxlint.flow.domain import (
    UNKNOWN,
    ClassRef,
    Config,
    Const,
    Dict,
    External,
    Function,
    Instance,
    Partial,
    Seq,
    Tuple,
    Unknown,
    Value,
)
from onnxlint.flow.joins import join

if TYPE_CHECKING:
    from onnxlint.flow.interpret import Interpreter


@dataclass(frozen=True, slots=True)
class Habit:
    """What a method did so far, joined; a negative count: more than bookkeeping."""

    count: int
    result: Value
    effects: tuple[tuple[str, Value], ...]


def note(engine: Interpreter, fn: Function, result: Value, written: int, harmless: bool) -> None:
    """Remember what a method did to its object, outside of traced code, as long as that was only bookkeeping.

    Constructors of a large library do the same bookkeeping for hundreds of classes: names, flags, checks. A method
    that made no module and no tensor a few times is then taken never to, and its plain values may be anything.
    """
    if not isinstance(fn.bound, Instance):
        return
    key = fn.unit.key
    before = engine.habits.get(key)
    if before is not None and before.count < 0:
        return
    effects = engine.writes[written:]
    if len(effects) > EFFECTS:
        engine.habits[key] = Habit(-1, UNKNOWN, ())
        return
    own = {name: v for obj, name, v in effects if obj is fn.bound.object}
    plain = (
        harmless and len(own) == len({name for _, name, _ in effects}) and all(_plain_value(v) for v in own.values())
    )
    if not plain or not _plain_value(result):
        engine.habits[key] = Habit(-1, UNKNOWN, ())
    elif before is None:
        engine.habits[key] = Habit(1, result, tuple(own.items()))
    else:
        merged = dict(before.effects)
        for name, v in own.items():
            merged[name] = join(merged[name], v) if name in merged else v
        engine.habits[key] = Habit(before.count + 1, join(before.result, result), tuple(merged.items()))


def recall(engine: Interpreter, fn: Function) -> Value | None:
    """The result of a function of which it is known what it always does; None for any other."""
    habit = engine.habits.get(fn.unit.key)
    if habit is None or habit.count < HABIT:
        return None
    if isinstance(fn.bound, Instance):
        for name, v in habit.effects:
            engine.set_attribute(fn.bound.object, name, v)
    return habit.result


def _plain_value(v: Value) -> bool:
    """True for what no forward is made of: numbers, names, configurations."""
    if isinstance(v, Tuple):
        return all(_plain_value(i) for i in v.items)
    if isinstance(v, Dict):
        return all(_plain_value(i) for _, i in v.items) and (v.rest is None or _plain_value(v.rest))
    if isinstance(v, Seq):
        return _plain_value(v.item)
    if isinstance(v, Instance):
        return not v.object.cls.is_module()
    if isinstance(v, Partial):
        return isinstance(v.function, External)
    return isinstance(v, (Unknown, Const, Config, External, ClassRef))
