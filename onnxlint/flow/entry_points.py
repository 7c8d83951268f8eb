"""Where the analysis starts: declared models first, then export scripts, then every module that nobody else calls."""

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial

from onnxlint.base.edits import words_like
from onnxlint.flow import entry_inputs
from onnxlint.flow.declared_runs import DeclaredModel
from onnxlint.flow.exports import deployment, forward_outputs
from onnxlint.flow.exports.export_inputs import forward_of
from onnxlint.flow.exports.never_exported import inference_of, never_exported
from onnxlint.flow.exports.reach import Reach
from onnxlint.flow.exports.unheld import mentions, uncalled
from onnxlint.flow.interpreter.frame import Frame
from onnxlint.flow.interpreter.interpret import Interpreter
from onnxlint.flow.python.call_arguments import bind
from onnxlint.flow.python.entry_parameters import used_as_tensor
from onnxlint.flow.state.budget import ENTRY, LINE
from onnxlint.flow.state.candidates import Candidate
from onnxlint.flow.state.constructor_calls import ConstructorCalls, changed_numbers
from onnxlint.flow.state.partitions import MODULE_LEVEL, Part, name_of
from onnxlint.flow.state.problems import Guard, Problem, place_of
from onnxlint.flow.values import domain as dom
from onnxlint.flow.values import shapes
from onnxlint.flow.values.joins import noting_passed_over
from onnxlint.flow.values.node_places import NOWHERE, Body, body_of
from onnxlint.project.classes import MOST, ClassInfo, FunctionUnit, ModuleInfo

_SCRIPTED = "exported as a ScriptModule, which keeps its control flow"
# In a dict of classes, from which settings choose parts.
_LISTED = re.compile(r":(?:(?<=[\"']:)|(?<=[\"'] :))\s*([A-Z]\w*)\s*[,}]")
_OWN_CALL = re.compile(r"\bself\.(\w+)\(")
_SWITCHED_ON = re.compile(r"__init__\([^()]*\w=True\b")
_EXPORTS = re.compile(r"\b(\w*export|to_onnx)\(")
_CALLS_EXPORTS = re.compile(r"(?:export|onnx)\w*\(")  # by the name of a function of the project
_Left = dict[str, list[str]]  # functions that other parts may run, with the classes that they are entered for


@dataclass(frozen=True, slots=True)
class Run:
    """How a part went. `left` are functions that other parts may run, with the classes that they are entered for."""

    problems: tuple[Problem, ...]
    left: Mapping[str, Sequence[str]]


def run_part(engine: Interpreter, part: Part) -> Run:
    """Run the entry points of a part; the engine holds what they saw."""
    engine.read_calls(ConstructorCalls(part.modules, part.foreign), part)
    with noting_passed_over(engine.passed_over):
        return _run_jobs(engine, part)


def _run_jobs(engine: Interpreter, part: Part) -> Run:
    problems: list[Problem] = []
    left: _Left = {}
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
        with guard.over(*place), engine.entry(job.path, lines, job.lasting), engine.within(outside=why):
            job.run()
    problems += [Problem(path, text, internal, line) for (path, line), (text, internal) in engine.failures.items()]
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


@dataclass(frozen=True, slots=True)
class _Job:
    """An entry point: what it runs, and the function or class (by path and qualified name) that it is the entry of.
    `outside` says why no export comes through it, where that is not for its definition. What it assigns to attributes
    is there for later ones where it is `lasting`."""

    path: str
    name: str
    run: Callable[[], None]
    line: int | None = None
    definition: str = ""
    outside: str = ""
    lasting: bool = True


def _job(at: FunctionUnit | ClassInfo, name: str, run: Callable[[], None], of: FunctionUnit | ClassInfo) -> _Job:
    return _Job(at.module.path, name, run, at.line, name_of(of))


