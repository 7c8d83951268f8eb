"""Calls that no graph can hold, or that a graph holds wrongly: what a function's name and arguments tell."""

import ast
import sys
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from onnxlint.base.records import Outcome
from onnxlint.flow.state import observations as obs
from onnxlint.flow.state.protocols import Lowering
from onnxlint.flow.tables.operator_table import OpTable
from onnxlint.flow.values import domain as dom
from onnxlint.flow.values.domain import replace
from onnxlint.flow.values.node_places import Place, body_of, nodes_of
from onnxlint.project.outline import LIBRARIES, is_compiled

# What the name of a function says alone, by the form that the overlay has it under.
_KINDS: dict[str, type[obs.Call]] = {
    "function": obs.Call,
    "transform": obs.TransformCall,
    "gradient": obs.GradientCall,
    "autocast": obs.AutocastCall,
    "packed": obs.PackingCall,
    "file": obs.FileWrite,
}
_NO_KERNELS = LIBRARIES | sys.stdlib_module_names | {"scipy", "torchvision"}
_OWN_NAMESPACES = ("aten", "prims", "prim", "higher_order", "torchvision")
_OF_NO_DATA = ("shape", "size", "dim", "ndim", "device", "dtype", "new_zeros", "new_ones", "new_empty", "new_full")
_DISTRIBUTIONS_OF_OTHERS = ("Independent", "TransformedDistribution")  # what they hold was asked
HOOKED = "<hooked>"
Form = str | Mapping[str, Outcome]  # the name of a form in the overlay, or the outcomes themselves
_PLACES = ("torch", "torch._higher_order_ops", "torch.ops.higher_order", "functorch.experimental.control_flow")

# Every name that control flow is imported by, and the one that the overlay has it under.
CONTROL_FLOW = {
    f"{place}.{name}{tail}": f"torch.{name}"
    for name in ("cond", "while_loop", "scan", "associative_scan", "map")
    for place in (*_PLACES, f"torch._higher_order_ops.{name}", "functorch.experimental._map")
    for tail in ("", "_impl")
}


def library(engine: Lowering, name: str, args: dom.Args, kwargs: dom.Kwargs, node: ast.AST) -> None:
    """Look at a call of something that is not of the project, in traced code."""
    table, values = engine.table, [*args, *kwargs.values()]
    plain = CONTROL_FLOW.get(name) or name.replace("functorch.", "torch.func.")
    form, namespace = _forms(table).get(plain), name[: name.find(".", 6)]
    if form is not None:
        kind = _KINDS[form]
        asked = args[:1] if plain == "torch.cond" and args else values
        if kind is obs.AutocastCall:
            _autocast(engine, name, args, kwargs, node)
        elif kind is obs.PackingCall:
            # Of lengths that were read into numpy or Python on the way, TorchScript keeps the example's.
            read = any(isinstance(v, (dom.Data, dom.Array)) and not v.fixed for v in values)
            kept = {"torchscript": Outcome.WRONG_VALUES} if read else {}
            emit(engine, node, kind, name, {**table.outcomes(form, plain), **kept})
        elif kind not in (obs.FileWrite, obs.Call) or any(_depends(v) or isinstance(v, dom.Dim) for v in asked):
            emit(engine, node, kind, name, form, plain)
    elif _is_kernel(engine, name) and any(isinstance(v, dom.Tensor) for v in _flat(values)):
        _kernel(engine, name, values, node)
    elif namespace in table.curated["sparse: namespace"] and not name.endswith("softmax"):
        emit(engine, node, obs.SparseCall, name, "sparse: namespace", namespace)
    elif namespace == "torch.distributions" and any(isinstance(v, dom.Tensor) for v in values):
        _distribution(engine, name, kwargs, node)


def _kernel(engine: Lowering, name: str, values: Iterable[dom.Value], node: ast.AST) -> None:
    """A kernel, unless a caller may go another way; that of an autograd function is then a note, and all beside it."""
    unit, sure = engine.frames[-1].unit, not guarded(engine)
    if sure:
        _written_by_kernel(engine, values, node)
    if sure or (unit is not None and unit.of_autograd and not guarded(engine, 1)):
        emit(engine, node, obs.CustomCall, name, "custom", ".".join(name.split(".")[:3]), sure=sure, doubt="flag")


def _written_by_kernel(engine: Lowering, values: Iterable[dom.Value], node: ast.AST) -> None:
    """`kernel(x, out)`: what forward made for the result depends on the inputs from here on."""
    if not isinstance(node, ast.Call) or not any(map(_depends, values)):
        return
    for argument in node.args:
        held = engine.frames[-1].scope.lookup(argument.id) if isinstance(argument, ast.Name) else None
        if isinstance(argument, ast.Name) and isinstance(held, dom.Tensor) and held.source in ("made", "sizes"):
            engine.frames[-1].rebind(argument, replace(held, source="input"))


