"""Where an exporter's own run of a model leaves the way that PyTorch takes, on the very same input."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from onnxlint.base.records import Cause, Location
from onnxlint.probes.explain.causes import Explanation
from onnxlint.probes.exporters import dynamo, torchscript
from onnxlint.probes.observe.eager import Eager
from onnxlint.probes.observe.execution_paths import PathTracer
from onnxlint.probes.observe.observe import divergences

_QUICK = 3.0  # seconds of an export whose model is captured once more in any case


def other_way(eager: Eager, exporter: str, root: str, computed: Sequence[Explanation]) -> list[Explanation]:
    """The branch that goes otherwise while the model is exported than in eager, such as `isinstance(x.shape[1], int)`.

    `computed` tells where the first value differs. Libraries have branches that are meant for exports, so the branch
    has to stand above that value, in the same function; where no value is known to differ, every branch is told.
    Costs one more capture, and is left out where an export takes long and leaves no time for that. Nothing where the
    capture fails: it did not when the file was made.
    """
    pace = eager.costs.parts.get(exporter, 0.0)
    if pace > _QUICK and pace > eager.costs.left(math.inf):
        return []
    model, call = eager.fresh(), eager.call(eager.base)
    tracer = PathTracer()
    try:
        with tracer, dynamo.quiet():
            if exporter == "torchscript":
                torchscript.trace(model, call, root)
            else:
                dynamo.captured(model, call)
    except Exception:  # noqa: BLE001 - what cannot be captured again tells nothing; the other evidence stands
        return []
    seen = eager.base.observation
    exported = replace(seen, path=tracer.root, error=None, escapes=())
    branches = [d for d in divergences(replace(seen, escapes=()), [exported]) if d.kind == "branch"]
    if computed:
        place = next(iter(computed[0].frames), None)
        above = [d for d in branches if place is not None and _above(d.location, place)]
        branches = sorted(above, key=lambda d: d.location.line)[-1:]
    return [Explanation(Cause.BRANCH, d.frames, _told(d.detail)) for d in branches]


def _above(branch: Location, place: Location) -> bool:
    return (branch.path, branch.function) == (place.path, place.function) and branch.line <= place.line


def _told(detail: str) -> str:
    return detail.replace("the example", "PyTorch").replace("this input", "the exporter")
