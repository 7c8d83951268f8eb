"""The dynamo exporter (`dynamo=True`): one export, with every guard it made and every reason why it refused."""

import contextlib
import io
import itertools
import logging
import re
import time
import traceback
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import onnx_ir
import sympy
import torch
from torch.export.graph_signature import ConstantArgument
from torch.fx.experimental.symbolic_shapes import ShapeEnv, uninteresting_files
from torch.fx.proxy import TracerBase
from torch.onnx._internal.exporter import _capture_strategies, _core, _dispatching, _registration
from torch.onnx._internal.exporter._errors import ConversionError, DispatchError

from onnxlint.probes import exporters
from onnxlint.probes.common.containers import signature_of
from onnxlint.probes.common.userspace import error_frames, python_frames, user_frames
from onnxlint.probes.exporters import Capture, Example, Export, Frames, Guard, Refusal, first_line, first_of_each
from onnxlint.probes.exporters.graph import STACK_KEY

_SOURCE = re.compile(r"L\['(?P<name>\w+)'\](?P<steps>(?:\[[^\]]+\]|\.\w+)*)\.size\(\)\[(?P<axis>\d+)\]")
_STEP = re.compile(r"\['?(?P<index>[^'\]]+)'?\]|\.(?P<attribute>\w+)")
_STATIC = re.compile(r"inferred a static shape of \d+ for dimension inputs\S*?\.shape\[\d+\]")


def export(model: torch.nn.Module, example: Example, opset: int, folder: Path, root: str) -> Export:
    """Export `model`, which may be changed by it, to a file in `folder`."""
    result = Export("dynamo")
    example = call_form(example)
    log = Log(root, list(example.leaves()))
    more = dict(example.options)
    made = more.pop("program", None)  # captured already, by a call of torch.export.export
    if made is None:
        shapes = {"dynamic_shapes": dynamic_shapes(model, example)}
        more = {"args": example.args, "kwargs": dict(example.kwargs) or None, **shapes, **more}
    more |= {"dynamo": True, "verbose": False, "opset_version": opset}
    began = time.perf_counter()
    try:
        with quiet(), log.listening():
            program = torch.onnx.export(model if made is None else made, **more)
            path = folder / "dynamo.onnx"
            program.save(str(path))
        result.seconds = time.perf_counter() - began
        result.path, result.program = path, program.exported_program
    except Exception as error:  # noqa: BLE001 - whatever the exporter or the model raises is the result
        result.seconds = time.perf_counter() - began
        result.error, result.refusals = first_line(_root(error)), log.refusals(error, opset)
    else:
        result.inputs = _inputs(program, example, asked=bool(more.get("input_names")))
    result.guards, result.capture = log.guards, log.capture
    return result


def captured(
    model: torch.nn.Module, example: Example, strategy: Any = _capture_strategies.TorchExportNonStrictStrategy
) -> torch.export.ExportedProgram | None:
    """The first step of an export alone: the model, which may be changed by it, as a graph; None if it is refused."""
    example = call_form(example)
    with quiet(), _located():
        return strategy()(model, example.args, dict(example.kwargs), dynamic_shapes(model, example)).exported_program


def call_form(example: Example) -> Example:
    """The call as torch.onnx.export takes it: a dict at the end of `args` would be taken for keywords."""
    args = example.args
    if not example.kwargs and args and isinstance(args[-1], dict):
        return example.called_with(args[:-1], {example.parameters[len(args) - 1]: args[-1]})
    return example


def dynamic_shapes(model: torch.nn.Module, example: Example) -> Any:
    """What torch.onnx.export wants: for every argument a tree like it, with `Dim.DYNAMIC` for each dynamic axis."""
    shapes = torch.export.ShapesCollection()
    for name, leaf in example.leaves().items():
        axes = exporters.axes_of(name, example.dynamic)
        if axes and isinstance(leaf, torch.Tensor):
            shapes[leaf].update(dict.fromkeys(axes, torch.export.Dim.DYNAMIC))
    asked = len(shapes) and signature_of(model.forward) is not None
    return shapes.dynamic_shapes(model, example.args, dict(example.kwargs)) if asked else None


