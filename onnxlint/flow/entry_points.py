"""Where the analysis starts: declared models first, then export scripts, then every module that nobody else calls."""

from __future__ import annotations

import ast
import re
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from onnxlint.base.probe_records import TensorSpec
from onnxlint.base.records import EXPORTERS
from onnxlint.base.specs import SpecError, parse_spec
from onnxlint.flow.exports import deployment, forward_outputs
from onnxlint.flow.exports.export_inputs import forward_of
from onnxlint.flow.exports.never_exported import never_exported
from onnxlint.flow.exports.reach import MODULE_LEVEL, with_reach
from onnxlint.flow.interpreter.frame import Frame
from onnxlint.flow.interpreter.interpret import Interpreter
from onnxlint.flow.part_results import Analysis
from onnxlint.flow.python.call_arguments import STARRED, bind
from onnxlint.flow.python.entry_parameters import entry_value, exported_value, used_as_tensor, vararg_value
from onnxlint.flow.state import observations
from onnxlint.flow.state.budget import ENTRY, LINE
from onnxlint.flow.state.candidates import Candidate, candidates
from onnxlint.flow.state.constructor_calls import ConstructorCalls
from onnxlint.flow.state.partitions import Declared, Part, in_order, name_of
from onnxlint.flow.state.problems import Guard, Problem, place_of
from onnxlint.flow.tables.operator_table import OpTable
from onnxlint.flow.values import domain as dom
from onnxlint.flow.values import shapes
from onnxlint.flow.values.joins import noting_passed_over
from onnxlint.flow.values.node_places import NOWHERE, Body, body_of
from onnxlint.project.classes import MOST, ClassInfo, FunctionUnit, ModuleInfo
from onnxlint.project.modules import Project

_EXPORTS = re.compile(r"\b(\w*export|to_onnx)\(")


def analyse(
    project: Project,
    declared: Sequence[Declared] = (),
    opset: int = 18,
    exporters: tuple[str, ...] = EXPORTERS,
    debug: bool = False,
    probing: bool = True,
    torch: str = "",
) -> Analysis:
    """Run every entry point of a project and return the observations, and with `probing` the models found."""
    engine = Interpreter(project, OpTable.load(torch), opset, exporters, debug)
    modules = tuple(in_order(project.modules.values()))
    run = run_part(engine, with_reach([Part(modules, tuple(declared))], modules)[0])
    seen = tuple(engine.observations.values())
    if not probing:
        return Analysis(seen, run.problems)
    built = frozenset(name_of(c) for c in engine.created)
    guard = Guard(list(run.problems), debug)
    models = candidates(modules, built, engine.exported, guard)
    return Analysis(seen, tuple(dict.fromkeys(guard.problems)), models)


@dataclass(frozen=True, slots=True)
class Run:
    """How a part went. `left` are functions that other parts may run, with the classes that they are entered for."""

    problems: tuple[Problem, ...]
    left: Mapping[str, Sequence[str]]


def run_part(engine: Interpreter, part: Part) -> Run:
    """Run the entry points of a part; the engine holds what they saw."""
    engine.read_calls(ConstructorCalls(part.modules, part.foreign), part.set_length)
    with noting_passed_over(engine.passed_over):
        return _run_jobs(engine, part)


def _run_jobs(engine: Interpreter, part: Part) -> Run:
    problems: list[Problem] = []
    left: dict[str, list[str]] = {}
    beyond: dict[str, str] = {}  # files that took all their steps, with the first entry point that got none
    sizes = {info.path: info.source.text.count("\n") for info in part.modules}
    guard = Guard(problems, engine.debug)
    outside = dict(part.outside)
    for job in _jobs(engine, part, left, guard, outside):
        lines = sizes.get(job.path, 0)
        granted = min(engine.budget.of_file(job.path, lines), ENTRY + LINE * lines)
        if granted <= 0:
            beyond.setdefault(job.path, job.name)
            continue
        why = job.outside or outside.get(job.definition, "")
        place = job.path, job.name, job.line, granted
        lasting = not isinstance(job, (_Forward, _Autograd))
        with guard.over(*place), engine.entry(job.path, lines, lasting), engine.within(outside=why):
            job.run()
    problems += [Problem(path, told, internal, line) for (path, line), (told, internal) in engine.failures.items()]
    problems += [
        Problem(path, f"the file takes too many steps to analyse; {name} and what comes after it is left out")
        for path, name in beyond.items()
    ]
    problems += [
        Problem(path, f"{cls.qualname} has over {MOST} bases; the ones further up are left out", line=cls.line)
        for path, cls in engine.project.session.deep.items()
    ]
    problems += [Problem(path, f"could not be read in full: {what}") for path, what in engine.unreadable.items()]
    return Run(tuple(problems), left)


