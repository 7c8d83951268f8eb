"""From a probe to a model and its example inputs: imports user code, so it runs in the worker process alone."""

import difflib
import functools
import importlib
import inspect
import itertools
import random
import re
import sys
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any

import numpy
import torch

from onnxlint import EXAMPLE
from onnxlint.base.probe_records import Probe, TensorSpec
from onnxlint.base.records import Location, text_of
from onnxlint.base.specs import SpecError, parse_spec
from onnxlint.probes.common.containers import as_annotated, needed, signature_of
from onnxlint.probes.common.nested import nested, root
from onnxlint.probes.common.userspace import error_frames, relative
from onnxlint.probes.examples import factory_arguments
from onnxlint.probes.examples.synthesis import tensors_for
from onnxlint.probes.exporters import Args, Dynamic, Example, Kwargs, leaves


class ProbeFailure(Exception):
    """A model that cannot be built or fed: why, what would let us, and where, if not at its declaration."""

    def __init__(self, reason: str, remedy: str | None = None, location: Location | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy
        self.location = location


def seed_everything(seed: int = 0) -> None:
    """Seed torch, random and numpy."""
    torch.manual_seed(seed)
    random.seed(seed)
    numpy.random.seed(seed % 2**32)


_live: list[tuple[torch.nn.Module, Example]] = []


def put_live(model: torch.nn.Module, example: Example) -> None:
    """Keep the live model of a process that was frozen at a call, and its example, for the probes that it forks."""
    _live[:] = [(model, example)]


def build_model(probe: Probe) -> torch.nn.Module:
    """Import the factory of a probe and call it. Raises ProbeFailure, with the user's line."""
    seed_everything()
    if probe.live is not None:
        return _live[0][0]
    target = load(probe.factory, probe)
    model = target if isinstance(target, torch.nn.Module) else call(probe.factory, probe, target, **probe.arguments)
    if not isinstance(model, torch.nn.Module):
        remedy = "name a callable without parameters that returns the model, or the class itself"
        reason = f"`{probe.factory}` returned {_describe(model)}, not an nn.Module"
        raise ProbeFailure(reason, remedy, _definition(target, probe))
    return model.eval() if probe.eval else model


def load(reference: str, probe: Probe) -> Any:
    """What `module:attribute` names. Raises ProbeFailure with the nearest valid spelling."""
    name, colon, path = reference.partition(":")
    if not (colon and name and path):
        raise ProbeFailure(f"`{reference}` names no attribute", f'write `module:attribute`, such as "{name}:build"')
    value: Any = _import(name, probe)
    for attribute in path.split("."):
        try:
            value = getattr(value, attribute)
        except AttributeError:
            owner = f"module `{name}`" if isinstance(value, ModuleType) else f"`{getattr(value, '__name__', path)}`"
            raise ProbeFailure(f"{owner} has no attribute `{attribute}`", _nearest(attribute, dir(value))) from None
    return value


def call(name: str, probe: Probe, function: Any, /, *arguments: Any, **keywords: Any) -> Any:
    """Call user code; what it raises becomes a ProbeFailure at the user's line."""
    if not callable(function):
        raise ProbeFailure(f"`{name}` is {_describe(function)}, which cannot be called")
    missing = [p.name for p in needed(function)[len(arguments) :] if p.name not in keywords]
    if missing:
        remedy = "name a function without parameters that passes them"
        raise ProbeFailure(f"`{name}` needs arguments: {', '.join(missing)}", remedy, _definition(function, probe))
    try:
        return function(*arguments, **factory_arguments.build(keywords))
    except (Exception, SystemExit) as error:
        raise _failure(f"`{name}` raised", error, probe) from error


def example_inputs(probe: Probe, model: torch.nn.Module) -> Example:
    """The example inputs that the probe declares or that its convention yields. Raises ProbeFailure."""
    seed_everything()
    if probe.live is not None:
        return _live[0][1]
    declared: Any = probe.inputs
    if isinstance(declared, str):
        declared = call(declared, probe, load(declared, probe))
    elif declared is None:
        declared = _conventional(probe, model)
    names, more = parameters_of(model)
    dynamic, inputs = probe.dynamic, declared
    if isinstance(declared, Mapping) and declared and all(isinstance(v, (str, TensorSpec)) for v in declared.values()):
        specs = {str(name): _spec(str(name), value) for name, value in declared.items()}
        _check_names(specs, names, more, "inputs")
        sizes = {name: tuple(values) for name, values in probe.sizes.items()}
        inputs = as_annotated(model, nested({**tensors_for(specs, sizes, model, probe.ranges), **probe.values}))
        named = {n: {axis: dim.name for axis, dim in enumerate(s.dims) if dim.name} for n, s in specs.items()}
        named = {name: axes for name, axes in named.items() if axes}
        dynamic = {n: {**named.get(n, {}), **probe.dynamic.get(n, {})} for n in (*named, *probe.dynamic)}
    in_order = [p.name for p in signature_of(model.forward) or () if p.name in names and p.kind is not p.KEYWORD_ONLY]
    args, kwargs, parameters = _arrange(inputs, names, more, in_order)
    values = dict(zip(parameters, (*args, *kwargs.values()), strict=True))
    if not dynamic and probe.inputs is None and probe.source != "marked":
        dynamic = batch_axis(values)
    counted = checked_axes(dynamic, {**values, **leaves(parameters, args, kwargs)}, names, more)
    _check_sizes(dynamic, probe)
    _check_names(probe.ranges, names, more, "ranges")
    return Example(args, kwargs, parameters, counted)


def _import(name: str, probe: Probe) -> ModuleType:
    for place in reversed(probe.search_path):
        if place in sys.path:
            sys.path.remove(place)
        sys.path.insert(0, place)
    importlib.invalidate_caches()
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        absent = error.name if isinstance(error, ModuleNotFoundError) else None
        if absent is not None and f"{name}.".startswith(f"{absent}."):
            remedy = "write the module as it is imported from the project's root"
            where = ", ".join(probe.search_path) or "sys.path"
            raise ProbeFailure(f"there is no module `{absent}` in {where}", remedy) from None
        raise _failure(f"module `{name}` cannot be imported", error, probe) from error


def _failure(what: str, error: BaseException, probe: Probe) -> ProbeFailure:
    location = next(iter(error_frames(error, probe.root)), None)
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        location = Location(relative(error.filename, probe.root), error.lineno)
    text = f"it called sys.exit({error.code!r})" if isinstance(error, SystemExit) else describe(error)
    return ProbeFailure(f"{what}: {text}", remedy_of(error), location)


def describe(error: BaseException | None) -> str:
    """An error in one line."""
    first, *_ = text_of(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def remedy_of(error: BaseException) -> str | None:
    """How to probe a model that fails because a package or a device is missing; None where it is neither."""
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"install `{error.name.partition('.')[0]}` in the environment that onnxlint runs in"
    if re.search(r"\b(?:CUDA|NVIDIA|HIP|XPU|MPS)\b", text_of(error)):
        return "build it and its inputs on the CPU, where onnxlint probes: it needs no other device, and uses none"
    return None


def _definition(target: Any, probe: Probe) -> Location | None:
    plain = inspect.unwrap(target) if callable(target) else target
    try:
        path, line = inspect.getsourcefile(plain), inspect.getsourcelines(plain)[1]
    except (OSError, TypeError):
        return None
    return Location(relative(path, probe.root), line, plain.__qualname__) if path else None


def _nearest(name: str, candidates: Iterable[str]) -> str | None:
    near = difflib.get_close_matches(name, [k for k in candidates if not k.startswith("__")], 1, 0.5)
    return f"did you mean `{near[0]}`?" if near else None


def _describe(value: Any) -> str:
    if value is None or isinstance(value, type):
        return "None" if value is None else f"the class `{value.__qualname__}`"
    name = type(value).__qualname__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} `{name}`"


def _conventional(probe: Probe, model: torch.nn.Module) -> Any:
    """The inputs by the convention that `probe.source` names."""
    reason = "it has no example inputs"
    if probe.source == "marked":
        if (mark := getattr(type(model), EXAMPLE, None)) is not None:
            return mark
        module = _import(probe.factory.partition(":")[0], probe)
        for owner in (model, module, sys.modules.get(type(model).__module__)):
            if (method := getattr(owner, "onnx_example", None)) is not None:
                return call("onnx_example", probe, method)
        reason = "neither the class nor its module has `onnx_example`"
    elif probe.source in ("example_input_array", "dummy_inputs"):
        try:
            if (value := getattr(model, probe.source, None)) is not None:
                return value
        except Exception as error:
            raise _failure(f"`{probe.source}` raised", error, probe) from error
    elif probe.source == "default_cfg":
        for name in ("default_cfg", "pretrained_cfg"):
            settings = getattr(model, name, None) or {}
            read = settings.get if isinstance(settings, Mapping) else functools.partial(getattr, settings)
            if size := read("input_size", None):
                return (torch.randn(2, *size),)
    name, *_ = parameters_of(model)[0] or ["x"]
    raise ProbeFailure(reason, f'declare them: inputs = {{ {name} = "float32[batch, 3, 224, 224]" }}')


def _spec(name: str, value: str | TensorSpec) -> TensorSpec:
    try:
        return value if isinstance(value, TensorSpec) else parse_spec(value)
    except SpecError as error:
        remedy = 'a spec looks like "float32[batch, 3, height=224]"'
        raise ProbeFailure(f'the spec "{value}" of `{name}` cannot be read: {error.message}', remedy) from error


def batch_axis(values: Mapping[str, Any]) -> dict[str, dict[int, str]]:
    """Axis 0 of every tensor, where all tensors agree on its size: what conventions mean but do not say."""
    rows = {n: value.shape[0] for n, value in values.items() if isinstance(value, torch.Tensor) and value.dim() > 0}
    return {name: {0: "batch"} for name in rows} if len(set(rows.values())) == 1 else {}


def parameters_of(model: torch.nn.Module) -> tuple[list[str], bool]:
    """The names that forward's parameters have, and whether it takes more (`*args` or `**kwargs`)."""
    parameters = signature_of(model.forward)
    if parameters is None:
        return [], True
    more = any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters)
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)], more


