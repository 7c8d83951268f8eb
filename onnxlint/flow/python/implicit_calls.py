"""What Python calls without a call in the source: operators and contexts of objects, `__getattr__`, decorators."""

import ast
import re
from collections.abc import Sequence

from onnxlint.flow.state.budget import DECORATING, Exhausted
from onnxlint.flow.state.protocols import Calling, InContext, Recalling, Resolving, Running
from onnxlint.flow.values import domain as dom
from onnxlint.flow.values.domain import replace
from onnxlint.flow.values.node_places import NOWHERE, is_own, last_name
from onnxlint.project.classes import ClassInfo, FunctionUnit, ModuleInfo
from onnxlint.project.outline import dotted

_SIGNS, _NAMES = "+ - * / // % ** @ & | ^", "add sub mul truediv floordiv mod pow matmul and or xor"
_BINARY = dict(zip(_SIGNS.split(), _NAMES.split(), strict=True))
_COMPARISONS = {"gt": ast.Gt(), "lt": ast.Lt(), "ge": ast.GtE(), "le": ast.LtE(), "eq": ast.Eq(), "ne": ast.NotEq()}
_OPERATORS = {f"{name}_" if name in ("and", "or") else name: sign for sign, name in _BINARY.items()}
_GUARDS = re.compile(r"training|is_(?:tracing|scripting|exporting|compiling|dynamo_compiling|in_onnx_export)")
ITEMS = "<layer>"  # the attribute that holds what `super().__init__(...)` of a torch.nn class was given
LOOSE_HOOKS = "<loose hooks>"  # the attribute that holds hooks of layers that are known by a loop's variable only


def binary(engine: Calling, operator: str, a: dom.Value, b: dom.Value, node: ast.AST) -> dom.Value | None:
    """`a + b` of an object that has the operator; None where no object has it."""
    name = _BINARY.get(operator)
    for owner, other, prefix in ((a, b, ""), (b, a, "r")):
        unit = owner.object.cls.find_method(f"__{prefix}{name}__") if isinstance(owner, dom.Instance) and name else None
        if unit is not None:
            return engine.call_function(dom.Function(unit, owner), [other], {}, node)
    return None


def fallback_attribute(engine: Calling, owner: dom.Instance, name: str, node: ast.AST) -> dom.Value | None:
    """What the `__getattr__` of an object's class gives for a name that nothing else defines."""
    unit = owner.object.cls.find_method("__getattr__")
    if unit is None or name.startswith("__") or sum(f.unit is unit for f in engine.frames) > 1:
        return None
    result = engine.call_function(dom.Function(unit, owner), [dom.Const(name)], {}, node)
    return None if result == dom.UNKNOWN or dom.is_none(result) else result


def entered(engine: Calling, v: dom.Value, node: ast.AST) -> dom.Value:
    """What `with v as name` binds."""
    if isinstance(v, dom.Seq):  # what a generator of `contextlib.contextmanager` yields
        return v.item
    unit = v.object.cls.find_method("__enter__") if isinstance(v, dom.Instance) else None
    if unit is not None:
        return engine.call_function(dom.Function(unit, v), [], {}, node)
    return v if isinstance(v, dom.Instance) else dom.UNKNOWN


def left(engine: Calling, v: dom.Value, node: ast.AST) -> None:
    """The end of `with v`."""
    unit = v.object.cls.find_method("__exit__") if isinstance(v, dom.Instance) else None
    if unit is not None:
        engine.call_function(dom.Function(unit, v), [dom.CONFIG, dom.CONFIG, dom.CONFIG], {}, node)


def as_layer(engine: Calling, obj: dom.Instance, args: dom.Args, kwargs: dom.Kwargs, node: ast.AST) -> dom.Value | None:
    """What the forward of the torch.nn class that an object's class derives from gives; None where there is none."""
    base = layer_base(obj.object.cls)
    if base is None:
        return None
    layer = obj.object.attrs.get(ITEMS)
    return engine.apply(layer if isinstance(layer, dom.Layer) else dom.Layer(base), args, kwargs, node)


def layer_base(cls: ClassInfo) -> str | None:
    """The class of torch.nn, other than Module, that a class of the project derives from."""
    names = sorted(b for b in cls.external_bases() if b.startswith("torch.nn.") and not b.endswith(".Module"))
    return f"torch.nn.{names[0].rpartition('.')[2]}" if names else None


