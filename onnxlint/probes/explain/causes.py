"""What explains a disagreement: candidates from the eager runs, the traces, the guards and the graph."""

from __future__ import annotations

import ast
import inspect
import textwrap
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from onnxlint.base.records import Cause, Location
from onnxlint.probes.common.userspace import relative
from onnxlint.probes.confirm.engines import DEFAULT, RuntimeRefused, Setup
from onnxlint.probes.confirm.runtime import Runtime
from onnxlint.probes.confirm.trials import Confirmation, Result, Trial, differs
from onnxlint.probes.explain.localise import first_divergences, wrong_before
from onnxlint.probes.explain.optimizer import spoilt
from onnxlint.probes.exporters import Conversion, Export, Frames, graph, torchscript
from onnxlint.probes.observe import model_state
from onnxlint.probes.observe.eager import Eager, Run
from onnxlint.probes.observe.execution_paths import first_steps
from onnxlint.probes.observe.observe import divergences, observe

_TRACES = 4  # failing inputs that are traced again to see what the first trace froze
Line = tuple[str, int]
_BRANCHING = ("bool", "in")


@dataclass(frozen=True, slots=True)
class Explanation:
    """One place that explains why an exporter went wrong, with the trial that shows it (None: the export itself).

    `label` names the input on which eager went another way there, where there is no trial.
    """

    cause: Cause
    frames: Frames
    detail: str
    trial: Trial | None = None
    label: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """A place that went otherwise than on the example, and the labels of the inputs on which it did."""

    cause: Cause
    frames: Frames
    detail: str
    read: str
    labels: set[str]


def seen_in_eager(eager: Eager, runs: Sequence[Run]) -> list[Place]:
    """Branches and reads that went otherwise in these runs than on the example."""
    places = []
    for divergence in divergences(eager.base.observation, [run.observation for run in runs]):
        branching = divergence.kind == "branch" or divergence.read in _BRANCHING
        labels = {runs[index].label for index in divergence.variations}
        cause = Cause.BRANCH if branching else Cause.ESCAPE
        places.append(Place(cause, divergence.frames, divergence.detail, divergence.read, labels))
    branches = {line_of(place.frames[0]) for place in places if place.cause is Cause.BRANCH}
    return [p for p in places if p.cause is Cause.BRANCH or line_of(p.frames[0]) not in branches]


def line_of(location: Location) -> Line:
    """The path and the line of a frame."""
    return location.path, location.line


def frozen(root: str, eager: Eager, confirmation: Confirmation) -> list[Explanation]:
    """What TorchScript kept from the example though a failing input needs another value: branches, reads, sizes.

    A place that also changed on inputs where the export agreed explains a trial only if no other place does.
    """
    failing = confirmation.failing_at_once
    passing = {t.run.label for t in confirmation.trials if not t.fails}
    places = {line_of(place.frames[0]): place for place in seen_in_eager(eager, eager.runs)}
    traced = _trace_again(root, eager, confirmation, places, passing)
    chosen: dict[Line, Explanation] = {}
    for trial in _worst_first(failing):
        candidates = [place for place in places.values() if trial.run.label in place.labels]
        strong = [place for place in candidates if not place.labels & passing]
        for place in strong or candidates:
            explanation = Explanation(place.cause, place.frames, place.detail, trial)
            chosen.setdefault(line_of(place.frames[0]), explanation)
    explained = {line: [t for t in failing if t.run.label in places[line].labels] for line in chosen}
    needed = [
        line
        for line, trials in explained.items()
        if not _shown_by_others(confirmation, trials, [t for t in trials if t in traced], explained.values())
    ]
    refusing = [node for node in _refusing_nodes(confirmation, failing) if node is not None]
    near = {_function(frame) for node in refusing for frame in graph.onnx_frames(node, root)[:1]}

    def last(line: Line) -> tuple[int, bool]:
        here = _function(chosen[line].frames[0]) in near
        return -len(explained[line]) - here, not here

    return [chosen[line] for line in sorted(needed, key=last)]


