"""The static half of a run: the dataflow over all files, then the rules over what it observed."""

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, TypeVar

from onnxlint.base.cache import Store, default_folder
from onnxlint.base.catalogue import Contract, load_catalogue, plugin_faults, watched
from onnxlint.base.records import Diagnostic, Finding
from onnxlint.config.settings import Settings
from onnxlint.flow.analysis import Request, analyse_files
from onnxlint.flow.part_results import Analysis
from onnxlint.flow.state.candidates import Candidate
from onnxlint.flow.state.partitions import Declared
from onnxlint.flow.state.problems import Problem
from onnxlint.flow.tables.operator_table import OpTable
from onnxlint.flow.tables.torch_versions import choose, shipped
from onnxlint.report.progress import SILENT, Progress
from onnxlint.rules.engine.findings import run_rules
from onnxlint.run.sources import Sources
from onnxlint.source.discover import Discovery

F = TypeVar("F", bound=Callable[..., Any])

STACK = 300_000  # slots of 8 bytes: with them CPython takes a chunk of 4 MiB, whose rest holds a thousand deep calls


def with_room_for_calls(function: F) -> F:
    """Have a function reserve the stack of what it calls; what is not used of it takes no memory.

    CPython (3.11 and later, `push_chunk` in Python/pystate.c) maps 16 KiB for a call that the chunk at hand has no room
    for, and unmaps them when that call returns: calls at such an edge took a tenth of the time on transformers.
    """
    function.__code__ = function.__code__.replace(co_stacksize=STACK)
    return function


@dataclass(frozen=True, slots=True)
class StaticResult:
    """What the static pass says. `failed` are codes of rules that did not run, so that their `noqa` is no mistake."""

    analysis: Analysis
    findings: tuple[Finding, ...]
    diagnostics: tuple[Diagnostic, ...]
    failed: frozenset[str]


def run_static(sources: Sources, settings: Settings, store: Store, probing: bool, live: bool) -> StaticResult:
    """Analyse the files and run the rules. `probing`: models are looked for; `live`: they are in a user's process."""
    catalogue = load_catalogue()
    analysis = analyse(sources, settings, store, probing, live)
    wanted = settings.selects
    refused = _refused(catalogue, settings, sources.discovery)

    def applies(code: str, name: str) -> bool:
        return wanted(code, name) and code not in refused

    observed, exporters = analysis.observations, settings.exporters
    findings, broken = run_rules(observed, catalogue, exporters, applies, sources.text, store, sources.workers)
    faults = [message for code, message in plugin_faults().items() if wanted(code)]
    faults += _unknown_operators(rule for code, rule in catalogue.items() if wanted(code, rule.name))
    broken = (*(Diagnostic("error", message) for message in (*faults, *refused.values())), *broken)
    failed = frozenset(code for code in catalogue if any(code in diagnostic.message for diagnostic in broken))
    return StaticResult(analysis, findings, (*sources.diagnostics, *broken, *problems_of(analysis)), failed)


def analyse(sources: Sources, settings: Settings, store: Store, probing: bool, live: bool = False) -> Analysis:
    """What the dataflow sees in the files; `probing` also looks for models, `live` ones need no torch to be chosen."""
    declared = tuple(Declared(m.factory, m.inputs, m.dynamic) for m in settings.models)
    choice = choose(settings.torch, settings.origins.get("torch", ""), None if live else sources.discovery.folder)
    wanted = declared, settings.opset, settings.exporters, choice.torch
    request = Request(*wanted, probing, settings.debug, watched(load_catalogue()))
    analysis = analyse_files(sources.index, request, store, sources.workers)
    return replace(analysis, problems=(*(Problem("", n) for n in (choice.notice,) if n), *analysis.problems))


@with_room_for_calls
def find_candidates(
    discovery: Discovery, settings: Settings, progress: Progress = SILENT
) -> tuple[tuple[Candidate, ...], tuple[Diagnostic, ...]]:
    """Read and analyse the files for the models in them; return these, and what is wrong with the files."""
    store = Store((settings.cache_dir or default_folder()) if settings.cache else None)
    with without_collector():
        sources = Sources(discovery, settings, progress, MappingProxyType({}), store)
        analysis = analyse(sources, settings, store, True)
    store.close()
    return analysis.candidates, (*sources.diagnostics, *problems_of(analysis), *sources.lost_work)


def problems_of(seen: Analysis) -> list[Diagnostic]:
    """What kept the analysis from parts of files, as diagnostics."""
    return [Diagnostic("error" if p.internal else "warning", p.message, p.path or None, p.line) for p in seen.problems]


def _unknown_operators(rules: Iterable[Contract]) -> list[str]:
    """What rules of packages watch that is no operator in any of the tables, each in a sentence."""
    watching = ((rule.plugin, name) for rule in rules for name in rule.operators)
    unknown = (pair for pair in watching if not any(OpTable.load(v).get(pair[1]) for v in reversed(shipped())))
    what = f"which is no operator of torch {', '.join(shipped())}"
    return [f"{plugin} watches `{name}`, {what}" for plugin, name in unknown]


def _refused(catalogue: Mapping[str, Contract], settings: Settings, discovery: Discovery) -> dict[str, str]:
    """Why rules of packages do not run here, by code: no code of the checked tree is run, be it installed or not."""
    plugins = ((code, rule.name, rule.plugin) for code, rule in catalogue.items() if rule.plugin is not None)
    wanted = ((code, plugin) for code, name, plugin in plugins if settings.selects(code, name))
    inside = ((code, plugin) for code, plugin in wanted if any(map(plugin.inside, (settings.root, discovery.folder))))
    why = "is not run: its installation is editable and leads into the checked tree; install a copy (`pip install .`)"
    return {code: f'{plugin} {why}, or `ignore = ["{code}"]`' for code, plugin in inside}


@contextmanager
def without_collector() -> Iterator[None]:
    """Trees have no cycles, and the cyclic collector would walk millions of their nodes again and again."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.freeze()  # what is left goes when its last reference does; looking for cycles in it takes a minute
            gc.enable()