@dataclass(slots=True)
class _Job(ABC):
    engine: Interpreter
    path: str
    name: str

    @property
    def line(self) -> int | None:
        """The line of the function or the class that it runs."""
        at: FunctionUnit | ClassInfo | None = getattr(self, "unit", None) or getattr(self, "cls", None)
        return at.line if at is not None else None

    @property
    def definition(self) -> str:
        """That function or class, by path and qualified name."""
        at: FunctionUnit | ClassInfo | None = getattr(self, "cls", None) or getattr(self, "unit", None)
        info: ModuleInfo | None = getattr(self, "info", None)
        return name_of(at) if at is not None else f"{info.source.path}:{MODULE_LEVEL}" if info is not None else ""

    @property
    def outside(self) -> str:
        """Why no export comes through it, where that is not for its definition."""
        return ""

    @abstractmethod
    def run(self) -> None:
        """Analyse this entry point."""


def _jobs(
    engine: Interpreter, part: Part, left: dict[str, list[str]], guard: Guard, outside: dict[str, str]
) -> Iterator[_Job]:
    classes = [c for info in part.modules for c in info.classes.values()]
    if part.only is not None:
        only = part.only
        yield from guard.each(classes, lambda c: _asked_for(engine, c) if name_of(c) in only else ())
        return
    for model in part.declared:
        yield _DeclaredModel(engine, model.factory, model.factory, model)
    scripts = [job for info in part.modules for job in guard.each([info], lambda i: _export_scripts(engine, i, part))]
    turn = {name: n for n, name in enumerate(part.callers, -len(part.callers))}
    yield from sorted(scripts, key=lambda job: (job.definition in part.outside, turn.get(job.definition, 0)))
    for exported, call, why in sorted(engine.exported_models, key=lambda e: bool(e[2])):
        cls = exported.object.cls
        yield _Exported(engine, cls.module.path, f"{cls.qualname}, exported", exported, call, why)
    exact = _is_exact(engine, part, guard)
    modules = guard.those(classes, lambda c: c.is_module())
    yield from guard.each(modules, lambda c: _mode_switches(engine, c))
    traced = guard.those(modules, lambda c: c.find_method("forward") is not None)
    beside: frozenset[ClassInfo] = frozenset()
    if traced:
        with guard.over(*place_of(traced[0])):
            beside = never_exported(engine, traced)
    traced = [c for c in traced if c not in beside]
    for c in traced:
        yield _Build(engine, c.module.path, f"{c.qualname}.__init__", c, part.called)
    autograd = guard.those(classes, _is_autograd)
    if exact:
        maybe = {v.object.cls if isinstance(v, dom.Instance) else getattr(v, "info", None) for v in engine.passed_over}
        unreached = [c for c in (*traced, *autograd) if _unit_of(c) not in engine.resolved and c not in maybe]
        outside.update((name_of(c), f"not reached from {part.origin}") for c in unreached)
    yield from _forwards(engine, replace(part, outside=outside), traced, autograd, left, guard)


def _unit_of(c: ClassInfo) -> Hashable:
    unit = c.find_method("forward")
    return unit.key if unit is not None else None