def _trace_again(
    root: str, eager: Eager, confirmation: Confirmation, places: dict[Line, Place], passing: set[str]
) -> list[Trial]:
    """The failing trials that were traced; what changes in these traces, or in a passing one, joins `places`."""
    failing = confirmation.failing_at_once
    traced: list[Trial] = []
    began = time.process_time()
    for trial in _to_trace(failing, places.values(), passing):
        if traced and eager.costs.over(began):
            break
        traced.append(trial)
        if confirmation.fixed(eager.base, trial.run):
            continue  # whatever reads that number keeps the example's: the number is the cause
        for place in changed(root, eager, confirmation.export, trial.run):
            places.setdefault(line_of(place.frames[0]), place).labels.add(trial.run.label)
    if not any(t.run.kind == "sizes" for t in failing) or eager.costs.over(began):
        return traced
    harmless = [t.run for t in confirmation.trials[1:] if not t.fails and t.run.kind == "sizes"]
    for run in harmless[-1:]:
        for place in changed(root, eager, confirmation.export, run):
            if line_of(place.frames[0]) in places:
                places[line_of(place.frames[0])].labels.add(run.label)
    return traced


def _function(location: Location) -> tuple[str, str]:
    return location.path, location.function.rpartition(".")[2]


def _shown_by_others(
    confirmation: Confirmation, trials: list[Trial], traced: list[Trial], others: Iterable[list[Trial]]
) -> bool:
    """Whether another place explains these trials and more, some of which the runtime refuses at the same nodes.

    What a place explains is known of the trials that were `traced`; of the rest it is enough that the node is the same.
    """

    def names(trials: list[Trial]) -> set[str | None]:
        return {node.name if node is not None else None for node in _refusing_nodes(confirmation, trials)}

    mine = names(trials)
    wider = [more for more in others if len(more) > len(trials) and all(trial in more for trial in traced)]
    return None not in mine and any(mine <= names([trial for trial in more if trial not in trials]) for more in wider)


def _refusing_nodes(confirmation: Confirmation, trials: list[Trial]) -> list[Any]:
    """The nodes at which the runtime refuses trials; None for one that ran, or whose message names no node."""
    assert confirmation.runtime is not None
    return [confirmation.runtime.node_of(t.message) if t.result is Result.REFUSED else None for t in trials]


def _to_trace(failing: list[Trial], places: Iterable[Place], passing: set[str]) -> list[Trial]:
    """The failing inputs worth a trace: the last with other sizes, those that eager does not explain, other sizes."""
    strong = [place for place in places if not place.labels & passing]
    sizes = [t for t in failing if t.run.kind == "sizes"]
    rest = [t for t in failing if not any(t.run.label in place.labels for place in strong)]
    chosen = {t.run.label: t for t in (*sizes[-1:], *(t for t in rest if t.run.kind == "sizes"), *rest, *sizes)}
    return list(chosen.values())[:_TRACES]


def trace(root: str, eager: Eager, run: Run) -> tuple[Any, Sequence[Conversion]] | None:
    """A new trace of an input, with its conversions; None where it cannot be traced: the other evidence stands."""
    try:
        traced, conversions = torchscript.trace(eager.fresh(), eager.call(run), root)
    except Exception:  # noqa: BLE001 - what cannot be traced tells nothing
        return None
    eager.traces[run.label] = traced
    return traced, conversions


def trace_differences(root: str, eager: Eager, run: Run) -> Sequence[graph.Difference]:
    """In what the traces of the example and of another input differ; nothing where one cannot be traced."""
    traces = [trace(root, eager, one) for one in (eager.base, run)]
    graphs = [graph.canonical_jit(made[0], root) for made in traces if made is not None]
    return graph.diff(*graphs) if len(graphs) == len(traces) else ()


