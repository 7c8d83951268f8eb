"""The interpreter: calls of any value, export calls, and what a run over a project keeps until its end."""

import ast
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from onnxlint.base.records import EXPORTERS, described
from onnxlint.flow.calls import attribute_access, library_calls, method_calls
from onnxlint.flow.calls.builtin_calls import getter_default
from onnxlint.flow.interpreter.frame import Frame
from onnxlint.flow.interpreter.function_runs import DEEP, FunctionRuns
from onnxlint.flow.lowering import layer_calls
from onnxlint.flow.operators import unflattened_sizes
from onnxlint.flow.python import call_arguments, implicit_calls
from onnxlint.flow.state import observations
from onnxlint.flow.state.candidates import Candidate
from onnxlint.flow.state.context import Context
from onnxlint.flow.state.partitions import MODULE_LEVEL
from onnxlint.flow.state.protocols import Interleaved, Running
from onnxlint.flow.state.summaries import DEPTH
from onnxlint.flow.tables.operator_table import OpTable
from onnxlint.flow.values import domain as dom
from onnxlint.flow.values import shapes
from onnxlint.flow.values.domain import Args, Kwargs, Value, replace
from onnxlint.flow.values.node_places import NOWHERE, Extra, Place, begins_with_self
from onnxlint.project.classes import ClassInfo, FunctionUnit
from onnxlint.project.modules import Project

REHEARSAL = shapes.Axes(((-1, "rehearsal"),))  # axes of its own, so that no real run recalls its summaries


