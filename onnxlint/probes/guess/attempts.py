"""One try: run the model on a guess, and note which layer raised on an input of which shape."""

import logging
import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import InitVar, dataclass, field
from typing import Any

import torch
from torch import nn
from torch._subclasses import fake_tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.utils import _pytree as pytree

from onnxlint.base.probe_records import DimSpec, TensorSpec
from onnxlint.base.records import text_of
from onnxlint.probes.common.containers import as_annotated
from onnxlint.probes.common.costs import Deadline
from onnxlint.probes.common.nested import nested
from onnxlint.probes.common.operator_mode import OperatorMode
from onnxlint.probes.examples.examples import seed_everything
from onnxlint.probes.examples.synthesis import tensors_for
from onnxlint.probes.guess.model_facts import Guess, Guesses, Plain, Slot, slots_of

_NOT_FAKED = (NotImplementedError, fake_tensor.UnsupportedOperatorException)
_OF_DATA = (fake_tensor.DataDependentOutputException, fake_tensor.DynamicOutputShapeException)
SLOW = 0.4  # seconds of a try, from which on it pays to screen the next under fake tensors
LARGE = 20_000  # elements of input, from which on a wrong guess may cost seconds
TOO_LARGE = 300_000_000  # elements that a forward may compute in all
LARGER = 4  # times what the first try that ran computed: other sizes may take that, whatever it was


class _TooLargeError(Exception):
    """The forward computes more than a try is worth."""


class _Limited(OperatorMode):
    """Counts what operators make, and stops a run that makes too much."""

    def __init__(self, limit: float) -> None:
        super().__init__()
        self.limit = limit
        self.made = 0

    def _run(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        out = func(*args, **kwargs)
        self.made += sum(t.numel() for t in pytree.tree_leaves(out) if isinstance(t, torch.Tensor))
        if self.made > self.limit:
            raise _TooLargeError(f"its forward makes over {self.limit:,} numbers of this input")
        return out


@dataclass(slots=True)
class Trial:
    """The result of one try. `layer` is the innermost layer that raised, and `shape` that of its input.

    `direct` is the parameter whose tensor it got unchanged; `tables` has the rows of the embedding that it went to.
    """

    error: BaseException | None = None
    output: Any = None
    layer: nn.Module | None = None
    shape: tuple[int, ...] = ()
    direct: str | None = None
    seconds: float = 0.0
    tables: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Bench:
    """Runs tries on one model, up to a number and a time in CPU seconds."""

    model: nn.Module
    tries: int
    seconds: InitVar[float]
    done: int = 0
    until: Deadline = field(init=False)
    slow: bool = False
    limit: int = TOO_LARGE
    ranges: dict[str, tuple[float, float]] = field(default_factory=dict)  # of integers, from the tables they look in

    def __post_init__(self, seconds: float) -> None:
        self.until = Deadline.after(seconds)
        logging.getLogger("torch._subclasses.fake_tensor").setLevel(logging.CRITICAL)  # it logs every wrong guess

    @property
    def spent(self) -> bool:
        """Whether the budget is used up."""
        return self.done >= self.tries or self.until.left < 0

    def run(self, guess: Guesses) -> Trial:
        """Try a guess; a large one under fake tensors first, which know shapes and compute nothing."""
        self.done += 1
        if self.slow or sum(math.prod(slot.shape) for slot in slots_of(guess).values()) > LARGE:
            with FakeTensorMode(allow_non_fake_inputs=True) as mode, _Limited(self.limit):
                screened = self._run(guess, mode)
            error = screened.error  # eager raises it too, unless it is of what fake tensors alone cannot do
            of_fakes = isinstance(error, _NOT_FAKED + _OF_DATA) or "fake" in text_of(error).lower()
            if error is not None and not of_fakes:
                return screened
        trial = self._run(guess, None)
        before = dict(self.ranges)
        for name, rows in trial.tables.items():  # integers keep within the tables that they were looked up in
            self.ranges[name] = (0, min(rows - 1, self.ranges.get(name, (0, rows))[1]))
        if self.ranges != before and isinstance(trial.error, IndexError):
            trial = self._run(guess, None)
        if trial.seconds > SLOW and not self.slow:
            self.slow = True
            if trial.error is None:
                with FakeTensorMode(allow_non_fake_inputs=True) as mode, _Limited(math.inf) as counting:
                    self._run(guess, mode)
                self.limit = max(TOO_LARGE, LARGER * counting.made)
        return trial

    def _run(self, guess: Guesses, mode: FakeTensorMode | None) -> Trial:
        labelled = self._arguments(guess)
        if mode is not None:
            labelled = {n: mode.from_tensor(v) if isinstance(v, torch.Tensor) else v for n, v in labelled.items()}
        trial = Trial()
        arguments = as_annotated(self.model, nested(labelled))
        began = time.process_time()
        with _watched(trial, labelled), torch.no_grad():
            try:
                trial.output = self.model(**arguments)
            except (Exception, SystemExit) as error:  # noqa: BLE001 - what it raises is what we learn from
                trial.error = error
        trial.seconds = time.process_time() - began
        return trial

    def _arguments(self, guess: Guesses) -> dict[str, Any]:
        """The leaves that a guess stands for: the same that the specs would give if they were declared."""
        seed_everything()
        slots = slots_of(guess).items()
        specs = {n: TensorSpec(slot.dtype, tuple(DimSpec(None, size) for size in slot.shape)) for n, slot in slots}
        tensors = tensors_for(specs, {}, self.model, self.ranges)
        return {name: item.value if isinstance(item, Plain) else tensors[name] for name, item in guess.items()}


def guess_of(specs: Mapping[str, TensorSpec], values: Mapping[str, Any], sizes: Mapping[str, int]) -> dict[str, Guess]:
    """The guess that declared specs and values stand for, where the named dims have these sizes."""
    shapes = {n: tuple(sizes[d.name] if d.name else d.size or 1 for d in spec.dims) for n, spec in specs.items()}
    slots = {name: Slot(specs[name].dtype, shape) for name, shape in shapes.items()}
    return {**slots, **{name: Plain(value) for name, value in values.items()}}


@contextmanager
def _watched(trial: Trial, arguments: Mapping[str, Any]) -> Iterator[None]:
    """Track which layers are running; when forward raises, the innermost of them is to blame."""
    names = {id(value): name for name, value in arguments.items() if isinstance(value, torch.Tensor)}
    entered: list[tuple[nn.Module, tuple[int, ...], str | None]] = []

    def enter(module: nn.Module, inputs: Any) -> None:
        first = next((i for i in inputs if isinstance(i, torch.Tensor)), None)
        shape = tuple(int(s) for s in first.shape) if first is not None else ()
        name = names.get(id(first))
        entered.append((module, shape, name))
        if isinstance(module, nn.Embedding) and name is not None:
            trial.tables[name] = min(module.num_embeddings, trial.tables.get(name, module.num_embeddings))

    def leave(module: nn.Module, *_: Any) -> None:
        while entered and entered.pop()[0] is not module:
            pass

    with register_module_forward_pre_hook(enter), register_module_forward_hook(leave):
        yield
    if trial.error is not None and entered:
        trial.layer, trial.shape, trial.direct = entered[-1]
