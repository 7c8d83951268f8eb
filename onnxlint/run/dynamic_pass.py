"""The dynamic half of a run: which models are probed, what their probes say, and what of them could not be tried."""

import importlib.util
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import TypeAlias

from onnxlint.base.probe_records import SYNTHESISED, Probe, ProbeResult
from onnxlint.base.records import Diagnostic, ModelReport
from onnxlint.config.settings import Settings
from onnxlint.flow.state.candidates import Candidate
from onnxlint.probes.live.snapshot_client import Captured
from onnxlint.probes.schedule.plan import Plan, plan, plan_captured
from onnxlint.probes.schedule.pool import ProbePool
from onnxlint.run.probing import Probing
from onnxlint.run.sources import Sources

DYNAMIC = ("torch", "onnx", "onnxscript", "onnxruntime", "numpy", "psutil")
UNKNOWN_MODEL = "no model of that name was found"

Also: TypeAlias = Callable[[ProbePool, Sequence[Probe]], None]


class Mode(Enum):
    """What a run does about models: nothing, probe them, or recall what earlier runs know of them."""

    STATIC = "static"
    PROBE = "probe"
    RECALL = "recall"


@dataclass(frozen=True, slots=True)
class DynamicResult:
    """What probes say, the models that were not probed, and what is to be reported of both."""

    results: tuple[ProbeResult, ...] = ()
    unprobed: tuple[ModelReport, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def missing_packages(settings: Settings) -> list[str]:
    """Return what the dynamic pass needs and is not installed; nothing where it is not asked for."""
    return [] if settings.static_only else [m for m in DYNAMIC if importlib.util.find_spec(m) is None]


def run_dynamic(
    candidates: tuple[Candidate, ...],
    sources: Sources,
    settings: Settings,
    probing: Probing,
    captured: Captured | None,
    overlay: Mapping[Path, bytes],
    also: Also | None,
) -> DynamicResult:
    """Probe the models of a run, or those that were `captured` alone; then call `also` with the probes and the pool."""
    todo = plan(settings, candidates, sources) if captured is None else plan_captured(settings, captured)
    text = {str(path): data.decode("latin-1") for path, data in overlay.items()}
    todo = replace(todo, probes=tuple(replace(probe, overlay=text) for probe in todo.probes))
    results = probing.run(todo.probes)
    notices = dict.fromkeys(notice for result in results for notice in result.notices)
    if also is not None and not probing.interrupted:
        with nullcontext(probing.pool) if isinstance(probing.pool, ProbePool) else ProbePool() as here:
            also(here, todo.probes)
    return DynamicResult(tuple(results), todo.unprobed, (*_left_out(todo, probing.over), *notices))


def switched_off(missing: Sequence[str]) -> Diagnostic:
    """What a run without these packages leaves out."""
    names = ", ".join(missing)
    return Diagnostic("warning", f"the dynamic pass is off: {names} not installed; pip install 'onnxlint[dynamic]'")


def _left_out(todo: Plan, ways: tuple[str, ...]) -> Iterator[Diagnostic]:
    """Which models are not probed, and which further `ways` to call those that are."""
    yield from (Diagnostic("error", f"--model {name}: {UNKNOWN_MODEL}") for name in todo.unknown)
    assumed, over = sum(probe.source == SYNTHESISED for probe in todo.probes), todo.over or ways
    others = f"{over[0]} and {len(over) - 1} more" if len(over) > 1 else "".join(over)
    everyone = assumed + len(over)
    if todo.over:
        message = f"{assumed} of {everyone} models that nobody declared are probed, without {others}; "
        yield Diagnostic("warning", f"{message}--max-models {everyone} probes all, `--model NAME` one")
    if todo.unnamed:
        message = "more models were found that nothing says how to feed; `onnxlint init` declares them"
        yield Diagnostic("warning", f"{todo.unnamed} {message}")
    if ways and not todo.over:  # else that models are left out is told already
        message = f"further ways to call models are found, and {others} {'are' if len(ways) > 1 else 'is'} not probed"
        yield Diagnostic("warning", f"{message}; --max-models {everyone} leaves room for them")
