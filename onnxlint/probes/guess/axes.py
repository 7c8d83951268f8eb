"""Which axes of an example eager accepts at other sizes, one at a time and together, and what they are called."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from onnxlint.base.probe_records import DimSpec, TensorSpec
from onnxlint.base.records import grouped
from onnxlint.probes.common.nested import word
from onnxlint.probes.guess import conventions as say
from onnxlint.probes.guess.attempts import Bench
from onnxlint.probes.guess.model_facts import Guess, Guesses, Slot, slots_of

Axis = tuple[str, int]
Sizes = tuple[int, ...]
_BATCHES = (3, 5, 7)
_PRIMES = (3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 53, 67, 97, 131, 227, 257, 4003)
ENOUGH = 2  # other sizes that eager has to take


@dataclass(frozen=True, slots=True)
class Group:
    """Axes that have one size; `sizes` are the others that eager took."""

    name: str
    axes: tuple[Axis, ...]
    sizes: Sizes


@dataclass(frozen=True, slots=True)
class Shaped:
    """The inputs as specs with named dims, and the sizes to try of each; `together` has axes that moved as one."""

    inputs: dict[str, TensorSpec]
    sizes: dict[str, Sizes]
    together: dict[str, tuple[Axis, ...]]


def find_axes(bench: Bench, guess: Guesses) -> Shaped:
    """Move every axis of a guess that forward takes, and name those that move."""
    slots = slots_of(guess)
    free: list[tuple[tuple[Axis, ...], Sizes]] = []
    batch = tuple((n, 0) for n, s in slots.items() if s.shape and s.shape[0] == say.BATCH)
    moved = _moves(bench, guess, batch, _BATCHES) if batch else ()
    left = [(n, a) for n, s in slots.items() for a in range(len(s.shape)) if not moved or (n, a) not in batch]
    if moved:
        free.append((batch, (*_moves(bench, guess, batch, (1,), need=1), *moved)))

    def sizes_of(axes: Sequence[Axis]) -> Sizes:
        return _moves(bench, guess, axes, _others(_size(slots, axes)))

    for axes in _cached(slots):  # eager need not mind that keys and values are of two lengths
        if sizes := sizes_of(axes):
            free.append((axes, sizes))
            left = [axis for axis in left if axis not in axes]
    alone = {axis: sizes_of((axis,)) for axis in left}
    free += [((axis,), sizes) for axis, sizes in alone.items() if sizes]
    for axes in _together([axis for axis, sizes in alone.items() if not sizes], slots):
        if not any(a in done for a in axes for done, _ in free) and (sizes := sizes_of(axes)):
            free.append((axes, sizes))
    return _distinct(bench, guess, slots, _joint(bench, guess, _without_features(_named(free, slots), slots)))


def _size(slots: Mapping[str, Slot], axes: Sequence[Axis]) -> int:
    name, axis = axes[0]
    return slots[name].shape[axis]


def _others(size: int) -> Sizes:
    """Other sizes: primes near it first, then multiples, for models that divide."""
    near = sorted(_PRIMES, key=lambda p: (p <= size, abs(p - size)))
    sizes = (near[0], next((p for p in near if p < size), 3), size + 1, size * 2, size * 3, size // 2)
    return tuple(dict.fromkeys(s for s in sizes if s > 1 and s != size))


def _moves(bench: Bench, guess: Guesses, axes: Sequence[Axis], sizes: Sizes, need: int = ENOUGH) -> Sizes:
    """The sizes that forward takes on all these axes at once; none unless it takes as many as needed."""
    accepted: list[int] = []
    for number, size in enumerate(sizes):
        if bench.spent or len(accepted) > need or len(accepted) + len(sizes) - number < need:
            break
        if bench.run(resized(guess, dict.fromkeys(axes, size))).error is None:
            accepted.append(size)
    return tuple(accepted) if len(accepted) >= need else ()


def resized(guess: Guesses, sizes: Mapping[Axis, int]) -> dict[str, Guess]:
    """A guess with other sizes on some axes."""
    return dict(guess) | {
        name: Slot(slot.dtype, tuple(sizes.get((name, a), size) for a, size in enumerate(slot.shape)))
        for name, slot in slots_of(guess).items()
    }


def _cached(slots: Mapping[str, Slot]) -> Iterator[tuple[Axis, ...]]:
    """The axes of keys and values that are kept from earlier steps: one axis of all of one shape."""
    past = [name for name, s in slots.items() if len(s.shape) > 2 and say.named_like(word(name).lower(), "past")]
    for shape, names in grouped(past, lambda name: slots[name].shape).items():
        if len(names) > 1:
            yield from (tuple((name, axis) for name in names) for axis in range(1, len(shape)))


def _together(stuck: Sequence[Axis], slots: Mapping[str, Slot]) -> Iterator[tuple[Axis, ...]]:
    """Axes of one size that may have to move as one: all of them, those at one place of every input, pairs."""
    for axes in (axes for axes in grouped(stuck, lambda a: _size(slots, (a,))).values() if len(axes) > 1):
        yield tuple(axes)
        for place in sorted({axis for _, axis in axes}):
            same = tuple(a for a in axes if a[1] == place)
            if 1 < len(same) < len(axes):
                yield same
        if 2 < len(axes) <= 4:
            yield from ((one, other) for i, one in enumerate(axes) for other in axes[i + 1 :])


def _named(free: Sequence[tuple[tuple[Axis, ...], Sizes]], slots: Mapping[str, Slot]) -> list[Group]:
    moving = {axis for axes, _ in free for axis in axes}
    names: set[str] = set()
    groups = []
    for axes, sizes in free:
        parameter, axis = axes[0]
        slot = slots[parameter]
        rank = len(slot.shape)
        name = say.axis_name(word(parameter), rank, axis, _feature(parameter, slot, moving))
        if len(axes) > 1 and len({p for p, _ in axes}) == 1 and (name in ("height", "width") or rank == 2):
            name = "side"
        if name in names:
            name = f"{parameter.replace('.', '_')}_{name}"
        while name in names:
            name += "_"
        names.add(name)
        groups.append(Group(name, axes, sizes))
    return groups


def _feature(parameter: str, slot: Slot, moving: set[Axis]) -> int | None:
    """The axis of channels or features: the one that does not move; by convention where all do."""
    rank = len(slot.shape)
    featureless = say.named_like(parameter, "mask") or (rank == 2 and say.named_like(parameter, "audio"))
    if rank < 2 or slot.dtype != "float32" or featureless:
        return None
    fixed = [a for a in range(1, rank) if (parameter, a) not in moving]
    if len(fixed) == 1:
        return fixed[0]
    return (2 if rank == 5 and (parameter, 1) not in moving and slot.shape[2] <= 4 else 1) if rank >= 4 else rank - 1


def _without_features(groups: Sequence[Group], slots: Mapping[str, Slot]) -> list[Group]:
    """Leave out what no one means to vary: channels and features, even where the arithmetic would allow it."""
    moving = {axis for group in groups for axis in group.axes}
    features = {(n, _feature(n, slot, moving)) for n, slot in slots.items()}
    squares = {((n, 0), (n, 1)) for n, slot in slots.items() if len(slot.shape) == 2}  # as of a graph's edges
    return [g for g in groups if g.axes in squares or not any(axis in features for axis in g.axes)]


def _joint(bench: Bench, guess: Guesses, groups: Sequence[Group]) -> list[Group]:
    """The groups that can move at once, each to its last size; one after the other where not all can."""
    followed: list[Group] = []
    moved: dict[Axis, int] = {}
    for group in groups:
        more = {**moved, **dict.fromkeys(group.axes, group.sizes[-1])}
        if not followed or (not bench.spent and bench.run(resized(guess, more)).error is None):
            followed.append(group)
            moved = more
    return followed


def _distinct(bench: Bench, guess: Guesses, slots: Mapping[str, Slot], groups: Sequence[Group]) -> Shaped:
    """Give every dim a size of its own on the example, since exporters take equal sizes for one."""
    sizes: dict[str, int] = {}
    chosen: dict[Axis, int] = {}
    for group in groups:
        original = _size(slots, group.axes)
        sizes[group.name] = next((s for s in (original, *group.sizes) if s > 1 and s not in sizes.values()), original)
        chosen |= dict.fromkeys(group.axes, sizes[group.name])
    if bench.run(resized(guess, chosen)).error is not None:
        sizes = {g.name: _size(slots, g.axes) for g in groups}
    names = {axis: group.name for group in groups for axis in group.axes}

    def dim(axis: Axis, size: int) -> DimSpec:
        return DimSpec(names[axis], sizes[names[axis]]) if axis in names else DimSpec(None, size)

    specs = {
        name: TensorSpec(slot.dtype, tuple(dim((name, a), size) for a, size in enumerate(slot.shape)))
        for name, slot in slots.items()
    }
    others = {g.name: [s for s in (_size(slots, g.axes), *g.sizes) if s != sizes[g.name]][-4:] for g in groups}
    together = {g.name: g.axes for g in groups if len(g.axes) > 1}
    return Shaped(specs, {name: tuple(sorted(tried)) for name, tried in others.items()}, together)
