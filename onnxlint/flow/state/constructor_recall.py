"""What constructors of a large library always do: bookkeeping that is recalled after a few times, not run again."""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from onnxlint.flow.state.budget import EFFECTS, HABIT, IDLE
from onnxlint.flow.values import domain as dom
from onnxlint.flow.values.joins import join
from onnxlint.project.classes import FunctionUnit


@dataclass(frozen=True, slots=True)
class Habit:
    """What a method did so far, joined; a negative count: more than bookkeeping."""

    count: int
    result: dom.Value
    effects: tuple[tuple[str, dom.Value], ...]


class Habits:
    """What methods and decorators did so far."""

    def __init__(self) -> None:
        self._methods: dict[Hashable, Habit] = {}
        self._idle: Counter[Hashable] = Counter()  # how often a decorator's wrapper changed nothing

    def note(
        self,
        unit: FunctionUnit,
        subject: dom.Value | None,
        result: dom.Value,
        writes: Sequence[tuple[dom.Object, str, dom.Value]],
        first: int,
        harmless: bool,
    ) -> None:
        """Remember what a method did to its object, or a function to what it was given first, outside of traced code,
        as long as that was only bookkeeping: large libraries do the same for hundreds of classes. What made no module
        and no tensor a few times is then taken never to, and its plain values may be anything."""
        if not isinstance(subject, dom.Instance):
            return
        key = unit.key
        before = self._methods.get(key)
        if before is not None and before.count < 0:
            return
        effects = writes[first : first + EFFECTS + 1]
        own = {name: v for obj, name, v in effects if obj is subject.object}
        alone = len(effects) <= EFFECTS and len(own) == len({name for _, name, _ in effects})
        if not (harmless and alone and all(map(_plain_value, own.values())) and _plain_value(result)):
            self._methods[key] = Habit(-1, dom.UNKNOWN, ())
        elif before is None:
            self._methods[key] = Habit(1, result, tuple(own.items()))
        else:
            merged = dict(before.effects)
            for name, v in own.items():
                merged[name] = join(merged[name], v) if name in merged else v
            self._methods[key] = Habit(before.count + 1, join(before.result, result), tuple(merged.items()))

    def of(self, unit: FunctionUnit) -> Habit | None:
        """What a function always does; None where that is not known."""
        habit = self._methods.get(unit.key)
        return None if habit is None or habit.count < HABIT else habit

    def was_idle(self, wrapper: Hashable, always: bool) -> None:
        """A decorator's wrapper changed nothing; `always` where it is the function itself."""
        self._idle[wrapper] += IDLE if always else 1

    def is_idle(self, wrapper: Hashable) -> bool:
        """True where it has changed nothing a few times."""
        return self._idle[wrapper] >= IDLE


def _plain_value(v: dom.Value) -> bool:
    """True for what no forward is made of: numbers, names, configurations."""
    if isinstance(v, dom.Tuple):
        return all(_plain_value(i) for i in v.items)
    if isinstance(v, dom.Dict):
        return all(_plain_value(i) for _, i in v.items) and (v.rest is None or _plain_value(v.rest))
    if isinstance(v, dom.Seq):
        return _plain_value(v.item)
    if isinstance(v, dom.Instance):
        return not v.object.cls.is_module()
    if isinstance(v, dom.Partial):
        return isinstance(v.function, dom.External)
    return isinstance(v, (dom.Unknown, dom.Const, dom.Config, dom.External, dom.ClassRef))
