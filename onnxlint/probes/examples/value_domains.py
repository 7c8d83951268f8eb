"""What values an example tensor stands for (tokens, a mask, an image in [0, 1], positions …), and samples of them."""

import math
from collections.abc import Callable
from typing import Literal

import torch

# `huge` is extreme, but finite in half precision too; `constant` is one value but 0, everywhere; `edges` are the first
# and the last value of the range, by turns. Masks keep everything (`full`), nothing, or another number in every row.
Mode = (
    Literal["normal", "scaled", "negative", "positive", "small", "zeros", "equal"]
    | Literal["huge", "constant", "edges", "full", "empty", "ragged"]
)
Sampler = Callable[[tuple[int, ...], Mode], torch.Tensor]

_BRIGHT = 255.0  # what an image in [0, 1] becomes when someone forgets to divide
_SCALE = 10.0
_LARGE = 3.0  # a scaled sample spreads at least this far
_TINY = 0.01
_HUGE = 1e4
_CONSTANT = 0.7
_NEAR = 0.1  # of a declared range: how near to its end the values are that are to be large or negative


def sampler(example: torch.Tensor, limit: int, bounds: tuple[float, float] | None = None) -> Sampler:
    """A function (shape, mode) → tensor of the example's dtype, with values of the kind that the example has.

    `limit` is the upper end (exclusive) of integers, for an example whose values are all equal and so do not tell it.
    `bounds` are the least and the greatest value, where they are declared: nothing is sampled outside.
    """
    example = example.detach()
    if bounds is not None and not example.is_complex() and example.dtype != torch.bool:
        return _bounded(example, *bounds)
    if example.numel() == 0:
        return lambda shape, mode: torch.zeros(shape, dtype=example.dtype)
    if example.is_complex():
        return lambda shape, mode: torch.complex(*(_real(example.real, shape, mode) for _ in "ab")).to(example.dtype)
    if example.dtype == torch.bool or _is_binary(example, limit):
        return _mask_sampler(example)
    if example.is_floating_point():
        return lambda shape, mode: _real(example, shape, mode).to(example.dtype)
    return _integer_sampler(example, limit)


def is_mask(example: torch.Tensor, limit: int) -> bool:
    """Whether a tensor is a mask: booleans, or numbers that are as good as booleans."""
    return example.numel() > 0 and (example.dtype == torch.bool or _is_binary(example.detach(), limit))


def _bounded(example: torch.Tensor, low: float, high: float) -> Sampler:
    """Samples of a declared range: both of its ends, both of its halves, and what lies next to 0."""

    def sample(shape: tuple[int, ...], mode: Mode) -> torch.Tensor:
        if not example.is_floating_point():
            return _integers(math.ceil(low), math.floor(high), shape, mode).to(example.dtype)
        rest, drawn = high - low, torch.rand(shape, dtype=torch.float64)
        zero = min(max(0.0, low), high)
        match mode:
            case "scaled":
                made = _with(high - _NEAR * rest * drawn, high)
            case "negative":
                made = _with(low + _NEAR * rest * drawn, low)
            case "zeros" | "huge" | "constant":
                level = {"zeros": zero, "huge": high}.get(mode, low + _CONSTANT * rest)
                made = torch.full(shape, level, dtype=torch.float64)
            case "small":
                made = zero + _TINY * rest * (drawn - 0.5)
            case "edges":
                made = torch.where(drawn < 0.5, low, high).double()
            case _:
                made = _same_rows(low + rest * drawn) if mode == "equal" else low + rest * drawn
        return made.clamp(low, high).to(example.dtype).clamp(low, high)  # the nearest of the dtype may lie outside

    return sample


def _is_binary(example: torch.Tensor, limit: int) -> bool:
    """A mask in numbers. Zeros and ones make one; ones alone are as often tokens or pixels, unless the limit says."""
    if example.numel() <= 2 or not example.dim() or example.is_complex():
        return False
    values = set(example.unique().tolist())
    return values == {0, 1} or (values == {1} and limit == 2)