def changed(root: str, eager: Eager, export: Export, run: Run) -> list[Place]:
    """The conversions that give another value when `run` is traced than they gave in the export.

    Not those that ask for the bounds of slices which the graph computes.
    """
    made = trace(root, eager, run)
    if made is None:
        return []
    traced, conversions = made
    before, after = _by_place(export.conversions), _by_place(conversions)
    computed = graph.computed_bounds(traced, root)
    indices = Counter(line_of(c.frames[0]) for c in conversions if c.kind == "index" and c.frames)
    differing, longer = [], []
    for (frames, kind), values in after.items():
        if kind == "index" and 0 < indices[line_of(frames[0])] <= computed[line_of(frames[0])]:
            continue
        usual = before.get((frames, kind), [])
        pair = next(((a, b) for a, b in zip(usual, values, strict=False) if a.value != b.value), None)
        cause = Cause.BRANCH if kind in _BRANCHING else Cause.ESCAPE
        if pair is not None:
            detail = f"`{kind}` gives {pair[0].value} on the example and {pair[1].value} on this input"
            differing.append(Place(cause, frames, detail, kind, set()))
        elif usual and len(usual) != len(values):
            detail = f"`{kind}` runs {len(usual)} times on the example and {len(values)} times on this input"
            longer.append(Place(cause, frames, detail, kind, set()))
    return differing or longer


def _by_place(conversions: Sequence[Conversion]) -> dict[tuple[Frames, str], list[Conversion]]:
    groups: dict[tuple[Frames, str], list[Conversion]] = defaultdict(list)
    for conversion in conversions:
        groups[conversion.frames, conversion.kind].append(conversion)
    return groups


def constants(root: str, eager: Eager, trial: Trial) -> list[Explanation]:
    """Constants in which the traces of the example and of a failing input differ."""
    chosen: dict[Location, Explanation] = {}
    for difference in trace_differences(root, eager, trial.run):
        if difference.kind == "constant" and difference.frames:
            detail = f"the graph keeps a constant of the example: {difference.detail}"
            chosen.setdefault(difference.frames[0], Explanation(Cause.CONSTANT, difference.frames, detail, trial))
    return list(chosen.values())


def guarded(confirmation: Confirmation) -> list[Explanation]:
    """Guards of dynamo that a failing input breaks: the graph is only right where they hold."""
    chosen: dict[Location, Explanation] = {}
    for trial in _worst_first(confirmation.failing):
        broken = [guard for guard in confirmation.export.guards if guard.holds(trial.run.leaves) is False]
        for index, guard in enumerate(broken):
            if not any(before.implies(guard) for before in broken[:index]):  # else it asks what was assumed already
                detail = f"the export assumes `{guard.text}` from here on and does not check it"
                chosen.setdefault(guard.frames[0], Explanation(Cause.GUARD, guard.frames, detail, trial))
    return list(chosen.values())


def _worst_first(trials: Sequence[Trial]) -> list[Trial]:
    """The largest difference first: it is the one to show. Those that have none keep their order, last."""
    return sorted(trials, key=lambda t: -(t.difference.max_abs or 0.0) if t.difference is not None else 1.0)


def got_past(eager: Eager, export: Export, frames: Frames) -> bool:
    """Whether dynamo was beyond this place when it refused: what eager does there was no obstacle to it.

    Libraries ask `is_exporting()` before they read a tensor, so that the export never takes eager's path.
    """
    if export.capture is not None:
        return True
    steps = first_steps(eager.base.observation.path, eager.base.observation.root)
    refused = [steps[place] for r in export.refusals for place in map(line_of, r.frames[:1]) if place in steps]
    here = [steps[place] for place in map(line_of, frames[:1]) if place in steps]
    return bool(refused and here) and here[0] < max(refused)


def lost_inputs(root: str, eager: Eager, confirmation: Confirmation) -> list[Explanation]:
    """Inputs that are not in the graph though a failing trial changes them."""
    kept = confirmation.inputs
    chosen: dict[str, Explanation] = {}
    for trial in confirmation.failing:
        for name, leaf in trial.run.leaves.items():
            if name not in kept and differs(leaf, eager.base.leaves.get(name)):
                kind = "a tensor" if isinstance(leaf, torch.Tensor) else f"a Python {type(leaf).__name__}"
                detail = f"`{name}`, {kind}, is not an input of the graph: it keeps the example's value"
                chosen.setdefault(name, Explanation(Cause.INPUT_VANISHED, forward(eager.model, root), detail, trial))
    return list(chosen.values())