def _arrange(inputs: Any, names: list[str], more: bool, in_order: list[str]) -> tuple[Args, Kwargs, tuple[str, ...]]:
    if isinstance(inputs, Mapping):
        _check_names(inputs, names, more, "inputs")
        front = list(itertools.takewhile(lambda name: name in inputs, in_order))  # no gap before them
        rest = {name: value for name, value in inputs.items() if name not in front}
        return tuple(inputs[n] for n in front), rest, (*front, *rest)
    if isinstance(inputs, torch.Tensor):
        inputs = (inputs,)
    if not isinstance(inputs, (tuple, list)):
        remedy = "return a tuple of positional arguments, or a dict by parameter name"
        raise ProbeFailure(f"the example inputs are {_describe(inputs)}", remedy)
    if len(inputs) > len(in_order) and not more:
        reason = f"there are {len(inputs)} example inputs, but forward takes {len(in_order)} by position"
        raise ProbeFailure(reason, "return a dict by parameter name" if len(in_order) < len(names) else None)
    return tuple(inputs), {}, (*names[: len(inputs)], *(f"input_{k}" for k in range(len(names), len(inputs))))


def _check_names(labels: Iterable[str], names: list[str], more: bool, key: str) -> None:
    for name in dict.fromkeys(root(label) for label in labels):
        if name not in names and not more:
            remedy = _nearest(name, names) or f"its parameters are {', '.join(names) or 'none'}"
            raise ProbeFailure(f"forward has no parameter `{name}` that {key} names", remedy)