def _mask_sampler(example: torch.Tensor) -> Sampler:
    mask = example.bool()
    square = mask.dim() >= 2 and mask.shape[-1] == mask.shape[-2] > 1
    if square and bool((mask == torch.ones_like(mask).tril()).all()):
        return lambda shape, mode: torch.ones(shape, dtype=torch.bool).tril().to(example.dtype)
    if mask.dim() == 0:
        return lambda shape, mode: (mask ^ (mode in ("negative", "small", "zeros", "empty"))).to(example.dtype)
    # Padding comes in two polarities (True keeps, True leaves out) and on two sides; keep to the example's.
    inverted = _is_inverted(mask)
    filled = ~mask if inverted else mask
    left = not _is_run(filled) and _is_run(filled.flip(-1))
    padding = left or _is_run(filled)

    def sample(shape: tuple[int, ...], mode: Mode) -> torch.Tensor:
        result = _padding(shape, mode) if padding else _scattered(shape, mode)
        result = result.flip(-1) if left else result
        return (~result if inverted else result).to(example.dtype)

    return sample


def _is_inverted(mask: torch.Tensor) -> bool:
    """Whether True leaves a position out. No row is left out as a whole, so an empty or a full row tells."""
    empty, full = bool((~mask).all(-1).any()), bool(mask.all(-1).any())
    return empty if empty != full else _is_run(~mask) and not _is_run(mask)


def _is_run(mask: torch.Tensor) -> bool:
    """Whether every row is some True followed by only False."""
    return bool(mask[..., 0].all()) and bool((mask[..., 1:] <= mask[..., :-1]).all())


def _padding(shape: tuple[int, ...], mode: Mode) -> torch.Tensor:
    length = shape[-1]
    rows = (*shape[:-1], 1)
    ends = {"scaled": length, "positive": length, "full": length, "negative": 1, "zeros": 0, "empty": 0}
    if mode in ends:
        filled = torch.full(rows, ends[mode])
    elif mode == "ragged":
        filled = (1 + torch.arange(math.prod(shape[:-1])) % max(length, 1)).reshape(rows)
    else:
        filled = torch.randint(1, length + 1, rows)
    return torch.arange(length) < filled


_SHARES = dict.fromkeys(("scaled", "equal", "full"), 1.0) | dict.fromkeys(("zeros", "empty"), 0.0)
_SHARES |= {"positive": 0.9, "negative": 0.1, "small": 0.25}


def _scattered(shape: tuple[int, ...], mode: Mode) -> torch.Tensor:
    share = _SHARES.get(mode, 0.5)
    mask = torch.rand(shape) < share
    if share and mask.numel() and not bool(mask.any()):
        mask.view(-1)[torch.randint(mask.numel(), ())] = True
    return mask


def _integer_sampler(example: torch.Tensor, limit: int) -> Sampler:
    wide = example.to(torch.int64)
    low, high = int(wide.min()), int(wide.max())
    if wide.dim() > 0 and wide.shape[-1] > 1 and bool((wide.diff() == 1).all()):  # positions
        return lambda shape, mode: (torch.arange(shape[-1]) + low).expand(shape).to(example.dtype).contiguous()
    if low == high and example.numel() > 1 and 0 <= low < limit:
        low, high = 0, limit - 1
    elif low == high:
        # One value says nothing about its range: stay near it, and do not go below zero.
        low, high = max(0, low - 1) if low >= 0 else low - 1, high + 2
    falling = _sorted_as(wide)

    def sample(shape: tuple[int, ...], mode: Mode) -> torch.Tensor:
        values = _integers(low, high, shape, mode)
        return (values if falling is None else values.sort(descending=falling).values).to(example.dtype)

    return sample


def _sorted_as(wide: torch.Tensor, first: bool = False) -> bool | None:
    """Whether a list of numbers falls, rather than rises; None where it does neither, and `first` where both."""
    if wide.dim() != 1 or wide.numel() < 2:
        return None
    return next((down for down in (first, not first) if torch.equal(wide, wide.sort(descending=down).values)), None)


