"""The interpreter: runs functions of the project over abstract values, across files, once per kind of arguments."""

from __future__ import annotations

import ast
import logging
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeAlias

from onnxlint.base.records import EXPORTERS, Span, described
from onnxlint.flow.exports import export_calls, never_exported
from onnxlint.flow.exports.reach import MODULE_LEVEL
from onnxlint.flow.interpreter import attribute_access, indexing, library_calls, method_calls
from onnxlint.flow.interpreter.builtin_calls import unless_told
from onnxlint.flow.interpreter.frame import Frame
from onnxlint.flow.interpreter.instances import Objects
from onnxlint.flow.lowering import layer_calls, unexportable_calls
from onnxlint.flow.operators import unflattened_sizes
from onnxlint.flow.python import call_arguments, implicit_calls, name_lookup
from onnxlint.flow.python.entry_parameters import entry_value
from onnxlint.flow.state import observations
from onnxlint.flow.state.budget import Budget, Exhausted
from onnxlint.flow.state.candidates import Candidate, required
from onnxlint.flow.state.constructor_calls import ConstructorCalls
from onnxlint.flow.state.constructor_recall import Habits
from onnxlint.flow.state.context import Context
from onnxlint.flow.state.protocols import Interleaved, Replaced, Running
from onnxlint.flow.state.self_reads import Attributes
from onnxlint.flow.state.summaries import CONTEXTS, DEPTH, ELSEWHERE, CallKey, Summaries
from onnxlint.flow.tables.operator_table import OpTable
from onnxlint.flow.values import domain as dom
from onnxlint.flow.values import shapes
from onnxlint.flow.values.joins import element, join, join_all, join_returns, widen_argument
from onnxlint.flow.values.node_places import NOWHERE, Body, Given, Place, body_of
from onnxlint.project.classes import ClassInfo, FunctionUnit, ModuleInfo
from onnxlint.project.modules import Project
from onnxlint.project.outline import LIBRARIES

log = logging.getLogger(__name__)

# A function begins in no condition, and in no arm or loop of its own.
_IN_NOTHING: dict[str, Any] = {"testing": False, "by_size": False, "looping": 0, "over_modules": False}
REHEARSAL = shapes.Axes(((-1, "rehearsal"),))  # axes of its own, so that no real run recalls its summaries
ANEW = 16  # runs of a function that exports, for each of its callers by itself
_DEEP = "nested too deeply to analyse"

_Name: TypeAlias = "tuple[int, int | str]"  # a definition, by the identity of what it stands in


def _makeup(v: object, depth: int = 1) -> Hashable:
    """What of a value decides which code of a project runs: classes, flags and functions, down to its attributes."""
    if isinstance(v, dom.Instance):
        held = v.object.attrs.items() if depth > 1 else ()
        return v.object.cls, frozenset((name, _makeup(x)) for name, x in held)
    if isinstance(v, dom.Tuple):
        return tuple(map(_makeup, v.items))
    if isinstance(v, dom.Dict):
        return tuple(_makeup(x) for _, x in v.items)
    if isinstance(v, dom.Layer):
        return v.name, _makeup(v.items)
    if isinstance(v, dom.Seq):
        return _makeup(v.item)
    if isinstance(v, dom.Function):
        return v.unit.key
    return v.value if isinstance(v, dom.Const) and isinstance(v.literal, (bool, str)) else type(v).__name__


def _exporters_of(unit: FunctionUnit, exporters: tuple[str, ...]) -> tuple[str, ...]:
    """Those that trace through a function: TorchScript keeps the control flow of a scripted one, and calls `symbolic`.

    Measured with torch 2.13: of an autograd.Function with a `symbolic`, dynamo translates the forward all the same.
    """
    if unit.has_symbolic or unit.has_decorator("torch.jit.script", "jit.script", "script_method", "script_if_tracing"):
        return tuple(e for e in exporters if e != "torchscript")
    return exporters


def _begins_with_self(func: ast.expr) -> bool:
    """True for `self.layer`, `self.layers[0]` and `self.layers()[0].run`."""
    while isinstance(func, (ast.Attribute, ast.Subscript, ast.Call)):
        func = func.func if isinstance(func, ast.Call) else func.value
    return isinstance(func, ast.Name) and func.id == "self"


