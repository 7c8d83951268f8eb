"""The TorchScript exporter (`dynamo=False`): one export, why it refused, by line, and bare traces to compare with."""

import contextlib
import io
import re
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias
from unittest import mock

import torch
from torch.onnx._internal.torchscript_exporter import jit_utils
from torch.onnx._internal.torchscript_exporter import utils as internals
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

from onnxlint.base.records import text_of
from onnxlint.probes import exporters
from onnxlint.probes.common.containers import signature_of
from onnxlint.probes.common.userspace import error_frames, torchscript_frames, user_frames
from onnxlint.probes.exporters import Conversion, Example, Export, Frames, Refusal, first_line
from onnxlint.probes.exporters.graph import jit_frames, jit_nodes

Held: TypeAlias = Mapping[tuple[str, int, str], Sequence[float]]  # path, line and kind of conversions: what they give
_STUB = "onnxlint::Refused"
_NONE_FITS = re.compile(r"We don't have an op for aten::(\w+) but it isn't a special case\.\s+Argument types: ([^\n]*)")
# What Python calls where the operands stand the other way round, or are compared, and what the tracer writes for it.
_WRITTEN = {"__eq__": "eq", "__rdiv__": "mul", "__rmod__": "remainder", "__rpow__": "pow"}
_COMPLEX = (torch.complex32, torch.complex64, torch.complex128)
# Methods of Tensor that hand a Python value to the program; under the tracer, sizes are tensors too.
_METHODS = {f"__{kind}__": kind for kind in ("bool", "int", "float", "index", "len", "iter")}
_METHODS |= {"__contains__": "in", "item": "item", "tolist": "tolist", "numpy": "numpy", "__array__": "numpy"}


def export(model: torch.nn.Module, example: Example, opset: int, folder: Path, root: str) -> Export:
    """Export `model`, which is changed by it (the forward runs for real), to a file in `folder`."""
    inputs, passed = inputs_and_axes(model, example)[0], example.leaves()
    result = Export("torchscript", constants={name: leaf for name, leaf in inputs.items() if name not in passed})
    path = folder / "torchscript.onnx"
    run = partial(run_exporter, model, example, str(path), opset, **example.options)
    began = time.perf_counter()
    graphs: list[Any] = []
    try:
        with located_nodes(), conversions(result.conversions, root), _recorded_graph(graphs):
            run()
        result.seconds = time.perf_counter() - began
        result.path, result.inputs = path, {name: name for name in inputs}
    except Exception as error:  # noqa: BLE001 - whatever the exporter or the model raises is the result
        result.seconds = time.perf_counter() - began
        refusal = _explained(error, model, root)
        result.error = refusal.message
        if not isinstance(error, torch.onnx.errors.UnsupportedOperatorError):  # else see `refused_operators`
            result.refusals = _overload(error, run, root) or _unwritable(error, graphs, root) or [refusal]
    return result


def run_exporter(model: torch.nn.Module, example: Example, file: Any, opset: int, **options: Any) -> None:
    """Call the exporter, without its warnings; the nodes have their source lines within `located_nodes`."""
    inputs, axes = inputs_and_axes(model, example)
    options |= {"input_names": list(inputs), "dynamic_axes": axes, "opset_version": opset}
    with warnings.catch_warnings(action="ignore"):
        torch.onnx.export(model, packed(example), file, dynamo=False, verbose=True, **options)


def trace(model: torch.nn.Module, example: Example, root: str) -> tuple[Any, list[Conversion]]:
    """The traced graph (inlined) and what was frozen in it. Raises whatever the trace raises."""
    frozen: list[Conversion] = []
    with conversions(frozen, root):
        traced, _ = traced_alone(model, example)
    return traced.inlined_graph, frozen


def outputs_with(model: torch.nn.Module, example: Example, root: str, held: Held) -> list[torch.Tensor]:
    """The tensors that forward returns under the tracer where some conversions give numbers of another input.

    Raises whatever the trace raises.
    """
    with conversions([], root, held):
        _, around = traced_alone(model, example)
    return [value.detach().clone() for value in pytree.tree_leaves(around.outputs) if isinstance(value, torch.Tensor)]


