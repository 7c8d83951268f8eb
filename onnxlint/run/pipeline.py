"""The whole path from paths to a report, in one function: read this first."""

from __future__ import annotations

import ast
import gc
import importlib.util
import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import onnxlint
from onnxlint.base import workers
from onnxlint.base.cache import Store, default_folder
from onnxlint.base.catalogue import Contract, load_catalogue, plugin_faults, watched
from onnxlint.base.paths import display_path
from onnxlint.base.records import SYNTHESISED, Diagnostic, Finding, ModelReport, Probe, ProbeResult, Report, Severity
from onnxlint.config.settings import TYPED, Settings
from onnxlint.flow.analysis import Request, analyse_files
from onnxlint.flow.part_results import Analysis
from onnxlint.flow.state.candidates import Candidate
from onnxlint.flow.state.partitions import Declared
from onnxlint.flow.state.problems import Problem
from onnxlint.flow.tables.torch_versions import choose
from onnxlint.probes.live.snapshot_client import Captured
from onnxlint.probes.schedule.plan import Place, Plan, plan, plan_captured
from onnxlint.probes.schedule.pool import ProbePool
from onnxlint.project.index import Index
from onnxlint.project.modules import ModuleInfo
from onnxlint.rules.engine.findings import run_rules
from onnxlint.rules.engine.fix_cache import with_kept_fixes
from onnxlint.run.probing import Probing, Watcher, open_pool, recalled
from onnxlint.source.discover import Discovery, discover
from onnxlint.source.parse import SourceFile, read_source, source_lines
from onnxlint.source.statements import statement_at, statement_spans
from onnxlint.source.suppress import apply
from onnxlint.verdicts import join, only_reached

DYNAMIC = ("torch", "onnx", "onnxscript", "onnxruntime", "numpy", "psutil")
UNUSED = "ONX901"
UNKNOWN_MODEL = "no model of that name was found"


Also = Callable[[ProbePool, Sequence[Probe]], None]


def run_check(
    paths: Sequence[Path],
    settings: Settings,
    *,
    progress: Watcher | None = None,
    found: Discovery | None = None,
    overlay: Mapping[Path, bytes] = MappingProxyType({}),
    also: Also | None = None,
    shown: Callable[[Finding], bool] = lambda _: True,
    captured: Captured | None = None,
    recall: bool = False,
) -> Report:
    """Check the files under `paths`: read, analyse, probe, and join what both passes say.

    `found` are the files, where the walk is done already. `overlay` maps resolved paths to bytes to read instead.
    `also` is called with the probes, once they have run, and the pool that ran them. Findings that are not `shown` get
    no fix: writing one takes longer than finding what it is for. `captured` are live models: they are probed, and no
    others. With `recall` nothing is probed, and what earlier runs know of the models counts.
    """
    began = time.monotonic()
    catalogue = load_catalogue()
    missing = missing_packages(settings)
    recall = recall and not settings.static_only and not missing
    dynamic = not settings.static_only and not missing and not recall
    store = Store((settings.cache_dir or default_folder()) if settings.cache else None)
    live = captured.servers if captured is not None else {}
    opened = ProbePool(live=live) if captured is not None or recall else open_pool(settings)
    with _without_collector(), opened as pool:
        lasting = store if captured is None else Store(None)  # what live models hang on nobody can look up
        probing = Probing(pool, settings, lasting, progress)
        if dynamic and settings.models and captured is None:
            probing.warm()
        sources = _Sources(found or discover(paths, settings), settings, progress, overlay, store)
        analysis = _analyse(sources, settings, store, dynamic or recall, captured is not None)
        refused = _refused(catalogue, settings, sources.found)
        findings, broken = run_rules(
            analysis.observations,
            catalogue,
            settings.exporters,
            lambda code, name: settings.selection.matches(code, name) and code not in refused,
            sources.text,
            store,
            workers.processes(settings.jobs),
        )
        wanted = settings.selection.matches
        faults = [message for code, message in plugin_faults().items() if wanted(code)]
        broken = (*(Diagnostic("error", message) for message in (*faults, *refused.values())), *broken)
        diagnostics = [*sources.diagnostics, *broken, *_problems(analysis)]
        if store.problem:
            diagnostics.append(Diagnostic("warning", f"nothing is kept for the next run: {store.problem}"))
        if missing:
            diagnostics.append(_off(missing))
        results: list[ProbeResult] = []
        unprobed: tuple[ModelReport, ...] = ()
        if recall:
            results = recalled(store, settings, plan(settings, analysis.candidates, sources).probes, overlay)
        elif dynamic:
            if captured is None:
                todo = plan(settings, analysis.candidates, sources)
            else:
                todo = plan_captured(settings, captured)
            diagnostics += _unplanned(todo)
            unprobed = todo.unprobed
            text = {str(path): data.decode("latin-1") for path, data in overlay.items()}
            todo = replace(todo, probes=tuple(replace(probe, overlay=text) for probe in todo.probes))
            results = probing.run(todo.probes)
            diagnostics += _untried(probing.over, todo)
            diagnostics += dict.fromkeys(notice for result in results for notice in result.notices)
            if also is not None and not probing.interrupted:
                with nullcontext(pool) if isinstance(pool, ProbePool) else ProbePool() as here:
                    also(here, todo.probes)
    own = None if captured is None else frozenset(display_path(path) for path in sources.found.files)
    findings = join(
        findings,
        results,
        sources.statement_lines,
        catalogue,
        is_checked=None if own is None else own.__contains__,
        source_line=sources.line,
    )
    if captured is not None and captured.reached_only:
        findings = only_reached(findings, results, sources.statement_lines)
    failed = {code for code in catalogue if any(code in diagnostic.message for diagnostic in broken)}
    findings, needless = _without_suppressed(findings, sources, settings, catalogue, dynamic, failed)
    ignores = settings.file_ignores.ignores
    findings = tuple(
        f
        for f in (*findings, *needless)
        if wanted(f.code, f.rule) and not ignores(os.path.abspath(f.span.path), f.code, f.rule)
    )
    failures = None if settings.debug else diagnostics
    findings = with_kept_fixes(
        findings, sources.text, store, catalogue, workers.processes(settings.jobs), shown, failures
    )
    store.close()
    return Report(
        findings=findings,
        models=(*(_told(r, settings) for r in results), *unprobed),
        diagnostics=tuple(diagnostics),
        files=sources.count,
        tool={"onnxlint": onnxlint.__version__, **(dict(results[0].versions) if results else {})},
        seconds=time.monotonic() - began,
        unchanged=probing.unchanged,
        interrupted=probing.interrupted,
        captured=captured is not None,
    )


