"""What is probed: declared models, then models that the source marks, exports or feeds; the others, with the reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from onnxlint.base.records import DECLARED, SYNTHESISED, ModelReport, ModelStatus, Probe, Way
from onnxlint.base.specs import format_spec
from onnxlint.config.settings import ModelConfig, Settings
from onnxlint.flow.state.candidates import Candidate
from onnxlint.probes.common.nested import root
from onnxlint.probes.guess.conventions import suggestion
from onnxlint.probes.live.snapshot_client import Captured

LISTED = 25  # models without a word on how to feed them: naming more would bury the rest of the report
PATIENCE = 120.0  # seconds for a model that is probed on inputs that we assume


@dataclass(frozen=True, slots=True)
class Plan:
    """Probes to run, models that cannot be, how many more were left unnamed, and names that `--model` did not find.

    `over` names the models that could be probed on assumed inputs, but are more than `max_models`.
    """

    probes: tuple[Probe, ...]
    unprobed: tuple[ModelReport, ...]
    unnamed: int
    unknown: tuple[str, ...]
    over: tuple[str, ...] = ()


def plan(settings: Settings, candidates: Sequence[Candidate], place: Place) -> Plan:
    """Decide what is probed, in the order of certainty. `place` finds a declared factory in the source."""
    probes: list[Probe] = []
    unprobed: list[ModelReport] = []
    for model in settings.models:
        path, line = place(model.factory)
        probes.append(_declared(settings, model, path, line))
    declared = {p.factory for p in probes}
    silent: list[ModelReport] = []
    assumed = 0
    over: list[str] = []
    for c in candidates:
        if c.factory in declared:
            continue
        named = c.factory in settings.only_models
        if c.reason is None:
            probes.append(_found(settings, c))
        elif not c.source and (named or (c.buildable and not settings.models and assumed < settings.max_models)):
            assumed += 1
            probes.append(described(settings, c))
        else:
            reason = c.reason
            if not c.source and c.buildable and not settings.models:
                over.append(c.factory)
                reason = f"it is beyond the {settings.max_models} models that are probed on assumed inputs (max-models)"
            report = ModelReport(c.factory, c.path, c.line, ModelStatus.NOT_PROBED, reason, remedy(c))
            (unprobed if c.source else silent).append(report)
    unnamed = 0
    if not settings.models:
        unprobed += silent[:LISTED]
        unnamed = max(len(silent) - LISTED, 0)
    unknown: tuple[str, ...] = ()
    if settings.only_models:
        planned = {p.name for p in probes} | {m.name for m in unprobed}
        unknown = tuple(n for n in settings.only_models if n not in planned)
        probes = [p for p in probes if p.name in settings.only_models]
        unprobed = [m for m in unprobed if m.name in settings.only_models]
        unnamed = 0
        over = []
    return Plan(tuple(probes), tuple(unprobed), unnamed, unknown, tuple(over))


def plan_captured(settings: Settings, captured: Captured) -> Plan:
    """Plan to probe live models, within the limits of the settings."""
    limits = replace(_declared(settings, ModelConfig(""), "", 0), search_path=())
    probes, refused = captured.probes(limits)
    wanted = settings.only_models
    planned = {probe.name for probe in probes} | {model.name for model in refused}
    return Plan(
        tuple(p for p in probes if not wanted or p.name in wanted),
        tuple(m for m in refused if not wanted or m.name in wanted),
        0,
        tuple(name for name in wanted if name not in planned),
    )


class Place:
    """Finds where a factory is defined; the configuration's own line where it is not found."""

    def __call__(self, factory: str) -> tuple[str, int]:
        """Path and line of `module:attribute`."""
        raise NotImplementedError


def _declared(settings: Settings, model: ModelConfig, path: str, line: int) -> Probe:
    roots = settings.source_roots or (settings.root, settings.root / "src")
    exporters = tuple(e for e in (model.exporters or settings.exporters) if e in settings.exporters)
    return Probe(
        name=model.factory,
        factory=model.factory,
        path=path or model.path,
        line=line or model.line,
        source=DECLARED,
        inputs=model.inputs,
        dynamic=model.dynamic,
        sizes=model.sizes,
        vary=model.vary,
        exporters=exporters,
        opset=settings.opset,
        search_path=tuple(str(r) for r in roots if r.is_dir()),
        root=str(Path.cwd()),
        repro_dir=str(settings.repro_dir.absolute()),
        tolerance=model.tolerance,
        timeout=model.timeout or settings.timeout,
        arguments=model.arguments,
        values=model.values,
        memory=settings.memory,
        ranges=model.ranges,
        eval=model.eval,
        optional=model.optional,
        runtimes=settings.runtimes,
        latency=settings.latency,
    )


def _found(settings: Settings, c: Candidate) -> Probe:
    model = ModelConfig(
        c.factory, c.inputs, c.dynamic, path=c.path, line=c.line, arguments=c.arguments, values=c.values
    )
    probe = _declared(settings, model, c.path, c.line)
    roots = (c.root, *(p for p in probe.search_path if p != c.root))
    return replace(probe, source=c.source, search_path=roots, eval=c.eval)


def further(probe: Probe, way: Way) -> Probe:
    """The probe of a further way to call the model of a probe that is done."""
    dims = {dim.name for spec in way.inputs.values() for dim in spec.dims}
    return replace(
        probe,
        name=f"{probe.name} [{way.label}]",
        way=way.label,
        inputs=way.inputs,
        values=way.values,
        dynamic={name: axes for name, axes in probe.dynamic.items() if root(name) in map(root, way.inputs)},
        sizes={dim: sizes for dim, sizes in way.sizes.items() if dim in dims},
        ranges=way.ranges,
        arguments=way.arguments,
        eval=way.eval,
        optional=False,
    )


def described(settings: Settings, c: Candidate) -> Probe:
    """Make a probe whose inputs the worker makes up."""
    probe = _found(settings, c)
    return replace(probe, source=SYNTHESISED, timeout=min(probe.timeout, PATIENCE))


def remedy(c: Candidate) -> str:
    """The lines of configuration that would let us probe a model."""
    specs = {name: suggestion(name) for name in c.parameters} or {"x": suggestion("x")}
    if isinstance(c.inputs, Mapping):
        specs |= {name: format_spec(spec) for name, spec in c.inputs.items()}
    inputs = ", ".join(f'{name} = "{spec}"' for name, spec in specs.items())
    factory = c.factory
    note = ""
    if c.reason and "constructor" in c.reason:
        factory = c.factory.partition(":")[0] + ":build"
        note = f"  # a function that returns {c.factory.partition(':')[2]}(...)"
    lines = (
        "[[tool.onnxlint.models]]",
        f'factory = "{factory}"{note}',
        f"inputs = {{ {inputs} }}  # names are dynamic",
    )
    return "\n".join(lines)