class Interpreter(Objects):
    """One run over a project. `observations` is what it saw."""

    def __init__(
        self,
        project: Project,
        table: OpTable,
        opset: int = 18,
        exporters: tuple[str, ...] = EXPORTERS,
        debug: bool = True,
        watched: frozenset[str] = frozenset(),
    ) -> None:
        super().__init__(Context(exporters, opset=opset))
        self.project = project
        self.table = table
        self.all_exporters = exporters
        self.watched = watched  # operators whose every call is observed
        self.frames: list[Frame] = []
        self.observations: dict[tuple[Any, ...], observations.Observation] = {}
        self.called_exports: set[Span] = set()
        self.exits: list[list[Given]] = []  # what each `return` of the model that runs first gives back
        self.changes = 0
        self.budget = Budget()
        self.interleaved: dict[tuple[str, int], Interleaved] = {}  # `repeat_interleave`, by entry and negative dim
        self.reads = Attributes()
        self.debug = debug  # what fails is raised
        self.failures: dict[tuple[str, int], tuple[str, bool]] = {}  # what failed at which line, and if that is a bug
        self.emptied: set[tuple[dom.Object, str]] = set()  # attributes that forward clears by a method for that
        self.renewed: set[tuple[dom.Object, str]] = set()  # attributes that forward sets before it counts on
        self.fixed: dict[str, str] = {}
        self.instances: dict[Any, dom.Object] = {}
        self.partial: dict[ClassInfo, dom.Object] = {}
        self.building: set[Any] = set()
        self._under_construction: set[dom.Object] = set()
        self.created: set[ClassInfo] = set()
        self.shut_out: dict[ClassInfo, ClassInfo] = {}  # what an arm names that a constructor does not take
        self.built: dict[ClassInfo, list[dom.Object]] = {}
        self.around: dict[ClassInfo, dom.Scope] = {}
        self.attribute_places: dict[tuple[int, str], Place] = {}
        self.reached: dict[Hashable, FunctionUnit] = {}
        self.last_train: Place | None = None
        self._globals: dict[_Name, dom.Value] = {}
        self._defaults: dict[tuple[ModuleInfo, int, ast.expr], dom.Value] = {}
        self.summaries = Summaries()
        self.habits = Habits()
        self.constructor_calls = ConstructorCalls()
        self.writes: list[tuple[dom.Object, str, dom.Value]] = []
        self.replaced: list[Replaced] = []  # what the arms that run have written to
        self._class_values: dict[_Name, dom.Value] = {}
        self._local_classes: dict[tuple[ModuleInfo, int, int], ClassInfo] = {}
        self.exported: list[Candidate] = []
        # By its callers: if the model is known that it exports.
        self.exports: dict[tuple[tuple[str, int], ...], bool] = {}
        self.exporting: dict[Hashable, int] = {}  # functions that came to an export call, with their runs since
        self.guessing = False  # traced code called something of which nothing is known
        self.resolved: dict[Hashable, FunctionUnit] = {}  # what exported models ran, each from first to last
        self.fed: dict[Hashable, set[str]] = {}  # the parameters that their calls passed to each forward among these
        self.in_export = False  # a model runs as an export call has it
        self.passed_over: dict[dom.Value, None] = {}  # what joins took another value for
        self.complete = 0  # how many of these called nothing unknown
        self.shipped: set[dom.Object] = set()
        self.exported_models: list[tuple[dom.Instance, Candidate, str]] = []  # with why the call does not count
        self.factories: dict[int, str] = {}  # `module:attribute` that gives an object when called without arguments
        self.decorated: list[dom.Value] = []  # what the functions give around which wrappers run now, innermost last
        self.unreadable: dict[str, str] = {}

    # --------------------------------------------------------------------------------------------- functions

    def call_function(
        self, fn: dom.Function, args: list[dom.Value], kwargs: dict[str, dom.Value], node: ast.AST | None
    ) -> dom.Value:
        """Run a function; one of a module that builds an object on its own is noted as that object's factory."""
        if self.context.tracing and fn.unit.decorators:
            opaque = unexportable_calls.function(self, fn, args, node)
            if opaque is not None:
                return opaque
            if _exporters_of(fn.unit, self.context.exporters) != self.context.exporters:
                # A scripted function takes numbers as they are: constants of TorchScript's trace.
                self.use_all([v for v in (*args, *kwargs.values()) if isinstance(v, dom.Data)], "an argument")
        result = self._call_function(fn, args, kwargs)
        if "default" in kwargs and not self.context.tracing and isinstance(result, (dom.Unknown, dom.Config)):
            return unless_told(kwargs["default"], result)
        alone = fn.bound is None and fn.scope is None and fn.unit.cls is None and not args and not kwargs
        if alone and isinstance(result, dom.Instance) and not required(fn.unit, 0):
            self.factories[id(result.object)] = f"{fn.unit.module.name}:{fn.unit.qualname}"
        return result

    def _call_function(self, fn: dom.Function, args: list[dom.Value], kwargs: dict[str, dom.Value]) -> dom.Value:
        """Run a function, or recall what it gave for arguments of the same kind."""
        unit, at = fn.unit, self.context
        first = unit.key not in self.reached
        self.reach(unit)
        if unit.has_decorator("contextmanager", "asynccontextmanager") and not at.tracing:
            return dom.CONFIG
        bound = [fn.bound] if fn.bound is not None else []
        scope = call_arguments.bind(self, unit, [*bound, *args], kwargs)
        key: CallKey | None = None
        # With its callers it exports other models; where such functions call each other, that has an end.
        anew = not at.tracing and self.exporting.get(unit.key, ANEW) < ANEW
        place = self._place(unit)
        if fn.scope is None and not anew:
            if self.summaries.recurs(unit.key, fn.bound):
                scope = {name: widen_argument(v) for name, v in scope.items()}
            key = CallKey((unit.key, tuple(scope.values()), at.axes, at.example_batch, at.exporters, at.tracing))
            recalled = self._recalled(unit, place, key)
            if recalled is not None:
                return recalled
        elif (cut := self._cut(unit)) is not None:
            return cut
        if not at.tracing and fn.scope is None and not anew:
            habit = self.habits.of(unit)
            if habit is not None:
                if isinstance(fn.bound, dom.Instance):
                    for name, v in habit.effects:
                        self.set_attribute(fn.bound.object, name, v)
                return habit.result
        if anew:
            self.exporting[unit.key] += 1
        self.budget.spend(1)
        scope = call_arguments.handed_over(self, unit, scope)
        changes, written = self.changes, len(self.writes)
        try:
            with (
                self.within(exporters=_exporters_of(unit, at.exporters)),
                self.summaries.running(place, key, fn.bound) as results,
            ):
                result = self._run_anew(fn, scope, args, kwargs, key)
                results.append(result)
        except Exhausted:
            if first:  # what it does past here is seen by nobody yet
                self.reached.pop(unit.key, None)
            raise
        if key is not None and not at.tracing:
            self.habits.note(fn, result, self.writes, written, changes == self.changes)
        return result

    def _run_anew(
        self,
        fn: dom.Function,
        scope: dict[str, dom.Value],
        args: list[dom.Value],
        kwargs: dict[str, dom.Value],
        key: CallKey | None,
    ) -> dom.Value:
        """Run a function with its decorators; one that calls itself twice, as then something is known of its result."""
        result = self.run(fn.unit, dom.Scope(dict(scope), fn.scope), fn.bound)
        if self.summaries.again(key, result):
            result = join(result, self.run(fn.unit, dom.Scope(scope, fn.scope), fn.bound))
        if self.context.tracing and any(d.partition(".")[0] not in LIBRARIES for d in fn.unit.decorators):
            result = implicit_calls.decorated(self, fn, args, kwargs, result)
        return result

    def note_shut_out(self, classes: Iterable[ClassInfo], owner: ClassInfo) -> None:
        """An arm names these that the constructor of `owner` does not take."""
        self.shut_out.update(dict.fromkeys(classes, owner))

    def note_interleaved(self, axis: int, rank: int | None, node: ast.AST, name: str) -> None:
        """The first `repeat_interleave` over a negative dim of what runs first."""
        self.interleaved.setdefault((self.frames[0].symbol, axis), Interleaved(rank, self.place(node), name))

    def _place(self, unit: FunctionUnit) -> tuple[Any, ...]:
        """Where the summaries of a function are kept: apart for each context that decides what is observed in it."""
        at = self.context
        return unit.key, at.tracing, at.axes, at.asked, at.silent, at.replaced, at.outside != ""

    def _recalled(self, unit: FunctionUnit, place: tuple[Any, ...], key: CallKey) -> dom.Value | None:
        """The result of an equal call, finished or running; of those alike, where the calls are too many."""
        at = self.context
        everywhere = (unit.key, at.tracing, at.axes, False, False, False, False)  # all that there is to observe
        places = (place,) if place == everywhere else (everywhere, place)
        result = self.summaries.recall(places, key, len(self.frames))
        if result is not None:
            return result
        others = self.summaries.of(place)
        most = CONTEXTS if not self.part or unit.module in self.part else ELSEWHERE
        if len(others) < (most if at.tracing else 8 * most):
            return None
        first = key.arguments[0] if key.arguments else None
        if isinstance(first, dom.Instance):  # nothing is known of this object's run
            kind = _makeup(first, 2)
            self.guessing = self.guessing or all(_makeup(o.arguments[0], 2) != kind for o in others)
        alike = [summary.result for other, summary in others.items() if other.flags == key.flags]
        joined = join_returns(alike or [summary.result for summary in others.values()]) or dom.UNKNOWN
        # Other arguments may give a tuple where these gave a tensor.
        return replace(joined, guessed=True) if isinstance(joined, dom.Tensor) else joined

    def _cut(self, unit: FunctionUnit) -> dom.Value | None:
        """What a closure gives that is not run, as it calls itself or the stack is full; None for one that is.

        Its variables are not in the key of its calls, so summaries cannot end it.
        """
        if len(self.frames) >= DEPTH:
            return self.summaries.too_deep()
        around = [f.calls for f in self.frames if f.unit is not None and f.unit.key == unit.key]
        return self.summaries.too_deep(around[0]) if len(around) >= 2 else None

    def run(self, unit: FunctionUnit, scope: dom.Scope, bound: dom.Value | None) -> dom.Value:
        """Execute a function's body and join what it returns."""
        try:
            body = body_of(unit)
        except (SyntaxError, RecursionError, MemoryError) as error:
            self.unreadable.setdefault(unit.module.path, f"{unit.qualname}: {type(error).__name__}")
            return dom.UNKNOWN
        frame = Frame(
            self, unit.module, body, scope, f"{unit.module.name}.{unit.qualname}", unit, bound, self.summaries.depth
        )
        try:
            ended = self.execute(frame, body.function.body)
        except RecursionError:
            # Python's own stack is full: this call's result is not known, what the callers do with it still is.
            self.shortened(frame, f"{_DEEP}; what it gives is taken to be unknown")
            return dom.UNKNOWN
        if frame.yields:
            return dom.Seq(join_all(frame.yields) or dom.UNKNOWN)
        results = frame.returns + ([] if ended else [dom.NONE])
        return join_returns(results) or dom.NONE

    def execute(self, frame: Frame, statements: Sequence[ast.stmt]) -> bool:
        """Execute statements in a frame of their own; True if control cannot reach the end."""
        depth, at, unit = len(self.frames), self.context, frame.unit
        replaced = unit is not None and never_exported.replaced(self, unit)
        silent = at.silent or (unit is not None and never_exported.is_a_loss(unit))
        self.frames.append(frame)
        try:
            with self.within(silent=silent, replaced=at.replaced or replaced, **_IN_NOTHING):
                unexportable_calls.stand_in(self)
                return frame.block(statements)
        finally:
            del self.frames[depth:]

    def evaluate_default(self, unit: FunctionUnit, default: ast.expr) -> dom.Value:
        """The value of a default expression, in the scope of its module."""
        key = (unit.module, unit.shift, default)  # functions of one text share the tree, not what its names mean
        known = self._defaults.get(key)
        if known is None:
            name = f"{unit.qualname} default"
            known = self._defaults[key] = self.evaluate_expression(unit.module, default, name, unit.shift)
        return known

    def evaluate_in_class(self, info: ClassInfo, expression: ast.expr) -> dom.Value:
        """The value of a class-level assignment."""
        key = (id(info), id(expression))
        known = self._class_values.get(key)
        if known is None:
            known = self._unless_asked_again(
                self._class_values, key, lambda: self.evaluate_expression(info.module, expression, info.qualname)
            )
        return known

    @staticmethod
    def _unless_asked_again(known: dict[_Name, dom.Value], key: _Name, find: Callable[[], dom.Value]) -> dom.Value:
        """A cycle of definitions sees something unknown; where the steps run out, nothing is known of it after."""
        known[key] = dom.UNKNOWN
        try:
            known[key] = find()
        except BaseException:
            del known[key]
            raise
        return known[key]

    def evaluate_expression(self, module: ModuleInfo, expression: ast.expr, name: str, shift: int = 0) -> dom.Value:
        """A lone expression, in the scope of its module, untraced; `shift` is that of the function it belongs to."""
        if isinstance(expression, ast.Constant):
            return dom.Const(expression.value) if not isinstance(expression.value, complex) else dom.CONFIG
        if isinstance(expression, ast.Name):  # most defaults are plain names: no need for a tree
            return self.global_value(module, expression.id)
        if isinstance(expression, ast.Attribute):
            owner = self.evaluate_expression(module, expression.value, name, shift)
            return self.attribute(owner, expression.attr, NOWHERE)
        if isinstance(expression, (ast.Tuple, ast.List)):
            kind = "list" if isinstance(expression, ast.List) else "tuple"
            return dom.Tuple(tuple(self.evaluate_expression(module, e, name, shift) for e in expression.elts), kind)
        body = Body(module, name, expression.lineno + shift, None, shift)
        return self.in_frame(Frame(self, module, body, dom.Scope({}), f"{module.name}.{name}"), expression)

    def in_frame(self, frame: Frame, node: ast.expr) -> dom.Value:
        """Evaluate an expression in a frame of its own, untraced."""
        if len(self.frames) >= DEPTH:
            return self.summaries.too_deep()
        self.frames.append(frame)
        try:
            with self.within(tracing=False, **_IN_NOTHING):
                return frame.eval(node)
        finally:
            self.frames.pop()

    # ------------------------------------------------------------------------------------------------ calls

    def call(self, node: ast.Call) -> dom.Value:
        """Evaluate a call expression of the frame that runs."""
        frame = self.frames[-1]
        callee = frame.eval(node.func)
        args: list[dom.Value] = []
        kwargs: dict[str, dom.Value] = {}
        for a in node.args:
            if not isinstance(a, ast.Starred):
                args.append(frame.eval(a))
                continue
            v = frame.eval(a.value)
            if isinstance(v, dom.Tuple) and len(args) <= dom.WEIGHT:
                args.extend(v.items)
            elif isinstance(v, dom.Shape) and v.tensor.dims is not None:
                args.extend(v.tensor.dims)
            elif isinstance(v, dom.Shape):
                args.append(v)
            else:
                args.append(
                    dom.Seq(element(v) if isinstance(v, dom.Seq) else dom.UNKNOWN, None, call_arguments.STARRED)
                )
        for k in node.keywords:
            v = frame.eval(k.value)
            if k.arg is not None:
                kwargs[k.arg] = v
            elif isinstance(v, dom.Dict):
                kwargs.update({str(key): x for key, x in v.items})
                if v.rest is not None:
                    kwargs["**"] = v.rest
            else:
                kwargs["**"] = dom.UNKNOWN
        return self.apply(callee, args, kwargs, node)

    def apply(self, callee: dom.Value, args: list[dom.Value], kwargs: dict[str, dom.Value], node: ast.AST) -> dom.Value:
        """Call any value."""
        self.budget.carry_all(args)
        if kwargs:
            self.budget.carry_all(kwargs.values())
        if isinstance(callee, dom.Function):
            return self.call_function(callee, args, kwargs, node)
        if isinstance(callee, dom.Method):
            kwargs.pop("**", None)
            return method_calls.method(
                self, callee.receiver, callee.name, call_arguments.without_stars(args), kwargs, node
            )
        if isinstance(callee, dom.External):
            if "**" in kwargs and not callee.name.startswith("torch.onnx"):
                kwargs.pop("**")
            return library_calls.library(self, callee.name, call_arguments.without_stars(args), kwargs, node)
        if isinstance(callee, dom.Layer):
            return layer_calls.call(
                self, callee, [v.item if call_arguments.is_starred(v) else v for v in args], kwargs, node
            )
        if isinstance(callee, dom.Instance):
            return self.call_instance(callee, args, kwargs, node)
        if isinstance(callee, dom.ClassRef):
            return self.call_class(callee.info, args, kwargs, node)
        if isinstance(callee, dom.Partial):
            return self.apply(callee.function, [*callee.args, *args], {**dict(callee.kwargs), **kwargs}, node)
        if isinstance(callee, dom.Lambda):
            return self.call_lambda(callee, args, kwargs)
        self.guessing |= self.context.tracing and any(isinstance(a, dom.Tensor) for a in args)
        return self.call_unknown(dom.UNKNOWN if isinstance(callee, dom.Scripted) else callee, args, node)

    def call_unknown(self, callee: dom.Value, args: list[dom.Value], node: ast.AST) -> dom.Value:
        """`self.something(x)` of which nothing is known is most likely a module: a tensor in, a tensor out."""
        if not isinstance(node, ast.Call):
            return dom.UNKNOWN
        first = args[0] if args else dom.UNKNOWN
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if method == "get" and len(args) == 2 and isinstance(first, dom.Const):
            return unless_told(args[1], dom.UNKNOWN)
        if any(k.arg == "return_tensors" for k in node.keywords):
            return dom.Dict((), dom.Tensor(kind="int", trace=self.frames[-1].step("a tokenizer gives tensors", None)))
        if method in layer_calls.HOOKS:
            holder = self.frames[-1].bound
            if isinstance(holder, dom.Instance):
                implicit_calls.hook_loosely(self, holder, first, node)
        if (
            isinstance(first, dom.Tensor)
            and isinstance(callee, (dom.Unknown, dom.Config))
            and _begins_with_self(node.func)
        ):
            owner = self.frames[-1].owner
            if owner is not None and owner.is_module():
                lead = first.dims[0] if first.dims else first.lead
                guessed = not owner.extends_library_model()
                return dom.Tensor(None, lead, first.source, None, None, None, first.trace, guessed)
        return dom.UNKNOWN

    def call_instance(
        self, callee: dom.Instance, args: list[dom.Value], kwargs: dict[str, dom.Value], node: ast.AST
    ) -> dom.Value:
        """`instance(...)`: its forward, or its `__call__`."""
        callee = dom.Instance(callee.object)  # forward is analysed once, for eval mode, whatever the mode is by now
        obj = callee.object
        own = obj.cls.find_method("__call__")
        if own is not None:
            return self.call_function(dom.Function(own, callee), args, kwargs, node)
        forward = obj.attrs.get("forward")
        if forward is not None and not isinstance(forward, dom.Unknown):
            return self.apply(forward, args, kwargs, node)
        unit = obj.cls.find_method("forward")
        if unit is None:
            given = implicit_calls.as_layer(self, callee, args, kwargs, node)
            return given if given is not None else self.call_unknown(dom.UNKNOWN, args, node)
        return self.run_forward(callee, unit, args, kwargs, node)

    def run_forward(
        self,
        callee: dom.Instance,
        unit: FunctionUnit,
        args: list[dom.Value],
        kwargs: dict[str, dom.Value],
        node: ast.AST,
    ) -> dom.Value:
        """The forward of a module, with the hooks around it."""
        obj = callee.object
        if self.in_export:
            self.fed.setdefault(unit.key, set()).update(call_arguments.names_passed(unit, [callee, *args], kwargs))
        before = obj.attrs.get("<register_forward_pre_hook>")
        if before is not None:
            changed = self.apply(before, [callee, dom.Tuple(tuple(args))], {}, node)
            if isinstance(changed, dom.Tuple):
                args = list(changed.items)
            elif isinstance(changed, dom.Tensor):
                args = [changed]
        result = self.call_function(dom.Function(unit, callee), args, kwargs, node)
        loose = obj.attrs.get(implicit_calls.LOOSE_HOOKS)
        for hook in loose.items if isinstance(loose, dom.Tuple) else ():
            # It is called for a layer of which no more is known: with tensors, and what it gives is not followed.
            self.apply(hook, [dom.UNKNOWN, dom.Tuple((dom.Tensor(),)), dom.Tensor()], {}, node)
        after = obj.attrs.get("<register_forward_hook>")
        if after is not None:
            changed = self.apply(after, [callee, dom.Tuple(tuple(args)), result], {}, node)
            if not dom.is_none(changed) and not isinstance(changed, dom.Unknown):
                result = changed
        return result

    def call_class(
        self, info: ClassInfo, args: list[dom.Value], kwargs: dict[str, dom.Value], node: ast.AST
    ) -> dom.Value:
        """`Class(...)`."""
        if "**" in kwargs or (dom.Seq in map(type, args) and any(map(call_arguments.is_starred, args))):
            return dom.Instance(self.default_instance(info)) if info.is_module() else dom.UNKNOWN
        if any(b.endswith("Enum") for b in info.external_bases()):
            return dom.CONFIG
        return self.instantiate(info, args, kwargs, node)

    def lambda_value(self, node: ast.Lambda) -> dom.Value:
        """A lambda expression of the frame that runs."""
        frame = self.frames[-1]
        return dom.Lambda(node, frame.module.path, frame.body.shift, frame)

    def call_lambda(self, callee: dom.Lambda, args: list[dom.Value], kwargs: dict[str, dom.Value]) -> dom.Value:
        """Evaluate a lambda's body in the frame that made it."""
        if len(self.frames) >= DEPTH:
            return self.summaries.too_deep()
        self.budget.spend(1)
        frame: Frame = callee.frame
        self.frames.append(frame)
        try:
            return frame.call_lambda(callee.node, args, kwargs)
        finally:
            self.frames.pop()

    # ------------------------------------------------------------------------------------------------ names

    def global_value(self, module: ModuleInfo, name: str, strict: bool = False) -> dom.Value:
        """What a name means at module level; with `strict` a builtin does not count."""
        key = (id(module), name)
        known = self._globals.get(key)
        if known is None:
            known = self._unless_asked_again(self._globals, key, lambda: name_lookup.find(self, module, name, strict))
        return known

    def local_class(self, body: Body, node: ast.ClassDef, qualname: str) -> dom.Value:
        """A class defined in a function."""
        key = (body.module, node.lineno + body.shift, node.col_offset)
        info = self._local_classes.get(key)
        if info is None:
            info = self._local_classes[key] = ClassInfo(body.module, node, qualname, body.shift)
        self.around[info] = self.frames[-1].scope
        return dom.ClassRef(info)

    # ------------------------------------------------------------------------------------- values' insides

    def attribute(self, owner: dom.Value, name: str, node: ast.AST) -> dom.Value:
        """`owner.name`."""
        return attribute_access.attribute(self, owner, name, node)

    def subscript(self, owner: dom.Value, index: list[dom.Value], node: ast.Subscript) -> dom.Value:
        """`owner[index]`."""
        return indexing.subscript(self, owner, index, node)

    def items_of(self, v: dom.Value, node: ast.AST) -> list[dom.Value]:
        """What a loop over `v` binds."""
        if isinstance(v, dom.Instance):
            unit = v.object.cls.find_method("__iter__")
            held = v.object.attrs.get(implicit_calls.ITEMS)
            if unit is None and held is not None:
                return attribute_access.items_of(self, held, node)
            made = self.call_function(dom.Function(unit, v), [], {}, node) if unit is not None else self.record_items(v)
            return attribute_access.items_of(self, made, node)
        return attribute_access.items_of(self, v, node)

    def unpack_shape(self, shape: dom.Shape, count: int, starred: int | None, names: Sequence[str]) -> list[dom.Value]:
        """`b, n, c = x.shape`."""
        return attribute_access.unpack_shape(self, shape, count, starred, names)

    def read_dim(self, t: dom.Tensor, axis: dom.Value, node: ast.AST) -> dom.Value:
        """`t.size(axis)`."""
        return attribute_access.read_dim(self, unflattened_sizes.read_at(self, t, node), axis)

    def entry_value(self, unit: FunctionUnit, parameter: ast.arg, default: ast.expr | None) -> dom.Value:
        """What a parameter is taken for when nobody calls the function."""
        return entry_value(self, unit, parameter, default)

    # ------------------------------------------------------------------------------------------------ observations

    def failed(self, frame: Running, node: ast.expr | ast.stmt, error: Exception) -> None:
        """Note an error of our own, or a full stack, once for each line. An error is raised where that is debugged."""
        internal, self.guessing = not isinstance(error, RecursionError), True
        if self.debug and internal:
            raise error
        why = f"internal error in {frame.symbol}: {described(error)}" if internal else f"{frame.symbol}: {_DEEP}"
        what = "what this expression gives" if isinstance(node, ast.expr) else "what this statement does"
        at = frame.module.path, node.lineno + frame.body.shift
        self.failures.setdefault(at, (f"{why}; {what} is taken to be unknown", internal))

    def shortened(self, frame: Running, what: str) -> None:
        """Note once for a function what of it is not analysed in full."""
        self.failures.setdefault((frame.module.path, frame.body.first), (f"{frame.symbol}: {what}", False))

    def mode_switch(self, node: ast.AST) -> None:
        """`.train()` is called: in traced code, in an overridden `eval()`, or after the model was put in eval mode."""
        if self.context.switching:
            entry = self.frames[0]
            if entry.statement_node is not None:
                place = Place(entry.body, entry.statement_node, entry.line, entry.symbol)
                self.emit(observations.ModeSwitch, place, self._called_at(node), always=True, where="eval")
        elif self.context.tracing:
            self.emit(observations.ModeSwitch, node, where="forward")
        else:
            self.last_train = self.place(node)

    @contextmanager
    def entry(self, path: str, lines: int, lasting: bool = True) -> Iterator[None]:
        """An entry point of a file of so many lines begins, and ends with the block; no place is left of it then.

        What traced code assigns in a `lasting` one, the next one sees.
        """
        where = self.context
        try:
            with self.budget.entry(path, lines), self.summaries.entry(lasting):
                yield
        finally:
            self.context = where
            around = self._around, self.frames, self.exits, self.replaced, self.decorated, self.emptied, self.renewed
            for left in around:
                left.clear()

    def release(self) -> None:
        """Let go of all that a run has made: it holds each other, and nobody collects cycles meanwhile."""
        for made in self.instances.values():
            made.attrs.clear()
        self.__dict__.clear()

    def reach(self, unit: FunctionUnit) -> None:
        """A function runs, or is known never to. Where a script merely calls it, nothing is observed in it."""
        if self.context.tracing:
            self.reached[unit.key] = unit

    def gives_back(self, found: list[Given]) -> None:
        """A `return` of the model that runs first gives this back."""
        self.exits.append(found)

    def exports_here(self, known: bool) -> None:
        """An export call runs, with a model that is known or not, called by what runs."""
        self.exporting = dict.fromkeys((f.unit.key for f in self.frames if f.unit is not None), 0) | self.exporting
        if not self.context.outside:
            chain = (
                (f"{f.module.source.path}:{f.unit.qualname if f.unit else MODULE_LEVEL}", f.line) for f in self.frames
            )
            callers = (*chain,)[::-1]
            self.exports[callers] = self.exports.get(callers, True) and known

    def is_exported(self, model: dom.Instance, call: Candidate) -> None:
        """An export call is given a model of the project."""
        self.exported.append(call)
        self.exported_models.append((model, call, self.context.outside))
        self.ship(model.object)

    @contextmanager
    def decorating(self, result: dom.Value) -> Iterator[None]:
        """Wrappers run around a function that gives `result`."""
        self.decorated.append(result)
        try:
            yield
        finally:
            self.decorated.pop()

    @contextmanager
    def as_exported(self, counts: bool) -> Iterator[None]:
        """What runs meanwhile does not count as reached; if the export counts, as what comes of one."""
        held, self.reached = self.reached, dict(self.reached)
        self.guessing, self.in_export = False, counts
        try:
            yield
            if counts:
                self.resolved |= self.reached
                self.complete += not self.guessing
        finally:
            self.reached, self.in_export = held, False

    def rehearse(
        self, model: dom.Instance, fed: list[dom.Value], opset: int | None = None
    ) -> tuple[dict[str, str], dom.Value, list[observations.Observation]]:
        """Run a model aside: the axes that its layers fix, what it gives, and its observations, kept nowhere else.

        With an `opset`, as the TorchScript exporter writes it at that one. No function counts as reached.
        """
        held = self.observations, self.fixed, self.reached
        self.observations, self.fixed, self.reached = {}, {}, {}
        where: dict[str, Any] = {"axes": REHEARSAL}
        if opset is not None:
            axes = shapes.Axes(((-1, f"opset {opset}"),))
            where = {"axes": axes, "opset": opset, "exporters": ("torchscript",)}
        try:
            with self.within(tracing=True, **where), self.summaries.entry():
                result = self.apply(model, fed, {}, NOWHERE)
            return self.fixed, result, list(self.observations.values())
        finally:
            self.observations, self.fixed, self.reached = held

    def build(self, factory: dom.Value) -> tuple[dom.Value, Place | None]:
        """Call a factory: what it gives, and where it last put a module in train mode, if it did."""
        self.last_train = None
        built = self.apply(factory, [], {}, NOWHERE)
        return built, self.last_train

    def _called_at(self, node: ast.AST) -> dom.Trace:
        span = self.place(node).span
        return dom.Trace(span.path, span.line, f"`{self.place(node).text}` puts modules in train mode", None)

    def export_call(self, name: str, args: list[dom.Value], kwargs: dict[str, dom.Value], node: ast.AST) -> dom.Value:
        """A call of torch.onnx.export."""
        export_calls.record(self, name, args, kwargs, node)
        return dom.UNKNOWN
