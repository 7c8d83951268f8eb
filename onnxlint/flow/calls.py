"""Calls of builtins, of torch, of numpy and other libraries, and of methods of values that are not objects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from onnxlint.flow import facts, layers, shapes
from onnxlint.flow.access import items_of, read_dim
from onnxlint.flow.domain import (
    CONFIG,
    NONE,
    UNKNOWN,
    Array,
    ClassRef,
    Config,
    Const,
    Data,
    Dict,
    Dim,
    Extent,
    External,
    Instance,
    Layer,
    Partial,
    Seq,
    Shape,
    Super,
    Tensor,
    Truth,
    Tuple,
    Value,
    as_int,
    element,
    join,
    join_all,
)
from onnxlint.flow.transfer import HANDLERS, Call, dict_values, numpy_result, result_by_table

if TYPE_CHECKING:
    from onnxlint.flow.interpret import Interpreter

Args = Sequence[Value]
Kwargs = dict[str, Value]
Builtin = Callable[["Interpreter", list[Value], Kwargs, cst.CSTNode], Value]

TRUTHS: dict[str, frozenset[str]] = {
    "torch.jit.is_tracing": frozenset({"torchscript"}),
    "torch._C._get_tracing_state": frozenset({"torchscript"}),
    "torch.jit.is_scripting": frozenset(),
    "torch.compiler.is_compiling": frozenset({"dynamo"}),
    "torch.compiler.is_dynamo_compiling": frozenset({"dynamo"}),
    "torch.compiler.is_exporting": frozenset({"dynamo"}),
    "torch._dynamo.is_compiling": frozenset({"dynamo"}),
    "torch._dynamo.external_utils.is_compiling": frozenset({"dynamo"}),
    "torch.onnx.is_in_onnx_export": frozenset({"torchscript", "dynamo"}),
}
_RANDOM = frozenset(
    [
        "rand",
        "randn",
        "randint",
        "randperm",
        "rand_like",
        "randn_like",
        "randint_like",
        "bernoulli",
        "bernoulli_",
        "multinomial",
        "normal",
        "normal_",
        "poisson",
        "uniform_",
        "random_",
        "exponential_",
        "log_normal_",
        "geometric_",
        "cauchy_",
        "gumbel_softmax",
        "rrelu",
    ]
)
_DROPOUTS = {
    "dropout": 2,
    "alpha_dropout": 2,
    "feature_alpha_dropout": 2,
    "dropout1d": 2,
    "dropout2d": 2,
    "dropout3d": 2,
}
_NO_OPERATORS = frozenset(
    [
        "cuda",
        "cpu",
        "pin_memory",
        "backward",
        "retain_grad",
        "bfloat16",
        "half",
        "values",
        "indices",
        "real",
        "dequantize",
        "fill",
        "copy",
        "range",
    ]
)
_ESCAPES = frozenset(("item", "tolist", "numpy", "__int__", "__float__", "__bool__", "__index__", "__array__"))


def library(engine: Interpreter, name: str, args: list[Value], kwargs: Kwargs, node: cst.CSTNode) -> Value:
    """A call of something that is not of the project."""
    if name.startswith("builtins."):
        handler = BUILTINS.get(name[9:])
        return handler(engine, args, kwargs, node) if handler is not None else UNKNOWN
    if name in TRUTHS:
        return Truth(TRUTHS[name])
    if name.startswith("torch."):
        return torch_call(engine, name, args, kwargs, node)
    root = name.partition(".")[0]
    if root == "math":
        return _frozen(engine, args, node, f"{name}()")
    if root == "numpy":
        if name.startswith("numpy.random.") and not name.endswith(("Generator", "default_rng", "seed", "RandomState")):
            engine.emit(facts.OpCall, node, op=name, random=True, hazard="python-random")
            return CONFIG
        return numpy_result(Call(engine, name.rpartition(".")[2], name, args, kwargs, node))
    if root == "random" and name.count(".") == 1 and not name.endswith((".seed", ".Random")):
        engine.emit(facts.OpCall, node, op=name, random=True, hazard="python-random")
        return args[0] if name == "random.choice" and args and isinstance(args[0], Tensor) else CONFIG
    if name in ("functools.partial",) and args:
        return Partial(args[0], tuple(args[1:]), tuple(sorted(kwargs.items())))
    if name in ("copy.deepcopy", "copy.copy", "typing.cast"):
        return args[-1] if args else UNKNOWN
    if name == "collections.OrderedDict":
        return _dict(engine, args, kwargs, node)
    if name.startswith("einops.") or root == "einops":
        return _einops(name, args)
    if name in ("functools.reduce",) and len(args) >= 2:
        first = element(args[1]) if isinstance(args[1], (Tuple, Seq)) else UNKNOWN
        return engine.apply(args[0], [args[2] if len(args) > 2 else first, first], {}, node)
    if name in ("operator.mul", "operator.add") and len(args) == 2:
        return engine.frames[-1].arithmetic("*" if name.endswith("mul") else "+", args[0], args[1], node)
    if name in ("itertools.chain", "itertools.product", "itertools.pairwise", "itertools.zip_longest"):
        return Seq(join_all([element(a) for a in args if isinstance(a, (Tuple, Seq))]) or UNKNOWN)
    return UNKNOWN


def _einops(name: str, args: list[Value]) -> Value:
    t = args[0] if args else UNKNOWN
    pattern = args[1].literal if len(args) > 1 and isinstance(args[1], Const) else None
    if isinstance(t, (Tuple, Seq)):
        t = element(t)
    if not isinstance(t, Tensor):
        return UNKNOWN
    if name.endswith(("rearrange", "reduce", "repeat", "einsum")):
        lead = None
        dims: shapes.Dims | None = None
        if isinstance(pattern, str) and "->" in pattern:
            left, _, right = pattern.partition("->")
            before, after = _axes_of(left), _axes_of(right)
            if t.dims is not None and len(before) == len(t.dims) and "..." not in before:
                sizes = dict(zip(before, t.dims, strict=True))
                dims = tuple(sizes.get(a) or _grouped(a, sizes) for a in after)
            elif before and after and before[0] == after[0]:
                lead = t.lead
        return Tensor(dims, lead, t.source, t.kind, None, None, t.trace)
    return UNKNOWN


def _axes_of(side: str) -> list[str]:
    found: list[str] = []
    group: list[str] | None = None
    for word in side.replace("(", " ( ").replace(")", " ) ").split():
        if word == "(":
            group = []
        elif word == ")":
            found.append("(" + " ".join(group or ()) + ")")
            group = None
        elif group is not None:
            group.append(word)
        else:
            found.append(word)
    return found


def _grouped(axis: str, sizes: dict[str, Extent]) -> Extent:
    """The size of an axis that the left side of an einops pattern does not have as such."""
    inner = axis.strip("()").split()
    result: Extent = Const(1) if axis == "1" else CONFIG
    for name in inner:
        # A part of a group on the left: depends on that group.
        source = sizes.get(name) or next((v for k, v in sizes.items() if name in k.strip("()").split()), None)
        if isinstance(source, (Dim, Data)) and (len(inner) > 1 or name not in sizes):
            whole = next((k for k in sizes if name in k.strip("()").split()), "")
            if whole.startswith("(") and whole.strip("()").split()[0] != name:
                continue
            result = shapes.combine(result, source)
    return result


# ------------------------------------------------------------------------------------------------------ torch


def torch_call(engine: Interpreter, name: str, args: list[Value], kwargs: Kwargs, node: cst.CSTNode) -> Value:
    """A call of a function or class of torch."""
    if name in ("torch.onnx.export", "torch.onnx.dynamo_export", "torch.onnx.utils.export"):
        return engine.export_call(name, args, kwargs, node)
    if name.startswith("torch.nn.") and name.rpartition(".")[2][:1].isupper():
        short = name.rpartition(".")[2]
        if short == "Parameter":
            given = args[0] if args else UNKNOWN
            return (
                replace(given, source="weight", made_at=None) if isinstance(given, Tensor) else Tensor(source="weight")
            )
        if name.count(".") > 2 and ".modules." in name:
            name = f"torch.nn.{short}"
        tracked = kwargs.get("track_running_stats")
        if short.startswith(("BatchNorm", "SyncBatchNorm")) and isinstance(tracked, Const) and tracked.literal is False:
            engine.emit(facts.OpCall, node, op=name, hazard="batch-norm", always=True)
        return layers.build(engine, name, args, kwargs)
    if name == "torch.export.export":
        return External("torch.export.ExportedProgram")
    if name in ("torch.Size",):
        return args[0] if args else Tuple(())
    tail = name.rpartition(".")[2]
    if name in (
        "torch.no_grad",
        "torch.inference_mode",
        "torch.autocast",
        "torch.device",
        "torch.Generator",
        "torch.is_tensor",
        "torch.manual_seed",
        "torch.set_grad_enabled",
        "torch.finfo",
        "torch.iinfo",
        "torch.promote_types",
        "torch.get_default_dtype",
        "torch.is_floating_point",
        "torch.is_complex",
        "torch.is_grad_enabled",
        "torch.result_type",
        "torch.is_autocast_enabled",
    ) or name.startswith(
        (
            "torch.cuda.",
            "torch.backends.",
            "torch.amp.",
            "torch.autograd.",
            "torch.profiler.",
            "torch.distributed.",
            "torch.utils.",
            "torch.library.",
            "torch._check",
        )
    ):
        if name == "torch.utils.checkpoint.checkpoint" and args:
            return engine.apply(args[0], args[1:], {}, node)
        return CONFIG
    if name in (
        "torch.jit.script",
        "torch.compile",
        "torch.jit.ignore",
        "torch.jit.unused",
        "torch.jit.export",
        "torch.compiler.disable",
    ):
        return args[0] if args else CONFIG
    if name in ("torch.sym_int", "torch.sym_float", "torch.sym_max", "torch.sym_min"):
        dim = next((a for a in args if isinstance(a, Dim)), None)
        return replace(dim, plain=False, example=None) if dim is not None else CONFIG
    if name in ("torch.vmap", "torch.func.vmap"):
        return args[0] if args else UNKNOWN
    return operator(engine, tail, name, args, kwargs, node, method=False)


def operator(
    engine: Interpreter, op: str, name: str, args: list[Value], kwargs: Kwargs, node: cst.CSTNode, method: bool
) -> Value:
    """A call of an operator, as a function or as a method of a tensor."""
    if op == "where" and len(args) == 1 and not kwargs:
        op = "where1"
    entry = engine.table.get(name)
    call = Call(engine, op, name, args, kwargs, node, method=method)
    bare = op[:-1] if op.endswith("_") and not op.endswith("__") else op
    _inspect(engine, call, entry)
    if op in _ESCAPES:
        return _escape(engine, call, op)
    handler = HANDLERS.get(bare)
    if handler is None and not method and entry is None:
        return UNKNOWN
    if op not in ("size", "numel", "tensor", "as_tensor", "from_numpy", "asarray", "new_tensor") and op not in (
        "arange",
        "zeros",
    ):
        engine.use_all([*args, *kwargs.values()], op)
    if bare != op:
        call = replace(call, op=bare)
        writes = entry is not None and entry.inplace and op not in ("detach_", "requires_grad_")
        if writes and isinstance(args[0] if args else None, Tensor):
            _written(engine, call, args[0])
    if handler is not None:
        return handler(call)
    assert entry is not None or method
    if entry is None:
        return UNKNOWN
    if entry.reads_data:
        t = call.tensor
        kind = Array if entry.returns == "array" else Data
        site = engine.site(node, f".{op}()" if method else f"{name}()")
        return kind(site, t.source != "input", trace=t.trace)
    return result_by_table(call, entry.returns)


def _escape(engine: Interpreter, call: Call, op: str) -> Value:
    t = call.args[0] if call.args else UNKNOWN
    if isinstance(t, Array) or not isinstance(t, Tensor):
        return Data(t.site, t.fixed) if isinstance(t, (Array, Data)) else UNKNOWN
    if t.source == "made" and not t.axes:
        return CONFIG
    site = engine.site(call.node, f".{op}()")
    fixed = t.source != "input"
    if op in ("numpy", "__array__"):
        return Array(site, fixed, t.trace)
    return Data(site, fixed, False, t.trace)


def _written(engine: Interpreter, call: Call, target: Value) -> None:
    assert isinstance(target, Tensor)
    if target.source == "weight" and isinstance(call.node, cst.Call) and isinstance(call.node.func, cst.Attribute):
        inner = call.node.func.value
        while isinstance(inner, (cst.Subscript, cst.Attribute)) and not (
            isinstance(inner, cst.Attribute) and isinstance(inner.value, cst.Name) and inner.value.value == "self"
        ):
            inner = inner.value
        if isinstance(inner, cst.Attribute):
            engine.state_write(engine.frames[-1], inner, target, augmented=True)
            return
    if isinstance(call.node, cst.Call) and isinstance(call.node.func, cst.Attribute):
        engine.written_in_place(target, call.node.func.value, call.node)


def _inspect(engine: Interpreter, call: Call, entry: object) -> None:
    """Emit an OpCall where the operator or its arguments are worth a look."""
    if not engine.tracing:
        return
    from onnxlint.flow.ops import Op

    op = call.op
    trace = call.tensor.trace
    if op in _DROPOUTS and call.name.startswith("torch.nn.functional."):
        training = call.arg(_DROPOUTS[op], "training")
        p = call.arg(1, "p")
        off = isinstance(p, Const) and p.literal in (0, 0.0)
        if not off and (training is None or (isinstance(training, Const) and training.literal is True)):
            engine.emit(facts.OpCall, call.node, op=call.name, hazard="dropout")
        return
    if op in ("batch_norm", "instance_norm") and call.name.startswith("torch.nn.functional."):
        training = call.arg(5, "training") if op == "batch_norm" else None
        # On weights (weight standardisation) the statistics are constants, and both exporters are right.
        if isinstance(training, Const) and training.literal is True and call.tensor.source == "input":
            engine.emit(facts.OpCall, call.node, trace, op=call.name, hazard="batch-norm")
    if op == "squeeze" and call.arg(1, "dim") is None and isinstance(call.args[0] if call.args else None, Tensor):
        t = call.tensor
        if t.source == "input" and (t.dims is None or any(isinstance(d, Dim) for d in t.dims)):
            known = [d for d in t.dims or () if isinstance(d, Dim)]
            engine.emit(
                facts.OpCall,
                call.node,
                trace,
                op=call.name,
                hazard="squeeze",
                sure=any(d.sure for d in known) if t.dims is not None else engine.axes.declared is None,
            )
    if op in ("index_add", "index_add_"):
        index = call.arg(2, "index")
        # What `where` and `nonzero` give along an axis mostly has each index once.
        sure = not (isinstance(index, Tensor) and index.ragged is not None)
        engine.emit(facts.OpCall, call.node, trace, sure=sure, op=call.name, hazard="index-add")
    if op in _RANDOM:
        engine.emit(facts.OpCall, call.node, op=call.name, random=True)
    if isinstance(entry, Op):
        refused = [e for e in engine.exporters if entry.lowers(e, engine.opset) is False]
        detail = ""
        for condition in entry.unless:
            if (
                condition.exporter in engine.exporters
                and _holds(call, condition.when)
                and condition.outcome == "refused"
            ):
                refused.append(condition.exporter)
                detail = condition.when
        # In-place and random operators have rules of their own; a refused move to a device is no operator of the graph.
        quiet = op.endswith("_") or entry.random or entry.reads_data or op in _NO_OPERATORS
        if refused and not quiet:
            engine.emit(
                facts.OpCall,
                call.node,
                trace,
                op=call.name,
                hazard="unsupported",
                refused_by=tuple(dict.fromkeys(refused)),
                detail=detail,
                exporters=tuple(dict.fromkeys(refused)),
            )


def _holds(call: Call, condition: str) -> bool:
    """Whether a condition of the operator table holds for sure: `name=literal`, or `name` given and true."""
    name, equals, wanted = condition.partition("=")
    given = call.kwargs.get(name)
    if not isinstance(given, Const):
        return False
    return repr(given.literal) == wanted if equals else bool(given.literal)


# --------------------------------------------------------------------------------------------------- methods


_OF_CONTAINERS = frozenset(
    ["values", "items", "keys", "get", "pop", "copy", "append", "extend", "index", "count", "update", "to_tuple"]
)


def method(engine: Interpreter, owner: Value, name: str, args: list[Value], kwargs: Kwargs, node: cst.CSTNode) -> Value:
    """A method of a value that is no object of the project."""
    if isinstance(owner, Tensor):
        if owner.guessed and name in _OF_CONTAINERS:
            return UNKNOWN
        if name in ("new_tensor",):
            return HANDLERS["tensor"](
                Call(engine, name, f"torch.Tensor.{name}", [owner, *args], kwargs, node, method=True)
            )
        if name in (
            "copy_",
            "set_",
            "share_memory_",
            "backward",
            "retain_grad",
            "register_hook",
            "is_contiguous",
            "stride",
        ):
            if name == "copy_":
                _written(engine, Call(engine, name, name, [owner, *args], kwargs, node, method=True), owner)
                return owner
            return CONFIG
        return operator(engine, name, f"torch.Tensor.{name}", [owner, *args], kwargs, node, method=True)
    if isinstance(owner, Shape):
        if name == "numel":
            axes = owner.tensor.axes
            return Dim(axes, plain=False, trace=owner.trace) if axes else CONFIG
        return CONFIG
    if isinstance(owner, Array):
        return (
            Array(owner.site, owner.fixed, owner.trace)
            if name not in ("item", "tolist")
            else Data(owner.site, owner.fixed)
        )
    if isinstance(owner, Data):
        return owner
    if isinstance(owner, Layer):
        return _layer_method(engine, owner, name, args, node)
    if isinstance(owner, Dict):
        return _dict_method(owner, name, args)
    if isinstance(owner, (Tuple, Seq)):
        return _sequence_method(engine, owner, name, args, node)
    if isinstance(owner, Instance):
        return engine.module_method(owner, name, args, kwargs, node)
    if isinstance(owner, Super):
        if name == "train" and args and isinstance(args[0], Const) and args[0].literal is True:
            engine.mode_switch(node)
        return owner.bound
    if isinstance(owner, (Const, Config)):
        return CONFIG
    return UNKNOWN


def _layer_method(engine: Interpreter, owner: Layer, name: str, args: list[Value], node: cst.CSTNode) -> Value:
    if name == "train" and not (args and isinstance(args[0], Const) and args[0].literal is False):
        engine.mode_switch(node)
    if name in ("train", "eval", "to", "float", "half", "cuda", "cpu", "double", "requires_grad_", "apply"):
        return owner
    if name in layers.HOOKS and args and isinstance(node, cst.Call):
        _rebind(engine, node, replace(owner, args=(*owner.args, (name, args[0]))))
        return CONFIG
    if name in ("forward", "__call__"):
        return layers.call(engine, owner, args, {}, node)
    if name == "items":
        inner = owner.items
        if isinstance(inner, Dict):
            return (
                Tuple(tuple(Tuple((Const(k), v)) for k, v in inner.items))
                if inner.items
                else Seq(Tuple((CONFIG, inner.rest or UNKNOWN)))
            )
        return Seq(Tuple((CONFIG, UNKNOWN)))
    if name in ("values", "children", "modules") and owner.items is not None:
        return Tuple(tuple(dict_values(owner.items))) if isinstance(owner.items, Dict) else owner.items
    if name in ("append", "extend", "insert", "add_module") and args and isinstance(node, cst.Call):
        item = args[-1]
        if name == "extend" and isinstance(item, (Tuple, Seq)):
            item = element(item)
        grown: Tuple | Seq
        if isinstance(owner.items, Tuple) and len(owner.items.items) < 8 and name == "append":
            grown = Tuple((*owner.items.items, item), "list")
        elif isinstance(owner.items, Tuple) and not owner.items.items:
            grown = Seq(item)
        else:
            old = element(owner.items) if isinstance(owner.items, (Tuple, Seq)) else UNKNOWN
            grown = Seq(join(old, item))
        _rebind(engine, node, replace(owner, items=grown))
        return NONE
    return UNKNOWN


def _rebind(engine: Interpreter, node: cst.Call, v: Value) -> None:
    if isinstance(node.func, cst.Attribute) and isinstance(node.func.value, (cst.Name, cst.Attribute)):
        engine.frames[-1].rebind(node.func.value, v)


def _dict_method(owner: Dict, name: str, args: list[Value]) -> Value:
    if name in ("get", "pop", "setdefault"):
        key = args[0] if args else UNKNOWN
        default = args[1] if len(args) > 1 else NONE
        found = owner.get(key.literal) if isinstance(key, Const) else join_all(dict_values(owner))
        return found if found is not None else default
    if name == "items":
        if owner.rest is None and owner.items:
            return Tuple(tuple(Tuple((Const(k), v)) for k, v in owner.items))
        return Seq(Tuple((CONFIG, join_all(dict_values(owner)) or UNKNOWN)))
    if name == "values":
        return Tuple(tuple(dict_values(owner))) if owner.rest is None else Seq(join_all(dict_values(owner)) or UNKNOWN)
    if name == "keys":
        return Seq(CONFIG)
    return owner if name == "copy" else UNKNOWN


def _sequence_method(engine: Interpreter, owner: Tuple | Seq, name: str, args: list[Value], node: cst.CSTNode) -> Value:
    if name in ("append", "extend", "insert", "add") and args and isinstance(node, cst.Call):
        item = args[-1]
        if name == "extend":
            item = element(item) if isinstance(item, (Tuple, Seq)) else UNKNOWN
        if isinstance(owner, Tuple) and len(owner.items) < 8 and name == "append":
            grown: Value = Tuple((*owner.items, item), owner.kind, owner.trace)
        elif isinstance(owner, Tuple) and not owner.items:
            grown = Seq(item)
        else:
            grown = Seq(join(element(owner), item), owner.size if isinstance(owner, Seq) else None, owner.trace)
        _rebind(engine, node, grown)
        return NONE
    if name == "pop":
        return element(owner)
    if name in ("index", "count"):
        return CONFIG
    return owner if name in ("copy", "__iter__") else UNKNOWN


# -------------------------------------------------------------------------------------------------- builtins


def _frozen(engine: Interpreter, args: Args, node: cst.CSTNode, how: str) -> Value:
    """A Python number made from the arguments: tensors are read, symbolic dims are frozen."""
    for v in args:
        if isinstance(v, Tensor):
            if v.source == "made" and not v.axes:
                return CONFIG
            return Data(engine.site(node, how), v.source != "input", False, v.trace)
        if isinstance(v, Data):
            if not v.site.how:  # a size that depends on data, and was a symbol until here
                return Data(engine.site(node, how), v.fixed, True, v.trace)
            return v
        if isinstance(v, Array):
            return Data(v.site, v.fixed, False, v.trace)
    for v in args:
        if isinstance(v, Dim):
            return Dim(v.axes, None, v.site or engine.site(node, how), False, v.trace)
    return CONFIG


def _number(how: str, convert: Callable[[float], float]) -> Builtin:
    def build(engine: Interpreter, args: list[Value], kwargs: Kwargs, node: cst.CSTNode) -> Value:
        del kwargs
        first = args[0] if args else Const(0)
        if isinstance(first, Const) and isinstance(first.literal, (int, float)):
            return Const(convert(first.literal))
        result = _frozen(engine, args, node, how)
        if isinstance(result, Dim) and isinstance(first, Dim) and how == "int()":
            return replace(result, example=first.example)
        return result

    return build


def _bool(engine: Interpreter, args: list[Value], kwargs: Kwargs, node: cst.CSTNode) -> Value:
    del kwargs
    first = args[0] if args else Const(False)
    if isinstance(first, Const):
        return Const(bool(first.literal))
    if isinstance(first, Truth):
        return first
    return _frozen(engine, args, node, "bool()")


def _len(engine: Interpreter, args: list[Value], kwargs: Kwargs, node: cst.CSTNode) -> Value:
    del kwargs
    v = args[0] if args else UNKNOWN
    if isinstance(v, Tensor):
        if v.guessed:
            return CONFIG
        extent = read_dim(engine, v, Const(0))
        return _frozen(engine, [extent], node, "len()") if isinstance(extent, (Dim, Data)) else extent
    if isinstance(v, Tuple):
        return Const(len(v.items))
    if isinstance(v, Seq) and v.size is not None:
        return v.size
    if isinstance(v, Shape):
        return Const(len(v.tensor.dims)) if v.tensor.dims is not None else CONFIG
    if isinstance(v, Dict) and v.rest is None:
        return Const(len(v.items))
    if isinstance(v, Layer) and isinstance(v.items, Tuple):
        return Const(len(v.items.items))
    if isinstance(v, Data):
        return Data(v.site, v.fixed, True, v.trace)
    if isinstance(v, Instance):
        return engine.length_of(v, node)
    return CONFIG


def _range(engine: Interpreter, args: list[Value], kwargs: Kwargs, node: cst.CSTNode) -> Value:
    del kwargs
    numbers = [as_int(a) for a in args]
    if args and all(n is not None for n in numbers):
        values = (
            range(*[n for n in numbers if n is not None]) if not (len(numbers) == 3 and numbers[2] == 0) else range(0)
        )
        return Tuple(tuple(Const(i) for i in values)) if len(values) <= 4 else Seq(CONFIG)
    for v in args:
        if isinstance(v, Tensor) and v.source == "input":
            return Seq(CONFIG, Data(engine.site(node, "range()"), False, False, v.trace))
        if isinstance(v, (Data, Array)):
            return Seq(CONFIG, v)
    for v in args:
        if isinstance(v, Dim):
            return Seq(CONFIG, replace(v, site=v.site or engine.site(node, "range()")))
    return Seq(CONFIG)


def _minmax(how: str) -> Builtin:
    def build(engine: Interpreter, args: list[Value], kwargs: Kwargs, node: cst.CSTNode) -> Value:
        del kwargs
        values = list(args)
        if len(args) == 1 and isinstance(args[0], (Tuple, Seq)):
            values = list(args[0].items) if isinstance(args[0], Tuple) else [args[0].item]
        elif len(args) == 1 and isinstance(args[0], Shape):
            values = list(args[0].tensor.dims or ())
        elif len(args) == 1 and isinstance(args[0], Tensor):
            return Tensor((), None, args[0].source, args[0].kind, None, None, args[0].trace)
        numbers = [v.literal for v in values if isinstance(v, Const) and isinstance(v.literal, (int, float))]
        if values and len(numbers) == len(values):
            return Const(min(numbers) if how == "min()" else max(numbers))
        tensors = [v for v in values if isinstance(v, Tensor)]
        if tensors:
            engine.emit_operator(node, tensors[0], how)
            return tensors[0]
        return _frozen(engine, values, node, how)

    return build


def _sum(engine: Interpreter, args: list[Value], kwargs: Kwargs, node: cst.CSTNode) -> Value:
    del kwargs
    v = args[0] if args else UNKNOWN
    if isinstance(v, Tuple) and v.items:
        result = v.items[0]
        for other in v.items[1:]:
            result = engine.frames[-1].arithmetic("+", result, other, node)
        return result
    if isinstance(v, Seq):
        return v.item
    if isinstance(v, Tensor):
        return replace(v, dims=None, lead=None, view=None)
    return CONFIG


def _abs(engine: Interpreter, args: list[Value], kwargs: Kwargs, node: cst.CSTNode) -> Value:
    del engine, kwargs, node
    return args[0] if args and not isinstance(args[0], Const) else CONFIG


def _sequence(kind: str) -> Builtin:
    def build(engine: Interpreter, args: list[Value], kwargs: Kwargs, node: cst.CSTNode) -> Value:
        del kwargs
        if not args:
            return Tuple((), kind)
        v = args[0]
        if isinstance(v, Tuple):
            return Tuple(v.items, kind, v.trace)
        if isinstance(v, Shape):
            dims = v.tensor.dims
            return Tuple(dims, kind, v.trace) if dims is not None else v
        if isinstance(v, Tensor):
            engine.report_loop(node, v)
        if isinstance(v, Seq):
            return v
        items = items_of(engine, v, node)
        return Seq(items[0] if len(items) == 1 else join_all(items) or UNKNOWN)

    return build


def _dict(engine: Interpreter, args: list[Value], kwargs: Kwargs, node: cst.CSTNode) -> Value:
    del engine, node
    result = Dict(tuple(kwargs.items()))
    if args and isinstance(args[0], Dict):
        return Dict((*args[0].items, *result.items), args[0].rest)
    if args and isinstance(args[0], Tuple) and all(isinstance(p, Tuple) and len(p.items) == 2 for p in args[0].items):
        pairs = [p.items for p in args[0].items if isinstance(p, Tuple)]
        if all(isinstance(k, Const) for k, _ in pairs):
            return Dict((*((k.literal, v) for k, v in pairs if isinstance(k, Const)), *result.items))
        return Dict(result.items, join_all([v for _, v in pairs]))
    if args and isinstance(args[0], Seq):
        item = args[0].item
        return Dict(result.items, item.items[1] if isinstance(item, Tuple) and len(item.items) == 2 else UNKNOWN)
    return result


def _enumerate(engine: Interpreter, args: list[Value], kwargs: Kwargs, node: cst.CSTNode) -> Value:
    del kwargs
    v = args[0] if args else UNKNOWN
    if isinstance(v, Tensor):
        engine.report_loop(node, v)
    items = items_of(engine, v, node)
    if isinstance(v, (Tuple, Layer)) and len(items) > 1:
        return Tuple(tuple(Tuple((Const(i), item)) for i, item in enumerate(items)), "list")
    size = v.size if isinstance(v, Seq) else None
    return Seq(Tuple((CONFIG, items[0] if items else UNKNOWN)), size)


def _zip(engine: Interpreter, args: list[Value], kwargs: Kwargs, node: cst.CSTNode) -> Value:
    del kwargs
    columns = [items_of(engine, v, node) for v in args]
    bounded = any(isinstance(v, (Tuple, Layer)) for v in args)  # zip stops with the shortest
    for v in args:
        if isinstance(v, Tensor) and not bounded:
            engine.report_loop(node, v)
    if (
        columns
        and all(isinstance(v, (Tuple, Layer)) for v in args)
        and len({len(c) for c in columns}) == 1
        and len(columns[0]) > 1
    ):
        return Tuple(tuple(Tuple(row) for row in zip(*columns, strict=True)), "list")
    size = next((v.size for v in args if isinstance(v, Seq) and v.size is not None), None)
    return Seq(Tuple(tuple(join_all(c) or UNKNOWN for c in columns)), size)


def _map(engine: Interpreter, args: list[Value], kwargs: Kwargs, node: cst.CSTNode) -> Value:
    del kwargs
    if len(args) < 2:
        return UNKNOWN
    columns = [items_of(engine, v, node) for v in args[1:]]
    for v in args[1:]:
        engine.report_loop(node, v)
    if isinstance(args[1], (Tuple, Shape)) and len(columns) == 1 and len(columns[0]) > 1:
        return Tuple(tuple(engine.apply(args[0], [item], {}, node) for item in columns[0]), "list")
    item = engine.apply(args[0], [join_all(c) or UNKNOWN for c in columns], {}, node)
    return Seq(item, next((v.size for v in args[1:] if isinstance(v, Seq)), None))


def _anyall(engine: Interpreter, args: list[Value], kwargs: Kwargs, node: cst.CSTNode) -> Value:
    del kwargs
    v = args[0] if args else UNKNOWN
    if isinstance(v, Tensor):
        return _frozen(engine, [v], node, "any()")
    item = element(v) if isinstance(v, (Tuple, Seq)) else UNKNOWN
    if isinstance(item, (Tensor, Data)):
        if isinstance(item, Tensor) and not engine.testing:
            engine.emit_operator(node, item, "any()")
        return _frozen(engine, [item], node, "any()")
    return item if isinstance(item, Dim) else CONFIG


def _getattr(engine: Interpreter, args: list[Value], kwargs: Kwargs, node: cst.CSTNode) -> Value:
    del kwargs
    if len(args) >= 2 and isinstance(args[1], Const) and isinstance(args[1].literal, str):
        found = engine.attribute(args[0], args[1].literal, node)
        return args[2] if found == UNKNOWN and len(args) > 2 else found
    if args and isinstance(args[0], Config):
        return CONFIG
    if args and isinstance(args[0], Instance):
        return engine.any_module_of(args[0])
    return UNKNOWN


def _hasattr(engine: Interpreter, args: list[Value], kwargs: Kwargs, node: cst.CSTNode) -> Value:
    """Decided only where torch is asked for what it has: older versions are no concern of an export guard."""
    del kwargs, node
    owner, name = (args[0], args[1]) if len(args) == 2 else (UNKNOWN, UNKNOWN)
    if isinstance(owner, External) and isinstance(name, Const):
        full = f"{owner.name}.{name.literal}"
        if full in TRUTHS or engine.table.get(full) is not None:
            return Const(True)
    return CONFIG


def _setattr(engine: Interpreter, args: list[Value], kwargs: Kwargs, node: cst.CSTNode) -> Value:
    del kwargs, node
    if (
        len(args) == 3
        and isinstance(args[0], Instance)
        and isinstance(args[1], Const)
        and isinstance(args[1].literal, str)
    ):
        engine.set_attribute(args[0].object, args[1].literal, args[2])
    elif len(args) == 3 and isinstance(args[0], Instance):
        engine.set_attribute(args[0].object, "*", args[2])
    return NONE


def _super(engine: Interpreter, args: list[Value], kwargs: Kwargs, node: cst.CSTNode) -> Value:
    del kwargs, node
    frame = engine.frames[-1]
    if args and isinstance(args[0], ClassRef):
        return Super(args[0].info, args[1] if len(args) > 1 else (frame.bound or UNKNOWN))
    if frame.owner is not None and frame.bound is not None:
        return Super(frame.owner, frame.bound)
    return UNKNOWN


def _first(engine: Interpreter, args: list[Value], kwargs: Kwargs, node: cst.CSTNode) -> Value:
    del kwargs
    if not args:
        return UNKNOWN
    items = items_of(engine, args[0], node)
    return items[0] if items else UNKNOWN


def _same(engine: Interpreter, args: list[Value], kwargs: Kwargs, node: cst.CSTNode) -> Value:
    del engine, kwargs, node
    v = args[0] if args else UNKNOWN
    return Tuple(tuple(reversed(v.items)), v.kind, v.trace) if isinstance(v, Tuple) else v


def _config(engine: Interpreter, args: list[Value], kwargs: Kwargs, node: cst.CSTNode) -> Value:
    del engine, args, kwargs, node
    return CONFIG


def _str(engine: Interpreter, args: list[Value], kwargs: Kwargs, node: cst.CSTNode) -> Value:
    del kwargs
    v = args[0] if args else CONFIG
    return _frozen(engine, [v], node, "str()") if isinstance(v, Dim) else CONFIG


def _slice(engine: Interpreter, args: list[Value], kwargs: Kwargs, node: cst.CSTNode) -> Value:
    del engine, kwargs, node
    bounds = [NONE, *args, NONE] if len(args) == 1 else [*args, NONE]
    return Tuple(tuple(bounds[:3]), "slice")


def _object(engine: Interpreter, args: list[Value], kwargs: Kwargs, node: cst.CSTNode) -> Value:
    del engine, args, kwargs, node
    return UNKNOWN


BUILTINS: dict[str, Builtin] = {
    "int": _number("int()", int),
    "float": _number("float()", float),
    "round": _number("round()", round),
    "bool": _bool,
    "len": _len,
    "range": _range,
    "min": _minmax("min()"),
    "max": _minmax("max()"),
    "sum": _sum,
    "abs": _abs,
    "list": _sequence("list"),
    "tuple": _sequence("tuple"),
    "set": _sequence("list"),
    "frozenset": _sequence("list"),
    "sorted": _sequence("list"),
    "iter": _same,
    "reversed": _same,
    "dict": _dict,
    "enumerate": _enumerate,
    "zip": _zip,
    "map": _map,
    "filter": lambda e, a, k, n: Seq(items_of(e, a[1], n)[0]) if len(a) > 1 and items_of(e, a[1], n) else UNKNOWN,
    "any": _anyall,
    "all": _anyall,
    "isinstance": _config,
    "issubclass": _config,
    "callable": _config,
    "hasattr": _hasattr,
    "getattr": _getattr,
    "setattr": _setattr,
    "super": _super,
    "next": _first,
    "print": lambda e, a, k, n: NONE,
    "str": _str,
    "repr": _config,
    "id": _config,
    "type": _config,
    "hash": _config,
    "slice": _slice,
    "pow": _abs,
    "divmod": _config,
    "object": _object,
    "vars": _object,
    "open": _object,
    "format": _config,
}
