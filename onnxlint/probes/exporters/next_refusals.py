"""What dynamo would refuse next: the capture once more, carried past each refusal by the example's real values."""

from __future__ import annotations

import contextlib
import math
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
from torch.onnx._internal.exporter import _capture_strategies, _core, _registration

from onnxlint.base.records import Location
from onnxlint.probes.common.cutoff import TooLong
from onnxlint.probes.common.userspace import user_frames
from onnxlint.probes.exporters import SIGNS, Example, Guard, Refusal
from onnxlint.probes.exporters.dynamo import Log, call_form, dynamic_shapes, quiet
from onnxlint.probes.exporters.translation_table import translatable

_ARRAYS = {"numpy": "becomes a numpy array", "__array__": "becomes a numpy array", "__dlpack__": "leaves by DLPack"}


@dataclass(slots=True)
class Beyond:
    """What the carried capture met. `complete`: it came to the end, so that nothing else stops dynamo.

    `cut`: it ran out of time.
    """

    refusals: list[Refusal] = field(default_factory=list)
    guards: list[Guard] = field(default_factory=list)
    complete: bool = False
    cut: bool = False


def carry_on(model: torch.nn.Module, example: Example, opset: int, root: str, seconds: float = math.inf) -> Beyond:
    """Every place at which the dynamo exporter stops, as far as the run can be carried on.

    No step is begun that would take more than `seconds` of CPU time: `complete` is not set then.

    Reads of data are answered with the example's values, arrays are made of them, and operators without a translation
    are looked up in what was captured. Costs about one export. `model` may be changed by it.
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
            captured = _capture_strategies.TorchExportNonStrictStrategy()(
                model, example.args, dict(example.kwargs), tried
            )
            program = captured.exported_program
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

    handle = torch.nn.modules.module.register_module_forward_pre_hook(look)
    try:
        yield
    finally:
        handle.remove()


class _Carrier:
    """Lets a capture go on with the example's values wherever it needs data, and notes each such place.

    `survived` are the places of `int(size)`: dynamo's second way of capturing carries those along as symbols.
    """

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

        with contextlib.ExitStack() as stack:
            stack.enter_context(torch._functorch.config.patch(settings))
            stack.enter_context(mock.patch.object(ShapeEnv, "_log_real_tensor_propagation", needed))
            stack.enter_context(mock.patch.object(torch.SymInt, "__int__", number))
            # Comparing fake with real results, which no export does, would decide sizes that only the data tells.
            stack.enter_context(mock.patch.object(fake_utils, "_check_fake_real_tensors", _no_comparison))
            for name, what in _ARRAYS.items():
                read = self._array(getattr(torch.Tensor, name), what)
                stack.enter_context(mock.patch.object(torch.Tensor, name, read))
            yield

    def _array(self, original: Callable[..., Any], what: str) -> Callable[..., Any]:
        def read(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            real = _real(tensor)
            if real is tensor or real is None:
                return original(tensor, *args, **kwargs)
            self.arrays = True
            message = f"a tensor {what} here, and dynamo does not know its elements"
            self.refusals.append(Refusal(message, user_frames(root=self.root)))
            with torch._C._DisableTorchDispatch():
                return original(real.detach(), *args, **kwargs)

        return read


def _no_comparison(*_: Any, **__: Any) -> None:
    """Not a mock: that would keep the tensors alive, and the capture would take them for constants."""


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
