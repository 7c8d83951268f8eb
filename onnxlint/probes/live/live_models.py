"""Live models: from the arguments of a call to the example that a probe takes. Runs where the call is made."""

import functools
import inspect
import linecache
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Any, Self

import torch
from torch.utils import _pytree as pytree

from onnxlint.base.records import EXPORTERS, Location, to_json
from onnxlint.probes.common.containers import signature_of
from onnxlint.probes.common.model_copies import copied
from onnxlint.probes.common.userspace import is_installed, is_user_code, program_files, user_frames
from onnxlint.probes.examples.examples import ProbeFailure, batch_axis, checked_axes, parameters_of, put_live
from onnxlint.probes.examples.vary import example_sizes, usual_sizes
from onnxlint.probes.exporters import Dynamic, Example, leaves, programs
from onnxlint.probes.exporters.torchscript import arguments, is_input
from onnxlint.probes.live import snapshot
from onnxlint.probes.live.snapshot_client import Capture
from onnxlint.probes.process import warm

_MOST_SIZE = 64  # the largest size at the end of a declared range that is worth a run

Axes = dict[str, dict[int, str]]


@dataclass(frozen=True, slots=True)
class Call:
    """A model and what it is called with. `dynamic` None: axis 0 of every tensor, where they agree, is the batch.

    `dynamic_axes` and `input_names` are those of torch.onnx.export, `dynamic_shapes` those of torch.export as well.
    `options` go to the exporter as they are. With `onnx` a dict at the end of `args` holds keywords.
    `everything`: the whole program is the user's, not the model alone. `program` is the ExportedProgram that the call
    translates, where `model` is what it was made of. `number` and `replaces` go into the Capture.
    """

    model: Any
    args: Any
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    exporters: tuple[str, ...] = EXPORTERS
    opset: int | None = None
    dynamic: Dynamic | None = None
    dynamic_axes: Mapping[str, Any] | None = None
    input_names: tuple[str, ...] = ()
    dynamic_shapes: Any = None
    options: Mapping[str, Any] = field(default_factory=dict)
    onnx: bool = False
    everything: bool = False
    program: Any = None
    number: str = ""
    replaces: str = ""

    def on_cpu(self) -> Self:
        """The call with copies on the CPU of what is elsewhere, which a forked process could not read."""
        arguments = (self.args, dict(self.kwargs))
        tensors = [leaf for leaf in pytree.tree_leaves(arguments) if isinstance(leaf, torch.Tensor)]
        if isinstance(self.model, torch.nn.Module):
            tensors += [*self.model.parameters(), *self.model.buffers()]
        if not any(tensor.is_cuda or tensor.device.type in ("mps", "xpu") for tensor in tensors):
            return self
        args, kwargs = pytree.tree_map_only(torch.Tensor, lambda tensor: tensor.cpu(), arguments)
        return replace(self, model=copied(self.model).cpu(), args=args, kwargs=kwargs)


def freeze(call: Call, frame: FrameType | None) -> Any:
    """Freeze this process at a call that stands in `frame`; return the socket of the snapshot. Raises OSError."""
    return snapshot.take(functools.partial(describe, call.on_cpu(), frame))


def rehearse() -> None:
    """Load both exporters in this process, so that no snapshot of it has to; its random numbers stay what they are."""
    with torch.random.fork_rng(devices=()), torch.inference_mode(False), torch.enable_grad():
        warm.rehearse()


def describe(call: Call, frame: FrameType | None, root: str = "") -> dict[str, Any]:
    """Keep a call for the probes of this process; return its Capture as JSON, with paths relative to `root`."""
    torch.set_num_threads(1)
    warm.without_monitor()
    root = root or os.getcwd()
    at = next(iter(user_frames(frame, root)), Location("", 0))
    if isinstance(call.model, torch.export.ExportedProgram):
        call = _unpacked(call)
    model = call.model
    files = {os.path.abspath(path): None for path in (program_files() if call.everything else _sources(model))}
    texts = {path: "".join(linecache.getlines(path)) for path in files if not os.path.exists(path)}
    capture = Capture(_name(call), at.path, at.line, call.exporters, call.opset)
    existing = tuple(path for path in files if path not in texts)
    capture = replace(capture, number=call.number, replaces=call.replaces, files=existing)
    capture = replace(capture, texts={path: text for path, text in texts.items() if text})
    try:
        example, sizes = _example(call)
    except ProbeFailure as failure:
        return dict(to_json(replace(capture, reason=failure.reason)))
    put_live(model, example)
    return dict(to_json(replace(capture, sizes=sizes)))


def _unpacked(call: Call) -> Call:
    """The call with a program of which the model is not known: what the program computes stands in for it."""
    program = call.model
    args, kwargs = program.example_inputs or (call.args, dict(call.kwargs))
    exporters = tuple(name for name in call.exporters if name == "dynamo") or call.exporters
    given = replace(call, model=program.module(), args=args, kwargs=kwargs)
    return replace(given, program=program, onnx=False, exporters=exporters)


