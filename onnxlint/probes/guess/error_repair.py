"""From the error of a try to better guesses: what the refusing layer takes, and what the message asks for."""

import linecache
import math
import re
import tomllib
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from torch import nn

from onnxlint.probes.common.nested import word
from onnxlint.probes.guess import conventions as say
from onnxlint.probes.guess.attempts import Trial
from onnxlint.probes.guess.model_facts import Facts, Guess, Guesses, Plain, Slot, floats, of_layer, slots_of

Options = Mapping[str, Callable[[], Sequence[Guess]]]
_MESSAGES = tomllib.loads(Path(__file__).with_name("error_messages.toml").read_text(encoding="utf-8"))
_BROADCAST = re.compile(r"dimension of length \d+ at (-\d+)!.*?Size\(\[([\d, ]*)\]\).*?broadcastable to \[([\d, ]*)\]")
_EINOPS = re.compile(r"pattern \"(.+?)->.*?Input tensor shape: torch\.Size\(\[([\d, ]*)\]\)", re.DOTALL)
_MULTIPLE = re.compile(r"(?:divisible by|multiple of|divide axis of length \d+ in chunks of)\D*(\d+)", re.IGNORECASE)
_AXIS_LENGTH = re.compile(r"divide axis of length (\d+) in chunks of (\d+)")
_WHAT = ("as_integer", "as_float", "as_bool", "as_pair", "no_tensor")
_ASKED = {what: re.compile("|".join(_MESSAGES[what]), re.IGNORECASE) for what in _WHAT}


