"""What is said of a probe whose process did not end as it should: what was known so far, and the cause of the end."""

import itertools
import re
import signal
from collections.abc import Iterable
from dataclasses import dataclass, replace

from onnxlint.base import probe_records, records
from onnxlint.base.probe_records import Probe, ProbeResult
from onnxlint.base.records import Location, ModelReport, ModelStatus, Outcome
from onnxlint.probes.common import stages
from onnxlint.probes.common.userspace import is_own, is_user_code, relative

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
    names = {one.value: one.name for one in signal.Signals}
    out_of_memory = "most likely by the system, which had run out of memory"
    meaning = out_of_memory if number == signal.SIGKILL else signal.strsignal(number)
    return f"the process was killed by {f'{names[number]} ({meaning})' if number in names else f'signal {number}'}"


def trace_frames(trace: str, root: str, limit: int = 8) -> tuple[Location, ...]:
    """Return the user's frames of what faulthandler wrote, innermost first: of the first thread that has any."""
    blocks = re.split(r"^(?=Thread 0x|Current thread 0x)", trace, flags=re.MULTILINE)
    blocks.sort(key=lambda block: not block.startswith("Current thread"))  # which is last when a signal asks for it
    for block in blocks:
        lines = [m for m in map(_TRACE_LINE.match, block.splitlines()) if m]
        if frames := raised_frames(((m["path"], int(m["line"]), m["function"]) for m in lines), root, limit):
            return frames
    return ()


def is_internal(frames: Iterable[tuple[str, int, str]]) -> bool:
    """Whether a traceback, innermost frame first, ends in onnxlint's own code, or in what that has called."""
    return next((is_own(path) for path, _, _ in frames if is_own(path) or is_user_code(path)), True)


def raised_frames(frames: Iterable[tuple[str, int, str]], root: str, limit: int = 8) -> tuple[Location, ...]:
    """Return the user's frames of a traceback that the child sent, innermost first."""
    users = (frame for frame in frames if is_user_code(frame[0]))
    return tuple(Location(relative(path, root), line, name) for path, line, name in itertools.islice(users, limit))


def not_probed(probe: Probe, reason: str, remedy: str | None = None) -> ProbeResult:
    """The result of a probe for which there was no process."""
    at = probe.name, probe.path, probe.line
    return ProbeResult(ModelReport(*at, ModelStatus.NOT_PROBED, reason, remedy, declared=probe.asked_for))


def result_of(probe: Probe, partial: ProbeResult | None, death: Death) -> ProbeResult:
    """Return what was published before the end, with `death` for every exporter that has no result."""
    if partial is not None and death.stage == stages.WAYS:  # the probe itself was done
        return partial
    if partial is None:
        partial = ProbeResult(replace(not_probed(probe, "").report, status=ModelStatus.PROBED, reason=None))
    at = death.frames[0] if death.frames else None
    detail = f"{death.sentence} while {death.stage}" if death.stage else death.sentence
    missing = [name for name in probe.exporters if name not in partial.report.exporters]
    results = {name: records.ExporterResult(death.outcome, detail, at) for name in missing}
    report = replace(partial.report, exporters={**partial.report.exporters, **results})
    # Inputs that we made up prove no hang.
    ours = probe.source == probe_records.SYNTHESISED and "export" not in death.stage
    if death.stage in ("", stages.BUILD, stages.GUESS) or ours:
        reason = f"{detail} ({at.path}:{at.line})" if at else detail
        more_time = "give it more time, with `timeout` in its configuration or with --timeout"
        remedy = more_time if death.outcome is Outcome.TIMEOUT else None
        report = replace(report, status=ModelStatus.NOT_PROBED, reason=reason, remedy=remedy)
    blame = records.Cause.REFUSED, death.outcome, death.frames, detail
    blamed = [name for name in missing if name in death.stage and death.frames]
    evidence = (*partial.evidence, *(records.Evidence(probe.name, name, *blame) for name in blamed))
    blunder = f"{probe.name}: {detail}; please report it"
    fault = records.Diagnostic("error", blunder, probe.path or None, probe.line or None)
    notices = (*partial.notices, fault) if death.internal else partial.notices
    return replace(partial, report=report, evidence=evidence, notices=notices)
