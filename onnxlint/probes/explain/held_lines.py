"""Proof by intervention: PyTorch with one line held to what it gave on the example, against what the export gives."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import torch

from onnxlint.base.probe_records import Probe
from onnxlint.base.records import grouped, listed
from onnxlint.probes.common import numerics
from onnxlint.probes.confirm.engines import RuntimeRefused
from onnxlint.probes.confirm.trials import Confirmation, Result, Trial, bounds_of
from onnxlint.probes.explain.causes import Explanation
from onnxlint.probes.exporters import Export, line_of, torchscript
from onnxlint.probes.observe.eager import Eager


class Effect(StrEnum):
    """What PyTorch does on a failing input with one line held to the example's values."""

    SAME = "PyTorch gives what the export gives"  # the line alone explains the failure
    FAILS = "PyTorch fails as well"  # where the runtime refuses the input
    OTHER = "PyTorch gives neither its own answer nor the export's"  # the line matters, and another one too
    NONE = "PyTorch gives its own answer"  # what the trace kept of this line does no harm
    UNTRIED = ""


def judged(probe: Probe, eager: Eager, confirmation: Confirmation, places: list[Explanation]) -> list[Explanation]:
    """The explanations, each with what holding its line shows; without those that do no harm where others do.

    Those that explain the failure alone come first. Only conversions to a number can be held, only TorchScript keeps
    them, and where time is short the others are left as they are.
    """
    began = time.process_time()
    hold = _Hold(probe, eager, confirmation)
    tried: list[tuple[Effect, Explanation]] = []
    for place in places:
        late = bool(tried) and eager.costs.over(began)
        tried.append((Effect.UNTRIED, place) if late else hold.together([place])[0])
    harmful = [(effect, place) for effect, place in tried if effect is not Effect.NONE] or tried
    several = [place for effect, place in harmful if effect is Effect.OTHER]
    if len(several) > 1 and not eager.costs.over(began):
        rest = [(effect, place) for effect, place in harmful if effect is not Effect.OTHER]
        harmful = [*rest, *hold.together(several)]
    return [place for _, place in sorted(harmful, key=lambda one: min(list(Effect).index(one[0]), 2))]


@dataclass(frozen=True, slots=True)
class _Hold:
    """Runs failing inputs with the conversions of some lines giving the example's numbers."""

    probe: Probe
    eager: Eager
    confirmation: Confirmation

    def together(self, places: list[Explanation]) -> list[tuple[Effect, Explanation]]:
        """The places with what PyTorch makes of the first one's input where the lines of all are held."""
        trial, numbers = places[0].trial, [_numbers(self.confirmation.export, place) for place in places]
        if trial is None or trial.calls > 1 or not all(numbers):
            return [(Effect.UNTRIED, place) for place in places]
        held = {key: values for of_place in numbers for key, values in of_place.items()}
        effect = self._judged(trial, held)
        if effect is Effect.UNTRIED:
            return [(effect, place) for place in places]
        proof = f"with {_lines(places)} held to what the example gave, {effect.value}"
        return [(effect, replace(place, proof=proof, held=held)) for place in places]

    def _judged(self, trial: Trial, held: torchscript.Held) -> Effect:
        refused, eagers = trial.result is Result.REFUSED, trial.run.outputs
        outputs = self._outputs(trial, held)
        if outputs is not None and self._alike(outputs, eagers):
            return Effect.NONE
        theirs = None if refused or outputs is None else self._answer(trial)
        if theirs is not None and outputs is not None and self._alike(theirs, outputs):
            return Effect.SAME
        control = self._outputs(trial, {})
        if control is None or not self._alike(control, eagers):
            return Effect.UNTRIED  # the tracer itself changes what the model does on this input
        return Effect.FAILS if refused and outputs is None else Effect.OTHER

    def _outputs(self, trial: Trial, held: torchscript.Held) -> list[torch.Tensor] | None:
        """What PyTorch gives under the tracer; None where it fails."""
        try:
            return torchscript.outputs_with(self.eager.inference(), self.eager.call(trial.run), self.probe.root, held)
        except Exception:  # noqa: BLE001 - user code raises anything, and that it does is the result
            return None

    def _alike(self, ours: Sequence[torch.Tensor], theirs: Sequence[torch.Tensor]) -> bool:
        return numerics.worst(numerics.closely(ours, theirs, bounds_of(self.probe, self.eager))) is None

    def _answer(self, trial: Trial) -> list[torch.Tensor] | None:
        """What the export gives on the input, in the runtime that failed."""
        runtime = self.confirmation.runtime
        if runtime is None or trial.setup is None:
            return None
        try:
            answers = runtime.run(self.confirmation.feeds(trial.run), trial.setup)
        except RuntimeRefused:
            return None
        return [numerics.tensor(value) for value in answers]


def _lines(places: Sequence[Explanation]) -> str:
    """`line 3`, `lines 3 and 5`; with their files where these are several."""
    several = len({place.frames[0].path for place in places}) > 1
    lines = [f"{path}:{line}" if several else str(line) for path, line in map(line_of, places)]
    return f"line{'s' * (len(lines) > 1)} {listed(lines)}"


def _numbers(export: Export, place: Explanation) -> torchscript.Held:
    """What the conversions at the line of a place gave in the export; nothing where one of them gave no number."""
    at = line_of(place) if place.frames else None
    here = grouped((c for c in export.conversions if c.frames and line_of(c) == at), lambda c: (*line_of(c), c.kind))
    numbers = {key: [c.number for c in group if c.number is not None] for key, group in here.items()}
    return numbers if all(len(numbers[key]) == len(group) for key, group in here.items()) else {}