def repairs(guess: Guesses, trial: Trial, facts: Facts, optional: Options) -> list[dict[str, Guess]]:
    """Better guesses for what a try raised, likeliest first. `optional` has what other parameters may be."""
    assert trial.error is not None
    text = f"{trial.error}"
    named = _named(guess, trial.error, text, optional)
    typed, sized = _types(guess, trial, trial.error, text), _sizes(guess, text)
    further = (*_ranks(guess, text, facts), *_multiples(guess, text))
    guesses = [*named, *_at_layer(guess, trial, facts), *typed, *sized, *further]
    if "out of range" in text or isinstance(trial.error, IndexError):
        tables = ((n, s) for n, s in slots_of(guess).items() if len(s.shape) == 2)
        guesses += [{**guess, n: s.resized(1, max(s.shape[1] // 2, 1))} for n, s in tables]
    sane = (g for g in guesses if all(0 < math.prod(slot.shape) < 20_000_000 for slot in slots_of(g).values()))
    return [g for g in sane if g != dict(guess)]


def at_fault(error: BaseException, names: Sequence[str]) -> list[str]:
    """The names that stand on the lines which raised, innermost first."""
    places = ((frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__))
    lines = [linecache.getline(*place) for place in places if "site-packages/torch/" not in place[0]]
    matches = [n for line in lines[:-4:-1] for n in names if re.search(rf"\b{re.escape(word(n))}\b", line)]
    return list(dict.fromkeys(matches))


def _named(guess: Guesses, error: BaseException, text: str, optional: Options) -> Iterator[dict[str, Guess]]:
    """The message, or the line that failed on None, names a parameter that was not passed."""
    twins = [f"decoder_{n}" for n in guess if f"decoder_{n}" in optional and re.search(rf"\b{n}\b", text)]
    if twins:  # the decoder says so with the names of the encoder
        yield {**guess, twins[0]: optional[twins[0]]()[0]}
    missing = [n for n in optional if n not in guess and re.search(rf"\b{re.escape(n)}\b", text)]
    if not missing and "NoneType" in text:
        missing = at_fault(error, [n for n in optional if n not in guess])
    if len(missing) > 1:
        yield {**guess, missing[0]: optional[missing[0]]()[0]}
    if missing:
        yield {**guess, **{n: optional[n]()[0] for n in missing}}
    unexpected = re.search(r"unexpected keyword argument '(\w+)'", text)
    if unexpected and unexpected[1] in guess:
        yield {n: s for n, s in guess.items() if n != unexpected[1]}


def _at_layer(guess: Guesses, trial: Trial, facts: Facts) -> Iterator[dict[str, Guess]]:
    """What the layer that raised takes: in place of an input that it got unchanged, else by its number of features."""
    if trial.layer is None:
        return
    before = guess.get(trial.direct or "")
    if trial.direct is not None and isinstance(before, Slot):
        options = of_layer(trial.layer, facts.sides, facts.lengths)
        options.sort(key=lambda s: len(s.shape) != len(before.shape))
        yield from ({**guess, trial.direct: _merged(before, slot)} for slot in options[:4])
        return
    match trial.layer:
        case nn.modules.conv._ConvNd(in_channels=size) | nn.modules.batchnorm._BatchNorm(num_features=size):
            actual_sizes = trial.shape[1:2]
        case nn.Linear(in_features=size) | nn.RNNBase(input_size=size) | nn.MultiheadAttention(embed_dim=size):
            actual_sizes = trial.shape[-1:]
        case nn.LayerNorm(normalized_shape=(*_, size)):
            actual_sizes = trial.shape[-1:]
        case _:
            return
    for actual in actual_sizes:
        yield from _resized(guess, actual, size)


def _merged(before: Slot, slot: Slot) -> Slot:
    """Keep the sizes that were guessed already for the batch and for lengths, where the ranks agree."""
    if len(before.shape) != len(slot.shape) or before.dtype != slot.dtype:
        return slot
    if len(slot.shape) == 3:
        return Slot(slot.dtype, (*before.shape[:2], slot.shape[2])) if slot.shape[1] in say.LENGTHS else slot
    return Slot(slot.dtype, (before.shape[0], *slot.shape[1:]))


def _resized(guess: Guesses, actual: int, wanted: int) -> Iterator[dict[str, Guess]]:
    """Guesses with the wanted size in place of the actual one, or of a factor of it."""
    if actual < 1 or wanted < 1 or actual == wanted:
        return
    for way in (_resized_images, _resized_axes, _resized_factors):
        for name, slot in slots_of(guess).items():
            yield from ({**guess, name: other} for other in way(slot, actual, wanted))


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


def _resized_axes(slot: Slot, actual: int, wanted: int) -> Iterator[Slot]:
    yield from (slot.resized(a, wanted) for a in reversed(range(len(slot.shape))) if slot.shape[a] == actual)


def _resized_factors(slot: Slot, actual: int, wanted: int) -> Iterator[Slot]:
    """An axis that is a factor of the size, as where two are flattened into one."""
    for axis, size in list(enumerate(slot.shape))[1:]:
        if 1 < size < actual and actual % size == 0 and wanted % (actual // size) == 0:
            yield slot.resized(axis, wanted // (actual // size))
    if len(slot.shape) == 3 and slot.shape[-1] * wanted % actual == 0:
        yield slot.resized(-1, slot.shape[-1] * wanted // actual)


def _numbers(patterns: Sequence[str], text: str) -> list[list[int]]:
    """The numbers in a message, for each of the patterns that match."""
    matches = [re.search(pattern, text, re.IGNORECASE | re.DOTALL) for pattern in patterns]
    return [[int(number) for number in match.groups()] for match in matches if match]


def _sizes(guess: Guesses, text: str) -> Iterator[dict[str, Guess]]:
    if "values to unpack" in text:
        return  # that counts axes, and says nothing of their sizes
    pairs = [(actual, wanted) for wanted, actual in _numbers(_MESSAGES["wanted_and_actual"], text)]
    pairs += [(actual, wanted) for actual, wanted in _numbers(_MESSAGES["actual_and_wanted"], text)] + _broadcasts(text)
    for actual, wanted in (*dict.fromkeys(pairs), *(pair[::-1] for pair in pairs[:1])):
        yield from _resized(guess, actual, wanted)
    if "Kernel size can't be greater than actual input size" in text or "Output size is too small" in text:
        for name, slot in slots_of(guess).items():
            if len(slot.shape) >= 3:
                yield {**guess, name: Slot(slot.dtype, (*slot.shape[:2], *(4 * s for s in slot.shape[2:])))}


def _broadcasts(text: str) -> list[tuple[int, int]]:
    """What fake tensors say of shapes that do not fit each other."""
    match = _BROADCAST.search(text)
    if match is None:
        return []
    axis = int(match[1])
    one, other = ([int(n) for n in group.split(",") if n.strip()] for group in match.groups()[1:])
    return [(other[axis], one[axis]), (one[axis], other[axis])] if len(one) >= -axis <= len(other) else []


def _types(guess: Guesses, trial: Trial, error: BaseException, text: str) -> Iterator[dict[str, Guess]]:
    slots = slots_of(guess)
    fault = trial.direct or next(iter(at_fault(error, list(slots))), None)
    order = sorted(slots, key=lambda name: name != fault)
    for what, dtype in (("as_integer", "int64"), ("as_float", "float32"), ("as_bool", "bool")):
        for name in order if _ASKED[what].search(text) else ():
            now, shape = slots[name]
            shapes = (shape[:2], shape) if (now, dtype) == ("float32", "int64") else (shape,)
            if now != dtype:
                yield from ({**guess, name: Slot(dtype, other)} for other in dict.fromkeys(shapes))
    if _ASKED["no_tensor"].search(text):
        yield from ({**guess, name: Plain(say.LENGTH)} for name in order[::-1])
    if _ASKED["as_pair"].search(text):
        for name, item in guess.items():
            if isinstance(item, Plain) and isinstance(item.value, int):
                yield {**guess, name: Plain([item.value, item.value])}


def _ranks(guess: Guesses, text: str, facts: Facts) -> Iterator[dict[str, Guess]]:
    ranks = [rank for (rank,) in _numbers(_MESSAGES["ranks"], text)]
    pattern = _EINOPS.search(text)
    if pattern is not None and "..." not in pattern[1]:
        ranks.insert(0, len(re.findall(r"\([^)]*\)|\S+", pattern[1])))
    for rank in dict.fromkeys(ranks):
        for name, slot in slots_of(guess).items():
            if len(slot.shape) != rank:
                yield from ({**guess, name: other} for other in of_rank(rank, slot.dtype, facts))


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
    return floats(*shapes.get(rank, ()))


def _multiples(guess: Guesses, text: str) -> Iterator[dict[str, Guess]]:
    match = _MULTIPLE.search(text)
    step = int(match[1]) if match else 0
    if not 1 < step <= 4096:
        return
    exact = _AXIS_LENGTH.search(text)
    for name, slot in slots_of(guess).items():
        up = [-(-size // step) * step for size in slot.shape]
        if len(up) >= 4:
            yield {**guess, name: Slot(slot.dtype, (*slot.shape[:-2], *up[-2:]))}
        for axis in range(1, len(up)):
            if exact is None or slot.shape[axis] == int(exact[1]):
                yield {**guess, name: slot.resized(axis, up[axis])}
