"""What explains a disagreement: candidates from the eager runs, the traces, the guards and the graph."""

import inspect
import math
import re
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from onnxlint.base.records import Cause, Location, grouped
from onnxlint.probes.common.userspace import relative
from onnxlint.probes.confirm.engines import DEFAULT, RuntimeRefused, Setup
from onnxlint.probes.confirm.runtime import Runtime
from onnxlint.probes.confirm.trials import Confirmation, Result, Trial, differs
from onnxlint.probes.explain.localise import Exported, first_divergences, spoilt, wrong_before
from onnxlint.probes.exporters import Export, Frames, dynamo, first_of_each, graph, line_of, torchscript
from onnxlint.probes.observe import model_state
from onnxlint.probes.observe.eager import Eager, Run
from onnxlint.probes.observe.execution_paths import PathTracer
from onnxlint.probes.observe.observe import divergences, observe

_TRACES = 4  # failing inputs that are traced again to see what the first trace froze
_QUICK = 3.0  # seconds of an export whose model is captured once more in any case
_BRANCHING = ("bool", "in")
_RANDOM = ("Dropout", "Bernoulli", "Multinomial")
Line = tuple[str, int]
Trials = list[Trial]


@dataclass(frozen=True, slots=True)
class Explanation:
    """A place that explains why an exporter went wrong; `label` is the input that shows it, if no `trial` does.

    `labels` are the inputs on which it went otherwise than on the example, `read` is the kind of read that did.
    `proof` says what an intervention showed, with what is `held` at the lines of conversions.
    """

    cause: Cause
    frames: Frames
    detail: str
    trial: Trial | None = None
    label: str = ""
    read: str = ""
    labels: set[str] = field(default_factory=set)
    proof: str = ""
    held: torchscript.Held = field(default_factory=dict)


def seen_in_eager(eager: Eager, runs: Sequence[Run]) -> list[Explanation]:
    """Branches and reads that went otherwise in these runs than on the example."""
    places = []
    for d in divergences(eager.base.observation, [run.observation for run in runs]):
        labels = {runs[index].label for index in d.variations}
        cause = Cause.BRANCH if d.kind == "branch" or d.read in _BRANCHING else Cause.ESCAPE
        places.append(Explanation(cause, d.frames, d.detail, read=d.read, labels=labels))
    branches = {line_of(place) for place in places if place.cause is Cause.BRANCH}
    return [place for place in places if place.cause is Cause.BRANCH or line_of(place) not in branches]


def frozen(root: str, eager: Eager, confirmation: Confirmation) -> list[Explanation]:
    """What TorchScript kept from the example though a failing input needs another value: branches, reads, sizes."""
    failing = confirmation.failing_at_once
    passing = {t.run.label for t in confirmation.trials if not t.fails}
    places = {line_of(place): place for place in seen_in_eager(eager, eager.runs)}
    traced = _trace_again(root, eager, confirmation, places)
    chosen: dict[Line, Explanation] = {}
    for trial in _worst_first(failing):
        candidates = [place for place in places.values() if trial.run.label in place.labels]
        strong = [place for place in candidates if not place.labels & passing]  # not where the export agreed as well
        for place in strong or candidates:
            chosen.setdefault(line_of(place), replace(place, trial=trial))
    explained = {line: [t for t in failing if t.run.label in places[line].labels] for line in chosen}
    needed = [line for line in chosen if not _shown_by_others(confirmation, explained[line], traced, explained)]
    refusing = [node for node in _refusing_nodes(confirmation, failing) if node is not None]
    near = {_function(frame) for node in refusing for frame in graph.onnx_frames(node, root)[:1]}

    def last(line: Line) -> tuple[int, bool]:
        here = _function(chosen[line].frames[0]) in near
        return -len(explained[line]) - here, not here

    return [chosen[line] for line in sorted(needed, key=last)]


def _trace_again(root: str, eager: Eager, confirmation: Confirmation, places: dict[Line, Explanation]) -> list[Trial]:
    """The failing trials that were traced; what changes in these traces, or in a passing one, joins `places`."""
    failing, passing = confirmation.failing_at_once, {t.run.label for t in confirmation.trials if not t.fails}
    traced: list[Trial] = []
    began = time.process_time()
    for trial in _to_trace(failing, places.values(), passing):
        if traced and eager.costs.over(began):
            break
        traced.append(trial)
        if confirmation.fixed(eager.base, trial.run):
            continue  # whatever reads that number keeps the example's: the number is the cause
        for place in changed(root, eager, confirmation.export, trial.run):
            places.setdefault(line_of(place), place).labels.add(trial.run.label)
    if not any(t.run.kind == "sizes" for t in failing) or eager.costs.over(began):
        return traced
    harmless = [t.run for t in confirmation.trials[1:] if not t.fails and t.run.kind == "sizes"]
    for run in harmless[-1:]:
        for line in places.keys() & set(map(line_of, changed(root, eager, confirmation.export, run))):
            places[line].labels.add(run.label)
    return traced


