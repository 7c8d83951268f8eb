"""What is probed: declared models, then models that the source marks, exports or feeds; the others, with the reason."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from onnxlint.base.probe_records import DECLARED, SYNTHESISED, Probe, Way
from onnxlint.base.records import ModelReport, ModelStatus
from onnxlint.base.specs import format_spec
from onnxlint.config.declared_models import ModelConfig
from onnxlint.config.settings import Settings
from onnxlint.flow.state.candidates import Candidate
from onnxlint.probes.common.nested import root
from onnxlint.probes.guess.conventions import suggestion
from onnxlint.probes.live.snapshot_client import Captured

LISTED = 25  # models without a word on how to feed them: naming more would bury the rest of the report
PATIENCE = 120.0  # seconds for a model that is probed on inputs that we assume

_OF_MODEL = ("inputs", "dynamic", "sizes", "vary", "tolerance", "arguments", "values", "ranges", "eval", "optional")
_OF_SETTINGS = ("opset", "memory", "runtimes", "latency")


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


def plan(settings: Settings, candidates: Sequence[Candidate], place: Callable[[str], tuple[str, int]]) -> Plan:
    """Decide what is probed, in the order of certainty.

    `place` returns the path and the line of a factory; those of the configuration do where the path is empty.
    """
    probes = [_declared(settings, model, *place(model.factory)) for model in settings.models]
    unprobed: list[ModelReport] = []
    declared = {p.factory for p in probes}
    silent: list[ModelReport] = []
    assumed = 0
    over: list[str] = []
    for c in candidates:
        if c.factory in declared:
            continue
        named = c.factory in settings.only_models
        if c.reason is None:
            probes.append(_of_candidate(settings, c))
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
    silent = [] if settings.models else silent
    complete = Plan(tuple(probes), (*unprobed, *silent[:LISTED]), max(len(silent) - LISTED, 0), (), tuple(over))
    return _only(settings.only_models, complete)


def _only(names: Sequence[str], plan: Plan) -> Plan:
    """The part of a plan that is about these models; all of it where there are no names."""
    if not names:
        return plan
    planned = {probe.name for probe in plan.probes} | {model.name for model in plan.unprobed}
    probes, unprobed = tuple(p for p in plan.probes if p.name in names), (m for m in plan.unprobed if m.name in names)
    return Plan(probes, tuple(unprobed), 0, tuple(name for name in names if name not in planned))


def plan_captured(settings: Settings, captured: Captured) -> Plan:
    """Plan to probe live models, within the limits of the settings."""
    limits = replace(_declared(settings, ModelConfig(""), "", 0), search_path=())
    return _only(settings.only_models, Plan(*captured.probes(limits), 0, ()))


def _declared(settings: Settings, model: ModelConfig, path: str, line: int) -> Probe:
    roots = settings.source_roots or (settings.root, settings.root / "src")
    exporters = tuple(e for e in (model.exporters or settings.exporters) if e in settings.exporters)
    said = {name: getattr(model, name) for name in _OF_MODEL}
    said |= {name: getattr(settings, name) for name in _OF_SETTINGS}
    said |= {"path": path or model.path, "line": line or model.line, "timeout": model.timeout or settings.timeout}
    said |= {"root": str(Path.cwd()), "repro_dir": str(settings.repro_dir.absolute())}
    said["search_path"] = tuple(str(r) for r in roots if r.is_dir())
    return Probe(name=model.factory, factory=model.factory, source=DECLARED, exporters=exporters, **said)


def _of_candidate(settings: Settings, c: Candidate) -> Probe:
    model = ModelConfig(c.factory, c.inputs, c.dynamic, path=c.path, line=c.line)
    probe = _declared(settings, replace(model, arguments=c.arguments, values=c.values), c.path, c.line)
    roots = (c.root, *(p for p in probe.search_path if p != c.root))
    return replace(probe, source=c.source, search_path=roots, eval=c.eval)


def further(probe: Probe, way: Way) -> Probe:
    """The probe of a further way to call the model of a probe that is done."""
    dims = {dim.name for spec in way.inputs.values() for dim in spec.dims}
    name, sizes = f"{probe.name} [{way.label}]", {dim: sizes for dim, sizes in way.sizes.items() if dim in dims}
    dynamic = {name: axes for name, axes in probe.dynamic.items() if root(name) in map(root, way.inputs)}
    its = {name: getattr(way, name) for name in ("inputs", "values", "ranges", "arguments", "eval")}
    return replace(probe, name=name, way=way.label, dynamic=dynamic, sizes=sizes, optional=False, **its)


def described(settings: Settings, c: Candidate) -> Probe:
    """Make a probe whose inputs the worker makes up."""
    probe = _of_candidate(settings, c)
    return replace(probe, source=SYNTHESISED, timeout=min(probe.timeout, PATIENCE))


def remedy(c: Candidate) -> str:
    """The lines of configuration that would let us probe a model."""
    specs = {name: suggestion(name) for name in c.parameters} or {"x": suggestion("x")}
    if isinstance(c.inputs, Mapping):
        specs |= {name: format_spec(spec) for name, spec in c.inputs.items()}
    inputs = ", ".join(f'{name} = "{spec}"' for name, spec in specs.items())
    module, _, attribute = c.factory.partition(":")
    factory = f'"{c.factory}"'
    if c.reason and "constructor" in c.reason:
        factory = f'"{module}:build"  # a function that returns {attribute}(...)'
    return f"[[tool.onnxlint.models]]\nfactory = {factory}\ninputs = {{ {inputs} }}  # names are dynamic"