def _name(call: Call) -> str:
    made_of = programs.class_of(call.program) if call.program is not None else None
    if made_of is None and call.program is not None and isinstance(call.model, torch.fx.GraphModule):
        return "exported program"
    if isinstance(call.model, torch.jit.ScriptModule):
        return f"torch.jit:{call.model.original_name}"
    kind = type(call.model)
    module, name = made_of or (kind.__module__, kind.__qualname__)
    if module == "__main__":
        file = getattr(sys.modules["__main__"], "__file__", None)
        module = os.path.splitext(os.path.basename(file))[0] if file else module
    return f"{module}:{name}"


def _sources(model: Any) -> Iterator[str]:
    """The files that hold the classes of a model and of its parts, torch's and installed ones left out."""
    if not isinstance(model, torch.nn.Module):
        return
    for kind in {base for module in model.modules() for base in type(module).__mro__}:
        path = next(_code_files(kind), "")
        if is_user_code(path) and not is_installed(path):
            yield path


def _code_files(kind: type) -> Iterator[str]:
    """The files of a class's methods: what `inspect` says of a class of a notebook is the file of its kernel."""
    for name, method in vars(kind).items():
        plain = inspect.unwrap(method) if callable(method) else method
        if inspect.isfunction(plain) and (name == "forward" or plain.__module__ == kind.__module__):
            yield plain.__code__.co_filename


def _example(call: Call) -> tuple[Example, dict[str, tuple[int, ...]]]:
    """The example of a call, and the sizes that may be tried of dims that the call limits. Raises ProbeFailure."""
    if call.program is not None and "dynamo" not in call.exporters:
        raise ProbeFailure("an exported program goes through the dynamo exporter alone")
    if not isinstance(call.model, torch.nn.Module):
        raise ProbeFailure(f"what is exported is a `{type(call.model).__qualname__}`, not an nn.Module")
    args, kwargs = _arguments(call)
    _check_tensors(call.model, [t for t in pytree.tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)])
    names, more = parameters_of(call.model)
    if len(args) > len(names) and not more:
        raise ProbeFailure(f"there are {len(args)} inputs, but forward takes {len(names)}")
    parameters = (*names[: len(args)], *(f"input_{k}" for k in range(len(names), len(args))), *kwargs)
    options = dict(call.options)
    if call.program is not None:
        options[programs.PROGRAM] = call.program
    elif call.dynamic_shapes is not None:
        options["dynamic_shapes"] = call.dynamic_shapes
    example = Example(args, kwargs, parameters, options=options)
    values = dict(zip(parameters, (*args, *kwargs.values()), strict=True))
    limits: dict[str, tuple[int, int]] = {}
    if call.dynamic_shapes is not None:
        dynamic = _movable(_from_shapes(call.model, example, call.dynamic_shapes, limits), values)
    elif call.program is not None:
        dims, limits = programs.dims_of(call.program, example)
        dynamic = _movable(dims, values)
    elif call.dynamic_axes is not None:
        dynamic = _movable(_from_axes(call, example), values)
    elif call.dynamic is not None:
        dynamic = checked_axes(call.dynamic, values, names, more)
    else:
        dynamic = batch_axis(values)
    example = replace(example, dynamic=dynamic)
    usual = example_sizes(example)
    return example, {dim: _between(usual[dim], *ends) for dim, ends in limits.items() if dim in usual}


def _check_tensors(model: torch.nn.Module, inputs: Iterable[torch.Tensor]) -> None:
    """Raise ProbeFailure for tensors that are elsewhere, or that hold no values."""
    if any(tensor.device.type != "cpu" for tensor in (*inputs, *model.parameters(), *model.buffers())):
        raise ProbeFailure("it is not on the CPU, and could not be brought there")
    for kind in map(type, inputs):
        if kind not in (torch.Tensor, torch.nn.Parameter):
            raise ProbeFailure(f"its inputs hold a `{kind.__qualname__}`, which has no values to run it on")


def _arguments(call: Call) -> tuple[tuple[Any, ...], dict[str, Any]]:
    args, kwargs = call.args, dict(call.kwargs)
    if isinstance(args, Mapping):
        return (), {**args, **kwargs}
    if not isinstance(args, (tuple, list)):
        return (args,), kwargs
    if call.onnx and not kwargs and args and isinstance(args[-1], dict):
        return tuple(args[:-1]), dict(args[-1])
    return tuple(args), kwargs


def _movable(dynamic: Axes, values: Mapping[str, Any]) -> Axes:
    """The dims that variations can move: those of tensors in plain containers, wherever they occur."""
    tensors = dict(_plain(values.items()))
    stuck = {dim for leaf, axes in dynamic.items() if leaf not in tensors for dim in axes.values()}
    plain = ((leaf, axes) for leaf, axes in dynamic.items() if leaf in tensors)
    moving = [(leaf, {axis % tensors[leaf].dim(): dim for axis, dim in axes.items()}) for leaf, axes in plain]
    sizes: dict[str, int] = {}
    for leaf, axes in moving:
        for axis, dim in axes.items():
            if sizes.setdefault(dim, tensors[leaf].shape[axis]) != tensors[leaf].shape[axis]:
                stuck.add(dim)  # one name for two sizes
    movable = ((leaf, {axis: dim for axis, dim in axes.items() if dim not in stuck}) for leaf, axes in moving)
    return {leaf: axes for leaf, axes in movable if axes}


