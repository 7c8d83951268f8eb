"""From a probe with nothing but a factory to a complete one, as a user could have declared it."""

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch

from onnxlint.base.probe_records import DECLARED, SYNTHESISED, TARGET, Probe, ProbeResult
from onnxlint.base.records import Assumed, ModelReport, ModelStatus, listed
from onnxlint.base.specs import format_spec
from onnxlint.probes.common import stages
from onnxlint.probes.common.nested import nested
from onnxlint.probes.examples.examples import ProbeFailure, build_model, describe, load
from onnxlint.probes.examples.synthesis import choose_sizes
from onnxlint.probes.guess.attempts import Bench, guess_of
from onnxlint.probes.guess.axes import Shaped, find_axes
from onnxlint.probes.guess.construct import Unbuilt, find_arguments
from onnxlint.probes.guess.conventions import suggestion
from onnxlint.probes.guess.input_search import SearchResult, find_inputs
from onnxlint.probes.guess.model_facts import Guesses, Plain, Slot, slots_of

TRIES = 60
AXES = 80  # tries, once the example is known, to find the dynamic dims
OTHERS = 3  # guesses that are tried in the place of one without a dynamic dim
CONVENTIONS = ("example_input_array", "dummy_inputs")
SHARE = 0.25  # of the probe's time


def survey(probe: Probe, publish: Callable[[ProbeResult], None]) -> ProbeResult:
    """Return the report of one model, with what was assumed or why it cannot be fed; nothing is exported."""
    torch.set_num_threads(1)
    stages.stage(stages.BUILD)
    report = ModelReport(probe.name, probe.path, probe.line, ModelStatus.NOT_PROBED)
    try:
        _, assumed = synthesise(probe)
    except ProbeFailure as failure:
        return ProbeResult(replace(report, reason=failure.reason, remedy=failure.remedy))
    return ProbeResult(replace(report, status=ModelStatus.PROBED, assumed=assumed))


def synthesise(probe: Probe) -> tuple[Probe, Assumed]:
    """Find constructor arguments, inputs and dynamic dims. Raises ProbeFailure with what was tried."""
    target = load(probe.factory, probe)
    guessed = inspect.isclass(target) and not probe.arguments
    arguments = _arguments(target, probe.factory) if guessed else dict(probe.arguments)
    built = replace(probe, arguments=arguments)
    model = build_model(built)
    built = replace(built, eval=model.training)
    model.eval()
    stages.stage(stages.GUESS)
    bench = Bench(model, TRIES, min(probe.timeout * SHARE, 30.0), ranges=dict(probe.ranges))
    search = _fixed_inputs(bench, probe) if probe.way else find_inputs(bench)
    if search.guess is None:
        start = Assumed(inputs=_hint(search), arguments=arguments, eval=built.eval)
        raise ProbeFailure(_reason(search), _configuration(probe.factory, start))
    tries = bench.done
    bench.tries = bench.done + AXES
    shaped = find_axes(bench, search.guess)
    guess = search.guess
    if not shaped.sizes and not probe.way:
        guess, shaped = _movable(bench, guess, shaped)
    inputs = {name: format_spec(spec) for name, spec in shaped.inputs.items()}
    values = {name: item.value for name, item in guess.items() if isinstance(item, Plain)}
    assumed = Assumed(inputs=inputs, sizes=shaped.sizes, values=values, arguments=arguments, tries=tries)
    assumed = replace(assumed, eval=built.eval, ranges=bench.ranges)
    assumed = replace(assumed, notes=_notes(assumed, shaped, probe.way))
    assumed = replace(assumed, config=_configuration(probe.factory, assumed))
    return replace(built, inputs=shaped.inputs, sizes=shaped.sizes, values=assumed.values, ranges=bench.ranges), assumed


def _movable(bench: Bench, guess: Guesses, shaped: Shaped) -> tuple[Guesses, Shaped]:
    """Another guess that forward takes, with a dim that moves: a square matrix says little. The same where none is."""
    tried = [guess]
    while len(tried) <= OTHERS and not bench.spent:
        bench.tries = bench.done + TRIES
        other = find_inputs(bench, tried).guess
        if other is None:
            break
        tried.append(other)
        bench.tries = bench.done + AXES
        moved = find_axes(bench, other)
        if moved.sizes:
            return other, moved
    return guess, shaped