def _jobs(engine: Interpreter, part: Part, left: _Left, guard: Guard, outside: dict[str, str]) -> Iterator[_Job]:
    classes = [c for info in part.modules for c in info.classes.values()]
    if part.only is not None:
        only = part.only
        yield from guard.each(classes, lambda c: _asked_for(engine, c) if name_of(c) in only else ())
        return
    for model in part.declared:
        yield _Job(model.factory, model.factory, DeclaredModel(engine, model).run)
    scripts = [job for info in part.modules for job in guard.each([info], lambda i: _export_scripts(engine, i, part))]
    turn = {name: n for n, name in enumerate(part.callers, -len(part.callers))}
    yield from sorted(scripts, key=lambda job: (job.definition in part.outside, turn.get(job.definition, 0)))
    for exported, call, why in sorted(engine.exported_models, key=lambda e: bool(e[2])):
        yield _export(engine, exported, call, why)
    built = frozenset(engine.created)  # and what joins passed over, before each model is built by itself
    maybe = {v.object.cls if isinstance(v, dom.Instance) else getattr(v, "info", None) for v in engine.passed_over}
    exact = _is_exact(engine, part, guard)
    modules = guard.those(classes, lambda c: c.is_module())
    yield from guard.each(modules, lambda c: _mode_switches(engine, c))
    traced = guard.those(modules, lambda c: c.find_method("forward") is not None)
    beside: frozenset[ClassInfo] = frozenset()
    if traced:
        with guard.over(*place_of(traced[0])):
            beside = never_exported(engine, traced)
    traced = [c for c in traced if c not in beside]
    autograd = guard.those(classes, _is_autograd)
    ordered = _wholes_first([*traced, *autograd])
    for c in (c for c in ordered if c not in autograd):
        if c not in engine.created or deployment.concerns(c, part.called):  # a part was built by its whole
            yield _job(c, f"{c.qualname}.__init__", partial(_build, engine, c, part.called), c)
    waiting = ((c, c.find_method("forward")) for c in (*traced, *autograd) if c not in maybe)
    unreached = [c for c, unit in waiting if unit is None or unit.key not in engine.resolved]
    if exact:
        outside.update((name_of(c), f"not reached from {part.origin}") for c in unreached)
    elif part.exports and not part.declared and any(not why for *_, why in engine.exported_models):
        why = f"no part of what is known to be exported at {part.origin}"
        outside.update((name_of(c), why) for c in _beside(engine, part, unreached, built))
        outside.update(_by_other_methods(engine, unreached))
    outside.update(_in_other_arms(engine, part, {m.object.cls for m, _, why in engine.exported_models if not why}))
    yield from _forwards(engine, replace(part, outside=outside), traced, ordered, left, guard)


def _beside(engine: Interpreter, part: Part, others: Sequence[ClassInfo], built: Set[ClassInfo]) -> Sequence[ClassInfo]:
    """Those of some classes that no script built for an export nor any YAML names, and that no open one may come to."""
    calls = entry_inputs.open_calls(engine.exports, part.exports)
    if not calls and not any(_may_hold_more(v) for o in engine.shipped for v in o.attrs.values()):
        built = {c for o in engine.shipped for c in o.cls.mro()}  # what else a script builds prepares inputs, say
    apart = [c for c in others if c not in built and name_of(c) not in part.configured]
    if not calls:
        return apart
    reach = Reach(part.modules, calls)
    return [] if reach.unbounded else [c for c in apart if not reach.is_seen(c)]


def _by_other_methods(engine: Interpreter, others: Sequence[ClassInfo]) -> Iterator[tuple[str, str]]:
    """Those of some classes of which exported models run other methods, where the model of each export is known."""
    if entry_inputs.all_known(engine.exports):
        shipped = {o.cls for o in engine.shipped}
        run = {u.cls for u in engine.resolved.values() if not u.name.startswith("__")}
        why = "exported models run other methods of it"
        yield from ((name_of(c), why) for c in others if c in shipped and c in run)


def _may_hold_more(v: dom.Value) -> bool:
    """True for a value of which nothing is known, and for a container or a layer that is made of such."""
    made_of = [v.items or dom.NONE, *(inner for _, inner in v.args)] if isinstance(v, dom.Layer) else dom.contents(v)
    return isinstance(v, dom.Unknown) or any(map(_may_hold_more, made_of))


def _in_other_arms(engine: Interpreter, part: Part, exported: set[ClassInfo]) -> Iterator[tuple[str, str]]:
    """The classes that an exported model alone names, in an arm that its constructor does not take."""
    for c, owner in engine.shut_out.items():
        if owner in exported and c not in engine.created and name_of(c) not in part.built | part.foreign:
            word = re.compile(rf"(?m)^(?! *(?:from|import) ).*\b{c.name}\b")
            texts = (m.source.text for m in c.module.project.naming(c.name))
            if sum(len(word.findall(t)) for t in texts) == len(word.findall(c.text)) + len(word.findall(owner.text)):
                yield name_of(c), f"`{owner.name}` takes another in its place where it is exported"