def _inputs(program: Any, example: Example, asked: bool) -> dict[str, str]:
    """The graph's inputs by leaf, in the order of the arguments; `asked`: the call has given them names of its own."""
    specs = [s.arg for s in program.exported_program.graph_signature.input_specs if s.kind.name == "USER_INPUT"]
    pairs = zip(specs, example.leaf_names(), strict=False)
    inputs = [(a.name, leaf) for a, leaf in pairs if not isinstance(a, ConstantArgument)]
    # An input that is an output too has another name in the file, which nobody can know.
    names = [value.name for value in program.model.graph.inputs] if asked else []
    names = names if len(names) == len(inputs) else [name for name, _ in inputs]
    return {name: leaf for name, (_, leaf) in zip(names, inputs, strict=True) if leaf}


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """No warnings, no log records, nothing on Python's standard streams."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        out, err = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
        with warnings.catch_warnings(action="ignore"), out, err:
            yield
    finally:
        logging.disable(before)


class Log:
    """Listens to the symbolic shape environment and to the stages of the exporter."""

    def __init__(self, root: str, leaf_names: list[str]) -> None:
        self.root = root
        self.leaf_names = leaf_names
        self.guards: list[Guard] = []
        self.failures: list[Exception] = []
        self.decomposed: Any = None
        self.capture: Capture | None = None
        self.untranslated_nodes: list[tuple[torch.fx.Node, Exception]] = []

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Patch the hooks for as long as the export takes."""
        log_guard, set_replacement = ShapeEnv._log_guard, ShapeEnv._set_replacement
        capture = _capture_strategies.CaptureStrategy.__call__
        prepare = _core._prepare_exported_program_for_export

        def guard(env: Any, prefix: str, g: Any, forcing_spec: bool) -> None:
            if "suppressed" not in prefix:
                self._add(env, g, "guard", user_frames(root=self.root))
            log_guard(env, prefix, g, forcing_spec)

        def replace(env: Any, a: Any, target: Any, msg: str, *rest: Any, **more: Any) -> None:
            if getattr(target, "is_number", False):
                self._add(env, sympy.Eq(a, target, evaluate=False), "specialization", user_frames(root=self.root))
            set_replacement(env, a, target, msg, *rest, **more)

        def strategy(this: Any, *args: Any, **kwargs: Any) -> Any:
            self.guards, before = [], self.guards
            began = time.process_time()
            outcome = capture(this, *args, **kwargs)
            if outcome.exported_program is not None:
                self.capture = Capture(outcome.exported_program, type(this), time.process_time() - began)
            else:
                if outcome.exception is not None:
                    self.failures.append(outcome.exception)
                if len(self.failures) > 1:
                    self.guards = before + self.guards  # both failed: the first one's guards are what explains it
            return outcome

        def prepared(*args: Any, **kwargs: Any) -> Any:
            self.decomposed = prepare(*args, **kwargs)
            return self.decomposed

        with (
            mock.patch.multiple(ShapeEnv, _log_guard=guard, _set_replacement=replace),
            mock.patch.object(_capture_strategies.CaptureStrategy, "__call__", strategy),
            mock.patch.object(_core, "_prepare_exported_program_for_export", prepared),
            _located(),
            _lowerings(self.untranslated_nodes),
        ):
            yield

    def _add(self, env: Any, expression: Any, kind: str, frames: Frames) -> None:
        symbols: dict[str, tuple[str, int]] = {}
        for symbol in getattr(expression, "free_symbols", ()):
            names = (s.name if isinstance(s.name, str) else s.name() for s in env.var_to_sources.get(symbol, ()))
            if place := next(filter(None, map(self.place, names)), None):
                symbols[str(symbol)] = place
        if symbols and frames:
            self.guards.append(Guard(expression, kind, symbols, frames))

    def place(self, source: str) -> tuple[str, int] | None:
        """`L['x']['b'].size()[0]` → (`x.b`, 0)."""
        match = _SOURCE.fullmatch(source)
        if match is None:
            return None
        steps = [m["index"] or m["attribute"] for m in _STEP.finditer(match["steps"])]
        if match["name"] == "flat_args" and steps:
            index = int(steps[0])
            return (self.leaf_names[index], int(match["axis"])) if index < len(self.leaf_names) else None
        return ".".join([match["name"], *steps]), int(match["axis"])

    def refusals(self, error: Exception, opset: int) -> list[Refusal]:
        """Every reason for the failure that can be told: both captures', or all operators without a translation."""
        if self.decomposed is not None and (operators := [*self.untranslatable(opset), *self.untranslated()]):
            return operators
        reasons = [Refusal(first_line(failure), self._frames(failure)) for failure in self.failures]
        reasons = [*(reasons or [Refusal(first_line(_root(error)), self._frames(error))]), *self.specialized()]
        return [r for r in first_of_each(reasons, key=exporters.line_of) if r.frames] or reasons[:1]

    def specialized(self) -> list[Refusal]:
        """The places that fix a declared size to the example's, if the capture failed because of that."""
        if not any(_STATIC.search(str(failure)) for failure in self.failures):
            return []
        pinned = [guard for guard in self.guards if guard.kind == "specialization"]
        return [Refusal(f"the export needs `{guard.text}` from here on", guard.frames) for guard in pinned]

    def _frames(self, error: BaseException) -> Frames:
        """The user's frames of the error or of what caused it, innermost cause first."""
        chain: list[BaseException] = []
        current: BaseException | None = error
        while current is not None and current not in chain:
            chain.append(current)
            current = current.__cause__ or current.__context__
        sources = (error_frames, lambda link, root: python_frames(str(link), root), _worked_on)
        return next(filter(None, (frames(link, self.root) for link in reversed(chain) for frames in sources)), ())

    def untranslated(self) -> list[Refusal]:
        """Every operator whose translation raised, at its line, with what it said."""
        failed = [(node, error) for node, error in self.untranslated_nodes if not isinstance(error, DispatchError)]
        said = {node: f"cannot be translated to ONNX: {first_line(_root(error))}" for node, error in failed}
        return [refusal for refusal in self._at_lines(said) if refusal.frames]

    def untranslatable(self, opset: int) -> list[Refusal]:
        """Every operator of the decomposed graph that has no translation, at its line."""
        registry = _registration.ONNXRegistry.from_torchlib(opset_version=max(opset, 18))
        calls = [node for node in self.decomposed.graph.nodes if is_operator(node)]
        translations = {node: _dispatching.dispatch(node, registry) for node in calls}
        missing = {node: reason for node, (function, reason) in translations.items() if function is None}
        return self._at_lines({node: f"has no translation to ONNX: {reason}" for node, reason in missing.items()})

    def _at_lines(self, said: Mapping[torch.fx.Node, str]) -> list[Refusal]:
        """What is said of nodes, once for each operator and line."""
        frames = {node: python_frames(node.meta.get("stack_trace"), self.root) for node in said}
        nodes = first_of_each(said, key=lambda node: (str(node.target), frames[node][:1]))
        return [Refusal(f"`{node.target}` {said[node]}", frames[node]) for node in nodes]


