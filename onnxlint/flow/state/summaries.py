"""What calls returned, so that equal ones run once, and what traced code has assigned to attributes.

A forward is analysed as if it were the only one: what it assigns is undone at its end. What depends on that is recalled
by another entry point that has assigned the same by then, and with the result what the call has assigned itself. What
depends on how deep the stack is, is recalled by no other. What an export assigns lasts, as exports run first and in a
fixed order. What depends on a call that still runs (a recursion) is recalled only while that runs.
"""

from collections.abc import Hashable, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from onnxlint.flow.values import domain as dom
from onnxlint.flow.values.domain import replace

# Kinds of arguments for which a function is run; what these returned for equal flags stands for the rest. The first
# count, and which are first depends on the project alone: the entry points of a part run one after the other in one
# process, in the order of their modules (`partitions.in_order`), whatever the order of the paths and of the parts.
CONTEXTS = 5
ELSEWHERE = 2  # of a function of another part, which is run for its own calls there
DEPTH = 40  # of calls within calls

Place: TypeAlias = "tuple[Any, ...]"  # a function and what of the context decides what is observed in it


class CallKey:
    """What tells one call of a function from another; its hash, which goes through all arguments, is taken once."""

    __slots__ = ("_flags", "_hash", "parts")

    def __init__(self, parts: tuple[Any, ...]) -> None:
        self.parts = parts
        self._hash = hash(parts)
        self._flags: list[tuple[int, dom.Const]] | None = None

    @property
    def arguments(self) -> tuple[dom.Value, ...]:
        """What each parameter is bound to."""
        return self.parts[1]  # type: ignore[no-any-return]

    @property
    def flags(self) -> list[tuple[int, dom.Const]]:
        """The arguments that choose what a function does, with their places."""
        if self._flags is None:
            values = enumerate(self.arguments)
            self._flags = [(i, v) for i, v in values if isinstance(v, dom.Const) and isinstance(v.literal, bool)]
        return self._flags

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CallKey) and self._hash == other._hash and self.parts == other.parts


_ENTRY, _ALWAYS = -1, DEPTH * 1000  # what a result depends on beside its arguments: the entry point, nothing

_State: TypeAlias = "dict[tuple[dom.Object, str], dom.Value | None]"


@dataclass(frozen=True, slots=True)
class Summary:
    """What a call returned, the attributes that were read or assigned in it, the running call that it depends on, and
    whether it depends on what the entry point has assigned."""

    result: dom.Value
    reads: frozenset[str]
    depends: int
    stateful: bool = False


@dataclass(frozen=True, slots=True)
class _Replay:
    """A call that depends on what its entry point has assigned: of the attributes in it, all before and after it."""

    before: _State
    after: _State
    summary: Summary


@dataclass(slots=True)
class _Run:
    """A call that runs, with its number, what is known of its result, and what else depends on that. `reads`, `depends`
    and `stateful` are what was noted of the call around it; `before` is what had been assigned."""

    number: int
    reads: set[str]
    depends: int
    stateful: bool
    before: _State
    result: dom.Value = dom.UNKNOWN
    recursive: bool = False
    dependent: list[tuple[Place, CallKey]] = field(default_factory=list)