def _is_exact(engine: Interpreter, part: Part, guard: Guard) -> bool:
    """True where each export call, from wherever it is called, has a model that ran without a call of anything unknown.
    Another function that a join passed over has to build no model that is not built anyway."""
    chains = engine.exports
    ran = sum(not why for *_, why in engine.exported_models)
    if part.declared or not part.exports or not entry_inputs.all_known(chains) or not 0 < ran == engine.complete:
        return False
    if not {name for c in chains for name, _ in c}.issuperset(part.exports):
        return False
    created = set(engine.created)
    others = [v for v in engine.passed_over if isinstance(v, dom.Function) and v.bound is None]
    for v in others:
        info, place = v.unit.module, (v.unit.module.path, v.unit.qualname, v.unit.line, ENTRY)
        with guard.over(*place), engine.entry(info.path, len(info.source.lines)):
            _run_script(engine, v.unit)
    unknown = any(isinstance(v, (dom.PyModule, dom.Unknown)) for v in engine.passed_over)
    return created.issuperset(engine.created) and not unknown


def _forwards(
    engine: Interpreter, part: Part, traced: list[ClassInfo], ordered: list[ClassInfo], left: _Left, guard: Guard
) -> Iterator[_Job]:
    """The forwards of models that nothing else builds, and of what none of these came to, wholes before their parts."""
    names = {c: name_of(c) for c in traced}
    built = part.built | part.foreign
    roots = {c: None for c in traced if c not in engine.created and names[c] not in built}
    parts = {inner for c in traced for inner in _constructor_parts(c)}
    listed = {name for info in part.modules for name in _LISTED.findall(info.source.text)}

    def unseen(c: ClassInfo) -> Iterator[_Job]:
        unit = c.find_method("forward")
        if unit is None or name_of(unit) in part.run:
            return
        if engine.reached.keys() >= {u.key for u in _run_by(c, unit)} and not _switches(c, unit):
            return
        if _is_autograd(c) and any(f"{c.name}.apply" in info.file.text for info in part.modules):
            return  # it is a part of what runs there, or of nothing
        if name_of(c) in part.foreign:
            left.setdefault(name_of(unit), []).append(name_of(c))
        elif _is_autograd(c):
            yield _autograd(engine, c, unit)
        else:
            yield from _root(engine, c, False, part.inferring)

    for apart in (False, True):  # what is inside first, so that it need not run again
        for c in (c for c in roots if (names[c] in part.outside) is apart):
            yield from _root(engine, c, c not in parts and c.name not in listed, part.inferring)
        yield from guard.each([c for c in ordered if c not in roots and (name_of(c) in part.outside) is apart], unseen)


def _is_built_elsewhere(c: ClassInfo, part: frozenset[ModuleInfo]) -> bool:
    """True where a module of this part calls a class, or a function that returns one, or chooses it, in whatever arm:
    `layer = Layer`."""
    mentioning = c.module.project.naming(c.name)
    naming = [info for info in part.intersection(mentioning) if _is_built_in(info.source.text, c)]
    others = (d for info in naming for d in info.classes.values() if d is not c)
    if any(c.name in (text := d.text) and _is_built_in(text, c) and d.is_module() for d in others):
        return True
    near = [info for info in mentioning if info in part or info.is_package]  # of others nothing is to be read
    near = [info for info in near if "def " in info.source.text and "return " in info.source.text]
    names = {info: [n for n, full in info.aliases.items() if full.endswith(f".{c.name}")] for info in near}
    returned = [(info, f"return {name}(") for info in near for name in (c.name, *names[info])]
    makers = {u.name for info, text in returned for u in info.functions.values() if text in u.text}
    calls = re.compile(rf"= *(?:{'|'.join(map(re.escape, makers))})\(") if makers else None
    classes = (d for info in part for d in info.classes.values() if d is not c and d.is_module())
    return calls is not None and any(calls.search(d.text) for d in classes)