def _fixed_inputs(bench: Bench, probe: Probe) -> SearchResult:
    """The inputs of a further way to call a model, which the probe of the model itself has found."""
    assert isinstance(probe.inputs, Mapping)
    guess = guess_of(probe.inputs, probe.values, choose_sizes(probe.inputs, probe.sizes))
    trial = bench.run(guess)
    return SearchResult(guess if trial.error is None else None, (guess,), describe(trial.error))


def unfed(probe: Probe) -> Probe:
    """Take what the model itself brings as its example, or what can be made up, where a declaration has no inputs."""
    if probe.source != DECLARED or probe.inputs is not None:
        return probe
    try:
        model = build_model(probe)
    except ProbeFailure:
        return replace(probe, source=SYNTHESISED)  # its constructor's arguments are looked for as well
    theirs = (convention for convention in CONVENTIONS if getattr(model, convention, None) is not None)
    return replace(probe, source=next(theirs, SYNTHESISED))


def _arguments(target: Any, factory: str) -> dict[str, Any]:
    try:
        return find_arguments(target)
    except Unbuilt as failure:
        needed = {n: {TARGET: "module:Class"} if v is None else v for n, v in failure.arguments.items()}
        start = Assumed(inputs={"x": suggestion("x")}, arguments=needed)
        raise ProbeFailure(failure.reason, _configuration(factory, start)) from failure


def _reason(search: SearchResult) -> str:
    if not search.tried:
        return search.reason
    shown = {n: _spec(g.dtype, *g.shape) if isinstance(g, Slot) else repr(g.value) for n, g in search.tried[0].items()}
    first = ", ".join(f"{name}: {value}" for name, value in shown.items())
    tries = f"{len(search.tried)} tries" if len(search.tried) > 1 else "1 try"
    return f"no inputs were found in {tries}, the first with {first}: {search.reason}"


def _spec(dtype: str, *dims: int | str) -> str:
    return f"{dtype}[{', '.join(map(str, dims))}]"


def _hint(search: SearchResult) -> dict[str, str]:
    """Specs to start from: the first guess, with a dynamic batch."""
    first = slots_of(search.tried[0]) if search.tried else {}
    return {name: _spec(slot.dtype, "batch", *slot.shape[1:]) for name, slot in first.items()} or {"x": suggestion("x")}


def _configuration(factory: str, assumed: Assumed) -> str:
    tables = {"eval": assumed.eval, "arguments": assumed.arguments, "inputs": nested(assumed.inputs)}
    tables |= {"values": nested(assumed.values), "sizes": assumed.sizes, "ranges": assumed.ranges}
    head = (*(f"# {note}" for note in assumed.notes), "[[tool.onnxlint.models]]", f"factory = {_toml(factory)}")
    return "\n".join((*head, *(f"{key} = {_toml(value)}" for key, value in tables.items() if value)))


def _notes(assumed: Assumed, shaped: Shaped, way: str = "") -> tuple[str, ...]:
    """What a user should look at, a line each."""
    runs = f"{assumed.tries} runs" if assumed.tries > 1 else "one run"
    lines = [f"assumed by onnxlint after {runs} of the model; please check:"]
    if way:
        lines.append(f"this is a further way to call it: {way}")
    if assumed.eval:
        lines.append("eval: it is built in training mode, and exported in evaluation mode")
    if assumed.arguments:
        lines.append("arguments: the smallest with which it could be built; real ones may take other paths")
    for name, axes in shaped.together.items():
        lines.append(f"{name}: {listed([f'axis {axis} of {p}' for p, axis in axes])} moved together")
    dims = ((name, axis, dim) for name, spec in shaped.inputs.items() for axis, dim in enumerate(spec.dims))
    if fixed := [f"axis {axis} of {name} ({dim.size})" for name, axis, dim in dims if dim.name is None]:
        lines.append(f"fixed, since PyTorch takes no other size or they are features: {listed(fixed)}")
    for name, (_, high) in assumed.ranges.items():
        lines.append(f"{name}: whole numbers up to {high:g}, the last row of the table they are looked up in")
    return tuple(lines)


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        keys = {k: k if k.isascii() and k.replace("_", "").isalnum() else json.dumps(k) for k in value}
        return "{ " + ", ".join(f"{keys[k]} = {_toml(v)}" for k, v in value.items()) + " }"
    return "[" + ", ".join(_toml(v) for v in value) + "]" if isinstance(value, (list, tuple)) else json.dumps(value)