def _is_exact(engine: Interpreter, part: Part, guard: Guard) -> bool:
    """True where each export call, from wherever it is called, has a model that ran without a call of anything unknown.

    Another function that a join passed over has to build no model that is not built anyway.
    """
    chains = engine.exports
    whole = {c for c in chains if not any(len(o) > len(c) and o[: len(c)] == c for o in chains)}
    ran = sum(not why for *_, why in engine.exported_models)
    if part.declared or not part.exports or not all(chains[c] for c in whole) or not 0 < ran == engine.complete:
        return False
    if not {name for c in chains for name, _ in c}.issuperset(part.exports):
        return False
    created, others = (
        set(engine.created),
        [v for v in engine.passed_over if isinstance(v, dom.Function) and v.bound is None],
    )
    for v in others:
        info = v.unit.module
        with (
            guard.over(info.path, v.unit.qualname, v.unit.line, ENTRY),
            engine.entry(info.path, len(info.source.lines)),
        ):
            _ExportScript(engine, info.path, v.unit.qualname, v.unit).run()
    return created.issuperset(engine.created) and not any(
        isinstance(v, (dom.PyModule, dom.Unknown)) for v in engine.passed_over
    )


def _forwards(
    engine: Interpreter,
    part: Part,
    traced: list[ClassInfo],
    autograd: list[ClassInfo],
    left: dict[str, list[str]],
    guard: Guard,
) -> Iterator[_Job]:
    """The forwards of models that nothing else builds, and of what none of these came to."""
    names = {c: name_of(c) for c in traced}
    built = part.built | part.foreign
    roots = {c: None for c in traced if c not in engine.created and names[c] not in built}
    taken = {part for c in traced for part in _taken_by_constructor(c)}

    def unseen(c: ClassInfo) -> Iterator[_Job]:
        unit = c.find_method("forward")
        if unit is None or unit.key in engine.reached or name_of(unit) in part.run:
            return
        applied = _is_autograd(c)
        if applied and _is_applied(part, c):
            return
        if name_of(c) in part.foreign:
            left.setdefault(name_of(unit), []).append(name_of(c))
        else:
            yield _forward(engine, c) if not applied else _autograd(engine, c, unit)

    for apart in (False, True):  # what is inside first, so that it need not run again
        yield from (_forward(engine, c, c not in taken) for c in roots if (names[c] in part.outside) is apart)
        rest = [c for c in (*traced, *autograd) if c not in roots and (name_of(c) in part.outside) is apart]
        yield from guard.each(rest, unseen)


def _taken_by_constructor(cls: ClassInfo) -> Iterator[ClassInfo]:
    """The classes that annotations of its constructor name: models that are a part of it."""
    init = cls.methods.get("__init__")
    for parameter in init.args.args if init is not None else ():
        for node in ast.walk(parameter.annotation) if parameter.annotation is not None else ():
            found = cls.module.lookup(node.id) if isinstance(node, ast.Name) else None
            if isinstance(found, ClassInfo):
                yield found


def _asked_for(engine: Interpreter, c: ClassInfo) -> Iterator[_Job]:
    """The forward of a class that other parts mention and none of them ran."""
    unit = c.find_method("forward")
    if unit is not None and unit.key not in engine.reached:
        yield _autograd(engine, c, unit) if _is_autograd(c) else _forward(engine, c)


def _autograd(engine: Interpreter, cls: ClassInfo, unit: FunctionUnit) -> _Job:
    return _Autograd(engine, unit.module.path, f"{cls.qualname}.forward", unit)


def _forward(engine: Interpreter, cls: ClassInfo, outermost: bool = False) -> _Job:
    unit = cls.find_method("forward")
    assert unit is not None
    return _Forward(engine, unit.module.path, f"{cls.qualname}.forward", cls, unit, outermost)


def _is_autograd(cls: ClassInfo) -> bool:
    return any(b.startswith("torch.autograd.") for b in cls.external_bases())


def _is_applied(part: Part, cls: ClassInfo) -> bool:
    """True where some file calls `Class.apply`: then it is a part of what runs there, or of nothing."""
    return any(f"{cls.name}.apply" in info.file.text for info in part.modules)