def _is_built_in(text: str, c: ClassInfo) -> bool:
    return any(
        not head.endswith("class ") if called else head.endswith(" = ") and text.startswith("\n", start + len(c.name))
        for start, head, called in mentions(text, c.name)
    )


def _switches(c: ClassInfo, forward: FunctionUnit) -> bool:
    """True where a class inherits its forward, and turns flags of the class on that has it: other arms run then."""
    init = c.methods.get("__init__")
    return forward.cls is not c and init is not None and _SWITCHED_ON.search(init.text) is not None


def _run_by(c: ClassInfo, forward: FunctionUnit) -> Iterator[FunctionUnit]:
    """The forward of a class and, where that is inherited, the methods in its place that it calls of this class."""
    yield forward
    if forward.cls is not None and forward.cls is not c:
        for name in dict.fromkeys(_OWN_CALL.findall(forward.text)):
            unit = c.find_method(name)
            if unit is not None and unit is not forward.cls.find_method(name):
                yield unit


def _wholes_first(classes: Sequence[ClassInfo]) -> list[ClassInfo]:
    """The classes, each behind its bases and those that name it: a part is run as its whole calls it, and not again."""
    own, names = set(classes), {c.name for c in classes}
    word = words_like(names)
    wholes: dict[str, list[ClassInfo]] = {}
    for c in classes:
        for name in names.intersection(word.findall(c.text)).difference(b.name for b in c.mro()):
            wholes.setdefault(name, []).append(c)
    ordered: dict[ClassInfo, None] = {}
    begun: set[ClassInfo] = set()
    stack = list(reversed(classes))
    while stack:
        c = stack[-1]
        if c in begun:
            ordered[stack.pop()] = None
        else:
            begun.add(c)
            stack += [w for w in (*wholes.get(c.name, ()), *c.mro()) if w not in begun]
    return [c for c in ordered if c in own]


def _constructor_parts(cls: ClassInfo) -> Iterator[ClassInfo]:
    """The classes that annotations of its constructor name: models that are a part of it."""
    init = cls.methods.get("__init__")
    for parameter in init.args.args if init is not None else ():
        for node in ast.walk(parameter.annotation) if parameter.annotation is not None else ():
            part = cls.module.lookup(node.id) if isinstance(node, ast.Name) else None
            if isinstance(part, ClassInfo):
                yield part


def _asked_for(engine: Interpreter, c: ClassInfo) -> Iterator[_Job]:
    """The forward of a class that other parts mention and none of them ran."""
    unit = c.find_method("forward")
    if unit is not None and unit.key not in engine.reached:
        yield _autograd(engine, c, unit) if _is_autograd(c) else _forward(engine, c)


def _autograd(engine: Interpreter, cls: ClassInfo, unit: FunctionUnit) -> _Job:
    job = _job(unit, f"{cls.qualname}.forward", partial(_run_autograd, engine, unit), unit.cls or unit)
    return replace(job, lasting=False)


def _export(engine: Interpreter, exported: dom.Instance, call: Candidate, why: str) -> _Job:
    """A model as an export call is passed it."""
    cls, run = exported.object.cls, partial(_run_exported, engine, exported, call, why)
    apart = why or (_SCRIPTED if exported.wrapping == "script" else "")
    return _Job(cls.module.path, f"{cls.qualname}, exported", run, outside=apart)


def _forward(engine: Interpreter, cls: ClassInfo, outermost: bool = False) -> _Job:
    """The forward of a class; `outermost` where no other class builds it, so that it may be what is exported."""
    unit = cls.find_method("forward")
    assert unit is not None
    job = _job(unit, f"{cls.qualname}.forward", partial(_run_forward, engine, cls, unit, outermost), cls)
    exported = {m.object.cls for m, _, why in engine.exported_models if not why}
    wrappings = {m.wrapping for m, *_ in engine.exported_models if m.object.cls is cls}
    if cls in engine.created and cls not in engine.usually:
        apart = "built only where a setting is on that is off"
    else:
        apart = _SCRIPTED if wrappings == {"script"} else uncalled(cls, exported, engine.reached)
    return replace(job, lasting=False, outside=apart)


