"""The first stage of a probe: the model in eager PyTorch, observed on the example and on every variation of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import torch

from onnxlint.base.probe_records import Probe
from onnxlint.probes.common import stages
from onnxlint.probes.common.costs import Costs, timed
from onnxlint.probes.common.model_copies import copied
from onnxlint.probes.common.numerics import spread, tensors
from onnxlint.probes.examples.examples import build_model, example_inputs
from onnxlint.probes.examples.vary import Variation, example_sizes, telling, variations
from onnxlint.probes.exporters import Conversion, Example, torchscript
from onnxlint.probes.observe import model_state
from onnxlint.probes.observe.observe import Observation, clone, divergences, observe

EXAMPLE = "example"
_SEEDS = (1, 2, 3, 4)


@dataclass(frozen=True, slots=True)
class Run:
    """One input and what eager made of it. `outputs` are the tensors of the output, empty if eager raised."""

    label: str
    kind: Literal["values", "sizes"]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    sizes: Mapping[str, int]
    observation: Observation
    outputs: tuple[torch.Tensor, ...]
    leaves: Mapping[str, Any]


@dataclass(slots=True)
class Eager:
    """What the runs in eager PyTorch show, before anything is exported.

    `fresh` makes a model as the factory left it. `runs` are the variations that eager accepts, `rejected` the others,
    `fixed` those of them that move a dim of which eager accepts no other size. `random`: two runs of one input differ.
    `stateful`: two calls of one model differ; `second` is what the second gave. `mutated` names what a forward
    changes. `spread` is how far each output moves over the variations of values. `lost` tells which variations the
    user's own `vary` did not make, and why. `prelude` are lines of Python that made the model deterministic first.
    `coarse` is the eps of a precision that forward casts to by itself, 0 where that is not known. `costs` is the clock,
    `pace` the seconds of one run. `traces` are graphs of `torch.jit.trace` that were made, by the label of the input.
    """

    fresh: Callable[[], torch.nn.Module]
    model: torch.nn.Module
    example: Example
    base: Run
    runs: list[Run] = field(default_factory=list)
    rejected: list[Run] = field(default_factory=list)
    fixed: list[Run] = field(default_factory=list)
    random: bool = False
    stateful: bool = False
    second: tuple[torch.Tensor, ...] = ()
    mutated: list[str] = field(default_factory=list)
    spread: list[float] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    prelude: str = ""
    coarse: float = 0.0
    costs: Costs = field(default_factory=Costs)
    pace: float = 0.0
    traces: dict[str, Any] = field(default_factory=dict)

    def inference(self) -> torch.nn.Module:
        """A fresh model that is in eval mode if the factory left it in training: what an export should compute."""
        model = self.fresh()
        return model.eval() if model.training else model

    def untouched(self) -> torch.nn.Module:
        """The model as no run has left it: the one there is, or a fresh one where forward changes it."""
        return self.inference() if self.mutated else self.model

    def call(self, run: Run) -> Example:
        """The call of the example with a copy of the values of a run."""
        args, kwargs = clone((run.args, dict(run.kwargs)))
        return self.example.called_with(args, kwargs)

    def trace(self, run: Run, root: str) -> tuple[Any, Sequence[Conversion]] | None:
        """A new trace of an input, with its conversions; None where it cannot be traced: the other evidence stands."""
        try:
            traced, conversions = torchscript.trace(self.fresh(), self.call(run), root)
        except Exception:  # noqa: BLE001 - what cannot be traced tells nothing
            return None
        self.traces[run.label] = traced
        return traced, conversions

    @property
    def accepted(self) -> list[Run]:
        """The example, then every variation that eager accepts."""
        return [self.base, *self.runs]

    @property
    def reached(self) -> dict[str, tuple[int, ...]]:
        """The lines that ran, by path."""
        by_path: dict[str, set[int]] = {}
        for run in (self.base, *self.runs, *self.rejected):
            for path, line in run.observation.steps:
                by_path.setdefault(path, set()).add(line)
        return {path: tuple(sorted(lines)) for path, lines in sorted(by_path.items())}


def prepare(probe: Probe) -> Eager:
    """Build the model and run the example. Raises ProbeFailure; what forward raises is in `base.observation.error`."""
    model = build_model(probe)
    if any(isinstance(part, torch.jit.ScriptModule) for part in model.modules()):
        torch._C._set_graph_executor_optimize(False)  # the optimizer runs operators, which our patches make fail
    example = example_inputs(probe, model)
    fresh = _copier(probe, model)
    working = fresh().eval() if model.training else fresh()
    sizes = example_sizes(example)
    before = model_state.snapshot(working)
    stages.stage("running the example in eager PyTorch")
    base = execute(working, example, Variation(EXAMPLE, example.args, dict(example.kwargs), sizes), probe.root)
    eager = Eager(fresh, working, example, base)
    eager.mutated = model_state.changed(before, model_state.snapshot(working))
    return eager


def explore(probe: Probe, eager: Eager) -> None:
    """Run every variation, and check for randomness and state. Needs an example that eager accepts."""
    _repeat(eager, probe.root)
    _vary(probe, eager, variations(probe, eager.model, eager.example, eager.lost))
    stuck = _stuck(eager)
    undeclared = [dim for dim in stuck if dim not in probe.sizes]
    if undeclared:  # 1, 3 and 5 may simply be no sizes for this model: a multiple of the example's is likelier one
        sizes = example_sizes(eager.example)
        wider = {dim: (sizes[dim] * 2, sizes[dim] * 3) if dim in undeclared else () for dim in sizes}
        more = variations(replace(probe, sizes=wider), eager.model, eager.example)
        _vary(probe, eager, [v for v in more if v.kind == "sizes"])
        stuck = _stuck(eager)
    eager.spread = spread(eager.base.outputs, [run.outputs for run in eager.runs if run.kind == "values"])
    eager.fixed = [run for dim in stuck for run in eager.rejected if _changed(eager, run) == {dim}]


def execute(model: torch.nn.Module, example: Example, variation: Variation, root: str) -> Run:
    """Run a model, observed, on one input."""
    args, kwargs = variation.args, dict(variation.kwargs)
    seen = observe(model, args, kwargs, root=root)
    outputs = tuple(tensors(seen.outputs)) if seen.error is None else ()
    leaves = example.called_with(args, kwargs).leaves()
    return Run(variation.label, variation.kind, args, kwargs, variation.sizes, seen, outputs, leaves)


def _copier(probe: Probe, model: torch.nn.Module) -> Callable[[], torch.nn.Module]:
    """How to get the model again as the factory left it: a copy, or the factory where it cannot be copied."""
    try:
        copied(model)
    except Exception:  # noqa: BLE001 - a tensor with history, a lock, a C++ object: the factory can make another
        return lambda: build_model(probe)
    return lambda: copied(model)


def _repeat(eager: Eager, root: str) -> None:
    """Other seeds on the same input (more of them if something was drawn), then the same seed a second time."""
    again = Variation(EXAMPLE, eager.base.args, eager.base.kwargs)
    for seed in _SEEDS if eager.base.observation.draws else _SEEDS[:1]:
        seen, eager.pace = timed(partial(observe, eager.untouched(), again.args, again.kwargs, root=root, seed=seed))
        if seen.error is None and not same(eager.base.outputs, tensors(seen.outputs)):
            eager.random = True
            return
        if seen.error is None and not eager.base.observation.draws:
            # Let it stand for the example: the first may have filled caches that all further runs find.
            steps = {**eager.base.observation.steps, **seen.steps}
            eager.base = replace(eager.base, observation=replace(seen, steps=steps))
    if eager.mutated:
        model = eager.inference()
        for _ in range(2):
            run = execute(model, eager.example, again, root)
        eager.second = run.outputs
        eager.stateful = not same(eager.base.outputs, run.outputs)


def _vary(probe: Probe, eager: Eager, changes: list[Variation]) -> None:
    count = eager.costs.affordable(len(changes), eager.pace, "the model")
    for variation in changes if count == len(changes) else telling(changes, count):
        model = eager.untouched()
        stages.stage(f"running {variation.label} in eager PyTorch")
        run = execute(model, eager.example, variation, probe.root)
        if variation.scout and not goes_its_own_way(eager, run):
            continue
        (eager.runs if run.observation.error is None else eager.rejected).append(run)


def goes_its_own_way(eager: Eager, run: Run) -> bool:
    """Whether a run takes a branch that no run before it took."""
    if run.observation.error is not None:
        return False
    base = eager.base.observation
    seen = {d.location for d in divergences(base, [r.observation for r in eager.runs]) if d.kind == "branch"}
    return any(d.kind == "branch" and d.location not in seen for d in divergences(base, [run.observation]))


def _changed(eager: Eager, run: Run) -> set[str]:
    return {dim for dim, size in run.sizes.items() if size != eager.base.sizes[dim]}


def _stuck(eager: Eager) -> list[str]:
    """The dims of which eager accepts no size but the example's, though others were tried."""
    moved = set().union(*(_changed(eager, run) for run in eager.runs))
    tried = [_changed(eager, run) for run in eager.rejected]
    return [dim for dim in eager.base.sizes if {dim} in tried and dim not in moved]


def same(one: Sequence[torch.Tensor], other: Sequence[torch.Tensor], rtol: float = 1e-5, atol: float = 1e-7) -> bool:
    """Whether two runs returned the same, up to the order in which threads add."""
    if [a.shape for a in one] != [b.shape for b in other]:
        return False
    return all(torch.allclose(a.to(b.dtype), b, rtol, atol, equal_nan=True) for a, b in zip(one, other, strict=True))


def with_leaf(eager: Eager, name: str, value: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The example's arguments with one leaf replaced."""
    args, kwargs = eager.example.mapped(lambda label, leaf: value if label == name else leaf)
    return clone(args), clone(kwargs)
