"""Runs of functions: each once per kind of arguments, recalled where an equal call is finished or still runs."""

import ast
from collections.abc import Hashable, Sequence
from typing import Any

from onnxlint.flow.calls.builtin_calls import getter_default
from onnxlint.flow.exports import never_exported
from onnxlint.flow.interpreter.definitions import IN_NOTHING, Definitions
from onnxlint.flow.interpreter.frame import Frame
from onnxlint.flow.lowering import unexportable_calls
from onnxlint.flow.python import call_arguments, implicit_calls
from onnxlint.flow.state.budget import Exhausted
from onnxlint.flow.state.candidates import required
from onnxlint.flow.state.constructor_recall import Habits
from onnxlint.flow.state.context import Context
from onnxlint.flow.state.summaries import CONTEXTS, DEPTH, ELSEWHERE, CallKey
from onnxlint.flow.tables.operator_table import OpTable
from onnxlint.flow.values import domain as dom
from onnxlint.flow.values.domain import Args, Kwargs, Value, replace
from onnxlint.flow.values.joins import join, join_all, join_returns, widen_argument
from onnxlint.flow.values.node_places import body_of
from onnxlint.project.classes import FunctionUnit
from onnxlint.project.outline import LIBRARIES

SHORT = 12  # lines of a helper that is cheaper to run than to mistake for another caller's
ANEW = 16  # runs of a function that exports, for each of its callers by itself
DEEP = "nested too deeply to analyse"