def length_sampler(example: torch.Tensor, longest: int) -> Sampler:
    """Samples of the lengths of rows: mostly with a row that is full, and sorted where the example is."""
    falling = _sorted_as(example, first=True)

    def sample(shape: tuple[int, ...], mode: Mode) -> torch.Tensor:
        ends = {"scaled": (longest // 2, longest), "negative": (1, longest // 2), "zeros": (1, 1)}
        low, high = ends.get(mode, (1, longest))
        drawn = torch.randint(max(low, 1), max(high, 1) + 1, shape)
        if mode in ("equal", "constant"):
            drawn = _same_rows(drawn)
        elif mode == "edges":  # in no order: a model that wants one refuses it
            return torch.where(torch.arange(*shape) % 2 == 0, 1, longest).to(example.dtype)
        elif mode not in ("negative", "zeros", "small"):
            drawn[:1] = longest
        return (drawn if falling is None else drawn.sort(descending=falling).values).to(example.dtype)

    return sample


def _integers(low: int, high: int, shape: tuple[int, ...], mode: Mode) -> torch.Tensor:
    middle = (low + high) // 2
    if mode == "zeros":
        return torch.full(shape, low)
    if mode == "edges":
        values = torch.where(torch.rand(shape) < 0.5, low, high)
        return _with(values.flip(0), low).flip(0) if values.dim() else values
    if mode in ("equal", "constant"):
        return torch.full(shape, int(torch.randint(low, high + 1, ())))
    if mode in ("scaled", "huge"):
        return _with(torch.randint(middle, high + 1, shape), high)
    if mode in ("negative", "small"):
        return _with(torch.randint(low, middle + 1, shape), low if mode == "negative" else middle)
    return torch.randint(low, high + 1, shape)


def _with(values: torch.Tensor, wanted: float) -> torch.Tensor:
    """The same tensor with `wanted` as its first element, so that the edge of a range is always tried."""
    values.view(-1)[:1] = wanted
    return values


def _same_rows(values: torch.Tensor) -> torch.Tensor:
    """Equal along the first axis only: everywhere equal would tie every sort and every maximum."""
    return values[:1].expand(values.shape).clone() if values.dim() else values


def _real(example: torch.Tensor, shape: tuple[int, ...], mode: Mode) -> torch.Tensor:
    if mode == "zeros":
        return torch.zeros(shape)
    finite = example[example.isfinite()].double()
    if finite.numel() == 0:
        return torch.randn(shape)
    if finite.numel() < example.numel() or float(finite.abs().max()) > 1e9:  # an additive mask, of 0 and -inf
        return example.reshape(-1)[torch.randint(example.numel(), shape)].float()
    low, high, spread = float(finite.min()), float(finite.max()), float(finite.std(correction=0))
    base = _base(finite, example, shape, low, high, spread)
    match mode:
        case "equal":
            return _same_rows(base)
        case "scaled":
            return base * (_BRIGHT if low >= 0 and high <= 1 else max(_SCALE, _LARGE / max(spread, 1e-6)))
        case "small":
            return base * _TINY
        case "huge":
            return base * (_HUGE / max(abs(low), abs(high), _TINY))
        case "constant":
            return torch.full(shape, _CONSTANT * (high if high > 0 else low or 1.0))
        case "negative" | "positive":
            return -base.abs() if mode == "negative" else base.abs()
    return base


def _base(
    finite: torch.Tensor, example: torch.Tensor, shape: tuple[int, ...], low: float, high: float, spread: float
) -> torch.Tensor:
    """A sample from the example's own domain."""
    if spread == 0:
        return torch.randn(shape) if low == 0 else low * (0.5 + torch.rand(shape))
    if bool((finite == finite.round()).all()):
        return torch.randint(int(low), int(high) + 1, shape).float()
    if low >= 0 and example.dim() > 0 and bool(((example.sum(-1) - 1).abs() < 1e-3).all()):
        return torch.randn(shape).softmax(-1)
    return low + (high - low) * torch.rand(shape) if low >= 0 else torch.randn(shape) * spread + float(finite.mean())