def is_operator(node: torch.fx.Node) -> bool:
    """Whether a node calls an operator of PyTorch."""
    return node.op == "call_function" and isinstance(node.target, torch._ops.OpOverload)


def _located() -> contextlib.AbstractContextManager[object]:
    """Let the nodes of a capture know the lines of helpers too; torch.export keeps those of `forward` alone."""

    def from_forward_on(_: TracerBase, stack: traceback.StackSummary) -> traceback.StackSummary:
        frames = itertools.dropwhile(lambda frame: frame.name != "forward", stack)
        return traceback.StackSummary.from_list([f for f in frames if f.filename not in uninteresting_files()])

    return mock.patch.object(TracerBase, "_filter_traceback_frames", from_forward_on)


def _root(error: BaseException) -> BaseException:
    """The error that the exporter wrapped."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def _worked_on(error: BaseException, root: str) -> Frames:
    """Where the node was made that a function of the exporter held when it raised, the innermost such function's."""
    stacks = []
    for frame, _ in traceback.walk_tb(error.__traceback__):
        for value in frame.f_locals.values():
            if isinstance(value, torch.fx.Node):
                stacks.append(value.meta.get("stack_trace"))
            elif isinstance(value, onnx_ir.Node):
                stacks.append(value.metadata_props.get(STACK_KEY))
    return next(filter(None, (python_frames(stack, root) for stack in reversed(stacks))), ())


@contextlib.contextmanager
def _lowerings(failed: list[tuple[torch.fx.Node, Exception]]) -> Iterator[None]:
    """Note the nodes whose translation raises, and what, but for what a stub led to; the export still fails at them."""
    lower = _core._handle_call_function_node_with_lowering
    translate = _core._translate_fx_graph
    stubs: set[torch.fx.Node] = set()
    depth = 0

    def lowered(model: Any, node: torch.fx.Node, values: Any, *, graph_like: Any, **more: Any) -> None:
        try:
            lower(model, node, values, graph_like=graph_like, **more)
        except Exception as error:  # noqa: BLE001 - whatever a translation raises is what we look for
            if stubs.isdisjoint(node.all_input_nodes):
                failed.append((node, error))
            try:
                _core._handle_call_function_node(graph_like, node, values)
            except Exception:  # noqa: BLE001 - what cannot even be stood in for ends the export, as it would have
                raise error from error.__cause__
            stubs.add(node)

    def translated(*args: Any, **kwargs: Any) -> Any:
        nonlocal depth
        depth += 1
        try:
            values = translate(*args, **kwargs)
        finally:
            depth -= 1
        if failed and not depth:
            node, error = failed[0]
            raise ConversionError(f"Error when translating node {node.format_node()}.") from error
        return values

    with mock.patch.multiple(_core, _handle_call_function_node_with_lowering=lowered, _translate_fx_graph=translated):
        yield