def _is_mode_switch(unit: FunctionUnit) -> bool:
    """True for `eval(self)` and `train(self, mode=True)`, as opposed to a method that runs a training."""
    names = [p.arg for p in _positional(unit)]
    return len(names) <= 1 or names[1] in ("mode", "is_train", "training", "flag", "enable", "on", "value")


def _mode_switches(engine: Interpreter, c: ClassInfo) -> Iterator[_Job]:
    for name in ("eval", "train"):
        if name in c.methods and _is_mode_switch(c.methods[name]):
            yield _Mode(engine, c.module.path, f"{c.qualname}.{name}", c, name)


def _exports(text: str) -> bool:
    return ("export(" in text or "to_onnx(" in text) and _EXPORTS.search(text) is not None


def _export_scripts(engine: Interpreter, info: ModuleInfo, part: Part) -> Iterator[_Job]:
    text = info.file.text
    exports = ("onnx" in text or "torch.export" in text) and _exports(text)
    if not exports and not any(name.startswith(f"{info.source.path}:") for name in part.callers):
        return
    for unit in [*info.functions.values(), *(m for c in info.classes.values() for m in c.methods.values())]:
        if (exports and _exports(unit.text)) or name_of(unit) in part.callers:
            yield _ExportScript(engine, info.path, unit.qualname, unit)
    yield _ModuleScript(engine, info.path, "<module>", info)


@dataclass(slots=True)
class _Build(_Job):
    cls: ClassInfo
    called: tuple[str, ...] = ()

    def run(self) -> None:
        """Build an instance, which tells which other classes it uses, and make it what scripts export."""
        model = self.engine.model(self.cls)
        deployment.deploy(self.engine, model, deployment.deploying(self.cls, self.called))


@dataclass(slots=True)
class _Forward(_Job):
    cls: ClassInfo
    unit: FunctionUnit
    outermost: bool = True  # no other class of the project builds it: it may be what is exported

    def run(self) -> None:
        """Run forward on inputs of which nothing is known, unless every export of the class replaces it."""
        engine = self.engine
        exported = [m.object for m, *_ in engine.exported_models if m.object.cls is self.cls]
        if exported and all("forward" in model.attrs for model in exported):
            return
        args, kwargs = _unknown_arguments(engine, self.unit, self.outermost)
        instance = dom.Instance(engine.model(self.cls))
        own = self.cls.find_method("__call__")
        set_length = name_of(self.cls) in engine.set_length
        with engine.within(tracing=True, outermost=self.outermost, set_length=set_length):
            if own is not None and ("__call__(" in own.text.partition(":")[2] or ".forward(" in own.text):
                engine.call_instance(instance, _given(self.unit, args), kwargs, NOWHERE)
            else:
                engine.run_forward(instance, self.unit, _given(self.unit, args), kwargs, NOWHERE)
            forward_outputs.report(engine)


@dataclass(slots=True)
class _Exported(_Job):
    model: dom.Instance
    call: Candidate
    without: str = ""

    @property
    def outside(self) -> str:
        """Why the export call does not count."""
        return self.without

    def run(self) -> None:
        """Run an exported model as its script built it, hooks and caches included, on the inputs of the call."""
        engine = self.engine
        forward = forward_of(self.model)
        if forward is None:
            return
        unit, bound = forward
        axes: dict[int, str] = {}
        example: int | None = None
        specs = dict(self.call.inputs) if isinstance(self.call.inputs, Mapping) else {}
        for spec in specs.values():
            for i, d in enumerate(spec.dims):
                if d.name is not None:
                    axes.setdefault(i, d.name)
            if spec.dims and spec.dims[0].name is not None and example is None:
                example = spec.dims[0].size
        where = shapes.Axes(tuple(sorted(axes.items()))) if axes else shapes.Axes()
        args, kwargs = _unknown_arguments(engine, unit, exported=True, skip=bound)
        names = [p.arg for p in _positional(unit)][bound:]
        for i, (n, v) in enumerate(zip(names, args, strict=False)):
            if n in specs and (axes or not isinstance(v, dom.Tensor)):  # a tensor, whatever the annotation says
                fed = _from_spec(unit, n, specs[n])
                args[i] = fed if axes else replace(fed, dims=None)
        # A forward is run for any other input too: what one export feeds is not all that the class may meet.
        with engine.as_exported(not self.without), engine.within(tracing=True, axes=where, example_batch=example):
            engine.call_instance(self.model, args, kwargs, NOWHERE)


