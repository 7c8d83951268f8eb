"""What dynamo would refuse next: the capture once more, carried past each refusal by the example's real values."""

import contextlib
import math
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import sympy
import torch
import torch._functorch.config
from torch._subclasses import fake_utils
from torch._subclasses.fake_tensor import FakeTensor
from torch._subclasses.functional_tensor import FunctionalTensor
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.onnx._internal.exporter import _capture_strategies, _core, _dispatching, _registration

from onnxlint.base.records import Location
from onnxlint.probes.common.costs import TooLong
from onnxlint.probes.common.operator_mode import OperatorMode
from onnxlint.probes.common.userspace import user_frames
from onnxlint.probes.exporters import SIGNS, Example, Guard, Refusal, first_of_each
from onnxlint.probes.exporters.dynamo import Log, call_form, dynamic_shapes, is_operator, quiet

_CHECK = re.compile(r"aten\._?assert|aten\.sym_constrain")  # left out of what is translated
_ARRAYS = {"numpy": "becomes a numpy array", "__array__": "becomes a numpy array", "__dlpack__": "leaves by DLPack"}


@dataclass(slots=True)
class Beyond:
    """What the carried capture met. `complete`: nothing else stops dynamo. `cut`: it ran out of time."""

    refusals: list[Refusal] = field(default_factory=list)
    guards: list[Guard] = field(default_factory=list)
    complete: bool = False
    cut: bool = False


def carry_on(model: torch.nn.Module, example: Example, opset: int, root: str, seconds: float = math.inf) -> Beyond:
    """Every place at which the dynamo exporter stops, as far as the run can be carried on; `model` may be changed.

    Reads of data get the example's values, arrays are made of them, and operators without a translation are looked up
    in what was captured. Costs about one export; no step is begun that would take more than `seconds` of CPU time.
    """
    example = call_form(example)
    shapes = dynamic_shapes(model, example)
    registry = _registration.ONNXRegistry.from_torchlib(opset_version=max(opset, 18))
    beyond = Beyond()
    until = time.process_time() + seconds
    step = 0.0  # what a capture takes, and to decompose it no less
    for tried in (shapes, None) if shapes else (None,):  # what pins a size ends the capture: then without any dynamic
        if time.process_time() + step > until:
            beyond.cut = True
            break
        log, carrier = Log(root, list(example.leaves())), _Carrier(root)
        with quiet(), log.listening(), carrier.carrying(), _ending(until):
            began = time.process_time()
            capture = _capture_strategies.TorchExportNonStrictStrategy()
            program = capture(model, example.args, dict(example.kwargs), tried).exported_program
            translated = program is not None and translatable(program, registry)
            step = time.process_time() - began
            late = program is not None and not translated and time.process_time() + step > until
            if program is not None and not translated and not late:
                with contextlib.suppress(Exception):  # what cannot be decomposed is the exporter's to name
                    _core._prepare_exported_program_for_export(program, registry=registry)
        beyond.refusals += carrier.refusals
        if not carrier.arrays:  # they have the example's sizes, which then fix all that they meet
            beyond.refusals += [r for r in log.specialized() if r.frames and r.frames[0] not in carrier.survived]
        if log.decomposed is not None:
            beyond.refusals += log.untranslatable(opset)
        beyond.guards = beyond.guards or log.guards
        beyond.complete = program is not None and not late
        beyond.cut = late or (program is None and time.process_time() > until)
        if program is not None:
            break
    return beyond


@contextlib.contextmanager
def _ending(until: float) -> Iterator[None]:
    """End a capture at the next call of a module after that time: there a model may raise, and everything is undone."""

    def look(module: torch.nn.Module, _: Any) -> None:
        if time.process_time() > until:
            raise TooLong(f"no time is left for {type(module).__name__}")

    with torch.nn.modules.module.register_module_forward_pre_hook(look):
        yield