def _distribution(engine: Lowering, name: str, kwargs: dom.Kwargs, node: ast.AST) -> None:
    """A distribution asks whether its parameters are valid, unless it is told not to, here or for all."""
    short, asked = name.rpartition(".")[2], kwargs.get("validate_args")
    unit = engine.frames[-1].unit
    spared = unit is not None and "set_default_validate_args(False" in unit.module.source.text
    made = short[:1].isupper() and short not in _DISTRIBUTIONS_OF_OTHERS and not short.endswith("Transform")
    if made and not spared and (asked is None or dom.is_none(asked) or dom.is_true(asked)):
        emit(engine, node, obs.Call, name, "validated", "torch.distributions", detail="validate_args=True")


@lru_cache(maxsize=8)
def _forms(table: OpTable) -> dict[str, str]:
    return {name: form for form in _KINDS for name in table.curated.get(form, ())}


def gradient(engine: Lowering, t: dom.Tensor, node: ast.AST) -> None:
    """`t.backward()` in traced code."""
    emit(engine, node, obs.GradientCall, "torch.Tensor.backward", "gradient", trace=t.trace)


def function(engine: Lowering, fn: dom.Function, args: dom.Args, node: ast.AST | None) -> dom.Value | None:
    """Look at the call of a function of the project, in traced code; its result if no exporter can look into it."""
    unit = fn.unit
    if unit.has_decorator("library.custom_op", "triton.jit") and node is not None:
        if not guarded(engine):
            emit(engine, node, obs.CustomCall, unit.name, "custom")
        t = next((v for v in args if isinstance(v, dom.Tensor)), None)
        return replace(t, parameter="", view=None, distinct=False) if t is not None else dom.CONFIG
    if unit.has_decorator("torch.compile"):
        body = body_of(unit)
        at = next(d for d in body.function.decorator_list if "compile" in body.text(d))
        place = Place(body, at, at.lineno + body.shift, f"{unit.module.name}.{unit.qualname}")
        if not guarded(engine):
            emit(engine, place, obs.CompileCall, "torch.compile", "compiled")
    return None


def stand_in(engine: Lowering, draw: ast.AST | None = None) -> bool:
    """True where the forward of an autograd.Function that has a `symbolic` takes no more of its inputs than sizes."""
    frame = engine.frames[-1]
    if not engine.context.tracing or frame.unit is None or not frame.unit.has_symbolic or frame.unit.cls is None:
        return False
    required = ((p.arg, frame.scope.names.get(p.arg)) for p, default in frame.unit.positional[1:] if default is None)
    inputs = {name for name, v in required if not isinstance(v, (dom.Const, dom.Config))}
    nodes = list(nodes_of(frame.body.function))
    asked = {id(n.value) for n in nodes if isinstance(n, ast.Attribute) and n.attr in _OF_NO_DATA}
    read = [n for n in nodes if isinstance(n, ast.Name) and n.id in inputs and isinstance(n.ctx, ast.Load)]
    if not inputs or not all(id(n) in asked for n in read):
        return False
    outcome = Outcome.WRONG_VALUES if draw is None else Outcome.NONDETERMINISTIC
    emit(engine, draw or frame.body.function.body[-1], obs.StandIn, frame.unit.cls.name, {"dynamo": outcome})
    return True


def compiled_part(engine: Lowering, name: str, args: dom.Args, node: ast.AST) -> None:
    """`self.part = torch.compile(part)` while a module is built, with no setting that decides on it."""
    part = args[0] if args else None
    frame = engine.frames[-1] if engine.frames else None
    if frame is None or frame.owner is None or not frame.owner.is_module() or engine.context.tracing:
        return
    if isinstance(part, (dom.Instance, dom.Layer)) or (name == "torch.compile" and isinstance(part, dom.Function)):
        building = frame.unit is not None and frame.unit.name == "__init__"
        if building and isinstance(frame.statement_node, (ast.Assign, ast.AnnAssign)) and not guarded(engine):
            outcomes = engine.table.outcomes("compiled: part", name)
            engine.emit(obs.CompileCall, node, exporters=tuple(outcomes), always=True, op=name, outcomes=outcomes)


