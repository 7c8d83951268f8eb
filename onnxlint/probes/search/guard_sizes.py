"""Sizes that dynamo's guards rule out: there a branch such as `if x.shape[1] < 512:` takes its other arm."""

from collections.abc import Iterator, Mapping

import sympy

from onnxlint.base.probe_records import Probe
from onnxlint.probes.common import stages
from onnxlint.probes.common.costs import RUNS
from onnxlint.probes.examples.examples import ProbeFailure
from onnxlint.probes.examples.vary import example_sizes, resized
from onnxlint.probes.exporters import Export, Guard
from onnxlint.probes.observe.eager import Eager, execute

_MOST = 4  # sizes of one model: each costs a run in eager and one of every exported file
_LARGEST = 8192


def try_other_sides(probe: Probe, eager: Eager, export: Export) -> None:
    """Run eager on sizes for which a guard does not hold; those that it accepts join `eager.runs`."""
    sizes = example_sizes(eager.example)
    tried = {tuple(sorted(run.sizes.items())) for run in (*eager.accepted, *eager.rejected)}
    left = _MOST
    for guard in export.guards:
        if not guard.frames or any(guard.holds(run.leaves) is False for run in (*eager.accepted, *eager.rejected)):
            continue
        for dim, size in _beyond(guard, eager, sizes):
            changed = {**sizes, dim: size}
            key = tuple(sorted(changed.items()))
            seconds = eager.pace * max(1.0, size / sizes[dim])
            if key in tried or left == 0 or seconds > eager.costs.left(RUNS):
                continue
            tried.add(key)
            left -= 1
            stages.stage(f"running {dim}={size} in eager PyTorch")
            try:
                variation = resized(probe, eager.model, eager.example, changed, f"{dim}={size}")
            except ProbeFailure:  # the user's own `vary` makes no inputs of this size
                continue
            run = execute(eager.untouched(), eager.example, variation, probe.root)
            if run.observation.error is None:
                eager.runs.append(run)
                break


def _beyond(guard: Guard, eager: Eager, sizes: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """The dims that a guard speaks of, each with the sizes nearest to the example's for which it does not hold."""
    places = {symbol: guard.symbols.get(str(symbol), ("", 0)) for symbol in guard.expression.free_symbols}
    dims = {symbol: eager.example.dynamic.get(leaf, {}).get(axis, "") for symbol, (leaf, axis) in places.items()}
    for dim in sorted(set(dims.values())) if all(dims.values()) else ():
        alone = guard.expression.subs({symbol: sizes[d] for symbol, d in dims.items() if d != dim})
        mine = [symbol for symbol, d in dims.items() if d == dim]
        numbers = {int(n) for n in alone.atoms(sympy.Integer)} | {sizes[dim]}
        near = {n + step for n in numbers for step in (-1, 0, 1)}
        for size in sorted((n for n in near if 0 < n <= _LARGEST), key=lambda n: (abs(n - sizes[dim]), n)):
            if str(alone.subs(dict.fromkeys(mine, size))) == "False":
                yield dim, size
