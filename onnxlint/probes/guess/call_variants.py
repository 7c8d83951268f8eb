"""Further ways to call a model: with an optional tensor that was left out, without one that was passed."""

import inspect
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from onnxlint.base.probe_records import SYNTHESISED, DimSpec, Probe, TensorSpec, Way
from onnxlint.probes.common.containers import fields_of, parameters
from onnxlint.probes.common.nested import root
from onnxlint.probes.common.numerics import values
from onnxlint.probes.examples.synthesis import choose_sizes
from onnxlint.probes.guess import conventions as say
from onnxlint.probes.guess.attempts import Bench, Trial, guess_of
from onnxlint.probes.guess.axes import resized
from onnxlint.probes.guess.error_repair import repairs
from onnxlint.probes.guess.input_search import asked, options
from onnxlint.probes.guess.model_facts import Facts, Guess, Guesses, Plain, Slot, read_facts, slots_of
from onnxlint.probes.observe.eager import same

MOST = 2
TRIES = 16
_OPTIONS = 4  # tensors that are tried for one parameter


def find_ways(probe: Probe, model: nn.Module, seconds: float) -> tuple[Way, ...]:
    """Try every optional tensor the other way round; return the first ways that run and change what comes out.

    `probe` declares the inputs by specs; `model` is in evaluation mode, as built, and draws nothing at random.
    """
    takes = parameters(model)
    if takes is None or not isinstance(probe.inputs, Mapping) or probe.vary is not None:  # `vary` has inputs of its own
        return ()
    sizes = choose_sizes(probe.inputs, probe.sizes)
    base = guess_of(probe.inputs, probe.values, sizes)
    bench = Bench(model, TRIES, seconds, ranges=dict(probe.ranges))
    first = bench.run(base)
    if first.error is not None:
        return ()
    outputs = values(first.output)
    passed = {root(label) for label in base}
    optional = [p for p in takes if p.default is None and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    ways: list[Way] = []
    facts = read_facts(model)
    # Masks first: what is padded is what is run.
    for p in sorted(optional, key=lambda p: not say.named_like(p.name.lower(), "mask")):
        if len(ways) == MOST or bench.spent:
            break
        if p.name in passed:
            rest = {label: guess for label, guess in base.items() if root(label) != p.name}
            if slots_of(rest) and _changed(bench.run(rest), outputs):
                ways.append(_way(f"without {p.name}", probe, rest, sizes, bench))
        elif _may_be_tensor(p):
            more, trial = _with_parameter(p, bench, base, facts)
            ours = probe.source == SYNTHESISED
            if trial is not None and _changed(trial, outputs) and (ours or _moves(bench, more, probe, sizes)):
                ways.append(_way(f"with {p.name}", probe, more, sizes, bench))
    return tuple(ways)


def _may_be_tensor(p: inspect.Parameter) -> bool:
    """Whether a parameter may hold tensors and is no answer to compare with: a loss is exported by nobody."""
    note = p.annotation
    typed = note is p.empty or "Tensor" in str(note) or any("Tensor" in str(kind) for kind in fields_of(note).values())
    return typed and not say.named_like(p.name.lower(), "answer")


def _with_parameter(p: inspect.Parameter, bench: Bench, base: Guesses, facts: Facts) -> tuple[Guesses, Trial | None]:
    """The first guess with this parameter that forward takes, and its run; None where it takes none."""
    main = next(iter(slots_of(base).values()), None)
    leaves = asked(bench.model, [p])
    choices = [_of_batch(options(leaf, facts, main)[:_OPTIONS], main) for leaf in leaves]
    for number in range(_OPTIONS) if all(choices) else ():
        new = {leaf.label: choice[min(number, len(choice) - 1)] for leaf, choice in zip(leaves, choices, strict=True)}
        if bench.spent or not slots_of(new):
            break
        guess = {**base, **new}
        trial = bench.run(guess)
        if trial.error is None:
            return guess, trial
        similar = [g for g in repairs(guess, trial, facts, {}) if all(g.get(label) == base[label] for label in base)]
        for better in similar[:2]:
            trial = bench.run(better)
            if trial.error is None:
                return better, trial
    return base, None


def _of_batch(guesses: list[Guess], main: Slot | None) -> list[Guess]:
    """Guesses for the example's batch, which need not be the one that is usual."""
    if main is None or not main.shape:
        return guesses
    rows, usual = main.shape[0], (say.BATCH,)
    return [g.resized(0, rows) if isinstance(g, Slot) and g.shape[:1] == usual else g for g in guesses]


def _changed(trial: Trial, outputs: list[torch.Tensor]) -> bool:
    """Whether a run went well, and not as the one with these outputs."""
    if trial.error is not None:
        return False
    other = values(trial.output)
    return [a.dtype for a in outputs] != [b.dtype for b in other] or not same(outputs, other, 1e-4, 1e-6)


def _moves(bench: Bench, guess: Guesses, probe: Probe, sizes: Mapping[str, int]) -> bool:
    """Whether forward takes what was made up at other sizes of the declared dims too: they are not ours to fix."""
    specs = _specs(guess, probe, sizes).items()
    dims = {(label, a): dim for label, spec in specs for a, dim in enumerate(spec.dims) if dim.name is not None}
    listed = {axis: [s for s in probe.sizes.get(dim.name or "", ()) if s > 1] for axis, dim in dims.items()}
    other = {axis: listed[axis][0] if listed[axis] else (dim.size or 1) + 1 for axis, dim in dims.items()}
    doubled = {axis: (dim.size or 1) * 2 for axis, dim in dims.items()}
    return not dims or any(bench.run(resized(guess, axes)).error is None for axes in (other, doubled))


def _way(label: str, probe: Probe, guess: Guesses, sizes: Mapping[str, int], bench: Bench) -> Way:
    fixed = {name: g.value for name, g in guess.items() if isinstance(g, Plain)}
    ranges = {name: bounds for name, bounds in bench.ranges.items() if name in guess or name in probe.ranges}
    return Way(label, _specs(guess, probe, sizes), fixed, probe.sizes, ranges, probe.arguments, probe.eval)


def _specs(guess: Guesses, probe: Probe, sizes: Mapping[str, int]) -> dict[str, TensorSpec]:
    """The tensors as specs: declared ones as they are, a new one with the dims that have its sizes."""
    declared: Any = probe.inputs
    names = {size: name for name, size in sizes.items()}
    specs = {}
    for label, slot in slots_of(guess).items():
        spec = declared.get(label) or TensorSpec(slot.dtype, tuple(DimSpec(names.get(n), n) for n in slot.shape))
        dims = (DimSpec(dim.name, sizes[dim.name]) if dim.name else dim for dim in spec.dims)
        specs[label] = TensorSpec(slot.dtype, tuple(dims), spec.values)
    return specs