def hooked(name: str, args: dom.Args) -> dom.Value | None:
    """What `weight_norm(layer)`, pruning and their like give back: the layer, marked where hooks make its weight."""
    tail = name.rpartition(".")[2]
    if not name.startswith("torch.nn.utils.") or not args or not isinstance(args[0], (dom.Layer, dom.Instance)):
        return None
    if isinstance(args[0], dom.Layer) and (name == "torch.nn.utils.weight_norm" or ".prune." in name):
        return replace(args[0], args=(*args[0].args, (HOOKED, dom.CONFIG)))
    if tail not in ("weight_norm", "spectral_norm", "orthogonal", "remove_weight_norm", "remove_spectral_norm"):
        return None
    if isinstance(args[0], dom.Layer):
        return replace(args[0], args=tuple(a for a in args[0].args if a[0] != HOOKED))
    return args[0]


def bypassed(engine: Lowering, called: dom.Layer, node: ast.AST) -> None:
    """`layer.forward(x)`: hooks do not run."""
    if engine.context.tracing and any(name == HOOKED for name, _ in called.args):
        emit(engine, node, obs.DirectForward, called.name, "direct forward")


def _is_kernel(engine: Lowering, name: str) -> bool:
    table, unit = engine.table, engine.frames[-1].unit
    if name.startswith("torch.ops."):
        return name.count(".") >= 3 and name.split(".")[2] not in _OWN_NAMESPACES
    root, *modules = name.split(".")[:-1] or [name]
    compiled = root != "torch" and any(map(is_compiled, (root, *modules)))
    compiled |= "." in name and root not in _NO_KERNELS and unit is not None and unit.of_autograd
    return compiled or (root in table.curated["custom: package"] and name not in table.curated["custom: plain"])


def _autocast(engine: Lowering, name: str, args: dom.Args, kwargs: dom.Kwargs, node: ast.AST) -> None:
    """An autocast that is on: what it does depends on the device that the export runs on."""
    general = name in ("torch.autocast", "torch.amp.autocast")
    device = args[0] if args and general else kwargs.get("device_type")
    enabled = kwargs.get("enabled")
    if isinstance(enabled, dom.Const) and not enabled.literal:
        return
    dtype = kwargs.get("dtype") or (args[1] if len(args) > 1 and general else None)
    if isinstance(dtype, dom.External) and dtype.name.endswith((".float32", ".float")):
        return
    on_cpu = device.literal == "cpu" if isinstance(device, dom.Const) else ".cpu." in name
    emit(engine, node, obs.AutocastCall, name, "autocast", sure=on_cpu and enabled is None)


def guarded(engine: Lowering, depth: int = 0) -> bool:
    """True where an `if` or a `try` stands around what runs, in so many of the innermost functions (0: all): there may
    be a way without it. An `if` that is decided is none around a kernel of the project's own."""
    frames = [f for f in engine.frames[-depth:] if not f.body.of_file and f.statement_node is not None]
    own = any(f.unit is not None and f.unit.of_autograd for f in engine.frames[-1:])  # none runs around an entry point
    arms = (f for f in frames if f.statement_node in _guarded(f.body.function))
    return any(not (own and f.is_certain(f.statement_node)) for f in arms)


@lru_cache(maxsize=256)
def _guarded(function: ast.AST) -> frozenset[ast.AST]:
    """The statements of a function that are, or stand in, an `if` or a `try`."""
    inner: set[ast.AST] = set()
    for outer in nodes_of(function):
        if isinstance(outer, (ast.If, ast.Try)) and outer not in inner:
            inner.update(n for n in ast.walk(outer) if isinstance(n, ast.stmt))
    return frozenset(inner)


def clock(table: OpTable, v: dom.Value) -> bool:
    """True for a number read from a clock."""
    return isinstance(v, dom.Data) and v.site.how.removesuffix("()") in table.curated["clock"]


def _depends(v: dom.Value) -> bool:
    """True for what holds tensor data that depends on the inputs."""
    parts = _flat([v])
    numbers = (i for i in parts if isinstance(i, (dom.Data, dom.Array)))
    return any(isinstance(i, dom.Tensor) and i.source == "input" for i in parts) or any(not i.fixed for i in numbers)


def _flat(values: Iterable[dom.Value]) -> list[dom.Value]:
    kinds = (dom.Tuple, dom.Seq, dom.Dict)
    return [leaf for v in values for leaf in (_flat(dom.contents(v)) if isinstance(v, kinds) else (v,))]


def emit(
    engine: Lowering, node: ast.AST | Place, kind: type[obs.Operation], op: str, form: Form, name: str = "", **more: Any
) -> None:
    """Record an operation for the exporters whose trace comes through here, if any of them has an outcome.

    The outcomes are those of the overlay for `name` (or `op`) under `form`, unless they are given themselves.
    """
    outcomes = engine.table.outcomes(form, name or op) if isinstance(form, str) else form
    hit = tuple(e for e in engine.context.exporters if e in outcomes)
    if hit:
        engine.emit(kind, node, exporters=hit, op=op, outcomes=outcomes, **{"doubt": "guess", **more})