def forward(model: torch.nn.Module, root: str) -> Frames:
    """The `def` line of the model's forward, as one frame; empty where there is no source."""
    function = inspect.unwrap(getattr(model.forward, "__func__", model.forward))
    code = getattr(function, "__code__", None)
    if code is None or code.co_filename.startswith("<"):  # generated, as that of an exported program is
        return ()
    line = code.co_firstlineno
    try:
        lines, line = inspect.getsourcelines(function)
    except (OSError, TypeError):
        lines = []
    line += next((k for k, text in enumerate(lines) if text.lstrip().startswith(("def ", "async def "))), 0)
    return (Location(relative(code.co_filename, root), line, code.co_qualname),)


def drawn(eager: Eager, confirmation: Confirmation | None, root: str) -> list[Explanation]:
    """Where random numbers are drawn: in eager, or else by the graph's own random operators."""
    chosen: dict[Location, Explanation] = {}
    draws = [draw for run in (eager.base, *eager.runs) for draw in run.observation.draws]
    if not draws:  # the factory left it in training mode: only then it draws
        draws = list(observe(eager.fresh(), eager.base.args, eager.base.kwargs, root=root).draws)
    for draw in draws:
        if draw.frames:
            detail = f"`{draw.kind}` draws random numbers"
            chosen.setdefault(draw.frames[0], Explanation(Cause.RANDOM, draw.frames, detail))
    if not chosen and confirmation is not None and confirmation.runtime is not None:
        for node in confirmation.runtime.model.graph.node:
            frames = graph.onnx_frames(node, root)
            if frames and (
                node.op_type.startswith("Random") or node.op_type in ("Dropout", "Bernoulli", "Multinomial")
            ):
                detail = f"the graph draws random numbers with {node.op_type}"
                chosen.setdefault(frames[0], Explanation(Cause.RANDOM, frames, detail))
    return list(chosen.values())


def hidden_modules(eager: Eager, root: str) -> list[Explanation]:
    """Where modules are put into a plain list or dict: neither eval() nor parameters() knows them."""
    explanations = []
    for prefix, module in eager.model.named_modules():
        for name, value in vars(module).items():
            items = value.values() if isinstance(value, dict) else value
            if name.startswith("_") or not isinstance(value, (list, tuple, dict)):
                continue
            if any(isinstance(item, torch.nn.Module) for item in items):
                frames = _assignment(type(module), name, root)
                what = f"{prefix}.{name}".lstrip(".")
                detail = f"`{what}` holds modules in a plain {type(value).__name__}: they are not registered"
                explanations += [Explanation(Cause.REFUSED, frames, detail)] if frames else []
    return explanations


def _assignment(owner: type, name: str, root: str) -> Frames:
    """Where a class assigns `self.<name>`, as one frame; empty if its source does not tell."""
    for base in owner.__mro__:
        try:
            lines, start = inspect.getsourcelines(base)
            path = inspect.getsourcefile(base)
            tree = ast.parse(textwrap.dedent("".join(lines)))
        except (OSError, TypeError, SyntaxError):
            continue
        for node in ast.walk(tree):
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            if any(isinstance(t, ast.Attribute) and t.attr == name for t in targets) and path is not None:
                line = start + getattr(node, "lineno", 1) - 1
                return (Location(relative(path, root), line, base.__qualname__),)
    return ()


def mutating(eager: Eager, root: str, trial: Trial | None = None) -> list[Explanation]:
    """The lines that change the model while it runs."""
    model = eager.inference()

    def run() -> object:
        with torch.no_grad():
            return model(*eager.base.args, **eager.base.kwargs)

    names = ", ".join(f"`{name}`" for name in eager.mutated[:3])
    places = model_state.blame(run, lambda: model_state.snapshot(model), root)
    return [Explanation(Cause.MUTATION, frames, f"forward changes {names}", trial) for frames in places if frames]


