"""The whole path from paths to a report, in one function: read this first."""

import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import onnxlint
from onnxlint.base.cache import Store, default_folder
from onnxlint.base.catalogue import load_catalogue
from onnxlint.base.paths import display_path
from onnxlint.base.probe_records import ProbeResult
from onnxlint.base.records import Diagnostic, Finding, ModelReport, Report
from onnxlint.config.settings import TYPED, Settings
from onnxlint.probes.live.snapshot_client import Captured
from onnxlint.probes.schedule.cluster import Cluster
from onnxlint.probes.schedule.plan import plan
from onnxlint.probes.schedule.pool import ProbePool
from onnxlint.report.progress import SILENT, Progress
from onnxlint.rules.engine.fix_cache import with_cached_fixes
from onnxlint.run import dynamic_pass
from onnxlint.run.probing import Probing, recalled
from onnxlint.run.sources import Sources
from onnxlint.run.static_pass import run_static, with_room_for_calls, without_collector
from onnxlint.source.discover import Discovery, discover
from onnxlint.source.suppress import apply
from onnxlint.verdicts import join, only_reached


@with_room_for_calls
def run_check(
    paths: Sequence[Path],
    settings: Settings,
    *,
    progress: Progress = SILENT,
    discovery: Discovery | None = None,
    overlay: Mapping[Path, bytes] = MappingProxyType({}),
    also: dynamic_pass.Also | None = None,
    shown: Callable[[Finding], bool] = lambda _: True,
    captured: Captured | None = None,
    recall: bool = False,
) -> Report:
    """Check the files under `paths`: read, analyse, probe, and join what both passes say.

    `discovery` are the files, where the walk is done already. `overlay` maps resolved paths to bytes to read instead.
    `also` is called with the probes, once they have run, and the pool that ran them. Findings that are not `shown` get
    no fix: writing one takes longer than finding what it is for. `captured` are live models: they are probed, and no
    others. With `recall` nothing is probed, and what earlier runs know of the models counts.
    """
    began = time.monotonic()
    missing = dynamic_pass.missing_packages(settings)
    mode = dynamic_pass.Mode.RECALL if recall else dynamic_pass.Mode.PROBE
    mode = dynamic_pass.Mode.STATIC if settings.static_only or missing else mode
    store = Store((settings.cache_dir or default_folder()) if settings.cache else None)
    live = captured.servers if captured is not None else {}
    here = captured is not None or mode is dynamic_pass.Mode.RECALL or settings.scheduler is None
    opened = ProbePool(live=live) if here else Cluster(settings.scheduler or "")
    with without_collector(), opened as pool:
        lasting = store if captured is None else Store(None)  # what live models hang on nobody can look up
        probing = Probing(pool, settings, lasting, progress)
        if mode is dynamic_pass.Mode.PROBE and settings.models and captured is None:
            probing.warm()
        sources = Sources(discovery or discover(paths, settings), settings, progress, overlay, store)
        static = run_static(sources, settings, store, mode is not dynamic_pass.Mode.STATIC, captured is not None)
        candidates = static.analysis.candidates
        dynamic = dynamic_pass.DynamicResult()
        if mode is dynamic_pass.Mode.RECALL:
            probes = plan(settings, candidates, sources).probes
            dynamic = dynamic_pass.DynamicResult(tuple(recalled(store, settings, probes, overlay)))
        elif mode is dynamic_pass.Mode.PROBE:
            dynamic = dynamic_pass.run_dynamic(candidates, sources, settings, probing, captured, overlay, also)
    diagnostics = [*static.diagnostics]
    if store.problem:
        diagnostics.append(Diagnostic("warning", f"nothing is kept for the next run: {store.problem}"))
    diagnostics += [dynamic_pass.switched_off(missing)] if missing else []
    diagnostics += dynamic.diagnostics
    findings = _with_verdicts(static.findings, dynamic.results, sources, captured)
    findings = _asked_for(findings, sources, settings, mode is dynamic_pass.Mode.PROBE, static.failed)
    failures = None if settings.debug else diagnostics
    with without_collector():
        findings = with_cached_fixes(findings, sources.text, store, load_catalogue(), sources.workers, shown, failures)
    diagnostics += sources.lost_work
    store.close()
    versions = dynamic.results[0].versions if dynamic.results else {}
    return Report(
        findings=findings,
        models=(*(_model_report(result, settings) for result in dynamic.results), *dynamic.unprobed),
        diagnostics=tuple(diagnostics),
        files=sources.count,
        tool={"onnxlint": onnxlint.__version__, **dict(versions)},
        seconds=time.monotonic() - began,
        unchanged=probing.unchanged,
        interrupted=probing.interrupted,
        captured=captured is not None,
    )


def _with_verdicts(
    findings: tuple[Finding, ...], results: Sequence[ProbeResult], sources: Sources, captured: Captured | None
) -> tuple[Finding, ...]:
    """Findings joined with the evidence of probes; of live models only what is in the files, or was reached."""
    own = None if captured is None else frozenset(map(display_path, sources.discovery.files)).__contains__
    lines = sources.statement_lines
    joined = join(findings, results, lines, load_catalogue(), is_checked=own, source_line=sources.line)
    return only_reached(joined, results, lines) if captured is not None and captured.reached_only else joined


def _asked_for(
    findings: tuple[Finding, ...], sources: Sources, settings: Settings, dynamic: bool, failed: Collection[str]
) -> tuple[Finding, ...]:
    names = {rule.code: rule.name for rule in load_catalogue().values()}
    wanted, ignores = settings.selects, settings.file_ignores.ignores

    def ran(code: str, name: str) -> bool:
        if settings.origins.get("exporters") == TYPED:  # what the other exporter has to say was not asked
            return False
        return code not in failed and wanted(code, name) and (dynamic or not code.startswith("ONX7"))

    files = dict(sources.files)
    for path in {f.span.path for f in findings} - files.keys():
        source = sources.file(path)
        if source is not None:
            files[path] = source
    unsuppressed, _, unused = apply(findings, files, names, ran)
    asked = (f for f in (*unsuppressed, *unused) if wanted(f.code, f.rule))
    return tuple(f for f in asked if not ignores(os.path.abspath(f.span.path), f.code, f.rule))


def _model_report(result: ProbeResult, settings: Settings) -> ModelReport:
    declared = result.report.declared or any(m.factory == result.report.name for m in settings.models)
    path = display_path(Path(result.report.path)) if result.report.path else ""
    return replace(result.report, declared=declared, path=path)