@dataclass(slots=True)
class _Autograd(_Job):
    unit: FunctionUnit

    @property
    def definition(self) -> str:
        """The function with a gradient of its own that it runs."""
        return name_of(self.unit.cls or self.unit)

    def run(self) -> None:
        """Run the forward of an autograd.Function that no module was seen to call."""
        engine = self.engine
        args, kwargs = _unknown_arguments(engine, self.unit)
        # Settings come by position here, without a word of what they are.
        positional = _positional(self.unit)
        named = len(args) - (1 if _variadic(self.unit) else 0)
        names = [p.arg for p in positional[len(positional) - named :]] + ["*"] * (len(args) - named)
        args = [
            replace(v, guessed=True) if isinstance(v, dom.Tensor) and not used_as_tensor(self.unit, n) else v
            for n, v in zip(names, args, strict=True)
        ]
        with engine.within(tracing=True):
            engine.call_function(dom.Function(self.unit, dom.UNKNOWN), args, kwargs, None)


def _given(unit: FunctionUnit, args: list[dom.Value]) -> list[dom.Value]:
    """The arguments of an exported forward; each tensor knows which parameter it came in by."""
    names = [p.arg for p in _positional(unit)][1:]
    return [
        replace(v, given=names[i]) if isinstance(v, dom.Tensor) and i < len(names) else v for i, v in enumerate(args)
    ]


def _positional(unit: FunctionUnit) -> list[ast.arg]:
    return [*unit.args.posonlyargs, *unit.args.args]


def _variadic(unit: FunctionUnit) -> bool:
    return unit.args.vararg is not None


def _unknown_arguments(
    engine: Interpreter, unit: FunctionUnit, exported: bool = False, skip: int = 1
) -> tuple[list[dom.Value], dict[str, dom.Value]]:
    """What a function is fed of which no call is known; with `exported`, a flag is as off as its default says."""
    a = unit.args
    positional = [*a.posonlyargs, *a.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(a.defaults))
    defaults.extend(a.defaults)
    if unit.has_decorator("staticmethod") and not (positional and positional[0].arg == "ctx"):
        skip = 0
    entry = exported_value if exported else entry_value
    args = [entry(engine, unit, p, d) for p, d in zip(positional[skip:], defaults[skip:], strict=True)]
    kwargs = {p.arg: entry(engine, unit, p, d) for p, d in zip(a.kwonlyargs, a.kw_defaults, strict=True)}
    if a.vararg is not None:
        args.append(dom.Seq(vararg_value(engine, unit, a.vararg), None, STARRED))
    return args, kwargs


@dataclass(slots=True)
class _Mode(_Job):
    cls: ClassInfo
    method: str

    def run(self) -> None:
        """Run an overridden `eval()` or `train()` and watch for modules put in train mode."""
        engine = self.engine
        unit = self.cls.methods[self.method]
        with engine.within(switching=True):
            instance = dom.Instance(engine.model(self.cls))  # one of its own: what a script called is not run again
        args: list[dom.Value] = [dom.Const(False)] if self.method == "train" else []
        if len(unit.args.args) < 2:
            args = []
        body = body_of(unit)
        scope = dom.Scope(bind(engine, unit, [instance, *args], {}))
        frame = Frame(engine, unit.module, body, scope, f"{unit.module.name}.{unit.qualname}", unit, instance)
        with engine.within(switching=True):
            engine.execute(frame, body.function.body)


@dataclass(slots=True)
class _ExportScript(_Job):
    unit: FunctionUnit

    def run(self) -> None:
        """Run a function that exports, untraced, for the call of the exporter in it."""
        engine = self.engine
        args, kwargs = _script_arguments(self.unit)
        # Who calls the method may have put its object in eval mode.
        bound = dom.Instance(engine.model(self.unit.cls), mode="") if self.unit.cls is not None else None
        if self.unit.has_decorator("staticmethod", "classmethod"):
            bound = None
        engine.call_function(dom.Function(self.unit, bound), args, kwargs, None)