def _refusing_node(runtime: Runtime, setup: Setup, feeds: Mapping[str, object], root: str) -> Frames:
    """The frames of the node that refuses without optimizations: fused nodes have names of their own."""
    try:
        runtime.run(feeds, Setup(setup.engine, optimized=not setup.engine.plain))
    except RuntimeRefused as refused:
        return runtime.frames(str(refused), root)
    return ()


def of_a_plain_node(eager: Eager, confirmation: Confirmation) -> Confirmation:
    """The same with the message of a run without optimizations, where only that names a node of the file."""
    runtime, setup = confirmation.runtime, confirmation.refusing
    if runtime is None or setup is None or not setup.engine.plain or runtime.node_of(confirmation.refusal) is not None:
        return confirmation
    try:
        feeds = confirmation.feeds(eager.base)
        runtime.run(feeds, Setup(setup.engine, optimized=False))
    except RuntimeRefused as refused:
        return (
            replace(confirmation, refusal=str(refused)) if runtime.node_of(str(refused)) is not None else confirmation
        )
    return confirmation


def wrong_before_it_fails(root: str, eager: Eager, confirmation: Confirmation) -> list[Explanation]:
    """Where a graph that ONNX Runtime does not load computes something else than eager, on the way to what it names."""
    runtime, base = confirmation.runtime, eager.base
    node = runtime.node_of(confirmation.refusal) if runtime is not None else None
    if runtime is None or node is None:
        return []
    feeds = confirmation.feeds(base)
    engine = (confirmation.refusing or DEFAULT).engine
    places = wrong_before(node.name, eager.inference(), base.args, base.kwargs, runtime.path, feeds, root, engine)
    detail = f"what is computed here differs from PyTorch already; what fails, further on: {confirmation.refusal}"
    return [Explanation(Cause.MISMATCH, frames, detail) for frames in places]


def by_optimizer(
    root: str,
    confirmation: Confirmation,
    setup: Setup,
    feeds: Mapping[str, object],
    message: str,
    trial: Trial | None = None,
) -> list[Explanation]:
    """What the optimizations of a runtime change, where it is right without them."""
    if confirmation.runtime is None or not (setup.optimized and setup.engine.plain):
        return []
    frames = spoilt(confirmation.runtime.path, feeds, root, setup.engine)
    detail = f"{setup.engine.title} is right without its optimizations, which change what is computed here; {message}"
    return [Explanation(Cause.RUNTIME, frames, detail, trial)] if frames else []


def computed_wrong(root: str, eager: Eager, confirmation: Confirmation, trial: Trial) -> list[Explanation]:
    """The last resort: the node that refused, or the first value that differs."""
    runtime = confirmation.runtime
    setup = trial.setup
    assert runtime is not None
    assert setup is not None
    feeds = confirmation.feeds(trial.run)
    if trial.result is Result.REFUSED:
        frames = _refusing_node(runtime, setup, feeds, root) or runtime.frames(trial.message, root)
        if frames and confirmation.export.exporter == "torchscript" and trial.run.sizes != eager.base.sizes:
            # It loads, and runs on the example: what it refuses is the size, which the trace has kept somewhere before.
            detail = f"a size of the example is kept by what is made here: {trial.message}"
            return [Explanation(Cause.CONSTANT, frames, detail, trial)]
        if frames:
            return [Explanation(Cause.RUNTIME, frames, trial.message, trial)]
    model, run = eager.inference(), trial.run
    places = first_divergences(model, run.args, run.kwargs, runtime.path, feeds, root, setup.engine)
    if not places:
        return by_optimizer(root, confirmation, setup, feeds, trial.message, trial)
    detail = f"the first value that differs is computed here; at the end: {trial.message}"
    return [Explanation(Cause.MISMATCH, frames, detail, trial) for frames in places]