def decorated(engine: Recalling, fn: dom.Function, args: dom.Args, kwargs: dom.Kwargs, result: dom.Value) -> dom.Value:
    """Run the wrappers that decorators of the project put around a function, and give what comes out of them. The
    function itself has run already: in the wrappers a name stands for it that gives `result`."""
    unit = fn.unit
    for decorator in reversed(unit.node.decorator_list):
        name = decorator.func if isinstance(decorator, ast.Call) else decorator
        maker = engine.evaluate_expression(unit.module, name, unit.qualname, unit.shift)
        if not isinstance(maker, dom.Function) or maker.unit.key == unit.key:
            continue
        options = _options(decorator)
        kinds = {type(v) for v in (result, *args, *kwargs.values())}
        habit = (maker.unit.key, options, frozenset(kinds & {dom.Tensor, dom.Dim, dom.Shape, dom.Data}))
        if engine.habits.is_idle(habit[:2]) or engine.habits.is_idle(habit):
            continue
        changes = engine.changes
        wrapper = _wrapper(engine, unit, maker, decorator)
        wrapped = _wrapped(engine, fn, wrapper, args, kwargs, result)
        if isinstance(wrapped, dom.Tensor) and isinstance(result, dom.Tensor) and wrapped != result:
            result = wrapped
        elif changes == engine.changes:  # whatever the function is given, where it gives back that itself
            engine.habits.was_idle(habit[:2] if wrapper == dom.DECORATED else habit, wrapper == dom.DECORATED)
    return result


def _options(decorator: ast.expr) -> str:
    """What chooses the function that a decorator puts in the place of another: its arguments, but for prose in them."""
    arguments = [*decorator.args, *decorator.keywords] if isinstance(decorator, ast.Call) else []
    values = [v.value if isinstance(v, ast.keyword) else v for v in arguments]
    prose = [isinstance(v, ast.Constant) and isinstance(v.value, str) and " " in v.value for v in values]
    return ", ".join(getattr(v, "arg", "") if p else ast.dump(v) for v, p in zip(arguments, prose, strict=True))


def _wrapper(engine: Recalling, unit: FunctionUnit, maker: dom.Function, decorator: ast.expr) -> dom.Value:
    """What a decorator puts in the place of a function; for one that takes long, as documentation does, that itself."""
    wrapper: dom.Value = maker
    try:
        with engine.within(tracing=False), engine.budget.at_most(DECORATING):
            if isinstance(decorator, ast.Call):
                wrapper = engine.evaluate_expression(unit.module, decorator, unit.qualname, unit.shift)
            if isinstance(wrapper, dom.Function):
                wrapper = engine.apply(wrapper, [dom.DECORATED], {}, NOWHERE)
    except Exhausted:
        return dom.DECORATED
    return wrapper


def _wrapped(
    engine: Resolving, fn: dom.Function, wrapper: dom.Value, args: dom.Args, kwargs: dom.Kwargs, result: dom.Value
) -> dom.Value:
    """What the wrapper gives that a decorator puts around a function; `result` where it puts none."""
    if not isinstance(wrapper, dom.Function) or wrapper.scope is None or wrapper.unit.key == fn.unit.key:
        return result
    positional, named = _loosely(wrapper, [*([fn.bound] if fn.bound is not None else []), *args], kwargs)
    with engine.decorating(result):
        return engine.apply(wrapper, positional, named, NOWHERE)


def shut_out(frame: Running, test: ast.expr, statements: Sequence[ast.AST]) -> None:
    """Modules that only run in training, or outside of an export, are no entry points of their own. What a constructor
    names in such an arm alone may be none either."""
    if frame.owner is not None and frame.unit is not None and frame.unit.name == "__init__":
        named = (frame.module.lookup(n.id) for s in statements for n in ast.walk(s) if isinstance(n, ast.Name))
        frame.engine.note_shut_out((c for c in named if isinstance(c, ClassInfo)), frame.owner)
    if not frame.engine.context.tracing or not isinstance(frame.bound, dom.Instance):
        return
    if not any(_GUARDS.fullmatch(last_name(n)) for n in ast.walk(test)):
        return
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Attribute) and is_own(node):
                _never_entered(frame.engine, frame.bound.object.attrs.get(node.attr))