def checked_axes(dynamic: Dynamic, values: Kwargs, names: list[str], more: bool) -> dict[str, dict[int, str]]:
    """The dynamic axes, counted from the front. Raises ProbeFailure where they do not fit the inputs."""
    _check_names(dynamic, names, more, "dynamic")
    seen: dict[str, tuple[str, int, int]] = {}
    for name, axes in dynamic.items():
        value = values.get(name)
        if not isinstance(value, torch.Tensor):
            what = "is not among the example inputs" if name not in values else f"is {_describe(value)}, not a tensor"
            raise ProbeFailure(f"`{name}`, which dynamic names, {what}")
        for axis, dim in axes.items():
            if not -value.dim() <= axis < value.dim():
                raise ProbeFailure(f"`{name}` has {value.dim()} dims: there is no axis {axis} to call `{dim}`")
            size = value.shape[axis]
            other, at, before = seen.setdefault(dim, (name, axis, size))
            if before != size:
                reason = f"`{dim}` is {before} on axis {at} of `{other}` and {size} on axis {axis} of `{name}`"
                raise ProbeFailure(reason, "give the two dims different names, or the example equal sizes")
    return {name: {a % values[name].dim(): dim for a, dim in axes.items()} for name, axes in dynamic.items() if axes}


def _check_sizes(dynamic: Dynamic, probe: Probe) -> None:
    """Sizes must be those of dynamic dims; a `vary` of the user's own may have others."""
    dims = sorted({dim for axes in dynamic.values() for dim in axes.values()})
    for name in probe.sizes if probe.vary is None else ():
        if name not in dims:
            remedy = _nearest(name, dims) or f"the dynamic dims are {', '.join(dims) or 'none'}"
            raise ProbeFailure(f"sizes names `{name}`, which is no dynamic dim", remedy)