def _function(location: Location) -> tuple[str, str]:
    return location.path, location.function.rpartition(".")[2]


def _shown_by_others(confirmation: Confirmation, trials: Trials, traced: Trials, places: dict[Line, Trials]) -> bool:
    """Whether another place explains those of the trials that were `traced` and more, refused at the same nodes."""

    def names(trials: Trials) -> set[str | None]:
        return {node.name if node is not None else None for node in _refusing_nodes(confirmation, trials)}

    mine = names(trials)
    again = [trial for trial in trials if trial in traced]
    wider = [more for more in places.values() if len(more) > len(trials) and all(trial in more for trial in again)]
    return None not in mine and any(mine <= names([trial for trial in more if trial not in trials]) for more in wider)


def _refusing_nodes(confirmation: Confirmation, trials: list[Trial]) -> list[Any]:
    """The nodes at which the runtime refuses trials; None for one that ran, or whose message names no node."""
    return [confirmation.loaded.node_of(t.message) if t.result is Result.REFUSED else None for t in trials]


def _to_trace(failing: list[Trial], places: Iterable[Explanation], passing: set[str]) -> list[Trial]:
    """The failing inputs worth a trace: the last with other sizes, those that eager does not explain, other sizes."""
    strong = [place for place in places if not place.labels & passing]
    sizes = [t for t in failing if t.run.kind == "sizes"]
    rest = [t for t in failing if not any(t.run.label in place.labels for place in strong)]
    chosen = {t.run.label: t for t in (*sizes[-1:], *(t for t in rest if t.run.kind == "sizes"), *rest, *sizes)}
    return list(chosen.values())[:_TRACES]


def trace_differences(root: str, eager: Eager, run: Run) -> Sequence[graph.Difference]:
    """In what the traces of the example and of another input differ; nothing where one cannot be traced."""
    traces = [eager.trace(one, root) for one in (eager.base, run)]
    graphs = [graph.canonical_jit(made[0], root) for made in traces if made is not None]
    return graph.diff(*graphs) if len(graphs) == len(traces) else ()


def changed(root: str, eager: Eager, export: Export, run: Run) -> list[Explanation]:
    """Conversions with another value in a trace of `run` than in the export, but for bounds that the graph computes."""
    made = eager.trace(run, root)
    if made is None:
        return []
    traced, conversions = made
    before, after = (grouped(of_one, lambda c: (c.frames, c.kind)) for of_one in (export.conversions, conversions))
    computed = graph.computed_bounds(traced, root)
    indices = Counter(line_of(c) for c in conversions if c.kind == "index" and c.frames)
    differing, longer = [], []
    for (frames, kind), values in after.items():
        if kind == "index" and 0 < indices[line_of(values[0])] <= computed[line_of(values[0])]:
            continue
        usual = before.get((frames, kind), [])
        pair = next(((a, b) for a, b in zip(usual, values, strict=False) if a.value != b.value), None)
        cause = Cause.BRANCH if kind in _BRANCHING else Cause.ESCAPE
        if pair is not None:
            detail = f"`{kind}` gives {pair[0].value} on the example and {pair[1].value} on this input"
            differing.append(Explanation(cause, frames, detail, read=kind))
        elif usual and len(usual) != len(values):
            detail = f"`{kind}` runs {len(usual)} times on the example and {len(values)} times on this input"
            longer.append(Explanation(cause, frames, detail, read=kind))
    return differing or longer


def constants(root: str, eager: Eager, trial: Trial) -> list[Explanation]:
    """Constants in which the traces of the example and of a failing input differ."""
    differing = [d for d in trace_differences(root, eager, trial.run) if d.kind == "constant" and d.frames]
    prefix = "the graph keeps a constant of the example"
    explanations = (Explanation(Cause.CONSTANT, d.frames, f"{prefix}: {d.detail}", trial) for d in differing)
    return first_of_each(explanations, key=line_of)