def _plain(items: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, torch.Tensor]]:
    for label, value in items:
        if isinstance(value, torch.Tensor) and value.dim():
            yield label, value
        elif type(value) is dict:
            yield from _plain((f"{label}.{key}", item) for key, item in value.items())
        elif type(value) in (list, tuple):
            yield from _plain((f"{label}.{k}", item) for k, item in enumerate(value))


def _from_axes(call: Call, example: Example) -> Axes:
    """What `dynamic_axes` says, by leaf: its keys are input names, given in the order of the graph's inputs."""
    formatted, formal = arguments(call.model, example)
    inputs = [name for name, leaf in leaves(formal, formatted, {}).items() if is_input(leaf)]
    renamed = dict(zip(call.input_names, inputs, strict=False))
    dynamic: Axes = {}
    for name, axes in (call.dynamic_axes or {}).items():
        leaf = renamed.get(name, name)
        if leaf in inputs:
            items = axes.items() if isinstance(axes, Mapping) else ((axis, f"{name}_{axis}") for axis in axes)
            dynamic[leaf] = {int(axis): str(dim or f"{name}_{axis}") for axis, dim in items}
    return dynamic


def _from_shapes(model: torch.nn.Module, example: Example, shapes: Any, limits: dict[str, tuple[int, int]]) -> Axes:
    """What `dynamic_shapes` says, by leaf; `limits` gets the smallest and largest size of the dims that have some."""
    named = dict(example.named())
    if not isinstance(shapes, Mapping):
        shapes = dict(zip(named, shapes, strict=False))
    for p in signature_of(model.forward) or ():  # `*args` is one entry, a tuple
        if p.kind is p.VAR_POSITIONAL and isinstance(shapes.get(p.name), (tuple, list)):
            loose = [parameter for parameter in example.parameters if parameter.startswith("input_")]
            shapes = {**shapes, **dict(zip(loose, shapes[p.name], strict=False))}
    dims = _Dims(limits)
    for name, value in named.items():
        dims.visit(name, value, shapes.get(name))
    return {leaf: {a: d for a, d in axes.items() if d not in dims.derived} for leaf, axes in dims.dynamic.items()}


@dataclass(frozen=True, slots=True)
class _Dims:
    """The dims that `dynamic_shapes` makes dynamic, by leaf; `derived` are those that another is computed from."""

    limits: dict[str, tuple[int, int]]
    dynamic: Axes = field(default_factory=dict)
    derived: set[str] = field(default_factory=set)
    unnamed: dict[tuple[int, int], str] = field(default_factory=dict)  # by axis and size: these go together

    def visit(self, label: str, value: Any, spec: Any) -> None:
        if isinstance(value, torch.Tensor):
            for axis, dim in spec.items() if isinstance(spec, Mapping) else enumerate(spec or ()):
                name = self._name(dim, label, int(axis), value)
                if name is not None:
                    self.dynamic.setdefault(label, {})[int(axis) % max(value.dim(), 1)] = name
        elif isinstance(value, Mapping) and isinstance(spec, Mapping):
            for key, item in value.items():
                self.visit(f"{label}.{key}", item, spec.get(key))
        elif isinstance(value, (list, tuple)) and isinstance(spec, (list, tuple)):
            for k, (item, part) in enumerate(zip(value, spec, strict=False)):
                self.visit(f"{label}.{k}", item, part)

    def _name(self, dim: Any, label: str, axis: int, value: torch.Tensor) -> str | None:
        """The name of a dynamic dim, None for a fixed one."""
        if dim is None or isinstance(dim, (int, str)):
            return dim if isinstance(dim, str) else None
        name, root = getattr(dim, "__name__", None), getattr(dim, "root", None)
        if name is None:  # Dim.AUTO, Dim.DYNAMIC or Dim.STATIC
            usual = "batch" if axis == 0 else f"{label}_{axis}"
            return None if "STATIC" in str(dim) else self.unnamed.setdefault((axis, int(value.shape[axis])), usual)
        if root is not None:  # 2 * batch: neither moves without the other
            self.derived.add(str(getattr(root, "__name__", root)))
            return None
        low, high = getattr(dim, "min", 0), getattr(dim, "max", sys.maxsize)
        self.limits[str(name)] = (int(low), min(int(high), sys.maxsize) if isinstance(high, int) else sys.maxsize)
        return str(name)


def _between(size: int, low: int, high: int) -> tuple[int, ...]:
    """Sizes within a declared range; its ends are among them, where the largest is small enough to run."""
    ends = (max(low, 1), *((high,) if high <= max(_MOST_SIZE, size) else ()))
    sizes = dict.fromkeys(s for s in (*ends, *usual_sizes(size), size + 1) if max(low, 1) <= s <= high)
    return tuple(sizes) or (size,)
