"""From the error of a try to better guesses: what the refusing layer takes, and what the message asks for."""

from __future__ import annotations

import linecache
import math
import re
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence

from torch import nn

from onnxlint.probes.common.nested import word
from onnxlint.probes.guess import conventions as say
from onnxlint.probes.guess.attempts import Trial
from onnxlint.probes.guess.model_facts import Facts, Guess, Plain, Slot, of_layer

# Groups 1 and 2: the size that is wanted, and the size that was given.
_WANTED_FIRST = tuple(
    re.compile(pattern, re.IGNORECASE | re.DOTALL)
    for pattern in (
        r"to have (\d+) channels, but got (\d+)",
        r"of length (\d+), but found (\d+)",
        r"expected size (\d+) but got size (\d+)",
        r"input.size\(-1\) must be equal to input_size\. expected (\d+),? got (\d+)",
        r"expected hidden.*?(\d+).*?got.*?(\d+)",
        r"was expecting embedding dimension of (\d+),? but got (\d+)",
        r"must have (\d+) (?:channels|features|dimensions).*?(?:got|but|found|has)\D*(\d+)",
        r"expected? (?:\w+ ){0,4}?(\d+)\D*(?:got|found|received|but)\D*(\d+)",
        r"expected input with shape \[\*, (\d+)\], but got input of size\[(?:\d+, )*(\d+)\]",
    )
)
# Groups: the size that was given, and the size that is wanted.
_ACTUAL_FIRST = tuple(
    re.compile(pattern, re.IGNORECASE | re.DOTALL)
    for pattern in (
        r"mat1 and mat2 shapes cannot be multiplied \(\d+x(\d+) and (\d+)x\d+\)",
        r"must have same reduction dim, but got \[(?:\d+, )*(\d+)\] X \[(\d+)",
        r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\)",
        r"expanded size of the tensor \((\d+)\) must match the existing size \((\d+)\)",
        r"input (?:image )?(?:height|width|size) \(?(\d+).*?doesn't match (?:the )?model'?s? \D*?(\d+)",
        r"got (\d+)\D+expected (\d+)",
        r"same number of columns\. X1: (\d+) X2: (\d+)",
    )
)
_BROADCAST = re.compile(r"dimension of length \d+ at (-\d+)!.*?Size\(\[([\d, ]*)\]\).*?broadcastable to \[([\d, ]*)\]")
_EINOPS = re.compile(r"pattern \"(.+?)->.*?Input tensor shape: torch\.Size\(\[([\d, ]*)\]\)", re.DOTALL)
_MULTIPLE = re.compile(r"(?:divisible by|multiple of|divide axis of length \d+ in chunks of)\D*(\d+)", re.IGNORECASE)
_AXIS_LENGTH = re.compile(r"divide axis of length (\d+) in chunks of (\d+)")
_RANKS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"not enough values to unpack \(expected (?:at least )?(\d)",
        r"too many values to unpack \(expected (\d)",
        r"wrong shape: expected (?:>=)?(\d) dims",
        r"expected (\d)D? ?(?:dimensions|dims|-dimensional)",
        r"expected \dD (?:\(unbatched\) )?or (\d)D",
        r"(?:must be|expected|requires?)(?: a| an)? ?(?:\w+ )?(\d)-?D\b",
        r"dim(?:ensions)? (?:should be|must be|==) (\d)",
    )
)
_AS_INTEGER = re.compile(
    r"scalar types: Long, Int|scalar type Long|must be long|dtype int32 or int64|expected.*int64"
    r"|index.*should be.*(long|int)"
    r"|one_hot is only applicable to index tensor|only integer tensors|expected scalar type (Int|Long) but",
    re.IGNORECASE,
)
_AS_FLOAT = re.compile(
    r"not implemented for '(Long|Int|Bool)'|must have the same dtype.*\b(Long|Int|long int)\b|can only be.*floating"
    r"|expected.*Float.*(found|got|but).*(Long|Int)|result type Float can't be cast|dtype.*float.*expected"
    r"|Input type \((long|Long|CPULong|torch\.LongTensor)",
    re.IGNORECASE,
)
_AS_BOOL = re.compile(
    r"expected.*bool|masks? .*bool|only supports boolean|`~`|'bitwise_not'|scalar type Bool", re.IGNORECASE
)
_NO_TENSOR = re.compile(
    r"not Tensor|'Tensor' object (?:is not callable|cannot be interpreted)|integer tensors of a single"
    r"|only one element tensors|got Tensor|type 'Tensor'",
    re.IGNORECASE,
)


