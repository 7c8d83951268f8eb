"""From what was seen to one outcome per exporter: a pure table, the most serious first."""

import onnx
import torch
from torch.onnx import _constants

from onnxlint.base.records import ONNX_RUNTIME, Outcome, text_of
from onnxlint.probes.confirm.engines import Setup
from onnxlint.probes.confirm.trials import Confirmation, Result, Trial
from onnxlint.probes.exporters import Export
from onnxlint.probes.exporters.graph import opset_of
from onnxlint.probes.observe.eager import Eager

Verdict = tuple[Outcome, str]
_ADVICE = "nothing was checked with it; ask for another one with --opset, or leave it out: --exporter {other}"


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


def other_opset(export: Export, asked: int) -> str:
    """Why this exporter cannot give that opset, in one sentence without the model's name; empty where it can."""
    version = torch.__version__.partition("+")[0]
    if export.exporter == "torchscript":
        least, most = _constants.ONNX_MIN_OPSET, _constants.ONNX_MAX_OPSET
        if export.path is not None or least <= asked <= most:
            return ""
        message = f"the TorchScript exporter of torch {version} writes opsets {least} to {most}, not {asked}"
        return f"{message}: {_ADVICE.format(other='dynamo')}"
    written = opset_of(onnx.load(str(export.path), load_external_data=False)) if export.path is not None else asked
    if written in (None, asked):
        return ""
    reason = ", since it could not convert the graph down" if asked < 18 else ""
    message = f"the dynamo exporter of torch {version} was asked for opset {asked} and wrote {written}{reason}"
    return f"{message}: {_ADVICE.format(other='torchscript')}"


def eager_error(eager: Eager) -> str:
    """Which sizes eager PyTorch itself rejects."""
    labels = ", ".join(dict.fromkeys(run.label for run in eager.fixed))
    error = eager.fixed[0].observation.error
    first = text_of(error).strip().splitlines()[0] if text_of(error).strip() else type(error).__name__
    return f"eager PyTorch itself rejects {labels}: {first}"


def _confirmed(eager: Eager, confirmation: Confirmation) -> Verdict:
    failing, fixed = confirmation.failing, {dim for _, _, dim in confirmation.constant}
    if values := [trial for trial in failing if trial.result is Result.VALUES]:
        return Outcome.WRONG_VALUES, _tell(values, confirmation)
    if fixed and all(any(t.run.sizes.get(dim) != eager.base.sizes.get(dim) for dim in fixed) for t in failing):
        names = ", ".join(f"axis {axis} of `{name}` ({dim})" for name, axis, dim in confirmation.constant)
        return Outcome.STATIC_DIM, f"{names} was to be dynamic and is a constant in the graph"
    if failing:
        return Outcome.SHAPE_ERROR, _tell(failing, confirmation)
    unstable = sorted({trial.unstable for trial in confirmation.trials if trial.unstable is not None})
    aside = f", but where a rounding error moves output {', '.join(map(str, unstable))} as far" if unstable else ""
    return Outcome.OK, f"agrees with eager on {len(confirmation.trials)} inputs{aside}"


def _tell(trials: list[Trial], confirmation: Confirmation) -> str:
    first, refusing = trials[0], confirmation.refusing
    count = f"{len(confirmation.failing)} of {len(confirmation.trials)} inputs"
    refused = f"; {refusing.title} refuses it: {confirmation.refusal}" if refusing is not None else ""
    return f"differs from eager on {count}, first {first.run.label}: {_in(first.setup)}{first.message}{refused}"


def _in(setup: Setup | None) -> str:
    """Which runtime it was, if not ONNX Runtime on the CPU."""
    return f"{setup.engine.title}: " if setup is not None and setup.engine.name != ONNX_RUNTIME else ""