class Interpreter(FunctionRuns):
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
        super().__init__(Context(exporters, opset=opset), table)
        self.project = project
        self.all_exporters = exporters
        self.watched = watched  # operators whose every call is observed
        self.exits: list[list[Extra]] = []  # what each `return` of the model that runs first gives back
        self.interleaved: dict[tuple[str, int], Interleaved] = {}  # `repeat_interleave`, by entry and negative dim
        self.debug = debug  # what fails is raised
        self.failures: dict[tuple[str, int], tuple[str, bool]] = {}  # what failed at which line, and if that is a bug
        self.shut_out: dict[ClassInfo, ClassInfo] = {}  # what an arm names that a constructor does not take
        self.last_train: Place | None = None
        self.exported: list[Candidate] = []
        # By its callers: if the model is known that it exports.
        self.exports: dict[tuple[tuple[str, int], ...], bool] = {}
        self.resolved: dict[Hashable, FunctionUnit] = {}  # what exported models ran, each from first to last
        self.fed: dict[Hashable, set[str]] = {}  # the parameters that their calls passed to each forward among these
        self.passed_over: dict[Value, None] = {}  # what joins took another value for
        self.complete = 0  # how many of these called nothing unknown
        self.exported_models: list[tuple[dom.Instance, Candidate, str]] = []  # with why the call does not count
        self.decorated: list[Value] = []  # what the functions give around which wrappers run now, innermost last

    def note_shut_out(self, classes: Iterable[ClassInfo], owner: ClassInfo) -> None:
        """An arm names these that the constructor of `owner` does not take."""
        self.shut_out.update(dict.fromkeys(classes, owner))

    def note_interleaved(self, axis: int, rank: int | None, node: ast.AST, name: str) -> None:
        """The first `repeat_interleave` over a negative dim of what runs first."""
        self.interleaved.setdefault((self.frames[0].symbol, axis), Interleaved(rank, self.place(node), name))

    def call(self, node: ast.Call) -> Value:
        """Evaluate a call expression of the frame that runs."""
        frame = self.frames[-1]
        callee = frame.eval(node.func)
        args: list[Value] = []
        kwargs: Kwargs = {}
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
                args.append(dom.Seq(v.item if isinstance(v, dom.Seq) else dom.UNKNOWN, None, call_arguments.STARRED))
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

    def apply(self, callee: Value, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
        """Call any value."""
        self.budget.carry_all(args)
        if kwargs:
            self.budget.carry_all(kwargs.values())
        if isinstance(callee, dom.Function):
            return self.call_function(callee, args, kwargs, node)
        if isinstance(callee, dom.Method):
            kwargs.pop("**", None)
            args = call_arguments.without_stars(args)
            return method_calls.method(self, callee.receiver, callee.name, args, kwargs, node)
        if isinstance(callee, dom.External):
            if "**" in kwargs and not callee.name.startswith("torch.onnx"):
                kwargs.pop("**")
            return library_calls.library(self, callee.name, call_arguments.without_stars(args), kwargs, node)
        if isinstance(callee, dom.Layer):
            args = [v.item if call_arguments.is_starred(v) else v for v in args]
            return layer_calls.call(self, callee, args, kwargs, node)
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

    def call_unknown(self, callee: Value, args: list[Value], node: ast.AST) -> Value:
        """What is unknown, called as a module is, `self.part(t)` or `part(t)` of `for part in self.parts`: a tensor."""
        if not isinstance(node, ast.Call):
            return dom.UNKNOWN
        first = args[0] if args else dom.UNKNOWN
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if method == "get" and len(args) == 2 and isinstance(first, dom.Const):
            return getter_default(args[1], dom.UNKNOWN)
        if any(k.arg == "return_tensors" for k in node.keywords):
            return dom.Dict((), dom.Tensor(kind="int", trace=self.frames[-1].step("a tokenizer gives tensors", None)))
        if method in layer_calls.HOOKS:
            holder = self.frames[-1].bound
            if isinstance(holder, dom.Instance):
                implicit_calls.hook_loosely(self, holder, first, node)
        if (
            isinstance(first, dom.Tensor)
            and isinstance(callee, (dom.Unknown, dom.Config))
            and (begins_with_self(node.func) or getattr(node.func, "id", "") in self.frames[-1].scope.parts)
        ):
            owner = self.frames[-1].owner
            if owner is not None and owner.is_module():
                lead = first.dims[0] if first.dims else first.lead
                guessed = not owner.extends_library_model()
                tensors = [a for a in args if isinstance(a, dom.Tensor)]
                source = dom.common_source(tensors)  # queries that are weights, say, of a memory
                trace = next(t.trace for t in tensors if t.source == source)
                return dom.Tensor(None, lead, source, None, None, None, trace, guessed)
        return dom.UNKNOWN

    def call_instance(self, callee: dom.Instance, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
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
        if unit is not None and not args and not kwargs.keys() - {"**"} and len(unit.positional) > 1:
            return dom.UNKNOWN  # a registry that holds classes and modules: what it gives is not called with an input
        if unit is None:
            result = implicit_calls.as_layer(self, callee, args, kwargs, node)
            return result if result is not None else self.call_unknown(dom.UNKNOWN, args, node)
        return self.run_forward(callee, unit, args, kwargs, node)

    def run_forward(self, callee: dom.Instance, unit: FunctionUnit, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
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

    def call_class(self, info: ClassInfo, args: Args, kwargs: Kwargs, node: ast.AST) -> Value:
        """`Class(...)`."""
        if "**" in kwargs or (dom.Seq in map(type, args) and any(map(call_arguments.is_starred, args))):
            return dom.Instance(self.default_instance(info)) if info.is_module() else dom.UNKNOWN
        if any(b.endswith("Enum") for b in info.external_bases()):
            return dom.CONFIG
        return self.instantiate(info, args, kwargs, node)

    def call_lambda(self, callee: dom.Lambda, args: Args, kwargs: Kwargs) -> Value:
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

    def attribute(self, owner: Value, name: str, node: ast.AST) -> Value:
        """`owner.name`."""
        return attribute_access.attribute(self, owner, name, node)

    def read_dim(self, t: dom.Tensor, axis: Value, node: ast.AST) -> Value:
        """`t.size(axis)`."""
        return attribute_access.read_dim(self, unflattened_sizes.read_at(self, t, node), axis)

    def failed(self, frame: Running, node: ast.expr | ast.stmt, error: Exception) -> None:
        """Note an error of our own, or a full stack, once for each line. An error is raised where that is debugged."""
        internal, self.guessing = not isinstance(error, RecursionError), True
        if self.debug and internal:
            raise error
        why = f"internal error in {frame.symbol}: {described(error)}" if internal else f"{frame.symbol}: {DEEP}"
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
                place, called = Place(entry.body, entry.statement_node, entry.line, entry.symbol), self.place(node)
                message = f"`{called.text}` puts modules in train mode"
                trace = dom.Trace(called.span.path, called.span.line, message, None)
                self.emit(observations.ModeSwitch, place, trace, always=True, where="eval")
        elif self.context.tracing:
            self.emit(observations.ModeSwitch, node, where="forward")
        else:
            self.last_train = self.place(node)

    @contextmanager
    def entry(self, path: str, lines: int, lasting: bool = True) -> Iterator[None]:
        """An entry point of a file of so many lines begins, and ends with the block; no place is left of it then. What
        traced code assigns in a `lasting` one, the next one sees."""
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

    def gives_back(self, outputs: list[Extra]) -> None:
        """A `return` of the model that runs first gives this back."""
        self.exits.append(outputs)

    def exports_here(self, resolved_model: bool) -> None:
        """An export call runs, with a model that is known or not, called by what runs."""
        self.exporting = dict.fromkeys((f.unit.key for f in self.frames if f.unit is not None), 0) | self.exporting
        if not self.context.outside:
            chain = zip((f.unit.qualname if f.unit else MODULE_LEVEL for f in self.frames), self.frames, strict=True)
            callers = tuple((f"{f.module.source.path}:{name}", f.line) for name, f in chain)[::-1]
            self.exports[callers] = self.exports.get(callers, True) and resolved_model

    def is_exported(self, model: dom.Instance, call: Candidate) -> None:
        """An export call is given a model of the project."""
        self.exported.append(call)
        self.exported_models.append((model, call, self.context.outside))
        self.ship(model.object)

    @contextmanager
    def decorating(self, result: Value) -> Iterator[None]:
        """Wrappers run around a function that gives `result`."""
        self.decorated.append(result)
        try:
            yield
        finally:
            self.decorated.pop()

    @contextmanager
    def as_exported(self, counts: bool, sized: bool) -> Iterator[None]:
        """What runs meanwhile does not count as reached; if the export counts, as what comes of one. Where the axes of
        that are known, for it is `sized`, and nothing unknown was called, there is no more to see in what ran."""
        outer, self.reached = self.reached, dict(self.reached)
        self.guessing, self.in_export = False, counts
        try:
            yield
            if counts:
                self.resolved |= self.reached
                self.sized.update(self.reached if sized else ())
                self.complete += not self.guessing
        finally:
            whole = counts and sized and not self.guessing
            self.reached, self.in_export = self.reached if whole else outer, False

    def rehearse(
        self, model: dom.Instance, fed: list[Value], opset: int | None = None
    ) -> tuple[dict[str, str], Value, list[observations.Observation]]:
        """Run a model aside: the axes that its layers fix, what it gives, and its observations, kept nowhere else. With
        an `opset`, as the TorchScript exporter writes it at that one. No function counts as reached."""
        before = self.observations, self.fixed, self.reached
        self.observations, self.fixed, self.reached = {}, {}, {}
        where: dict[str, Any] = {"axes": REHEARSAL}
        if opset is not None:
            axes = shapes.Axes(((-1, f"opset {opset}"),))
            where = {"axes": axes, "opset": opset, "exporters": ("torchscript",)}
            fed = [replace(v, source="input") if isinstance(v, dom.Tensor) else v for v in fed]
        try:
            with self.within(tracing=True, **where), self.summaries.entry():
                result = self.apply(model, fed, {}, NOWHERE)
            return self.fixed, result, list(self.observations.values())
        finally:
            self.observations, self.fixed, self.reached = before

    def build(self, factory: Value) -> tuple[Value, Place | None]:
        """Call a factory: what it gives, and where it last put a module in train mode, if it did."""
        self.last_train = None
        built = self.apply(factory, [], {}, NOWHERE)
        return built, self.last_train