class _Carrier:
    """Lets a capture go on with the example's values, and notes where; `survived` are the places of `int(size)`."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.refusals: list[Refusal] = []
        self.survived: set[Location] = set()
        self.arrays = False

    @contextlib.contextmanager
    def carrying(self) -> Iterator[None]:
        """Patch torch for as long as the capture takes."""
        settings = {"fake_tensor_propagate_real_tensors": True, "generate_fake_kernels_from_real_mismatches": True}
        whole = torch.SymInt.__int__

        def number(symbol: torch.SymInt) -> int:
            self.survived.update(user_frames(root=self.root, limit=1)[:1])
            return int(whole(symbol))

        def needed(env: Any, expression: Any, _: Any) -> None:
            message = f"dynamo has to know {_plain(env, expression)} here, and only the data tells"
            self.refusals.append(Refusal(message, user_frames(root=self.root)))

        reads: dict[str, Any] = {name: self._array(getattr(torch.Tensor, name)) for name in _ARRAYS}
        with (
            torch._functorch.config.patch(settings),
            mock.patch.object(ShapeEnv, "_log_real_tensor_propagation", needed),
            mock.patch.object(torch.SymInt, "__int__", number),
            # Comparing fake with real results, which no export does, would decide sizes that only the data tells.
            # A mock would keep the tensors alive, and the capture would take them for constants.
            mock.patch.object(fake_utils, "_check_fake_real_tensors", lambda *_, **__: None),  # noqa: PT008
            mock.patch.multiple(torch.Tensor, **reads),
        ):
            yield

    def _array(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def read(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            real = _real(tensor)
            if real is tensor or real is None:
                return original(tensor, *args, **kwargs)
            self.arrays = True
            message = f"a tensor {_ARRAYS[original.__name__]} here, and dynamo does not know its elements"
            self.refusals.append(Refusal(message, user_frames(root=self.root)))
            with torch._C._DisableTorchDispatch():
                return original(real.detach(), *args, **kwargs)

        return read


def _real(tensor: torch.Tensor) -> torch.Tensor | None:
    """The example's tensor behind a fake one; None where it was lost, the tensor itself where it is none."""
    if isinstance(tensor, FunctionalTensor):
        tensor = torch._from_functional_tensor(tensor.elem)
    return tensor.real_tensor if isinstance(tensor, FakeTensor) else tensor


def _plain(env: Any, expression: Any) -> str:
    """A condition in plain words: what was read from a tensor is called `data`, what was asked of a shape `size`."""
    symbols = sorted(expression.free_symbols, key=str)
    read = [symbol for symbol in symbols if str(symbol).startswith(("u", "zuf"))]
    names = {symbol: "data" if symbol in read else "size" for symbol in symbols}
    if len(set(names.values())) < len(names):
        names = {symbol: f"{name}{k}" for k, (symbol, name) in enumerate(names.items())}
    condition = expression.xreplace({symbol: sympy.Symbol(name) for symbol, name in names.items()})
    sign = SIGNS.get(type(condition).__name__)
    if not sign:
        return "a number that a tensor holds" if condition.is_Symbol else f"whether `{condition}`"
    one, other = condition.args
    bounds = env.var_to_range.get(read[0]) if len(read) == 1 else None
    if bounds is not None and (bounds.lower, bounds.upper, other) == (0, 1, 1):
        return "whether a tensor is true"
    return f"whether `{one} {sign} {other}`"


def translatable(program: torch.export.ExportedProgram, registry: Any) -> bool:
    """Whether all operators of a captured graph have a translation; False where only the decomposed graph tells."""
    calls = (n for n in program.graph.nodes if is_operator(n) and not _CHECK.match(str(n.target)))
    doubtful = (node for node in calls if _dispatching.dispatch(node, registry)[0] is None)
    nodes = first_of_each(doubtful, key=lambda node: (node.target, len(node.args)))
    return all(_has_translation(part, registry) for node in nodes for part in _parts(node))


def _has_translation(operator: torch._ops.OpOverload, registry: Any) -> bool:
    """Whether there is a translation of an operator, or of the one that does the same without writing in place."""
    if registry.get_decomps(operator):
        return True
    packet = getattr(getattr(torch.ops, operator.namespace), operator._opname.rstrip("_"), None)
    other = getattr(packet, operator._overloadname, None)
    return bool(operator._schema.is_mutable and other is not None and registry.get_decomps(other))


def _parts(node: torch.fx.Node) -> set[torch._ops.OpOverload]:
    """What an operator consists of: it is run on what it was captured with, fake. Itself where that cannot be told."""
    args, kwargs = torch.fx.map_arg((node.args, node.kwargs), lambda argument: argument.meta.get("val"))
    mode = torch._guards.detect_fake_mode([other.meta.get("val") for other in node.graph.nodes])
    parts = _Parts()
    symbols = mode.shape_env if mode is not None else None
    # Sizes that the data tells are made up anew by the run: whoever decomposes the graph would look for them in it.
    unseen = symbols.ignore_fresh_unbacked_symbols() if symbols is not None else contextlib.nullcontext()
    try:
        with mode or torch.no_grad(), unseen, parts:
            node.target(*args, **kwargs)
    except Exception:  # noqa: BLE001 - what does not run alone is looked at in its graph
        return {node.target}
    return parts.operators


class _Parts(OperatorMode):
    """Notes every operator that runs; those that PyTorch composes of others never come here."""

    def __init__(self) -> None:
        super().__init__()
        self.operators: set[torch._ops.OpOverload] = set()

    def _run(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if func.namespace != "prim":  # a question, such as for the device
            self.operators.add(func)
        return func(*args, **kwargs)