def _script_arguments(unit: FunctionUnit) -> tuple[list[dom.Value], dict[str, dom.Value]]:
    a = unit.args
    names = [p.arg for p in [*a.posonlyargs, *a.args]][1 if unit.cls is not None else 0 :]
    required = len(names) - len(a.defaults)
    kwargs: dict[str, dom.Value] = {p.arg: dom.CONFIG for p in a.kwonlyargs}
    flags = zip(reversed(names), reversed(a.defaults), strict=False)  # in whichever arm it exports, it does
    kwargs |= {n: dom.CONFIG for n, d in flags if isinstance(d, ast.Constant) and isinstance(d.value, bool)}
    if a.kwarg is not None:
        kwargs["**"] = dom.UNKNOWN
    return [dom.UNKNOWN for _ in names[: max(required, 0)]], kwargs


@dataclass(slots=True)
class _ModuleScript(_Job):
    info: ModuleInfo

    def run(self) -> None:
        """Run the module level of a file that exports there."""
        engine = self.engine
        statements = [
            s
            for s in self.info.file.tree.body
            if not isinstance(s, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef))
        ]
        if not any(_EXPORTS.search(self.info.text_of(s)) for s in statements):
            return
        body = Body(self.info, "<module>", 1)
        frame = Frame(engine, self.info, body, dom.Scope({}), self.info.name)
        engine.execute(frame, self.info.file.tree.body)


