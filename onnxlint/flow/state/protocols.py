"""What transfer functions know of the interpreter and of the function that runs; what each does is told where it is."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from onnxlint.flow.state.budget import Budget
from onnxlint.flow.state.candidates import Candidate
from onnxlint.flow.state.constructor_recall import Habits
from onnxlint.flow.state.context import Context
from onnxlint.flow.state.observations import Observation
from onnxlint.flow.state.self_reads import Attributes
from onnxlint.flow.state.summaries import Summaries
from onnxlint.flow.tables.operator_table import OpTable
from onnxlint.flow.values import domain as dom
from onnxlint.flow.values.node_places import Body, Extra, Place
from onnxlint.project.classes import ClassInfo, FunctionUnit, ModuleInfo
from onnxlint.project.modules import Project

# Attributes that were written to, by object and name, with what they were before; None for one that was not there.
Replaced: TypeAlias = "dict[tuple[int, str], tuple[dom.Object, dom.Value | None]]"


@dataclass(frozen=True, slots=True)
class Interleaved:
    """A `repeat_interleave` along a negative dim: the rank of its tensor, if known, its place and name."""

    rank: int | None
    place: Place
    name: str


class InContext(Protocol):
    """Where the analysis is."""

    context: Context
    frames: Sequence[Running]  # innermost last
    table: OpTable
    flags: frozenset[str]  # keys of dicts that hold flags and counts alone

    def within(self, **changes: Any) -> AbstractContextManager[None]: ...
    def narrow(self, **changes: Any) -> None: ...
    def place(self, node: ast.AST) -> Place: ...
    def site(self, node: ast.AST, how: str) -> dom.Site: ...


class Observing(InContext, Protocol):
    """What notes observations of what values are used for."""

    def emit(
        self,
        observation: type[Observation],
        at: ast.AST | Place,
        trace: dom.Trace | None = None,
        *,
        sure: bool = True,
        doubt: str = "axis",
        exporters: tuple[str, ...] | None = None,
        always: bool = False,
        about: dom.Value | None = None,
        **fields: Any,
    ) -> None: ...
    def emit_read(
        self, kind: type[Observation], node: ast.AST, v: dom.Value, mask: tuple[str, ...], **more: Any
    ) -> None: ...
    def emit_operator(self, node: ast.AST, v: dom.Tensor, builtin: str = "", operands: int = 0) -> None: ...
    def report_loop(self, node: ast.AST, v: dom.Value) -> None: ...
    def asking(self, asked: bool, **changes: Any) -> AbstractContextManager[None]: ...
    def use(self, v: dom.Value, how: str) -> None: ...
    def use_all(self, values: Sequence[dom.Value], how: str) -> None: ...


class Operating(Observing, Protocol):
    """What a transfer function of torch's operators needs: it looks at its operands and observes."""

    def check_literal_sizes(self, op: str, node: ast.AST, t: dom.Tensor, sizes: Sequence[dom.Value]) -> None: ...
    def check_literal_batch(self, op: str, node: ast.AST, t: dom.Tensor, sizes: Sequence[dom.Value]) -> None: ...
    def check_fixed_batch(self, made: dom.Tensor, axis: int, batch: dom.Extent) -> None: ...
    def check_same_batch(self, tensors: Sequence[dom.Tensor], along: int) -> None: ...
    def check_operands(self, a: dom.Tensor, b: dom.Tensor) -> None: ...
    def check_fixed_axis(self, x: dom.Tensor, axis: int, why: str) -> None: ...
    def attribute(self, owner: dom.Value, name: str, node: ast.AST) -> dom.Value: ...
    def read_dim(self, t: dom.Tensor, axis: dom.Value, node: ast.AST) -> dom.Value: ...
    def apply(self, callee: dom.Value, args: dom.Args, kwargs: dom.Kwargs, node: ast.AST) -> dom.Value: ...


class Lowering(Operating, Protocol):
    """What it takes to say which exporters write an operator, a layer or an index, and how."""

    interleaved: dict[tuple[str, int], Interleaved]
    watched: frozenset[str]

    def note_interleaved(self, axis: int, rank: int | None, node: ast.AST, name: str) -> None: ...


class Configured(InContext, Protocol):
    """What a run is set to and has counted so far."""

    budget: Budget
    habits: Habits
    summaries: Summaries
    changes: int
    reads: Attributes


class Defining(InContext, Protocol):
    """What names, defaults and classes of the project stand for."""

    project: Project
    settings: Mapping[str, bool | str | None]

    def global_value(self, module: ModuleInfo, name: str, strict: bool = False) -> dom.Value: ...
    def local_class(self, body: Body, node: ast.ClassDef, qualname: str) -> dom.Value: ...
    def evaluate_expression(self, module: ModuleInfo, expression: ast.expr, name: str, shift: int = 0) -> dom.Value: ...
    def evaluate_default(self, unit: FunctionUnit, default: ast.expr) -> dom.Value: ...
    def constructor_value(
        self, unit: FunctionUnit, parameter: ast.arg, default: ast.expr | None, info: ClassInfo | None = None
    ) -> dom.Value: ...
    def sketch(self, info: ClassInfo) -> dom.Object: ...
    def model(self, info: ClassInfo) -> dom.Object: ...
    def built_last(self, info: ClassInfo) -> dom.Instance | None: ...
    def evaluate_in_class(self, info: ClassInfo, expression: ast.expr) -> dom.Value: ...