class FunctionRuns(Definitions):
    """The part of the interpreter that runs functions of the project."""

    def __init__(self, context: Context, table: OpTable) -> None:
        super().__init__(context, table)
        self.habits = Habits()
        self.reached: dict[Hashable, FunctionUnit] = {}
        self.exporting: dict[Hashable, int] = {}  # functions that came to an export call, with their runs since
        self.guessing = False  # traced code called something of which nothing is known

    def call_function(self, fn: dom.Function, args: Args, kwargs: Kwargs, node: ast.AST | None) -> Value:
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
            return getter_default(kwargs["default"], result)
        alone = fn.bound is None and fn.scope is None and fn.unit.cls is None and not args and not kwargs
        if alone and isinstance(result, dom.Instance) and not required(fn.unit, 0):
            self.factories[id(result.object)] = f"{fn.unit.module.name}:{fn.unit.qualname}"
        return result

    def _call_function(self, fn: dom.Function, args: Args, kwargs: Kwargs) -> Value:
        """Run a function, or recall what it gave for arguments of the same kind; it counts as reached by then."""
        first = fn.unit.key not in self.reached
        self.reach(fn.unit)
        try:
            return self._result(fn, args, kwargs)
        except Exhausted:
            if first:  # what it does past here is seen by nobody yet
                self.reached.pop(fn.unit.key, None)
            raise

    def _result(self, fn: dom.Function, args: Args, kwargs: Kwargs) -> Value:
        unit, at = fn.unit, self.context
        if unit.has_decorator("contextmanager", "asynccontextmanager") and not at.tracing:
            return dom.CONFIG
        bound = [fn.bound] if fn.bound is not None else []
        subject = next(iter([*bound, *args]), None)
        scope = call_arguments.bind(self, unit, [*bound, *args], kwargs)
        key: CallKey | None = None
        # With its callers it exports other models; where such functions call each other, that has an end.
        anew = not at.tracing and self.exporting.get(unit.key, ANEW) < ANEW
        place = self._place(unit)
        closed = fn.is_closure
        if not closed and not anew:
            if self.summaries.recurs(unit.key, fn.bound):
                scope = {name: widen_argument(v) for name, v in scope.items()}
            key = CallKey((unit.key, tuple(scope.values()), at.axes, at.example_batch, at.exporters, at.tracing))
            recalled = self._recalled(unit, place, key)
            if recalled is not None:
                return recalled
        elif (cut := self._cut(unit)) is not None:
            return cut
        if not at.tracing and not closed and not anew:
            habit = self.habits.of(unit) if isinstance(subject, dom.Instance) else None
            if habit is not None and isinstance(subject, dom.Instance):
                for name, v in habit.effects:
                    self.set_attribute(subject.object, name, v)
                return habit.result
        if anew:
            self.exporting[unit.key] += 1
        self.budget.spend(1)
        scope = call_arguments.handed_over(self, unit, scope)
        changes, written = self.changes, len(self.writes)
        with (
            self.within(exporters=_exporters_of(unit, at.exporters)),
            self.summaries.running(place, key, fn.bound) as results,
        ):
            result = self._run_anew(fn, scope, args, kwargs, key)
            results.append(result)
        if key is not None and not at.tracing:
            self.habits.note(unit, subject, result, self.writes, written, changes == self.changes)
        return result

    def _run_anew(
        self, fn: dom.Function, scope: dict[str, Value], args: list[Value], kwargs: Kwargs, key: CallKey | None
    ) -> Value:
        """Run a function with its decorators; one that calls itself twice, as then something is known of its result."""
        result = self.run(fn.unit, dom.Scope(dict(scope), fn.scope), fn.bound)
        if self.summaries.again(key, result):
            result = join(result, self.run(fn.unit, dom.Scope(scope, fn.scope), fn.bound))
        if self.context.tracing and any(d.partition(".")[0] not in LIBRARIES for d in fn.unit.decorators):
            result = implicit_calls.decorated(self, fn, args, kwargs, result)
        return result

    def _place(self, unit: FunctionUnit) -> tuple[Any, ...]:
        """Where the summaries of a function are kept: apart for each context that decides what is observed in it."""
        at = self.context
        return unit.key, at.tracing, (at.axes, at.set_length), at.asked, at.silent, at.replaced, at.outside != ""

    def _recalled(self, unit: FunctionUnit, place: tuple[Any, ...], key: CallKey) -> Value | None:
        """The result of an equal call, finished or running; of those alike, where the calls are too many."""
        at = self.context
        sizes = at.axes, at.set_length
        everywhere = (unit.key, at.tracing, sizes, False, False, False, False)  # all that there is to observe
        result = self.summaries.recall((place,) if place == everywhere else (everywhere, place), key, len(self.frames))
        if result is not None:
            return result
        others = self.summaries.of(place)
        most = CONTEXTS if not self.part or unit.module in self.part else ELSEWHERE
        if unit.cls is None and unit.last - unit.line < SHORT:
            most = 8 * CONTEXTS
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

    def _cut(self, unit: FunctionUnit) -> Value | None:
        """What a closure gives that is not run, as it calls itself or the stack is full; None for one that is. Its
        variables are not in the key of its calls, so summaries cannot end it."""
        if len(self.frames) >= DEPTH:
            return self.summaries.too_deep()
        around = [f.calls for f in self.frames if f.unit is not None and f.unit.key == unit.key]
        return self.summaries.too_deep(around[0]) if len(around) >= 2 else None

    def run(self, unit: FunctionUnit, scope: dom.Scope, bound: Value | None) -> Value:
        """Execute a function's body and join what it returns."""
        try:
            body = body_of(unit)
        except (SyntaxError, RecursionError, MemoryError) as error:
            self.unreadable.setdefault(unit.module.path, f"{unit.qualname}: {type(error).__name__}")
            return dom.UNKNOWN
        name = f"{unit.module.name}.{unit.qualname}"
        frame = Frame(self, unit.module, body, scope, name, unit, bound, self.summaries.depth)
        try:
            ended = self.execute(frame, body.function.body)
        except RecursionError:
            # Python's own stack is full: this call's result is not known, what the callers do with it still is.
            self.shortened(frame, f"{DEEP}; what it gives is taken to be unknown")
            return dom.UNKNOWN
        if frame.yields:
            return dom.Seq(join_all(frame.yields) or dom.UNKNOWN)
        return join_returns(frame.returns + ([] if ended else [dom.NONE])) or dom.NONE

    def execute(self, frame: Frame, statements: Sequence[ast.stmt]) -> bool:
        """Execute statements in a frame of their own; True if control cannot reach the end."""
        depth, at, unit = len(self.frames), self.context, frame.unit
        replaced = unit is not None and never_exported.replaced(self, unit)
        silent = at.silent or (unit is not None and never_exported.names_a_loss(unit.qualname) is not None)
        self.frames.append(frame)
        try:
            with self.within(silent=silent, replaced=at.replaced or replaced, **IN_NOTHING):
                unexportable_calls.stand_in(self)
                return frame.block(statements)
        finally:
            del self.frames[depth:]


def _makeup(v: object, depth: int = 1) -> Hashable:
    """What of a value decides which code of a project runs: classes, flags and functions, down to its attributes."""
    if isinstance(v, dom.Instance):
        parts = v.object.attrs.items() if depth > 1 else ()
        return v.object.cls, frozenset((name, _makeup(x)) for name, x in parts)
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
    Measured with torch 2.13: of an autograd.Function with a `symbolic`, dynamo translates the forward all the same."""
    if unit.has_symbolic or unit.has_decorator("torch.jit.script", "jit.script", "script_method", "script_if_tracing"):
        return tuple(e for e in exporters if e != "torchscript")
    return exporters
