"""The errors of an exported file over the inputs that it was run on, as the geometry of a drawing."""

import math
from collections.abc import Collection, Sequence
from itertools import groupby
from types import SimpleNamespace as View

from onnxlint.base.records import Cause, Evidence, Outcome, Tried
from onnxlint.report.common import words

_WIDTH, _LEFT, _RIGHT = 760, 86, 16
_FAILS = 14  # the row of those that have no error with a place on the scale
_TOP, _BOTTOM = 34, 122  # of the logarithmic scale
_AGREES = 144  # the row of those that agree to the last bit, or by how much nobody knows
_LETTER = 6.0  # pixels of a letter, more or less
_FAILED = {"shape": "another shape", "refused": "refused"}


def plot(tried: Sequence[Tried], model: str, exporter: str, seen: Collection[str] = ()) -> View | None:
    """Plot the largest error of each input; None for fewer than two of them, or where all agree.

    `seen` are the inputs that show the finding. In what is returned, `ticks` are (y, label) of decades, `groups`
    (x, label) with `borders` between them; `passes` of a dot is the y up to which the error would pass.
    """
    wrong = [one for one in tried if one.result != "agrees"]
    if len(tried) < 2 or not wrong:
        return None
    sizes = [size for one in tried for size in _sizes(one)]
    low, high = _decades(sizes)
    step = (_WIDTH - _LEFT - _RIGHT) / len(tried)

    def height(decade: float) -> float:
        return round(_BOTTOM - (_BOTTOM - _TOP) * (decade - low) / (high - low), 1)

    dots = []
    for k, one in enumerate(tried):
        marks = [height(math.log10(size)) for size in _sizes(one)]
        agrees = one.result == "agrees"
        y = marks[0] if marks else _AGREES if agrees else _FAILS
        kind = "agrees" if agrees else "values" if marks else "failed"
        passes = marks[1] if len(marks) > 1 else None
        here = not agrees and one.variation in seen
        x = round(_LEFT + step * (k + 0.5), 1)
        dots.append(View(x=x, y=y, kind=kind, text=_described(one), passes=passes, here=here))
    decades = range(low, high + 1, max(1, (high - low) // 3))
    ticks = [(height(decade), f"{10.0**decade:g}" if -5 < decade < 6 else f"1e{decade}") for decade in decades]
    groups, borders, at = [], [], 0
    for name, members in groupby(tried, key=_group):
        count = len(list(members))
        if count * step > len(name) * _LETTER:
            groups.append((round(_LEFT + step * (at + count / 2), 1), name))
        at += count
        borders.append(round(_LEFT + step * at, 1))
    agreeing = f"of {words.count(len(tried), 'input')}, {len(tried) - len(wrong)} agree with PyTorch"
    worst = "; ".join(_described(one) for one in wrong[:4])
    measured = all(one.max_abs is not None for one in tried if one.result == "agrees")
    return View(
        height=178,
        left=_LEFT,
        right=_WIDTH - _RIGHT,
        top=_FAILS if any(dot.kind == "failed" for dot in dots) else None,
        agrees=_AGREES,
        base="0" if measured else "agrees",
        dots=dots,
        ticks=ticks if sizes else (),
        groups=groups,
        borders=borders[:-1],
        text=f"{model} in {exporter}: {agreeing}. {worst}",
    )


def _sizes(one: Tried) -> list[float]:
    """What has a place on a logarithmic scale: the error, and after it what would have passed."""
    if one.result not in ("agrees", "values") or not _drawable(one.max_abs):
        return []
    return [size for size in (one.max_abs, one.allowed) if size is not None and _drawable(size)]


def _drawable(size: float | None) -> bool:
    return size is not None and math.isfinite(size) and size > 0


def _decades(sizes: Sequence[float]) -> tuple[int, int]:
    if not sizes:
        return 0, 1
    low, high = math.floor(math.log10(min(sizes))), math.ceil(math.log10(max(sizes)))
    return (low, high) if high > low else (low - 1, high + 1)


def _described(one: Tried) -> str:
    label = words.variation(Evidence("", "", Cause.MISMATCH, Outcome.OK, (), "", one.variation, runtime=one.runtime))
    if one.result == "agrees":
        return f"{label}: agrees" + (f", max abs error {words.number(one.max_abs)}" if one.max_abs is not None else "")
    if one.result in _FAILED:
        return f"{label}: {_FAILED[one.result]}"
    size = words.number(one.max_abs) if one.max_abs is not None else "unknown"
    allowed = f", {words.number(one.allowed)} would pass" if one.allowed else ""
    output = f" in output {one.output}" if one.output else ""
    return f"{label}: max abs error {size}{output}{allowed}"


def _group(one: Tried) -> str:
    label = one.variation
    if label.startswith("example"):
        return "example"
    starts = {"values[": "other values", "search[": "searched", "layout[": "layouts"}
    return next((name for start, name in starts.items() if label.startswith(start)), "other sizes")
