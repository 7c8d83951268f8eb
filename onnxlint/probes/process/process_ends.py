"""What is said of a probe whose process did not end as it should: what was known so far, and the cause of the end."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from onnxlint.base.records import (
    SYNTHESISED,
    Cause,
    Diagnostic,
    Evidence,
    ExporterResult,
    Location,
    ModelReport,
    ModelStatus,
    Outcome,
    Probe,
    ProbeResult,
)
from onnxlint.probes.common import stages
from onnxlint.probes.common.userspace import is_own, is_user_code, relative

_SIGNALS = {
    signal.SIGSEGV: "segmentation fault",
    signal.SIGABRT: "abort",
    signal.SIGFPE: "arithmetic fault",
    signal.SIGILL: "illegal instruction",
    signal.SIGBUS: "bad memory access",
    signal.SIGXCPU: "its limit of CPU time",
    signal.SIGXFSZ: "its limit of the size of files",
    signal.SIGKILL: "most likely by the system, which had run out of memory",
}
_TRACE_LINE = re.compile(r'^  File "(?P<path>.+)", line (?P<line>\d+) in (?P<function>.*)$')


@dataclass(frozen=True, slots=True)
class Death:
    """How a probe's process ended: `sentence` has the process as its unspoken subject, `stage` what it was doing."""

    outcome: Outcome
    sentence: str
    stage: str
    frames: tuple[Location, ...] = ()
    internal: bool = False  # onnxlint is to blame, not the model


def by_signal(number: int) -> str:
    """Say that a signal ended the process."""
    try:
        name = signal.Signals(number).name
    except ValueError:
        return f"the process was killed by signal {number}"
    said = _SIGNALS.get(signal.Signals(number))
    return f"the process was killed by {name}" + (f" ({said})" if said else "")


def trace_frames(trace: str, root: str, limit: int = 8) -> tuple[Location, ...]:
    """Return the user's frames of what faulthandler wrote, innermost first: of the first thread that has any."""
    for thread in _threads(trace):
        user_frames = _user(((m["path"], int(m["line"]), m["function"]) for m in thread), root)
        if user_frames:
            return user_frames[:limit]
    return ()


def is_internal(frames: Iterable[tuple[str, int, str]]) -> bool:
    """Whether a traceback, innermost frame first, ends in onnxlint's own code, or in what that has called."""
    return next((is_own(path) for path, _, _ in frames if is_own(path) or is_user_code(path)), True)


def raised_frames(frames: Iterable[tuple[str, int, str]], root: str, limit: int = 8) -> tuple[Location, ...]:
    """Return the user's frames of a traceback that the child sent, innermost first."""
    return _user(frames, root)[:limit]


def _threads(trace: str) -> Iterator[list[re.Match[str]]]:
    """Yield the frames of each thread, the current one first (faulthandler writes it last when asked by a signal)."""
    blocks = re.split(r"^(?=Thread 0x|Current thread 0x)", trace, flags=re.MULTILINE)
    blocks.sort(key=lambda block: not block.startswith("Current thread"))
    for block in blocks:
        yield [m for m in map(_TRACE_LINE.match, block.splitlines()) if m]


def _user(frames: Iterable[tuple[str, int, str]], root: str) -> tuple[Location, ...]:
    return tuple(Location(relative(path, root), line, name) for path, line, name in frames if is_user_code(path))


def not_probed(probe: Probe, reason: str, remedy: str | None = None) -> ProbeResult:
    """The result of a probe for which there was no process."""
    at = probe.name, probe.path, probe.line
    return ProbeResult(ModelReport(*at, ModelStatus.NOT_PROBED, reason, remedy, declared=probe.asked_for))


def result_of(probe: Probe, partial: ProbeResult | None, death: Death) -> ProbeResult:
    """Return what was published before the end, with `death` told for every exporter that has no result.

    A model that died before it was built has not been probed; its exporters still say how it ended.
    """
    if partial is not None and death.stage == stages.WAYS:  # the probe itself was done
        return partial
    if partial is None:
        at_model = probe.name, probe.path, probe.line
        partial = ProbeResult(ModelReport(*at_model, ModelStatus.PROBED, declared=probe.asked_for))
    while_ = f" while {death.stage}" if death.stage else ""
    at = death.frames[0] if death.frames else None
    detail = f"{death.sentence}{while_}"
    missing = [name for name in probe.exporters if name not in partial.report.exporters]
    results = {name: ExporterResult(death.outcome, detail, at) for name in missing}
    report = replace(partial.report, exporters={**partial.report.exporters, **results})
    ours = probe.source == SYNTHESISED and "export" not in death.stage  # inputs that we made up prove no hang
    if death.stage in ("", stages.BUILD, stages.GUESS) or ours:
        reason = f"{detail} ({at.path}:{at.line})" if at else detail
        more_time = "give it more time, with `timeout` in its configuration or with --timeout"
        remedy = more_time if death.outcome is Outcome.TIMEOUT else None
        report = replace(report, status=ModelStatus.NOT_PROBED, reason=reason, remedy=remedy)
    blamed = [name for name in missing if name in death.stage]
    evidence = tuple(Evidence(probe.name, n, Cause.REFUSED, death.outcome, death.frames, detail) for n in blamed)
    if death.internal:
        fault = Diagnostic("error", f"{probe.name}: {detail}; please report it", probe.path or None, probe.line or None)
        partial = replace(partial, notices=(*partial.notices, fault))
    return replace(partial, report=report, evidence=partial.evidence + (evidence if death.frames else ()))