class Calling(InContext, Protocol):
    """What calls functions and modules."""

    decorated: list[dom.Value]
    reached: dict[Hashable, FunctionUnit]

    def note_shut_out(self, classes: Iterable[ClassInfo], owner: ClassInfo) -> None: ...
    def apply(self, callee: dom.Value, args: dom.Args, kwargs: dom.Kwargs, node: ast.AST) -> dom.Value: ...
    def call(self, node: ast.Call) -> dom.Value: ...
    def call_function(
        self, fn: dom.Function, args: dom.Args, kwargs: dom.Kwargs, node: ast.AST | None
    ) -> dom.Value: ...
    def run_forward(
        self, callee: dom.Instance, unit: FunctionUnit, args: dom.Args, kwargs: dom.Kwargs, node: ast.AST
    ) -> dom.Value: ...
    def call_instance(self, callee: dom.Instance, args: dom.Args, kwargs: dom.Kwargs, node: ast.AST) -> dom.Value: ...
    def module_method(
        self, owner: dom.Instance, name: str, args: dom.Args, kwargs: dom.Kwargs, node: ast.AST
    ) -> dom.Value: ...
    def mode_switch(self, node: ast.AST) -> None: ...
    def decorating(self, result: dom.Value) -> AbstractContextManager[None]: ...
    def reach(self, unit: FunctionUnit) -> None: ...


class Assigning(InContext, Protocol):
    """What assigns to attributes, items and globals."""

    def set_attribute(self, obj: dom.Object, name: str, v: dom.Value, replace_old: bool = False) -> None: ...
    def abandon(self, owner: dom.Value, name: str) -> None: ...
    def copied(self, v: dom.Instance, node: ast.AST) -> dom.Instance: ...
    def noting(self, run: Callable[[], bool]) -> tuple[bool, Replaced]: ...
    def settle(
        self,
        arms: Sequence[tuple[Replaced, Mapping[tuple[int, str], dom.Value]]],
        usual: Mapping[tuple[int, str], dom.Value] | None,
    ) -> None: ...
    def state_write(
        self, frame: Running, target: ast.Attribute, v: dom.Value, augmented: bool, anew: bool = False
    ) -> None: ...
    def item_written(self, frame: Running, t: dom.Tensor, target: ast.Subscript) -> None: ...
    def written_in_place(self, t: dom.Tensor, target: ast.AST, node: ast.AST) -> None: ...
    def is_emptied(self, obj: dom.Object, name: str) -> None: ...


class Exporting(InContext, Protocol):
    """What keeps the export calls, and what the exported model gives back."""

    all_exporters: tuple[str, ...]
    instances: dict[Any, dom.Object]
    factories: dict[int, str]

    def gives_back(self, outputs: list[Extra]) -> None: ...
    def exports_here(self, resolved_model: bool) -> None: ...
    def is_exported(self, model: dom.Instance, call: Candidate) -> None: ...
    def rehearse(
        self, model: dom.Instance, fed: list[dom.Value], opset: int | None = None
    ) -> tuple[dict[str, str], dom.Value, list[Observation]]: ...


class Failing(InContext, Protocol):
    """What notes that something is not analysed in full."""

    def failed(self, frame: Running, node: ast.expr | ast.stmt, error: Exception) -> None: ...
    def shortened(self, frame: Running, what: str) -> None: ...


class Applying(Lowering, Calling, Protocol):
    """What runs what a value has: an item, a method of a layer."""


class Writing(Lowering, Assigning, Protocol):
    """What runs an operator, which may write into what it is given."""


class Evaluating(Applying, Writing, Protocol):
    """What runs a builtin of Python: it calls and assigns."""


class Resolving(Defining, Calling, Protocol):
    """What finds what code of the project stands for where that has to run."""


class Recalling(Resolving, Configured, Protocol):
    """What does so once, or notes that it did."""


class Reading(Lowering, Recalling, Protocol):
    """What reads attributes: of tensors, of objects and of classes."""


class Recording(Operating, Defining, Exporting, Protocol):
    """What it takes to record an export call."""


class Engine(Evaluating, Reading, Recording, Failing, Protocol):
    """The interpreter, for the function that runs in it."""


class Running(Protocol):
    """A function that runs, a module's statements, or a lone expression."""

    engine: Engine
    module: ModuleInfo
    body: Body
    scope: dom.Scope
    symbol: str
    unit: FunctionUnit | None
    bound: dom.Value | None
    calls: int  # that run around this one, of those whose results are kept
    line: int
    statement_node: ast.stmt | None
    returns: list[dom.Value]
    globals: set[str]

    @property
    def owner(self) -> ClassInfo | None: ...
    def attempt(self, node: ast.AST) -> None: ...
    def is_certain(self, node: ast.stmt | None) -> bool: ...
    def step(self, message: str, parent: dom.Trace | None) -> dom.Trace: ...
    def eval(self, node: ast.expr) -> dom.Value: ...
    def assign(self, target: ast.expr, v: dom.Value, augmented: bool = False) -> None: ...
    def assign_item(self, target: ast.Subscript, v: dom.Value) -> None: ...
    def rebind(self, node: ast.Name | ast.Attribute, v: dom.Value) -> None: ...
    def arithmetic(self, operator: str, a: dom.Value, b: dom.Value, node: ast.AST) -> dom.Value: ...