def _root(engine: Interpreter, cls: ClassInfo, outermost: bool, inferring: Sequence[str]) -> Iterator[_Job]:
    """The forward of a class that no other builds; before one that wants targets, the method that infers without."""
    job = _forward(engine, cls, outermost)
    unit = inference_of(cls, inferring)
    if unit is not None and all(m.object.cls is not cls for m, *_ in engine.exported_models):
        yield replace(job, line=unit.line, run=partial(_run_forward, engine, cls, unit, outermost))
        job = replace(job, outside=f"it takes the targets of training; `{unit.name}` does without")
    yield job


def _is_autograd(cls: ClassInfo) -> bool:
    return any(b.startswith("torch.autograd.") for b in cls.external_bases())


def _mode_switches(engine: Interpreter, c: ClassInfo) -> Iterator[_Job]:
    """`eval(self)` and `train(self, mode=True)`, as opposed to a method that runs a training."""
    for name in (name for name in ("eval", "train") if name in c.methods):
        names = [p.arg for p, _ in c.methods[name].positional]
        if len(names) <= 1 or names[1] in ("mode", "is_train", "training", "flag", "enable", "on", "value"):
            yield _job(c, f"{c.qualname}.{name}", partial(_switch_mode, engine, c, name), c)


def _exports(text: str) -> bool:
    return ("export(" in text or "to_onnx(" in text) and _EXPORTS.search(text) is not None


def _export_scripts(engine: Interpreter, info: ModuleInfo, part: Part) -> Iterator[_Job]:
    text = info.file.text
    exports = ("onnx" in text or "torch.export" in text) and _exports(text)
    if not exports and not any(name.startswith(f"{info.source.path}:") for name in part.callers):
        return
    for unit in info.units:
        if (exports and _exports(unit.text)) or name_of(unit) in part.callers:
            yield _job(unit, unit.qualname, partial(_run_script, engine, unit), unit)
    definition = f"{info.source.path}:{MODULE_LEVEL}"
    yield _Job(info.path, MODULE_LEVEL, partial(_run_module, engine, info), definition=definition)


def _build(engine: Interpreter, cls: ClassInfo, called: Sequence[str]) -> None:
    """Build an instance, which tells which other classes it uses, and make it what scripts export."""
    deployment.deploy(engine, engine.model(cls), called)


def _run_forward(engine: Interpreter, cls: ClassInfo, unit: FunctionUnit, outermost: bool) -> None:
    """Run forward on inputs of which nothing is known, unless every export of the class replaces it."""
    exported = [m.object for m, *_ in engine.exported_models if m.object.cls is cls]
    if exported and all("forward" in model.attrs for model in exported):
        return
    outermost = outermost and not _is_built_elsewhere(cls, engine.part)
    named = [_axes_of(call)[0] for m, call, why in engine.exported_models if m.object.cls is cls and not why]
    axes = tuple(sorted({i: pair for pairs in named for i, pair in pairs}.items())) if named and all(named) else None
    instance = dom.Instance(engine.model(cls))
    put = forward_of(instance) if unit.name == "forward" else None
    if put is not None and put[0].cls is not None:
        unit = put[0]  # what the constructor, or a script, put in its place
    args, kwargs = entry_inputs.unknown_arguments(engine, unit, outermost)
    caller = cls.find_method("__call__") if unit.name == "forward" else None
    known = {"axes": shapes.Axes(axes) if axes is not None else shapes.Axes(one_batch=_fix_the_batch(engine))}
    with engine.within(tracing=True, outermost=outermost, set_length=name_of(cls) in engine.set_length, **known):
        if caller is not None and ("__call__(" in caller.text.partition(":")[2] or ".forward(" in caller.text):
            engine.call_instance(instance, entry_inputs.named_inputs(unit, args), kwargs, NOWHERE)
        else:
            engine.run_forward(instance, unit, entry_inputs.named_inputs(unit, args), kwargs, NOWHERE)
        forward_outputs.report(engine, engine.exits)


def _axes_of(call: Candidate) -> tuple[tuple[tuple[int, str], ...], int | None]:
    """The axes that an export call names, and the batch of its example."""
    specs = call.inputs if isinstance(call.inputs, Mapping) else {}
    return entry_inputs.axes_of([*specs.values(), *call.outlined.values()], call.axes)


