"""What `onnxlint init` runs in a worker: find out how to feed a model, and export nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch

from onnxlint.base.records import ModelReport, ModelStatus, Probe, ProbeResult
from onnxlint.probes.common import stages
from onnxlint.probes.examples.examples import ProbeFailure
from onnxlint.probes.guess.synthesise import synthesise


def survey(probe: Probe, publish: Callable[[ProbeResult], None]) -> ProbeResult:
    """Return the report of one model: with what was assumed, or why it cannot be fed."""
    torch.set_num_threads(1)
    stages.stage(stages.BUILD)
    report = ModelReport(probe.name, probe.path, probe.line, ModelStatus.NOT_PROBED)
    try:
        _, assumed = synthesise(probe)
    except ProbeFailure as failure:
        return ProbeResult(replace(report, reason=failure.reason, remedy=failure.remedy))
    return ProbeResult(replace(report, status=ModelStatus.PROBED, assumed=assumed))
