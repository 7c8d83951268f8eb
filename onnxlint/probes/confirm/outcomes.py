"""From what was seen to one outcome per exporter: a pure table, the most serious first."""

from __future__ import annotations

from onnxlint.base.records import ONNX_RUNTIME, Outcome, text_of
from onnxlint.probes.confirm.engines import Setup
from onnxlint.probes.confirm.trials import Confirmation, Result, Trial
from onnxlint.probes.observe.eager import Eager

Verdict = tuple[Outcome, str]


def judge(eager: Eager, confirmation: Confirmation) -> Verdict:
    """The outcome of one exporter and one sentence on it."""
    if eager.fixed:
        return Outcome.EAGER_ERROR, eager_error(eager)
    if confirmation.export.error:
        return Outcome.EXPORT_ERROR, confirmation.export.error
    if confirmation.refusal and (confirmation.refusing is None or not confirmation.failing):
        return Outcome.RUNTIME_ERROR, f"{_in(confirmation.refusing)}{confirmation.refusal}"
    if eager.random:
        return Outcome.NONDETERMINISTIC, "eager PyTorch itself answers the same input differently from run to run"
    if confirmation.random:
        return Outcome.NONDETERMINISTIC, "without optimizations the runtime's answer differs from run to run"
    outcome, detail = _confirmed(eager, confirmation)
    return outcome, f"{detail} (tried in float32: {confirmation.in_float32})" if confirmation.in_float32 else detail


def eager_error(eager: Eager) -> str:
    """Which sizes eager PyTorch itself rejects."""
    labels = ", ".join(dict.fromkeys(run.label for run in eager.fixed))
    error = eager.fixed[0].observation.error
    first = text_of(error).strip().splitlines()[0] if text_of(error).strip() else type(error).__name__
    return f"eager PyTorch itself rejects {labels}: {first}"


def _confirmed(eager: Eager, confirmation: Confirmation) -> Verdict:
    values = [trial for trial in confirmation.failing if trial.result is Result.VALUES]
    if values:
        return Outcome.WRONG_VALUES, _tell(values, confirmation)
    if confirmation.constant:
        moved = {dim for _, _, dim in confirmation.constant}
        pinned = [trial for trial in confirmation.failing if any(_moves(eager, trial, dim) for dim in moved)]
        if len(pinned) == len(confirmation.failing):
            names = ", ".join(f"axis {axis} of `{name}` ({dim})" for name, axis, dim in confirmation.constant)
            return Outcome.STATIC_DIM, f"{names} was to be dynamic and is a constant in the graph"
    shapes = confirmation.failing
    if shapes:
        return Outcome.SHAPE_ERROR, _tell(shapes, confirmation)
    return Outcome.OK, f"agrees with eager on {len(confirmation.trials)} inputs"


def _moves(eager: Eager, trial: Trial, dim: str) -> bool:
    return trial.run.sizes.get(dim) != eager.base.sizes.get(dim)


def _tell(trials: list[Trial], confirmation: Confirmation) -> str:
    first = trials[0]
    count = f"{len(confirmation.failing)} of {len(confirmation.trials)} inputs"
    refused = (
        f"; {confirmation.refusing.title} refuses it: {confirmation.refusal}"
        if confirmation.refusing is not None
        else ""
    )
    return f"differs from eager on {count}, first {first.run.label}: {_in(first.setup)}{first.message}{refused}"


def _in(setup: Setup | None) -> str:
    """Which runtime it was, if not ONNX Runtime on the CPU."""
    return f"{setup.engine.title}: " if setup is not None and setup.engine.name != ONNX_RUNTIME else ""
