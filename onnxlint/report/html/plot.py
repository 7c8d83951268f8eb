"""The errors of an exported file over the inputs that it was run on, as the geometry of a drawing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from onnxlint.records import Cause, Evidence, Outcome, Tried
from onnxlint.report import words

_WIDTH, _LEFT, _RIGHT = 760, 86, 16
_TOP, _BOTTOM = 34, 122  # of the logarithmic scale
_AGREES = 144  # the row of those that agree
_LETTER = 6.0  # pixels of a letter, more or less
_FAILED = {"shape": "another shape", "refused": "refused"}


@dataclass(frozen=True, slots=True)
class Dot:
    """One input: `kind` is agrees, values or failed."""

    x: float
    y: float
    kind: str
    told: str


@dataclass(frozen=True, slots=True)
class Plot:
    """A drawing of 760 by `height`. `ticks` are (y, label) of decades, `groups` (x, label), `borders` between them."""

    height: int
    left: int
    right: int
    top: float | None
    agrees: float
    dots: tuple[Dot, ...]
    ticks: tuple[tuple[float, str], ...]
    groups: tuple[tuple[float, str], ...]
    borders: tuple[float, ...]
    told: str


def plot(tried: Sequence[Tried], model: str, exporter: str) -> Plot | None:
    """Plot the largest error of each input; None for fewer than two of them, or where all agree."""
    wrong = [one for one in tried if one.result != "agrees"]
    if len(tried) < 2 or not wrong:
        return None
    sizes = [one.max_abs for one in wrong if _drawable(one)]
    low, high = _decades([size for size in sizes if size is not None])
    step = (_WIDTH - _LEFT - _RIGHT) / len(tried)
    xs = [_LEFT + step * (k + 0.5) for k in range(len(tried))]
    failed = any(not _drawable(one) for one in wrong)

    def height(one: Tried) -> tuple[float, str]:
        if one.result == "agrees":
            return _AGREES, "agrees"
        if not _drawable(one) or one.max_abs is None:
            return _TOP - 20, "failed"
        return _BOTTOM - (_BOTTOM - _TOP) * (math.log10(one.max_abs) - low) / (high - low), "values"

    dots = []
    for x, one in zip(xs, tried, strict=True):
        y, kind = height(one)
        dots.append(Dot(round(x, 1), round(y, 1), kind, _told(one)))
    every = max(1, (high - low) // 3)
    ticks = (
        tuple(
            (round(_BOTTOM - (_BOTTOM - _TOP) * (decade - low) / (high - low), 1), f"{10.0**decade:g}")
            for decade in range(low, high + 1, every)
        )
        if sizes
        else ()
    )
    groups, borders, at = [], [], 0
    for name, members in groupby(tried, key=_group):
        count = len(list(members))
        if count * step > len(name) * _LETTER:
            groups.append((round(_LEFT + step * (at + count / 2), 1), name))
        at += count
        borders.append(round(_LEFT + step * at, 1))
    summary = (
        f"{model} in {exporter}: of {words.count(len(tried), 'input')}, {len(tried) - len(wrong)} agree with PyTorch"
    )
    worst = "; ".join(_told(one) for one in wrong[:4])
    return Plot(
        178,
        _LEFT,
        _WIDTH - _RIGHT,
        _TOP - 20 if failed else None,
        _AGREES,
        tuple(dots),
        ticks,
        tuple(groups),
        tuple(borders[:-1]),
        f"{summary}. {worst}",
    )


def _drawable(one: Tried) -> bool:
    """Whether an error has a place on a logarithmic scale."""
    return one.result == "values" and one.max_abs is not None and math.isfinite(one.max_abs) and one.max_abs > 0


def _decades(sizes: Sequence[float]) -> tuple[int, int]:
    if not sizes:
        return 0, 1
    low, high = math.floor(math.log10(min(sizes))), math.ceil(math.log10(max(sizes)))
    return (low, high) if high > low else (low - 1, high + 1)


def _told(one: Tried) -> str:
    seen = Evidence("", "", Cause.MISMATCH, Outcome.OK, (), "", one.variation, runtime=one.runtime)
    label = words.variation(seen)
    if one.result == "agrees":
        return f"{label}: agrees"
    if one.result in _FAILED:
        return f"{label}: {_FAILED[one.result]}"
    size = words.number(one.max_abs) if one.max_abs is not None else "unknown"
    allowed = f", {words.number(one.allowed)} would pass" if one.allowed else ""
    output = f" in output {one.output}" if one.output else ""
    return f"{label}: max abs error {size}{output}{allowed}"


def _group(one: Tried) -> str:
    """What kind of input it is."""
    label = one.variation
    if label.startswith("example"):
        return "example"
    starts = {"values[": "other values", "search[": "searched", "layout[": "layouts"}
    return next((name for start, name in starts.items() if label.startswith(start)), "other sizes")