def _fix_the_batch(engine: Interpreter) -> bool:
    """True where the model of every export is known, and each names axes of its inputs, but none the first one."""
    named = [_axes_of(call)[0] for _, call, why in engine.exported_models if not why]
    first = any(axis == 0 for pairs in named for axis, _ in pairs)
    return bool(named) and all(named) and not first and entry_inputs.all_known(engine.exports)


def _run_exported(engine: Interpreter, model: dom.Instance, call: Candidate, without: str) -> None:
    """Run an exported model as its script built it, hooks and caches included, on the inputs of the call."""
    forward = forward_of(model)
    if forward is None:
        return
    unit, bound = forward
    specs = {**(call.inputs if isinstance(call.inputs, Mapping) else {}), **call.outlined}
    axes, example = _axes_of(call)
    args, kwargs = entry_inputs.unknown_arguments(engine, unit, exported=True, skip=bound)
    for i, ((p, default), v) in enumerate(zip(unit.positional[bound:], args, strict=False)):
        n = p.arg
        if specs and n not in specs and isinstance(default, ast.Constant) and isinstance(v, dom.Const):
            args[i] = dom.Const(call.values.get(n, default.value))  # a flag of training, as the call has or leaves it
        if n in specs and (axes or not isinstance(v, dom.Tensor)):  # a tensor, whatever the annotation says
            fed = entry_inputs.from_spec(unit, n, specs[n])
            args[i] = fed if axes else replace(fed, dims=None)
    # A forward is run for any other input too: what one export feeds is not all that the class may meet.
    traced = engine.within(tracing=True, axes=shapes.Axes(axes or None), example_batch=example)
    with engine.as_exported(not without, bool(axes)), traced:
        engine.call_instance(model, args, kwargs, NOWHERE)


def _run_autograd(engine: Interpreter, unit: FunctionUnit) -> None:
    """Run the forward of an autograd.Function that no module was seen to call."""
    args, kwargs = entry_inputs.unknown_arguments(engine, unit)
    # Settings come by position here, without a word of what they are.
    named = len(args) - (unit.args.vararg is not None)
    names = [p.arg for p, _ in unit.positional[len(unit.positional) - named :]] + ["*"] * (len(args) - named)
    args = [
        replace(v, guessed=True) if isinstance(v, dom.Tensor) and not used_as_tensor(unit, n) else v
        for n, v in zip(names, args, strict=True)
    ]
    with engine.within(tracing=True):
        engine.call_function(dom.Function(unit, dom.UNKNOWN), args, kwargs, None)


def _switch_mode(engine: Interpreter, cls: ClassInfo, method: str) -> None:
    """Run an overridden `eval()` or `train()` and watch for modules put in train mode."""
    unit = cls.methods[method]
    with engine.within(switching=True):
        instance = dom.Instance(engine.model(cls))  # one of its own: what a script called is not run again
    args = [dom.Const(False)] if method == "train" and len(unit.args.args) > 1 else []
    body = body_of(unit)
    scope = dom.Scope(bind(engine, unit, [instance, *args], {}))
    frame = Frame(engine, unit.module, body, scope, f"{unit.module.name}.{unit.qualname}", unit, instance)
    with engine.within(switching=True):
        engine.execute(frame, body.function.body)


def _run_script(engine: Interpreter, unit: FunctionUnit) -> None:
    """Run a function that exports, untraced, for the call of the exporter in it."""
    args, kwargs = entry_inputs.script_arguments(unit)
    kwargs |= dict.fromkeys(changed_numbers(unit, engine.project.modules.values()), dom.CONFIG)
    # Who calls the method may have put its object in eval mode.
    bound = dom.Instance(engine.model(unit.cls), mode="") if unit.cls is not None else None
    if unit.has_decorator("staticmethod", "classmethod"):
        bound = None
    engine.call_function(dom.Function(unit, bound), args, kwargs, None)


def _run_module(engine: Interpreter, info: ModuleInfo) -> None:
    """Run the module level of a file that exports there."""
    definitions = (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)
    statements = [s for s in info.file.tree.body if not isinstance(s, definitions)]
    if any(_CALLS_EXPORTS.search(info.text_of(s)) for s in statements):
        engine.execute(Frame(engine, info, Body(info, MODULE_LEVEL, 1), dom.Scope({}), info.name), info.file.tree.body)