@dataclass(slots=True)
class _DeclaredModel(_Job):
    model: Declared
    example: int | None = None  # the batch of the example

    def run(self) -> None:
        """Build a declared model by its factory, feed it its example, and run its forward."""
        engine = self.engine
        factory = _find(engine, self.model.factory)
        if factory == dom.UNKNOWN:
            return
        built, switched = engine.build(factory)
        if not isinstance(built, dom.Instance):
            if isinstance(built, dom.Layer):
                self._feed_layer(built)
            return
        if switched is not None and isinstance(factory, dom.Function) and switched.body.name == factory.unit.qualname:
            engine.emit(observations.ModeSwitch, switched, always=True, where="build")
        unit = built.object.cls.find_method("forward")
        if unit is None:
            return
        args, kwargs, axes = self._inputs(unit)
        named = {n: replace(v, given=n) if isinstance(v, dom.Tensor) else v for n, v in kwargs.items()}
        with engine.within(tracing=True, outermost=True, axes=axes, example_batch=self.example):
            engine.apply(built, _given(unit, args), named, NOWHERE)
            forward_outputs.report(engine)

    def _feed_layer(self, built: dom.Layer) -> None:
        with self.engine.within(tracing=True, axes=shapes.Axes(self._declared_axes())):
            self.engine.apply(built, [dom.Tensor()], {}, NOWHERE)

    def _declared_axes(self) -> tuple[tuple[int, str], ...]:
        axes: dict[int, str] = {}
        dynamic = self.model.dynamic
        for per_input in dynamic.values():
            for axis, name in per_input.items():
                axes.setdefault(axis, name)
        return tuple(sorted(axes.items()))

    def _inputs(self, unit: FunctionUnit) -> tuple[list[dom.Value], dict[str, dom.Value], shapes.Axes]:
        engine = self.engine
        a = unit.args
        names = [p.arg for p in [*a.posonlyargs, *a.args]][1:]
        spec = self.model.inputs
        if isinstance(spec, Mapping):
            values: dict[str, dom.Value] = {n: _from_spec(unit, n, s) for n, s in spec.items()}
            axes: dict[int, str] = {}
            for s in spec.values():
                for i, d in enumerate(s.dims):
                    if d.name is not None:
                        axes.setdefault(i, d.name)
                if s.dims and s.dims[0].name is not None and self.example is None:
                    self.example = s.dims[0].size
            return [], values, shapes.Axes(tuple(sorted(axes.items())))
        given: dom.Value = dom.UNKNOWN
        if isinstance(spec, str):
            source = _find(engine, spec)
            given = engine.apply(source, [], {}, NOWHERE) if source != dom.UNKNOWN else dom.UNKNOWN
        if isinstance(given, dom.Dict):
            kwargs = {str(k): self._feed(unit, str(k), v) for k, v in given.items}
            return [], kwargs, shapes.Axes(self._declared_axes())
        items: list[dom.Value]
        if isinstance(given, dom.Tuple):
            items = list(given.items)
        elif isinstance(given, dom.Tensor):
            items = [given]
        else:
            items, rest = _unknown_arguments(engine, unit)
            items = items[: len(list(names)) - len(a.defaults)] or items
            fed = [self._feed(unit, n, v) for n, v in zip(names, items, strict=False)]
            return fed, rest, shapes.Axes(self._declared_axes())
        if a.vararg is not None:
            names += [a.vararg.arg] * len(items)
        fed = [self._feed(unit, n, v) for n, v in zip(names, items, strict=False)]
        return fed, {}, shapes.Axes(self._declared_axes())

    def _feed(self, unit: FunctionUnit, name: str, v: dom.Value) -> dom.Value:
        engine = self.engine
        trace = dom.Trace(unit.module.path, unit.line, f"`{name}` is an input of `{unit.qualname}`")
        wanted = self.model.dynamic.get(name, {})
        if isinstance(v, dom.Tensor):
            if v.dims is None:
                return dom.Tensor(None, None, "input", v.kind, None, None, trace)
            dims: list[dom.Extent] = []
            for i, d in enumerate(v.dims):
                axis = wanted.get(i, wanted.get(i - len(v.dims)))
                example = d.literal if isinstance(d, dom.Const) else None
                dims.append(dom.Dim(frozenset((axis,)), example, trace=trace) if axis is not None else d)
                if i == 0 and axis is not None and self.example is None:
                    self.example = example
            return dom.Tensor(tuple(dims), None, "input", v.kind, None, None, trace)
        if isinstance(v, dom.Dict):
            return dom.Dict(tuple((k, self._feed(unit, f"{name}", x)) for k, x in v.items), v.rest)
        if isinstance(v, dom.Tuple):
            return dom.Tuple(tuple(self._feed(unit, name, x) for x in v.items), v.kind)
        if isinstance(v, dom.Const) and isinstance(v.literal, str):
            try:
                return _from_spec(unit, name, parse_spec(v.literal))
            except SpecError:
                return v
        if isinstance(v, dom.Const) and not dom.is_none(v) and isinstance(v.literal, (bool, int, float)):
            engine.emit_argument(unit, name, v)
            return dom.CONFIG
        return v


def _from_spec(unit: FunctionUnit, name: str, spec: TensorSpec) -> dom.Tensor:
    trace = dom.Trace(unit.module.path, unit.line, f"`{name}` is an input of `{unit.qualname}`")
    dims: list[dom.Extent] = []
    for d in spec.dims:
        if d.name is not None:
            dims.append(dom.Dim(frozenset((d.name,)), d.size, trace=trace))
        else:
            dims.append(dom.Const(d.size) if d.size is not None else dom.CONFIG)
    kind = "bool" if spec.dtype == "bool" else "int" if spec.dtype.startswith(("int", "uint", "long")) else "float"
    return dom.Tensor(tuple(dims), None, "input", kind, None, None, trace)


def _find(engine: Interpreter, reference: str) -> dom.Value:
    """The value that `module:attribute` names."""
    name, _, attribute = reference.partition(":")
    info = engine.project.module(name)
    if info is None:
        modules = in_order(engine.project.modules.values())
        info = next((m for m in modules if f".{m.name}".endswith(f".{name}")), None)
    if info is None:
        return dom.UNKNOWN
    v: dom.Value = dom.UNKNOWN
    for i, part in enumerate(attribute.split(".")):
        v = engine.global_value(info, part, strict=True) if i == 0 else engine.attribute(v, part, NOWHERE)
    return v