def repairs(
    guess: Mapping[str, Guess], trial: Trial, facts: Facts, optional: Mapping[str, Callable[[], Guess]]
) -> list[dict[str, Guess]]:
    """Better guesses for what a try raised, likeliest first. `optional` makes parameters that were not given."""
    assert trial.error is not None
    text = f"{trial.error}"
    guesses = [*_named(guess, trial.error, text, optional), *_at_layer(guess, trial, facts)]
    guesses += [
        *_types(guess, trial, text),
        *_sizes(guess, text),
        *_ranks(guess, text, facts),
        *_multiples(guess, text),
    ]
    if "out of range" in text or isinstance(trial.error, IndexError):
        guesses += [
            _with(guess, n, Slot(s.dtype, (s.shape[0], max(s.shape[1] // 2, 1))))
            for n, s in _slots(guess)
            if len(s.shape) == 2
        ]
    return [g for g in guesses if g != dict(guess) and all(_sane(s) for _, s in _slots(g))]


def at_fault(error: BaseException, names: Sequence[str]) -> list[str]:
    """The names that stand on the lines which raised, innermost first."""
    places = ((frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__))
    lines = [linecache.getline(*place) for place in places if "site-packages/torch/" not in place[0]]
    matches = [n for line in lines[:-4:-1] for n in names if re.search(rf"\b{re.escape(word(n))}\b", line)]
    return list(dict.fromkeys(matches))


def _sane(slot: Slot) -> bool:
    return all(size > 0 for size in slot.shape) and math.prod(slot.shape) < 20_000_000


def _slots(guess: Mapping[str, Guess]) -> list[tuple[str, Slot]]:
    return [(name, slot) for name, slot in guess.items() if isinstance(slot, Slot)]


def _with(guess: Mapping[str, Guess], name: str, slot: Guess) -> dict[str, Guess]:
    return {**guess, name: slot}


def _named(
    guess: Mapping[str, Guess], error: BaseException, text: str, optional: Mapping[str, Callable[[], Guess]]
) -> Iterator[dict[str, Guess]]:
    """The message, or the line that could do nothing with None, names a parameter that was not given."""
    twins = [f"decoder_{n}" for n in guess if f"decoder_{n}" in optional and re.search(rf"\b{n}\b", text)]
    if twins:  # the decoder says so with the names of the encoder
        yield {**guess, twins[0]: optional[twins[0]]()}
    missing = [n for n in optional if n not in guess and re.search(rf"\b{re.escape(n)}\b", text)]
    if not missing and "NoneType" in text:
        missing = at_fault(error, [n for n in optional if n not in guess])
    if len(missing) > 1:
        yield {**guess, missing[0]: optional[missing[0]]()}
    if missing:
        yield {**guess, **{n: optional[n]() for n in missing}}
    unexpected = re.search(r"unexpected keyword argument '(\w+)'", text)
    if unexpected and unexpected.group(1) in guess:
        yield {n: s for n, s in guess.items() if n != unexpected.group(1)}


def _at_layer(guess: Mapping[str, Guess], trial: Trial, facts: Facts) -> Iterator[dict[str, Guess]]:
    """What the refusing layer takes: for the input it was given as it is, else by the size that it refused."""
    if trial.layer is None:
        return
    if trial.direct is not None and isinstance(guess.get(trial.direct), Slot):
        before = guess[trial.direct]
        assert isinstance(before, Slot)
        options = of_layer(trial.layer, facts.sides, facts.lengths)
        options.sort(key=lambda s: len(s.shape) != len(before.shape))
        yield from (_with(guess, trial.direct, _merged(before, slot)) for slot in options[:4])
        return
    wanted = _expected(trial.layer, trial.shape)
    if wanted is not None:
        yield from _resized(guess, *wanted)


def _merged(before: Slot, slot: Slot) -> Slot:
    """Keep the sizes that were guessed already for the batch and for lengths, where the ranks agree."""
    if len(before.shape) != len(slot.shape) or before.dtype != slot.dtype:
        return slot
    if len(slot.shape) == 3:
        return Slot(slot.dtype, (*before.shape[:2], slot.shape[2])) if slot.shape[1] in say.LENGTHS else slot
    return Slot(slot.dtype, (before.shape[0], *slot.shape[1:]))


def _expected(layer: nn.Module, shape: tuple[int, ...]) -> tuple[int, int] | None:
    """The size that a layer was given on its feature axis, and the size that it takes."""
    if not shape:
        return None
    match layer:
        case nn.Conv1d() | nn.Conv2d() | nn.Conv3d() | nn.ConvTranspose1d() | nn.ConvTranspose2d():
            size, axis = layer.in_channels, 1
        case nn.Linear():
            size, axis = layer.in_features, -1
        case nn.LayerNorm():
            size, axis = layer.normalized_shape[-1], -1
        case nn.BatchNorm1d() | nn.BatchNorm2d() | nn.BatchNorm3d():
            size, axis = layer.num_features, 1
        case nn.RNNBase():
            size, axis = layer.input_size, -1
        case nn.MultiheadAttention():
            size, axis = layer.embed_dim, -1
        case _:
            return None
    if not -len(shape) <= axis < len(shape) or shape[axis] == size:
        return None
    return shape[axis], size


def _resized(guess: Mapping[str, Guess], actual: int, wanted: int) -> Iterator[dict[str, Guess]]:
    """Guesses in which the size that was given somewhere becomes the wanted one: itself, or a factor of it."""
    if actual < 1 or wanted < 1 or actual == wanted:
        return
    for name, slot in _slots(guess):
        yield from (_with(guess, name, larger) for larger in _resized_images(slot, actual, wanted))
    for name, slot in _slots(guess):
        axes = [axis for axis in reversed(range(len(slot.shape))) if slot.shape[axis] == actual]
        yield from (_with(guess, name, _put(slot, axis, wanted)) for axis in axes)
    for name, slot in _slots(guess):
        yield from (_with(guess, name, other) for other in _resized_factors(slot, actual, wanted))


def _resized_images(slot: Slot, actual: int, wanted: int) -> Iterator[Slot]:
    """Images stay square: a side is the size, or the area is in its ratio."""
    if len(slot.shape) >= 4:
        height, width = slot.shape[-2:]
        ratio = (wanted / actual) ** 0.5
        sides = (max(round(height * ratio), 1), max(round(width * ratio), 1))
        if height == width == actual:
            yield Slot(slot.dtype, (*slot.shape[:-2], wanted, wanted))
        if sides[0] ** 2 * actual == height**2 * wanted:
            yield Slot(slot.dtype, (*slot.shape[:-2], *sides))


def _resized_factors(slot: Slot, actual: int, wanted: int) -> Iterator[Slot]:
    """An axis that is a factor of the size, as where two are flattened into one."""
    for axis, size in list(enumerate(slot.shape))[1:]:
        if 1 < size < actual and actual % size == 0 and wanted % (actual // size) == 0:
            yield _put(slot, axis, wanted // (actual // size))
    if len(slot.shape) == 3 and slot.shape[-1] * wanted % actual == 0:
        yield _put(slot, -1, slot.shape[-1] * wanted // actual)


def _put(slot: Slot, axis: int, size: int) -> Slot:
    shape = list(slot.shape)
    shape[axis] = size
    return Slot(slot.dtype, tuple(shape))


def _sizes(guess: Mapping[str, Guess], text: str) -> Iterator[dict[str, Guess]]:
    if "values to unpack" in text:
        return  # that counts axes, and says nothing of their sizes
    pairs = [(int(m.group(2)), int(m.group(1))) for p in _WANTED_FIRST if (m := p.search(text))]
    pairs += [(int(m.group(1)), int(m.group(2))) for p in _ACTUAL_FIRST if (m := p.search(text))]
    pairs += [(actual, wanted) for actual, wanted in _broadcasts(text)]
    for actual, wanted in dict.fromkeys(pairs):
        yield from _resized(guess, actual, wanted)
    for actual, wanted in dict.fromkeys(pairs[:1]):
        yield from _resized(guess, wanted, actual)
    if "Kernel size can't be greater than actual input size" in text or "Output size is too small" in text:
        for name, slot in _slots(guess):
            if len(slot.shape) >= 3:
                yield _with(guess, name, Slot(slot.dtype, (*slot.shape[:2], *(4 * s for s in slot.shape[2:]))))


def _broadcasts(text: str) -> list[tuple[int, int]]:
    """What fake tensors say of shapes that do not fit each other."""
    match = _BROADCAST.search(text)
    if match is None:
        return []
    axis = int(match.group(1))
    one, other = ([int(n) for n in group.split(",") if n.strip()] for group in match.groups()[1:])
    return [(other[axis], one[axis]), (one[axis], other[axis])] if len(one) >= -axis <= len(other) else []


def _types(guess: Mapping[str, Guess], trial: Trial, text: str) -> Iterator[dict[str, Guess]]:
    slots = _slots(guess)
    fault = trial.direct or next(iter(at_fault(trial.error, [n for n, _ in slots])), None) if trial.error else None
    order = sorted(slots, key=lambda item: item[0] != fault)
    for pattern, dtype in ((_AS_INTEGER, "int64"), (_AS_FLOAT, "float32"), (_AS_BOOL, "bool")):
        if pattern.search(text):
            for name, slot in order:
                if slot.dtype != dtype:
                    tokens = [slot.shape[:2]] if dtype == "int64" and slot.dtype == "float32" else []
                    for shape in dict.fromkeys([*tokens, slot.shape]):
                        yield _with(guess, name, Slot(dtype, shape))
    if _NO_TENSOR.search(text):
        for name, _ in order[::-1]:
            yield _with(guess, name, Plain(say.LENGTH))
    if re.search(
        r"'int' object (is not (iterable|subscriptable)|has no attribute 'shape')|cannot unpack non-iterable int", text
    ):
        for name, item in guess.items():
            if isinstance(item, Plain) and isinstance(item.value, int):
                yield _with(guess, name, Plain([item.value, item.value]))


def _ranks(guess: Mapping[str, Guess], text: str, facts: Facts) -> Iterator[dict[str, Guess]]:
    ranks = [int(m.group(1)) for p in _RANKS if (m := p.search(text))]
    pattern = _EINOPS.search(text)
    if pattern is not None and "..." not in pattern.group(1):
        ranks.insert(0, len(re.findall(r"\([^)]*\)|\S+", pattern.group(1))))
    for rank in dict.fromkeys(ranks):
        for name, slot in _slots(guess):
            if len(slot.shape) != rank:
                yield from (_with(guess, name, s) for s in of_rank(rank, slot.dtype, facts))


def of_rank(rank: int, dtype: str, facts: Facts) -> list[Slot]:
    """What tensors of a rank usually are."""
    b, t = say.BATCH, facts.lengths[0]
    if dtype != "float32":
        return [Slot(dtype, (b, *([t] * (rank - 1))))]
    shapes: dict[int, list[tuple[int, ...]]] = {
        1: [(b,)],
        2: [(b, facts.widths[0])],
        3: [(b, t, facts.widths[0]), facts.image],
        4: [(b, *facts.image)],
        5: [(b, facts.channels[0], facts.frames, *facts.sides[0]), (b, facts.frames, *facts.image)],
    }
    return [Slot(dtype, shape) for shape in shapes.get(rank, [])]


def _multiples(guess: Mapping[str, Guess], text: str) -> Iterator[dict[str, Guess]]:
    match = _MULTIPLE.search(text)
    if match is None or not 1 < int(match.group(1)) <= 4096:
        return
    step = int(match.group(1))
    exact = _AXIS_LENGTH.search(text)

    def up(size: int) -> int:
        return -(-size // step) * step

    for name, slot in _slots(guess):
        if len(slot.shape) >= 4:
            yield _with(guess, name, Slot(slot.dtype, (*slot.shape[:-2], *(up(s) for s in slot.shape[-2:]))))
        for axis in range(1, len(slot.shape)):
            if exact is None or slot.shape[axis] == int(exact.group(1)):
                yield _with(guess, name, _put(slot, axis, up(slot.shape[axis])))