def guarded(confirmation: Confirmation) -> list[Explanation]:
    """Guards of dynamo that a failing input breaks: the graph is only right where they hold."""
    explanations = []
    for trial in _worst_first(confirmation.failing):
        broken = [guard for guard in confirmation.export.guards if guard.holds(trial.run.leaves) is False]
        for index, guard in enumerate(broken):
            if not any(before.implies(guard) for before in broken[:index]):  # else it asks what was assumed already
                detail = f"the export assumes `{guard.text}` from here on and does not check it"
                explanations.append(Explanation(Cause.GUARD, guard.frames, detail, trial))
    return first_of_each(explanations, key=line_of)


def export_only_branches(eager: Eager, exporter: str, root: str, computed: Sequence[Explanation]) -> list[Explanation]:
    """The branch that goes otherwise while the model is exported than in eager, such as `isinstance(x.shape[1], int)`.

    Libraries have branches that are meant for exports: it has to stand above the first value that differs (`computed`),
    in the same function; where there is none, every branch counts. Costs one more capture, where there is time for it.
    """
    pace = eager.costs.parts.get(exporter, 0.0)
    if pace > _QUICK and pace > eager.costs.left(math.inf):
        return []
    model, call, tracer = eager.fresh(), eager.call(eager.base), PathTracer()
    try:
        with tracer, dynamo.quiet():
            torchscript.trace(model, call, root) if exporter == "torchscript" else dynamo.captured(model, call)
    except Exception:  # noqa: BLE001 - what cannot be captured again tells nothing; the other evidence stands
        return []
    seen = replace(eager.base.observation, escapes=())
    branches = [d for d in divergences(seen, [replace(seen, path=tracer.root, error=None)]) if d.kind == "branch"]
    if computed:
        above = [d for d in branches if any(is_above(d.location, frame) for frame in computed[0].frames[:1])]
        branches = sorted(above, key=lambda d: d.location.line)[-1:]
    details = (d.detail.replace("the example", "PyTorch").replace("this input", "the exporter") for d in branches)
    return [Explanation(Cause.BRANCH, d.frames, detail) for d, detail in zip(branches, details, strict=True)]


def is_above(branch: Location, place: Location) -> bool:
    """Whether one line stands in the same function as another, before it or the same."""
    return (branch.path, branch.function) == (place.path, place.function) and branch.line <= place.line


def _worst_first(trials: Sequence[Trial]) -> list[Trial]:
    """The largest difference first: it is the one to show. Those that have none keep their order, last."""
    return sorted(trials, key=lambda t: 1.0 if t.difference is None else -t.gap)


def got_past(eager: Eager, export: Export, frames: Frames) -> bool:
    """Whether dynamo was beyond this place when it refused: `is_exporting()` may lead it around eager's path."""
    if export.capture is not None:
        return True
    steps = eager.base.observation.steps
    refused = [steps[line_of(refusal)] for refusal in export.refusals if line_of(refusal) in steps]
    here = steps.get((frames[0].path, frames[0].line)) if frames else None
    return here is not None and here < max(refused, default=0)


def lost_inputs(root: str, eager: Eager, confirmation: Confirmation) -> list[Explanation]:
    """Inputs that are not in the graph though a failing trial changes them."""
    used, base = confirmation.inputs, eager.base.leaves
    inputs = [(name, leaf, trial) for trial in confirmation.failing for name, leaf in trial.run.leaves.items()]
    lost = (at for at in inputs if at[0] not in used and differs(at[1], base.get(at[0])))
    explanations = []
    for name, leaf, trial in first_of_each(lost, key=lambda at: at[0]):
        kind = "a tensor" if isinstance(leaf, torch.Tensor) else f"a Python {type(leaf).__name__}"
        detail = f"`{name}`, {kind}, is not an input of the graph: it keeps the example's value"
        explanations.append(Explanation(Cause.INPUT_VANISHED, forward(eager.model, root), detail, trial))
    return explanations


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
    draws = [draw for run in eager.accepted for draw in run.observation.draws]
    if not draws:  # the factory left it in training mode: only then it draws
        draws = list(observe(eager.fresh(), eager.base.args, eager.base.kwargs, root=root).draws)
    places = [(draw.frames, f"`{draw.kind}` draws random numbers") for draw in draws if draw.frames]
    if not places and confirmation is not None and confirmation.runtime is not None:
        nodes = confirmation.runtime.model.graph.node
        random = [node for node in nodes if node.op_type.startswith("Random") or node.op_type in _RANDOM]
        drawing = "the graph draws random numbers with"
        places = [(frames, f"{drawing} {n.op_type}") for n in random if (frames := graph.onnx_frames(n, root))]
    return first_of_each((Explanation(Cause.RANDOM, *place) for place in places), key=line_of)


