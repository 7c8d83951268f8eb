"""What eager computes on a probe's inputs before and after its source was changed. Runs in a process of its own."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from onnxlint.base.probe_records import Probe, ProbeResult
from onnxlint.base.records import Cause, Evidence, ModelReport, ModelStatus, Outcome
from onnxlint.probes.common.numerics import tensors
from onnxlint.probes.examples.examples import ProbeFailure
from onnxlint.probes.observe.eager import Eager, explore, prepare, same

RELATIVE, ABSOLUTE = 1e-4, 1e-6  # a sum in another order is no change


def compare_outputs(probe: Probe, publish: Callable[[ProbeResult], None]) -> ProbeResult:
    """Keep eager's outputs in the file `probe.compare`, or report every input on which they differ from those."""
    assert probe.compare is not None
    saved = Path(probe.compare)
    evidence: tuple[Evidence, ...] = ()
    status, reason = ModelStatus.PROBED, None
    reached = {}
    try:
        eager = prepare(probe)
        if eager.base.observation.error is None:
            explore(probe, eager)
        reached = eager.reached
        if saved.exists():
            evidence = tuple(_differences(probe, eager, torch.load(saved, weights_only=True)))
        else:
            runs = [run for run in eager.accepted if run.observation.error is None]
            outputs = {run.label: (tensors((run.args, run.kwargs)), list(run.outputs)) for run in runs}
            torch.save({"random": eager.random, "runs": outputs}, saved)
    except ProbeFailure as failure:
        status, reason = ModelStatus.NOT_PROBED, failure.reason
    result = ProbeResult(ModelReport(probe.name, probe.path, probe.line, status, reason), evidence, reached)
    publish(result)
    return result


def _differences(probe: Probe, eager: Eager, before: dict[str, Any]) -> Iterator[Evidence]:
    """One piece of evidence for each input that shows a change; none where chance decides what comes out."""
    if before["random"]:
        return
    runs = {run.label: run for run in (*eager.accepted, *eager.rejected)}
    for label, (inputs, outputs) in before["runs"].items():
        run = runs.get(label)
        if run is None or not _identical(tensors((run.args, run.kwargs)), inputs):
            continue  # other inputs: nothing can be said
        error = run.observation.error
        if error is None and (_identical(run.outputs, outputs) or same(run.outputs, outputs, RELATIVE, ABSOLUTE)):
            continue
        raises = f"eager raises {type(error).__name__} where it did not"
        detail = "eager gives another output" if error is None else raises
        yield Evidence(probe.name, "eager", Cause.MISMATCH, Outcome.WRONG_VALUES, (), detail, label)


def _identical(one: Sequence[torch.Tensor], other: Sequence[torch.Tensor]) -> bool:
    kinds = [(a.shape, a.dtype) for a in one] == [(b.shape, b.dtype) for b in other]
    return kinds and all(map(torch.equal, one, other))
