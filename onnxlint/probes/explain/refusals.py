"""Why an exporter raised, and where it would have raised next: every cause of one refusal in one run."""

import math
import re
from dataclasses import replace

from onnxlint.base.probe_records import Probe
from onnxlint.base.records import Cause
from onnxlint.probes.common import stages
from onnxlint.probes.confirm.trials import Confirmation
from onnxlint.probes.explain import causes
from onnxlint.probes.explain.causes import Explanation
from onnxlint.probes.exporters import Export, first_of_each, line_of, next_refusals, torchscript
from onnxlint.probes.exporters.next_refusals import Beyond
from onnxlint.probes.observe.eager import Eager, Run

_BLOCKING = ("numpy", "dlpack")  # reads at which dynamo stops; it carries `.item()` along as a symbol
_STATE_WORDS = ("mutat", "requires grad", "side effect", "assign", "state_dict changed", "FakeTensor")
_SHARE = 0.1  # of the time for a model, which a second look at a refused export may take
_LEAST = 8.0  # seconds that it gets if the model has them: a quick refusal leaves little, and hides the most
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def refused(probe: Probe, eager: Eager, confirmation: Confirmation) -> list[Explanation]:
    """What the exporter names, and what it would have stumbled over next. Costs about one more export."""
    export = confirmation.export
    stages.stage(f"looking for what else stops the {export.exporter} export")
    if export.exporter == "dynamo":
        seconds = min(max(eager.costs.left(math.inf), _LEAST), _SHARE * probe.timeout)
        further = Beyond()
        if export.capture is None:
            call = eager.call(next(iter(_without_ones(eager.accepted)), eager.base))
            further = next_refusals.carry_on(eager.fresh(), call, probe.opset, probe.root, seconds)
        if further.cut:
            eager.costs.tell("what else stops the dynamo export was looked for no longer than the exports allow")
        reasons = [*export.refusals, *further.refusals]
        places = _in_the_way_of_dynamo(eager, confirmation, further)
        places += _pinned(eager, further)
    else:
        stubbed = torchscript.refused_operators(eager.fresh(), eager.example, probe.opset, probe.root)
        # A lowering that fails blames the value that it was fed, which stands elsewhere: in the end `def forward`.
        mine = [r for r in export.refusals if not any(r.message.startswith(s.message) for s in stubbed or ())]
        reasons = [*mine, *(stubbed or ())]
        places = [p for p in _by_values(eager) if stubbed is None or _traced_by(p, export)]
        places += _frozen_sizes(probe, eager, confirmation)
    placed = (reason for reason in reasons if reason.frames)  # the first of each line is the exporter's own
    explanations = [Explanation(Cause.REFUSED, r.frames, r.message) for r in first_of_each(placed, key=line_of)]
    labels = [next((run.label for run in eager.runs if run.label in place.labels), "") for place in places]
    explanations += [replace(place, label=label) for place, label in zip(places, labels, strict=True)]
    if eager.random:
        drawn = causes.drawn(eager, confirmation, probe.root)
        explanations += [replace(e, detail=f"{e.detail}; another line stops the export before that") for e in drawn]
    if any(word in export.error for word in _STATE_WORDS):
        explanations += causes.hidden_modules(eager, probe.root)
        explanations += causes.mutating(eager, probe.root) if eager.mutated else []
    return explanations


def _by_values(eager: Eager) -> list[Explanation]:
    return causes.seen_in_eager(eager, [run for run in eager.runs if run.kind == "values"])


def _without_ones(runs: list[Run]) -> list[Run]:
    """Those without a size of 1, which dynamo takes for a number."""
    return [run for run in runs if all(size > 1 for size in run.sizes.values())]


def _in_the_way_of_dynamo(eager: Eager, confirmation: Confirmation, further: Beyond) -> list[Explanation]:
    """Branches and reads of data that other inputs move, where dynamo would come by."""
    refused = {line_of(refusal) for refusal in further.refusals if refusal.frames}

    def stops(place: Explanation) -> bool:
        may = not further.complete and (place.cause is Cause.BRANCH or place.read in _BLOCKING)
        return may and not causes.got_past(eager, confirmation.export, place.frames)

    return [place for place in _by_values(eager) if line_of(place) in refused or stops(place)]


def _pinned(eager: Eager, further: Beyond) -> list[Explanation]:
    """Conditions on sizes that the capture took for granted and that an input which eager accepts breaks."""
    places = []
    for guard in further.guards:
        broken = {run.label for run in _without_ones(eager.runs) if guard.holds(run.leaves) is False}
        if broken:
            detail = f"the export assumes `{guard.text}` from here on, and PyTorch does not"
            places.append(Explanation(Cause.GUARD, guard.frames, detail, labels=broken))
    return first_of_each(places, key=line_of)


def _traced_by(place: Explanation, export: Export) -> bool:
    """Whether the trace read a tensor there, or above in the same function: `is_tracing()` may lead around it."""
    reads = [conversion.frames for conversion in export.conversions]
    above = any(causes.is_above(frames[0], place.frames[0]) for frames in reads)
    return above or any((frame.path, frame.line) == line_of(place) for frames in reads for frame in frames)


def _frozen_sizes(probe: Probe, eager: Eager, confirmation: Confirmation) -> list[Explanation]:
    """Sizes that became Python numbers during the trace and stand in its graph: other sizes need other ones."""
    sizes = [run for run in eager.runs if run.kind == "sizes"]
    if not sizes or not confirmation.export.conversions:
        return []
    changed = causes.changed(probe.root, eager, confirmation.export, sizes[-1])
    moved = _constants_that_move(probe, eager, sizes[-1]) if changed else set()
    frozen = [p for p in changed if p.cause is Cause.BRANCH or tuple(_NUMBER.findall(p.detail)[-2:]) in moved]
    return [replace(place, labels={sizes[-1].label}) for place in frozen]


def _constants_that_move(probe: Probe, eager: Eager, other: Run) -> set[tuple[str, ...]]:
    """The pairs of numbers, on the example and on another input, in which the two traces differ."""
    pairs: set[tuple[str, ...]] = set()
    for difference in causes.trace_differences(probe.root, eager, other):
        before, _, after = difference.detail.partition(": ")[2].partition(" against ")
        pairs |= set(zip(_NUMBER.findall(before), _NUMBER.findall(after), strict=False))
    return pairs