def _never_entered(engine: Calling, v: dom.Value | None) -> None:
    """Take the forwards of a module and of those in it for reached."""
    if isinstance(v, dom.Layer):
        _never_entered(engine, v.items)
    elif isinstance(v, (dom.Tuple, dom.Seq, dom.Dict)):
        for item in dom.contents(v):
            _never_entered(engine, item)
    elif isinstance(v, dom.Instance) and v.object.cls.is_module():
        unit = v.object.cls.find_method("forward")
        if unit is not None and unit.key not in engine.reached:
            engine.reach(unit)
            for inner in list(v.object.attrs.values()):
                _never_entered(engine, inner)


def _loosely(wrapper: dom.Function, args: dom.Args, kwargs: dom.Kwargs) -> tuple[list[dom.Value], dict[str, dom.Value]]:
    """What a wrapper takes as `*args` and `**kwargs`: it picks from them, and what it picks is not known there."""
    a = wrapper.unit.args
    named = [p.arg for p, _ in wrapper.unit.positional]
    count = len(named) if a.vararg is not None else len(args)
    names = {*named, *(p.arg for p in a.kwonlyargs)} if a.kwarg is not None else set(kwargs)
    return (
        [v if i < count else _guess(v) for i, v in enumerate(args)],
        {k: v if k in names else _guess(v) for k, v in kwargs.items()},
    )


def _guess(v: dom.Value) -> dom.Value:
    return replace(v, guessed=True) if isinstance(v, dom.Tensor) else v


def only_model(frame: Running) -> dom.Instance | None:
    """The model that a factory works on, where it is the only one among its variables."""
    instances = (v for v in frame.scope.names.values() if isinstance(v, dom.Instance))
    models = {id(v.object): v for v in instances if v.object.cls.is_module()}
    return next(iter(models.values())) if len(models) == 1 else None


def hook_loosely(engine: InContext, holder: dom.Instance, hook: dom.Value, node: ast.AST) -> None:
    """Note a hook that a constructor gives to a layer under a local name: it runs when its module does."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
        saved = holder.object.attrs.get(LOOSE_HOOKS)
        hooks = saved.items if isinstance(saved, dom.Tuple) else ()
        if hook not in hooks and isinstance(hook, (dom.Function, dom.Lambda, dom.Instance, dom.Partial)):
            holder.object.attrs[LOOSE_HOOKS] = dom.Tuple((*hooks, hook))


def operator_function(engine: InContext, name: str, args: dom.Args, node: ast.AST) -> dom.Value:
    """`operator.add(a, b)` and its like: what the operator gives."""
    short = name.rpartition(".")[2]
    frame = engine.frames[-1]
    if short in _OPERATORS:
        return frame.arithmetic(_OPERATORS[short], args[0], args[1], node)
    if short in _COMPARISONS and isinstance(node, ast.Call) and len(node.args) == 2:
        left, right = node.args
        return frame.eval(ast.copy_location(ast.Compare(left, [_COMPARISONS[short]], [right]), node))
    return dom.UNKNOWN


def replaced(record: dom.Instance, changes: dict[str, dom.Value]) -> dom.Instance:
    """`dataclasses.replace(record, **changes)`."""
    copy = dom.Object(record.object.cls)
    copy.attrs.update({**record.object.attrs, **changes})
    return dom.Instance(copy, record.trace)


def named_tuple(module: ModuleInfo, statement: ast.Assign | ast.AnnAssign) -> ClassInfo | None:
    """The class that `Out = namedtuple("Out", ["a", "b"])` makes; None for any other statement."""
    call = statement.value
    if not isinstance(call, ast.Call) or dotted(call).rpartition(".")[2] != "namedtuple" or len(call.args) < 2:
        return None
    names, fields = call.args[:2]
    words: list[str] = []
    if isinstance(fields, ast.Constant) and isinstance(fields.value, str):
        words = fields.value.replace(",", " ").split()
    elif isinstance(fields, (ast.List, ast.Tuple)):
        words = [e.value for e in fields.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)]
    name = names.value if isinstance(names, ast.Constant) else None
    if not isinstance(name, str) or not name.isidentifier() or not words:
        return None
    body = "".join(f"    {field}: object\n" for field in words if field.isidentifier())
    (node,) = ast.parse(f"class {name}(typing.NamedTuple):\n{body}").body
    assert isinstance(node, ast.ClassDef)
    return ClassInfo(module, node, name)