def hidden_modules(eager: Eager, root: str) -> list[Explanation]:
    """Where modules are put into a plain list or dict: neither eval() nor parameters() knows them."""
    explanations = []
    for prefix, module in eager.model.named_modules():
        for name, value in vars(module).items():
            if name.startswith("_") or not isinstance(value, (list, tuple, dict)):
                continue
            items = value.values() if isinstance(value, dict) else value
            if any(isinstance(item, torch.nn.Module) for item in items):
                what = f"{prefix}.{name}".lstrip(".")
                detail = f"`{what}` holds modules in a plain {type(value).__name__}: they are not registered"
                explanations.append(Explanation(Cause.REFUSED, _assignment(type(module), name, root), detail))
    return [explanation for explanation in explanations if explanation.frames]


def _assignment(owner: type, name: str, root: str) -> Frames:
    """Where a class assigns `self.<name>`, as one frame; empty if its source does not tell."""
    for base in owner.__mro__:
        try:
            lines, start = inspect.getsourcelines(base)
        except (OSError, TypeError):
            continue
        for line, text in enumerate(lines, start):
            if re.match(rf"\s*\w+\.{name}\s*(:|\+?=(?!=))", text):
                return (Location(relative(inspect.getsourcefile(base) or "", root), line, base.__qualname__),)
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


def _plain_refusal(runtime: Runtime, setup: Setup, feeds: Mapping[str, object]) -> str:
    """What a runtime says without optimizations, empty where it runs: fused nodes have names of their own."""
    try:
        runtime.run(feeds, Setup(setup.engine, optimized=not setup.engine.plain))
    except RuntimeRefused as refused:
        return str(refused)
    return ""


def of_a_plain_node(eager: Eager, confirmation: Confirmation) -> Confirmation:
    """The same with the message of a run without optimizations, where only that names a node of the file."""
    runtime, setup = confirmation.runtime, confirmation.refusing
    if runtime is None or setup is None or not setup.engine.plain or runtime.node_of(confirmation.refusal) is not None:
        return confirmation
    refusal = _plain_refusal(runtime, setup, confirmation.feeds(eager.base))
    return confirmation if runtime.node_of(refusal) is None else replace(confirmation, refusal=refusal)


def wrong_before_it_fails(root: str, eager: Eager, confirmation: Confirmation) -> list[Explanation]:
    """Where a graph that ONNX Runtime does not load computes something else than eager, on the way to what it names."""
    runtime, base = confirmation.runtime, eager.base
    node = runtime.node_of(confirmation.refusal) if runtime is not None else None
    if runtime is None or node is None:
        return []
    exported = Exported(runtime.path, confirmation.feeds(base), root, (confirmation.refusing or DEFAULT).engine)
    places = wrong_before(node.name, eager.inference(), base.args, base.kwargs, exported)
    detail = f"what is computed here differs from PyTorch already; what fails, further on: {confirmation.refusal}"
    return [Explanation(Cause.MISMATCH, frames, detail) for frames in places]


def computed_wrong(root: str, eager: Eager, confirmation: Confirmation, trial: Trial) -> list[Explanation]:
    """The last resort: the node that refused, the first value that differs, or what optimizations change."""
    runtime, setup, run = confirmation.loaded, trial.setup, trial.run
    assert setup is not None
    exported = Exported(runtime.path, confirmation.feeds(run), root, setup.engine)
    if trial.result is Result.REFUSED:
        plain = _plain_refusal(runtime, setup, exported.feeds)
        frames = next(filter(None, (*runtime.places(plain, root), *runtime.places(trial.message, root))), ())
        if frames and confirmation.export.exporter == "torchscript" and run.sizes != eager.base.sizes:
            # It loads, and runs on the example: what it refuses is the size, which the trace has kept somewhere before.
            detail = f"a size of the example is kept by what is made here: {trial.message}"
            return [Explanation(Cause.CONSTANT, frames, detail, trial)]
        if frames:
            return [Explanation(Cause.RUNTIME, frames, trial.message, trial)]
    if places := first_divergences(eager.inference(), run.args, run.kwargs, exported):
        detail = f"the first value that differs is computed here; at the end: {trial.message}"
        return [Explanation(Cause.MISMATCH, frames, detail, trial) for frames in places]
    frames = spoilt(exported) if setup.optimized and setup.engine.plain else ()
    detail = f"{setup.engine.title} is right without its optimizations, which change what is computed here"
    return [Explanation(Cause.RUNTIME, frames, f"{detail}; {trial.message}", trial)] if frames else []