def missing_packages(settings: Settings) -> list[str]:
    """Return what the dynamic pass needs and is not installed; nothing where it is not asked for."""
    return [] if settings.static_only else [m for m in DYNAMIC if importlib.util.find_spec(m) is None]


@contextmanager
def _without_collector() -> Iterator[None]:
    """Trees have no cycles, and the cyclic collector would walk millions of their nodes again and again."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.freeze()  # what is left goes when its last reference does; looking for cycles in it takes a minute
            gc.enable()


class _Sources(Place):
    """The files of a run: what is read, what could not be, and where a statement begins and ends."""

    def __init__(
        self,
        found: Discovery,
        settings: Settings,
        progress: Watcher | None,
        overlay: Mapping[Path, bytes],
        store: Store,
    ) -> None:
        self.count = len(found.files)
        self.index = Index(store, overlay, workers.processes(settings.jobs))
        self.found = found
        self._settings = settings
        self._files: dict[str, SourceFile] | None = None
        if progress is not None:
            progress.stage("reading", self.count)
        self.index.read(found.files, progress.advance if progress is not None else lambda: None)

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """What is wrong with the files."""
        return [*self.found.diagnostics, *self.index.diagnostics]

    def __call__(self, factory: str) -> tuple[str, int]:
        """Path and line of `module:attribute`; ("", 0) where the source does not show it."""
        module, _, name = factory.partition(":")
        info = self.index.parse().module(module) or self._under_roots(module)
        if info is None:
            return "", 0
        head = name.partition(".")[0]
        unit = info.functions.get(head)
        cls = info.classes.get(head)
        found = unit or cls
        return info.path, found.line if found is not None else 1

    def _under_roots(self, module: str) -> ModuleInfo | None:
        for root in self._settings.source_roots or (self._settings.root, self._settings.root / "src"):
            base = root.joinpath(*module.split("."))
            for path in (base.with_suffix(".py"), base / "__init__.py"):
                if path.is_file():
                    source = self.index.load(path)
                    return self.index.parse().add(source) if source is not None else None
        return None

    def line(self, path: str, number: int) -> str:
        """The text of a line."""
        known = self.files().get(path)
        if known is not None:
            return known.line(number)
        lines = source_lines(path)
        return lines[number - 1] if 0 < number <= len(lines) else ""

    def files(self) -> Mapping[str, SourceFile]:
        """The files read, by the path that findings name."""
        if self._files is None:
            self._files = self.index.files()
        return self._files

    def file(self, path: str) -> SourceFile | None:
        """A file by the path that findings name: of interest, or imported by one that is."""
        return self.files().get(path) or (self.index.load(Path(path)) if Path(path).is_file() else None)

    def text(self, path: str) -> str | None:
        """The text of such a file; None where there is none."""
        source = self.file(path)
        return source.text if source is not None else None

    def statement_lines(self, path: str, line: int) -> tuple[int, int]:
        """First and last line of the statement (of a compound one, its header) that holds a line."""
        return statement_at(self._spans(path), line)

    def _spans(self, path: str) -> list[tuple[int, int]]:
        if not hasattr(self, "_by_path"):
            self._by_path: dict[str, list[tuple[int, int]]] = {}
        if path not in self._by_path:
            known = self.files().get(path)
            source = known or (read_source(Path(path)) if Path(path).is_file() else None)
            tree = source.tree if isinstance(source, SourceFile) else ast.Module([], [])
            self._by_path[path] = statement_spans(tree)
        return self._by_path[path]


def _analyse(sources: _Sources, settings: Settings, store: Store, probing: bool, live: bool = False) -> Analysis:
    declared = tuple(Declared(m.factory, m.inputs, m.dynamic) for m in settings.models)
    choice = choose(settings.torch, settings.origins.get("torch", ""), None if live else sources.found.folder)
    request = Request(
        declared, settings.opset, settings.exporters, choice.torch, probing, settings.debug, watched(load_catalogue())
    )
    analysis = analyse_files(sources.index, request, store, workers.processes(settings.jobs))
    return replace(analysis, problems=(*(Problem("", n) for n in (choice.notice,) if n), *analysis.problems))


def _problems(analysis: Analysis) -> list[Diagnostic]:
    return [
        Diagnostic("error" if p.internal else "warning", p.message, p.path or None, p.line) for p in analysis.problems
    ]


def _off(missing: Sequence[str]) -> Diagnostic:
    names = ", ".join(missing)
    return Diagnostic("warning", f"the dynamic pass is off: {names} not installed; pip install 'onnxlint[dynamic]'")


def _unplanned(todo: Plan) -> list[Diagnostic]:
    found = [Diagnostic("error", f"--model {name}: {UNKNOWN_MODEL}") for name in todo.unknown]
    if todo.over:
        assumed = sum(probe.source == SYNTHESISED for probe in todo.probes)
        others = f"{todo.over[0]} and {len(todo.over) - 1} more" if len(todo.over) > 1 else todo.over[0]
        found.append(
            Diagnostic(
                "warning",
                f"{assumed} of {assumed + len(todo.over)} models that nobody declared are probed, without {others}; "
                f"--max-models {assumed + len(todo.over)} probes all, `--model NAME` one",
            )
        )
    if todo.unnamed:
        found.append(
            Diagnostic(
                "warning",
                f"{todo.unnamed} more models were found that nothing says how to feed; `onnxlint init` declares them",
            )
        )
    return found


def _untried(over: Sequence[str], todo: Plan) -> list[Diagnostic]:
    """What `max-models` left of the further ways to call models."""
    if not over or todo.over:  # that it leaves models is told already
        return []
    assumed = sum(probe.source == SYNTHESISED for probe in todo.probes)
    others = f"{over[0]} and {len(over) - 1} more are" if len(over) > 1 else f"{over[0]} is"
    told = f"further ways to call models are found, and {others} not probed; --max-models {assumed + len(over)}"
    return [Diagnostic("warning", f"{told} leaves room for them")]


def find_candidates(
    found: Discovery, settings: Settings, progress: Watcher | None = None
) -> tuple[tuple[Candidate, ...], tuple[Diagnostic, ...]]:
    """Read and analyse the files for the models in them; return these, and what is wrong with the files."""
    store = Store((settings.cache_dir or default_folder()) if settings.cache else None)
    with _without_collector():
        sources = _Sources(found, settings, progress, MappingProxyType({}), store)
        analysis = _analyse(sources, settings, store, True)
    store.close()
    return analysis.candidates, (*sources.diagnostics, *_problems(analysis))


def _told(result: ProbeResult, settings: Settings) -> ModelReport:
    declared = result.report.declared or any(m.factory == result.report.name for m in settings.models)
    return replace(
        result.report, declared=declared, path=display_path(Path(result.report.path)) if result.report.path else ""
    )


def _refused(catalogue: Mapping[str, Contract], settings: Settings, found: Discovery) -> dict[str, str]:
    """Why rules of packages do not run here, by code: no code of the checked tree is run, be it installed or not."""
    return {
        code: f"{rule.plugin} is not run: its installation is editable and leads into the checked tree; "
        f'install a copy (`pip install .`), or `ignore = ["{code}"]`'
        for code, rule in catalogue.items()
        if rule.plugin is not None
        and settings.selection.matches(code, rule.name)
        and any(rule.plugin.inside(folder) for folder in (settings.root, found.folder))
    }


def _without_suppressed(
    findings: tuple[Finding, ...],
    sources: _Sources,
    settings: Settings,
    catalogue: Mapping[str, Contract],
    dynamic: bool,
    failed: Collection[str],
) -> tuple[tuple[Finding, ...], list[Finding]]:
    names = {rule.code: rule.name for rule in catalogue.values()}

    def ran(code: str, name: str) -> bool:
        if settings.origins.get("exporters") == TYPED:  # what the other exporter has to say was not asked
            return False
        return (
            settings.selection.matches(code, name) and code not in failed and (dynamic or not code.startswith("ONX7"))
        )

    files = dict(sources.files())
    for path in {f.span.path for f in findings} - files.keys():
        source = sources.file(path)
        if source is not None:
            files[path] = source
    kept, _, unused = apply(findings, files, names, ran)
    rule = catalogue[UNUSED]
    needless = [
        Finding(rule.code, rule.name, Severity.WARNING, u.message, u.span, effects={}, text=u.text) for u in unused
    ]
    return tuple(kept), needless