def by_method(held: Held) -> Held:
    """The same with the name of Tensor's method for each kind."""
    names = {kind: name for name, kind in _METHODS.items()}
    return {(path, line, names[kind]): list(numbers) for (path, line, kind), numbers in held.items()}


def traced_alone(model: torch.nn.Module, example: Example) -> tuple[Any, "TensorsOnly"]:
    """What `torch.jit.trace` makes of the model, without the exporter, and what was around the model meanwhile."""
    formatted, _ = arguments(model, example)
    with warnings.catch_warnings(action="ignore"), torch.no_grad():
        around = TensorsOnly(model, formatted)
        traced = torch.jit.trace(around, around.tensors(formatted), check_trace=False, strict=False)
    return traced, around


class TensorsOnly(torch.nn.Module):  # type: ignore[misc]
    """A model that takes what the tracer takes: None and text are fixed, and a Python number becomes a tensor."""

    def __init__(self, model: torch.nn.Module, arguments: Sequence[Any]) -> None:
        super().__init__()
        self.model = model
        self._fixed = {place: value for place, value in enumerate(arguments) if value is None or isinstance(value, str)}
        self.outputs: Any = None
        self.train(model.training)

    def tensors(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Of all arguments those that are left, each number as the exporter hands it to the model."""
        left = tuple(value for place, value in enumerate(arguments) if place not in self._fixed)

        def as_tensor(number: float) -> torch.Tensor:  # as torch's `_jit_flatten` does: a float has 64 bits
            return torch.tensor(number, dtype=torch.float64 if isinstance(number, float) else None)

        return tuple(pytree.tree_map_only((bool, int, float), as_tensor, left))

    def forward(self, *tensors: Any) -> Any:
        """Call the model with both."""
        rest = iter(tensors)
        every = range(len(tensors) + len(self._fixed))
        self.outputs = self.model(*(self._fixed[k] if k in self._fixed else next(rest) for k in every))
        return self.outputs


def packed(example: Example) -> tuple[Any, ...]:
    """The call as torch.onnx.export wants it: a dict at the end is taken as keyword arguments, so name one always."""
    args, kwargs = example.args, example.kwargs
    return (*args, dict(kwargs)) if kwargs or (args and isinstance(args[-1], dict)) else args


def arguments(model: torch.nn.Module, example: Example) -> tuple[tuple[Any, ...], list[str]]:
    """The positional arguments that the exporter traces, defaults of `forward` included, and their names."""
    args, kwargs = example.args, example.kwargs
    positional = example.named()[: len(args)]
    names, formatted = [name for name, _ in positional], [value for _, value in positional]
    for parameter in (signature_of(model.forward) or ())[len(args) :]:
        value = kwargs.get(parameter.name, parameter.default)
        if value is not parameter.empty:
            formatted.append(value)
            names.append(parameter.name)
    return tuple(formatted), names


def inputs_and_axes(model: torch.nn.Module, example: Example) -> tuple[dict[str, Any], dict[str, dict[int, str]]]:
    """The graph's inputs by name, in order, and `dynamic_axes` for those that have any."""
    formatted, names = arguments(model, example)
    inputs = {name: leaf for name, leaf in exporters.leaves(names, formatted, {}).items() if is_input(leaf)}
    axes = {name: dict(exporters.axes_of(name, example.dynamic)) for name in inputs}
    return inputs, {name: of for name, of in axes.items() if of and isinstance(inputs[name], torch.Tensor)}


def is_input(leaf: Any) -> bool:
    """Whether the tracer makes an input of it: it does of every tensor, and of every Python number too."""
    return isinstance(leaf, (torch.Tensor, bool, int, float))


def located_nodes() -> contextlib.AbstractContextManager[object]:
    """Let `verbose=True` write source lines to the nodes' doc strings without printing the graph to descriptor 1."""

    def silent(verbose: bool) -> contextlib.AbstractContextManager[None]:
        torch._C._jit_set_onnx_log_enabled(False)  # a failed export may have left it on
        return contextlib.nullcontext()

    return mock.patch.object(internals, "setup_onnx_logging", silent)


@contextlib.contextmanager
def conversions(records: list[Conversion], root: str, held: Held = MappingProxyType({})) -> Iterator[None]:
    """Record every tensor → Python conversion that happens under the tracer, sizes included, with its value.

    One of those that are `held` gives, at its nth call, the nth of these numbers instead: the last for any further.
    """
    depth, calls = 0, Counter[tuple[str, int, str]]()

    def recording(kind: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(self: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            nonlocal depth
            if depth or torch._C._get_tracing_state() is None:
                return original(self, *args, **kwargs)
            depth += 1
            try:
                value = original(self, *args, **kwargs)
                with contextlib.suppress(RuntimeError):  # a lost frame or a value that cannot be read: not recorded
                    if frames := user_frames(root=root):
                        number = value if isinstance(value, (bool, int, float)) else None
                        records.append(Conversion(kind, _value(self, value), frames, number))
                        at = (frames[0].path, frames[0].line, kind)
                        if at in held:
                            value = held[at][min(calls[at], len(held[at]) - 1)]
                            calls[at] += 1
                return value
            finally:
                depth -= 1

        return wrapper

    methods: dict[str, Any] = {name: recording(kind, getattr(torch.Tensor, name)) for name, kind in _METHODS.items()}
    with mock.patch.multiple(torch.Tensor, **methods):
        yield


def _value(tensor: torch.Tensor, value: Any) -> str:
    """What the conversion gave, short enough to keep and compare."""
    if isinstance(value, (bool, int, float, complex)):
        return repr(value)
    if tensor.dim() and not isinstance(value, list) and not hasattr(value, "tobytes"):
        return f"{int(tensor.shape[0])} items"
    text = repr(value.tolist() if hasattr(value, "tolist") else value)
    return text if len(text) <= 200 else f"{text[:160]}… ({hash(text):x})"


def _explained(error: Exception, model: torch.nn.Module, root: str) -> Refusal:
    """What the exporter said, and where it failed: in its traceback, else in the trace that it quotes."""
    message, text = first_line(error), text_of(error)
    keywords = ", ".join(f"`{p.name}`" for p in signature_of(model.forward) or () if p.kind is p.KEYWORD_ONLY)
    if keywords and isinstance(error, TypeError) and "positional argument" in text:
        message += f": TorchScript passes all by position, and forward takes {keywords} by keyword only"
    return Refusal(message, error_frames(error, root) or torchscript_frames(text, root))


def refused_operators(model: torch.nn.Module, example: Example, opset: int, root: str) -> list[Refusal] | None:
    """Each operator that has no lowering, or one that fails, at each line; None where the model cannot be traced."""
    traced = False
    refusals: dict[tuple[str, Frames], Refusal] = {}
    lower = internals._run_symbolic_function

    def lowered(graph: Any, block: Any, node: Any, inputs: Any, env: Any, values: Any, made: Any, *rest: Any) -> Any:
        nonlocal traced
        traced = True
        try:
            return lower(graph, block, node, inputs, env, values, made, *rest)
        except Exception as error:  # noqa: BLE001 - whatever a lowering raises is what we look for
            frames = jit_frames(node, root)
            unsupported = isinstance(error, torch.onnx.errors.UnsupportedOperatorError)
            stubbed = any(value is not None and value.node().kind() == _STUB for value in inputs)  # it may fail of that
            if frames and (unsupported or not stubbed):
                reason = first_line(error).partition("  [Caused by")[0]  # without the dump of the graph that follows
                message = f"`{node.kind()}` cannot be exported at opset {opset}" if unsupported else reason
                refusals.setdefault((node.kind(), frames[:1]), Refusal(message, frames))
            context = jit_utils.GraphContext(graph, block, opset, node, internals._params_dict, env, values, made)
            return _stub(context, node, inputs)

    watching = mock.patch.object(internals, "_run_symbolic_function", lowered)
    with located_nodes(), watching, contextlib.suppress(Exception):  # the first error is reported: this is for others
        run_exporter(model, example, io.BytesIO(), opset)
    return list(refusals.values()) if traced else None


def _stub(context: Any, node: Any, inputs: Any) -> Any:
    """A node of our own in the place of the one refused, with its outputs' types: later lowerings ask for them."""
    count = node.outputsSize()
    made = context.op(_STUB, *(value for value in inputs if value is not None), outputs=count)
    for value, original in zip((made,) if count == 1 else made, node.outputs(), strict=True):
        kind = original.type()
        if isinstance(kind, torch._C.TensorType) and kind.dtype() in (torch.complex64, torch.complex128):
            kind = torch._C.TensorType.get()  # ONNX has no complex numbers: a type like that ends the export
            original.setType(kind)
        value.setType(kind)
    return made


class _Calls(TorchFunctionMode):  # type: ignore[misc]
    """Notes the lines that call an operator with arguments of these kinds."""

    def __init__(self, name: str, kinds: list[str], root: str) -> None:
        super().__init__()
        self._name = name
        self._kinds = kinds
        self._root = root
        self.refusals: list[Refusal] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        passed = args[: len(self._kinds)]  # in whichever order: `True | t` is traced as `t | True`
        kinds = sorted(map(_kind, passed))
        if _plain(getattr(func, "__name__", "")) == self._name and kinds == sorted(self._kinds[: len(kinds)]):
            named = self._kinds[: max(len(kinds), 2)]  # not what the call leaves to the defaults
            operands = " and ".join(f"an {kind}" if kind[0] == "i" else f"a {kind}" for kind in named)
            message = f"TorchScript has no `{self._name.strip('_')}` of {operands}"
            self.refusals.append(Refusal(message, user_frames(root=self._root)))
        return func(*args, **(kwargs or {}))


def _overload(error: Exception, again: Callable[[], None], root: str) -> list[Refusal]:
    """The calls with operands that TorchScript has no overload for, if the error is about one; `again` exports anew."""
    match = _NONE_FITS.search(text_of(error))
    if match is None:
        return []
    kinds = [kind.strip() for kind in match.group(2).split(",") if kind.strip()]
    with _Calls(_plain(match.group(1)), kinds, root) as calls, contextlib.suppress(Exception):  # the error, once more
        again()
    return exporters.first_of_each((refusal for refusal in calls.refusals if refusal.frames), key=exporters.line_of)


def _kind(value: object) -> str:
    """The type of an argument as TorchScript's errors call it."""
    if isinstance(value, (tuple, list)):
        return "int[]"
    return "Tensor" if isinstance(value, torch.Tensor) else type(value).__name__


def _plain(name: str) -> str:
    """The name of an operator without what says that its sides are exchanged, or that it writes in place."""
    match = re.fullmatch(r"__[ri]?(or|and|xor|lshift|rshift)__", name)
    return f"__{match.group(1)}__" if match else _WRITTEN.get(name, name)


def _recorded_graph(graphs: list[Any]) -> contextlib.AbstractContextManager[object]:
    """Keep the graph that the exporter is about to write."""
    to_graph = internals._model_to_graph

    def recording(*args: Any, **kwargs: Any) -> Any:
        made = to_graph(*args, **kwargs)
        graphs[:] = made[:1]
        return made

    return mock.patch.object(internals, "_model_to_graph", recording)


def _unwritable(error: Exception, graphs: list[Any], root: str) -> list[Refusal]:
    """The places of complex values, if the error is about one; a lowering may take bfloat16 for a complex type."""
    if "is an unexpected tensor scalar type" not in text_of(error):  # ScalarType ComplexDouble …
        return []
    message = f"the TorchScript exporter writes a complex number here, which ONNX has no type for: {error}"
    frames = [jit_frames(node, root) for graph in graphs for node in filter(_complex, jit_nodes(graph))]
    return exporters.first_of_each((Refusal(message, at) for at in frames if at), key=lambda r: r.frames[:1])


def _complex(node: Any) -> bool:
    """Whether a node holds a complex constant, or takes or makes a complex value."""
    constants = [node.t(name) for name in node.attributeNames() if node.kindOf(name) == "t"]
    kinds = [value.type() for value in (*node.inputs(), *node.outputs())]
    tensors = [kind.dtype() for kind in kinds if isinstance(kind, torch._C.TensorType)]
    return any(dtype in _COMPLEX for dtype in (*tensors, *(tensor.dtype for tensor in constants)))