class Summaries:
    """The results of calls, and what the entry point that runs has assigned to attributes."""

    def __init__(self) -> None:
        self._earlier: dict[Place, dict[CallKey, Summary]] = {}
        self._here: dict[Place, dict[CallKey, Summary]] = {}  # of this entry point, or of a call that runs
        self._running: dict[CallKey, _Run] = {}
        self._active: dict[Place, list[_Run]] = {}  # the same by function and object
        self._replays: dict[Place, dict[CallKey, list[_Replay]]] = {}
        self._assigned: _State = {}  # with what was there before
        self._names: set[str] = set()  # of these
        self._state: _State | None = {}  # the same with what is there now, where that was asked for
        self._entered = 0  # entry points that run, one in the other
        self._reads: set[str] = set()
        self._depends = _ALWAYS
        self._stateful = False

    def of(self, place: Place) -> dict[CallKey, Summary]:
        """The calls at a place with their results."""
        earlier, here = self._earlier.get(place, {}), self._here.get(place)
        return {**earlier, **here} if here else earlier

    def recall(self, places: Sequence[Place], call: CallKey, depth: int) -> dom.Value | None:
        """The result of an equal call at one of these places, finished or running; None where there is none."""
        for place in places:
            summary = self._here.get(place, {}).get(call) if self._here else None
            if summary is None:
                summary = self._earlier.get(place, {}).get(call)
                if summary is not None and self._names and not self._names.isdisjoint(summary.reads):
                    summary = None
            if summary is None and self._replays:
                summary = self._replayed(place, call)
            if summary is not None:
                self._reads |= summary.reads
                self._depends = min(self._depends, summary.depends)
                self._stateful |= summary.stateful
                return summary.result
        run = self._running.get(call)
        if run is not None:
            run.recursive = True
            self._depends = min(self._depends, run.number)
            return run.result
        return self.too_deep() if depth >= DEPTH else None

    def _replayed(self, place: Place, call: CallKey) -> Summary | None:
        """The summary of an equal call in another entry point that had assigned the same; what it assigned is now."""
        for replay in self._replays.get(place, {}).get(call, ()):
            if replay.before == self._of(self._now(), replay.summary.reads):
                for (obj, name), v in replay.after.items():
                    if v is not None and obj.attrs.get(name) != v:
                        self.assigns(obj, name)
                        obj.attrs[name] = v
                self._here.setdefault(place, {})[call] = replay.summary
                return replay.summary
        return None

    def _now(self) -> _State:
        """All that the entry point has assigned."""
        if self._state is None:
            self._state = {(obj, name): obj.attrs.get(name) for obj, name in self._assigned}
        return self._state

    @staticmethod
    def _of(state: _State, names: Set[str]) -> _State:
        return {key: v for key, v in state.items() if key[1] in names}

    @property
    def depth(self) -> int:
        """How many calls run whose results are kept."""
        return len(self._running)

    def too_deep(self, depth: int = 0) -> dom.Value:
        """What a call gives that is not followed because of the calls around it: past `depth` of them, or all."""
        self._depends = min(self._depends, depth - 1)
        return dom.UNKNOWN

    def recurs(self, unit: Hashable, bound: dom.Value | None) -> bool:
        """True for a function that has called itself, with the same object: its arguments may grow without end."""
        runs = self._active.get((unit, bound))
        if runs is None or len(runs) < 2:
            return False
        self._depends = min(self._depends, runs[0].number)
        return True

    def running(self, place: Place, call: CallKey | None, bound: dom.Value | None) -> "RunningCall":
        """A call runs; the result that the block puts into the list is kept. Without a `call` none is."""
        return RunningCall(self, place, call, bound)

    def _begin(self, call: CallKey, function: Place) -> _Run:
        run = _Run(len(self._running), self._reads, self._depends, self._stateful, self._now())
        self._running[call] = run
        self._reads, self._depends, self._stateful = set(), _ALWAYS, False
        self._active.setdefault(function, []).append(run)
        return run

    def _keep(self, run: _Run, place: Place, call: CallKey, result: dom.Value) -> None:
        depends_on, stateful = self._depends, self._stateful
        alone = depends_on >= run.number
        summary = Summary(result, frozenset(self._reads), _ALWAYS if alone else depends_on, stateful)
        if alone and stateful:
            before, after = (self._of(state, self._reads) for state in (run.before, self._now()))
            self._replays.setdefault(place, {}).setdefault(call, []).append(_Replay(before, after, summary))
        elif alone:
            self._earlier.setdefault(place, {})[call] = summary
        elif depends_on != _ENTRY:
            next(r for r in self._running.values() if r.number == depends_on).dependent.append((place, call))
        if not alone or stateful or self._names:
            self._here.setdefault(place, {})[call] = replace(summary, depends=depends_on) if alone else summary

    def _end(self, run: _Run, call: CallKey, function: Place) -> None:
        self._forget(run)
        self._reads |= run.reads
        self._depends = min(run.depends, self._depends if self._depends < run.number else _ALWAYS)
        self._stateful |= run.stateful
        del self._running[call]
        self._active[function].pop()

    def _forget(self, run: _Run) -> None:
        for place, call in run.dependent:
            self._here.get(place, {}).pop(call, None)
        run.dependent.clear()

    def again(self, call: CallKey | None, result: dom.Value) -> bool:
        """True where a call has called itself, and no other that runs; then this is what it gives in its next run."""
        run = self._running[call] if call is not None else None
        if run is None or not run.recursive or self._depends < run.number or self._stateful or result == dom.UNKNOWN:
            return False
        run.result = result
        self._forget(run)
        return True

    def reads(self, obj: dom.Object, name: str) -> None:
        """An attribute is read."""
        self._reads.add(name)
        if name in self._names and (obj, name) in self._assigned:
            self._stateful = True

    def assigns(self, obj: dom.Object, name: str) -> None:
        """Traced code is about to assign to an attribute."""
        self._stateful = True
        self._state = None
        self._names.add(name)
        self._reads.add(name)
        self._assigned.setdefault((obj, name), obj.attrs.get(name))

    @contextmanager
    def entry(self, lasting: bool = False) -> Iterator[None]:
        """An entry point begins, and ends with the block; what it assigned is undone unless it is `lasting`."""
        outer = self._here, self._assigned, self._names, self._state, self._replays
        self._here, self._assigned, self._names, self._state = {}, {}, set(), {}
        if self._entered:  # an export that is tried within an entry point runs for itself
            self._replays = {}
        self._entered += 1
        try:
            yield
        finally:
            if lasting:
                for place, calls in self._earlier.items() if self._names else ():
                    self._earlier[place] = {c: s for c, s in calls.items() if self._names.isdisjoint(s.reads)}
                if self._names:
                    self._replays.clear()
            else:
                self._undo()
            self._here, self._assigned, self._names, self._state, self._replays = outer
            self._entered -= 1
            self._reads.clear()

    def _undo(self) -> None:
        for (obj, name), before in self._assigned.items():
            if before is None:
                obj.attrs.pop(name, None)
            else:
                obj.attrs[name] = before


class RunningCall:
    """The block in which a call runs: a generator would take as long as the shortest of them."""

    __slots__ = ("_call", "_function", "_place", "_result", "_run", "_store")

    def __init__(self, store: Summaries, place: Place, call: CallKey | None, bound: dom.Value | None) -> None:
        self._store, self._place, self._call, self._function = store, place, call, (place[0], bound)
        self._result: list[dom.Value] = []

    def __enter__(self) -> list[dom.Value]:
        """Begin; return the list that the result goes into."""
        if self._call is not None:
            self._run = self._store._begin(self._call, self._function)
        return self._result

    def __exit__(self, raised: type[BaseException] | None, *_: object) -> None:
        if self._call is not None:
            try:
                if raised is None:
                    self._store._keep(self._run, self._place, self._call, self._result[0])
            finally:
                self._store._end(self._run, self._call, self._function)
