"""Calls of library functions: torch's operators and classes, numpy, math, einops."""

import ast
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from onnxlint.base.records import Outcome
from onnxlint.flow.calls import control_flow
from onnxlint.flow.calls.builtin_calls import BUILTINS, frozen, getter_default, make_dict
from onnxlint.flow.exports import export_calls
from onnxlint.flow.exports.train_modes import without_mode
from onnxlint.flow.lowering import exporter_support, layer_calls, sizes_as_numbers, unexportable_calls
from onnxlint.flow.operators import einops
from onnxlint.flow.operators.register import HANDLERS
from onnxlint.flow.operators.transfer import Call, like, numpy_result, result_by_table
from onnxlint.flow.python import implicit_calls, name_lookup
from onnxlint.flow.python.implicit_calls import DECORATED
from onnxlint.flow.state import observations
from onnxlint.flow.state.liveness import fed_with, for_training_only
from onnxlint.flow.state.protocols import Assigning, Engine, Running
from onnxlint.flow.tables import EXPORTER_GUARDS, NAMES
from onnxlint.flow.tables.operator_table import Op
from onnxlint.flow.values import domain as dom
from onnxlint.flow.values import shapes
from onnxlint.flow.values.joins import element, join_all
from onnxlint.flow.values.node_places import argument, is_own
from onnxlint.flow.values.size_forms import takes_item


class LibraryCall(Call):
    """A call that may be of no operator: what it does takes the whole interpreter."""

    __slots__ = ()
    engine: Engine


Function = Callable[[LibraryCall], dom.Value]

_NOISE = ("randn", "randn_like", "normal", "normal_")  # what a generator begins from
_SPARES_DRAWS = re.compile(r"\bif (?:not )?(?:deterministic|greedy)\b")  # who calls it says whether to draw
_RANDOM = frozenset(NAMES["random"])
_FILLING = frozenset(("normal", "uniform", "zero", "fill", "copy", "bernoulli", "random", "exponential"))
_DROPOUTS = frozenset(["dropout", "alpha_dropout", "feature_alpha_dropout", "dropout1d", "dropout2d", "dropout3d"])
_NO_OPERATORS = frozenset(NAMES["quiet"])
_KEEPS_SIZES = frozenset(NAMES["keeps-sizes"])
_ESCAPES = frozenset(("item", "tolist", "numpy", "__int__", "__float__", "__bool__", "__index__", "__array__"))


def library(engine: Engine, name: str, args: dom.Args, kwargs: dom.Kwargs, node: ast.AST) -> dom.Value:
    """A call of something that is not of the project."""
    if name == DECORATED:
        here = engine.frames[-1].symbol
        # What the wrapper made a number of on the way in, the function computes with.
        sizes = (v for v in (*args, *kwargs.values()) if isinstance(v, (dom.Dim, dom.Data)) and v.site is not None)
        engine.use_all([v for v in sizes if v.site is not None and v.site.place.symbol == here], "an argument")
        return engine.decorated[-1] if engine.decorated else dom.UNKNOWN
    if engine.context.tracing:
        unexportable_calls.library(engine, name, args, kwargs, node)
    if name.startswith("builtins."):
        handler = BUILTINS.get(name[9:])
        return handler(engine, args, kwargs, node) if handler is not None else dom.UNKNOWN
    full = unexportable_calls.CONTROL_FLOW.get(name)
    if full is not None:
        return control_flow.run(LibraryCall(engine, full[6:], full, args, kwargs, node))
    if name in EXPORTER_GUARDS:
        return dom.Truth(EXPORTER_GUARDS[name])
    if name.startswith("torch."):
        return torch_call(engine, name, args, kwargs, node)
    if name in engine.table.curated["clock"]:
        return dom.Data(engine.site(node, f"{name}()"), True)
    root, _, tail = name.rpartition(".")
    function = _FUNCTIONS.get(name) or _PACKAGES.get(root.partition(".")[0] or name)
    if function is None:
        getter = tail == "get" and len(args) == 2 and isinstance(args[0], dom.Const)
        return getter_default(args[1], dom.UNKNOWN) if getter else dom.UNKNOWN
    return function(LibraryCall(engine, tail, name, args, kwargs, node))


def _numpy(call: LibraryCall) -> dom.Value:
    quiet = ("Generator", "default_rng", "seed", "RandomState")
    if call.name.startswith("numpy.random.") and not call.name.endswith(quiet):
        _drawn(call.engine, call.node, call.name, "python")
        return dom.CONFIG
    return numpy_result(call)


def _module_by_name(call: LibraryCall) -> dom.Value:
    """`import_module("package.module")`."""
    name = dom.or_default(call.args[0]) if call.args else dom.UNKNOWN
    if not isinstance(name, dom.Const) or not isinstance(name.literal, str) or name.literal.startswith("."):
        return dom.UNKNOWN
    return name_lookup.dotted(call.engine, name.literal, call.engine.frames[-1].module)


def _version(call: LibraryCall) -> dom.Value:
    """`version.parse("2.1")`: what a version is compared by."""
    text = call.args[0] if call.args else None
    if not isinstance(text, dom.Const) or not isinstance(text.literal, str):
        return dom.CONFIG
    return dom.Const(tuple(int(n) for n in re.findall(r"\d+", text.literal.partition("+")[0])[:3]))


def _random(call: LibraryCall) -> dom.Value:
    if call.name.count(".") != 1 or call.op in ("seed", "Random"):
        return dom.UNKNOWN
    if call.op == "randrange" and [dom.or_default(v) for v in call.args] == [dom.Const(1)]:
        return dom.Const(0)
    _drawn(call.engine, call.node, call.name, "python")
    return call.args[0] if call.op == "choice" and call.args and isinstance(call.args[0], dom.Tensor) else dom.CONFIG


def _einops(call: LibraryCall) -> dom.Value:
    call.engine.use_all([v for v in call.kwargs.values() if isinstance(v, (dom.Dim, dom.Data))], call.name)
    return einops.call(call.name, call.args, call.kwargs)


def _operator_function(call: LibraryCall) -> dom.Value:
    if len(call.args) != 2:
        return dom.UNKNOWN
    return implicit_calls.operator_function(call.engine, call.name, call.args, call.node)


def _partial(call: LibraryCall) -> dom.Value:
    args = call.args
    return dom.Partial(args[0], tuple(args[1:]), tuple(sorted(call.kwargs.items()))) if args else dom.UNKNOWN


def _reduced(call: LibraryCall) -> dom.Value:
    args = call.args
    if len(args) < 2:
        return dom.UNKNOWN
    first = element(args[1]) if isinstance(args[1], (dom.Tuple, dom.Seq)) else dom.UNKNOWN
    return call.engine.apply(args[0], [args[2] if len(args) > 2 else first, first], {}, call.node)


def _field(call: LibraryCall) -> dom.Value:
    made = call.kwargs.get("default_factory") or call.kwargs.get("factory")
    return call.engine.apply(made, [], {}, call.node) if made is not None else call.kwargs.get("default", dom.UNKNOWN)


def _default_dict(call: LibraryCall) -> dom.Value:
    lists = bool(call.args) and call.args[0] == dom.External("builtins.list")
    return dom.Dict((), dom.Tuple((), "list") if lists else None)


def _replaced(call: LibraryCall) -> dom.Value:
    record = call.args[0] if call.args else dom.UNKNOWN
    return implicit_calls.replaced(record, call.kwargs) if isinstance(record, dom.Instance) else dom.UNKNOWN


def _copied(call: LibraryCall) -> dom.Value:
    v = call.args[0] if call.args else dom.UNKNOWN
    of = call.node.args[0] if isinstance(call.node, ast.Call) and call.node.args else None
    own = isinstance(of, ast.Name) and of.id == "self"
    return call.engine.copied(v, call.node) if own and isinstance(v, dom.Instance) else v


def _same_shape(call: LibraryCall) -> dom.Value:
    """A function of torchvision that leaves an image as large as it is; other images than tensors are not traced."""
    t = call.arg(0, "tensor", "img", "inpt")
    return like(call, t.dims, t.lead, t.kind) if isinstance(t, dom.Tensor) else dom.UNKNOWN


def _first(otherwise: dom.Value) -> Function:
    """The handler of what gives back its first argument, and `otherwise` where there is none."""
    return lambda call: call.args[0] if call.args else otherwise


_PACKAGES: dict[str, Function] = {
    "math": lambda call: frozen(call.engine, call.args, call.node, f"{call.name}()"),
    "numpy": _numpy,
    "random": _random,
    "einops": _einops,
    "operator": _operator_function,
}

_VISION = "torchvision.transforms.functional."
_FUNCTIONS: dict[str, Function] = {
    **dict.fromkeys((_VISION + name for name in NAMES["image-transforms"]), _same_shape),
    **dict.fromkeys(
        ("torchvision.transforms.Normalize", "torchvision.transforms.transforms.Normalize"),
        lambda _call: dom.Partial(dom.External(_VISION + "normalize"), (), (("mean", dom.CONFIG), ("std", dom.CONFIG))),
    ),
    "os.getenv": lambda call: getter_default(call.args[-1], dom.UNKNOWN) if len(call.args) == 2 else dom.UNKNOWN,
    "importlib.import_module": _module_by_name,
    "functools.partial": _partial,
    "functools.reduce": _reduced,
    **dict.fromkeys(("dataclasses.field", "attrs.field", "attr.ib"), _field),
    "dataclasses.replace": _replaced,
    **dict.fromkeys(("copy.deepcopy", "copy.copy"), _copied),
    "typing.cast": lambda call: (call.args or [dom.UNKNOWN])[-1],
    **dict.fromkeys(NAMES["versions"], _version),
    "collections.deque": lambda call: BUILTINS["list"](call.engine, call.args[:1], {}, call.node),
    "collections.OrderedDict": lambda call: make_dict(call.engine, call.args, call.kwargs, call.node),
    "collections.defaultdict": _default_dict,
    **dict.fromkeys(
        ("itertools.chain", "itertools.product", "itertools.pairwise", "itertools.zip_longest"),
        lambda call: dom.Seq(
            join_all([element(a) for a in call.args if isinstance(a, (dom.Tuple, dom.Seq))]) or dom.UNKNOWN
        ),
    ),
}


def torch_call(engine: Engine, name: str, args: dom.Args, kwargs: dom.Kwargs, node: ast.AST) -> dom.Value:
    """A call of a function or class of torch."""
    op = name.rpartition(".")[2]
    function = _module if name.startswith("torch.nn.") and op[:1].isupper() else _TORCH.get(name)
    if function is not None:
        return function(LibraryCall(engine, op, name, args, kwargs, node))
    layer = unexportable_calls.hooked(name, args)
    if layer is not None:
        return layer
    if name.startswith(_NO_TENSORS):
        if name in engine.table.curated["check"] and engine.context.tracing:
            sizes_as_numbers.counted(engine, observations.SizeCheck, "check", name, args, node)
        return dom.CONFIG
    if name.startswith("torch.distributions."):
        return _distribution(engine, name, node)
    return operator(engine, op, name, args, kwargs, node, method=False)


def _module(call: LibraryCall) -> dom.Value:
    """An instance of a class of torch.nn."""
    engine, short, name = call.engine, call.op, call.name
    if short == "Parameter":
        first = call.args[0] if call.args else None
        data = first if isinstance(first, dom.Tensor) else dom.Tensor()
        return replace(data, source="weight", made_at=None)
    if engine.context.tracing and "Dropout" in short:
        # A module made in forward never hears of eval().
        engine.emit(observations.DropoutCall, call.node, op=name)
    if name.count(".") > 2 and ".modules." in name:
        name = f"torch.nn.{short}"
    tracked = call.kwargs.get("track_running_stats")
    if short.startswith(("BatchNorm", "SyncBatchNorm")) and isinstance(tracked, dom.Const) and tracked.literal is False:
        engine.emit(observations.BatchNormCall, call.node, op=name, always=True)
    return layer_calls.build(name, call.args, call.kwargs)


def _exported(call: LibraryCall) -> dom.Value:
    export_calls.record(call.engine, call.name, call.args, call.kwargs, call.node)
    return dom.UNKNOWN


def _exported_program(call: LibraryCall) -> dom.Value:
    export_calls.record_program(call.engine, call.args, call.kwargs, call.node)
    return dom.External("torch.export.ExportedProgram")


def _compiled(call: LibraryCall) -> dom.Value:
    unexportable_calls.compiled_part(call.engine, call.name, call.args, call.node)
    part = next(iter((*call.args, *call.kwargs.values())), dom.CONFIG)
    if isinstance(part, (dom.Unknown, dom.Scripted)) and call.op != "compile":
        return dom.Scripted(call.op)
    return replace(part, wrapping=call.op) if isinstance(part, dom.Instance) else part


def _symbolic_number(call: LibraryCall) -> dom.Value:
    dim = next((a for a in call.args if isinstance(a, dom.Dim)), None)
    return replace(dim, plain=False, example=None) if dim is not None else dom.CONFIG


_SETTINGS = NAMES["settings"]
# Functions of torch that are no operators.
_TORCH: dict[str, Function] = {
    **dict.fromkeys(export_calls.APIS, _exported),
    "torch.export.export": _exported_program,
    "torch.Size": _first(dom.Tuple(())),
    "torch.nn.modules.transformer._get_clones": lambda call: dom.Layer(
        "torch.nn.ModuleList", items=dom.Seq(call.args[0] if call.args else dom.UNKNOWN)
    ),
    **dict.fromkeys(("torch.jit.script", "torch.jit.trace", "torch.compile"), _compiled),
    **dict.fromkeys(("torch.jit.freeze", "torch.jit.optimize_for_inference"), _first(dom.UNKNOWN)),
    "torch.jit.load": lambda _call: dom.Scripted("load"),
    **dict.fromkeys(NAMES["function-marks"], _first(dom.CONFIG)),
    **dict.fromkeys(("torch.sym_int", "torch.sym_float", "torch.sym_max", "torch.sym_min"), _symbolic_number),
    **dict.fromkeys(("torch.vmap", "torch.func.vmap"), _first(dom.UNKNOWN)),
    "torch.utils.checkpoint.checkpoint": lambda call: (
        call.engine.apply(call.args[0], call.args[1:], {}, call.node) if call.args else dom.CONFIG
    ),
    # An export runs in one process.
    "torch.distributed.is_initialized": lambda _call: dom.Const(False),
    "torch.distributed.get_world_size": lambda _call: dom.Const(1),
    "torch.distributed.get_rank": lambda _call: dom.Const(0),
    **dict.fromkeys((f"torch.{name}" for name in _SETTINGS), lambda _call: dom.CONFIG),
}
_NO_TENSORS = tuple(
    f"torch.{name}" for name in "cuda. backends. amp. autograd. profiler. distributed. utils. library. _check".split()
)


def operator(
    engine: Engine, op: str, name: str, args: dom.Args, kwargs: dom.Kwargs, node: ast.AST, method: bool
) -> dom.Value:
    """A call of an operator, as a function or as a method of a tensor."""
    if op == "where" and len(args) == 1 and not kwargs:
        op = "where1"
    entry = engine.table.get(name)
    call = LibraryCall(engine, op, name, args, kwargs, node, method=method)
    bare = op[:-1] if op.endswith("_") and not op.endswith("__") else op
    _inspect(engine, call, entry)
    if op in _ESCAPES:
        return _escape(engine, call, op)
    handler = HANDLERS.get(bare)
    if handler is None and not method and entry is None:
        return dom.UNKNOWN
    if op not in _KEEPS_SIZES:
        engine.use_all([*args, *kwargs.values()], op)
    written: dom.Value | None = None
    if bare != op:
        call = replace(call, op=bare)
        if args and entry is not None and entry.inplace and op not in ("detach_", "requires_grad_"):
            written = args[0]
        if isinstance(written, dom.Tensor):
            inplace_write(engine, call, written)
    if handler is None:
        return _by_table(call, entry, op) if entry is not None else dom.UNKNOWN
    result = _counted(call, handler(call))
    # What an in-place operator gives back is the tensor that it wrote to.
    if isinstance(result, dom.Tensor) and isinstance(written, dom.Tensor):
        return replace(result, view=written.view)
    return result


def _counted(call: LibraryCall, pieces: dom.Value) -> dom.Value:
    """The pieces of an axis: how many there are is a number of the example."""
    if not isinstance(pieces, dom.Seq) or not isinstance(pieces.size, dom.Dim):
        return pieces
    if call.op not in call.engine.table.curated["split"]:
        return pieces
    site = pieces.size.site or call.engine.site(call.node, dom.PIECES)
    return replace(pieces, size=replace(pieces.size, site=site))


def _by_table(call: LibraryCall, entry: Op, op: str) -> dom.Value:
    """The result of an operator that has no transfer function."""
    if entry.complex:
        return like(call, None, None, "complex")
    if entry.reads_data:
        t = call.tensor
        kind = dom.Array if entry.returns == "array" else dom.Data
        site = call.engine.site(call.node, f".{op}()" if call.method else f"{call.name}()")
        return kind(site, t.fixed, trace=t.trace)
    result = result_by_table(call, entry.returns)
    if entry.view and isinstance(result, dom.Tensor):
        return replace(result, view=call.tensor.view or op)
    return result


def _escape(engine: Engine, call: LibraryCall, op: str) -> dom.Value:
    t = call.args[0] if call.args else dom.UNKNOWN
    if isinstance(t, dom.Array) or not isinstance(t, dom.Tensor):
        return dom.Data(t.site, t.fixed) if isinstance(t, (dom.Array, dom.Data)) else dom.UNKNOWN
    if t.source == "made" and not t.axes:
        return dom.CONFIG
    if op == "item" and t.source == "weight" and not engine.context.tracing and not t.guessed:
        return dom.CONFIG  # a number already when the model is built
    site = engine.site(call.node, f".{op}()")
    fixed = t.fixed
    if op in ("numpy", "__array__"):
        return dom.Array(site, fixed, t.trace)
    if op == "tolist" and not fixed:
        _listed(engine, call.node, t)
    return dom.Data(site, fixed, False, t.trace)


def _listed(engine: Engine, node: ast.AST, t: dom.Tensor) -> None:
    """Measured: dynamo reads `t.tolist()` item by item, which fixes the axes of `t`, be the list used or not."""
    extents = t.dims if t.dims is not None else (shapes.extent_of(t, 0, engine.context.axes),)
    free = [d for d in extents if isinstance(d, dom.Dim)]
    mask = tuple(e for e in engine.context.exporters if e in engine.table.outcomes("read", "tolist"))
    if free and mask and not unexportable_calls.guarded(engine):
        fields: dict[str, Any] = {
            "sure": not t.guessed and any(d.sure for d in free),
            "doubt": "guess" if t.guessed else "axis",
        }
        engine.emit(observations.Escape, node, t.trace, exporters=mask, how=".tolist()", source="data", **fields)


def inplace_write(engine: Assigning, call: LibraryCall, target: dom.Value) -> None:
    """An in-place operator writes into `target`: state if that is the module's, else perhaps through a view."""
    assert isinstance(target, dom.Tensor)
    if target.source == "weight" and isinstance(call.node, ast.Call) and isinstance(call.node.func, ast.Attribute):
        inner = call.node.func.value
        while isinstance(inner, (ast.Subscript, ast.Attribute)) and not is_own(inner):
            inner = inner.value
        if isinstance(inner, ast.Attribute):
            anew = inner is call.node.func.value and call.op.rstrip("_") in _FILLING
            engine.state_write(engine.frames[-1], inner, target, augmented=True, anew=anew)
            return
    if isinstance(call.node, ast.Call) and isinstance(call.node.func, ast.Attribute):
        engine.written_in_place(target, call.node.func.value, call.node)


def _inspect(engine: Engine, call: LibraryCall, entry: Op | None) -> None:
    """Record a call where the operator or its arguments are worth a look."""
    if not engine.context.tracing:
        return
    op = call.op
    if engine.watched and not engine.watched.isdisjoint((call.name, f"torch.{op}")):
        engine.emit(observations.Call, call.node, op=call.name if call.name in engine.watched else f"torch.{op}")
    if op in _DROPOUTS and call.name.startswith("torch.nn.functional."):
        _dropout(call)
        return
    inspect = _INSPECTED.get(op)
    if inspect is not None:
        inspect(call)
    if op in _RANDOM:
        _drawn(engine, call.node, call.name)
    noted = sizes_as_numbers.operator(engine, call) or exporter_support.operator(engine, call, entry)
    if not noted and entry is not None:
        _lowered(call, entry)


def _dropout(call: LibraryCall) -> None:
    training, p = call.arg(2, "training"), call.arg(1, "p")
    off = isinstance(p, dom.Const) and p.literal in (0, 0.0)
    if not off and (training is None or (isinstance(training, dom.Const) and training.literal is True)):
        call.engine.emit(observations.DropoutCall, call.node, op=call.name)


def _attention(call: LibraryCall) -> None:
    if _drops(call):
        call.engine.emit(observations.DropoutCall, call.node, op=call.name)


def _batch_norm(call: LibraryCall) -> None:
    training, t = call.arg(5, "training"), call.tensor
    if not call.name.startswith("torch.nn.functional."):
        return
    # On weights (weight standardisation) the statistics are constants, and both exporters are right.
    if isinstance(training, dom.Const) and training.literal is True and t.source == "input":
        call.engine.emit(observations.BatchNormCall, call.node, t.trace, op=call.name)


def _squeeze(call: LibraryCall) -> None:
    engine, t = call.engine, call.tensor
    if call.arg(1, "dim") is not None or not call.args or t.source != "input":
        return
    sizes = [d for d in t.dims or () if isinstance(d, dom.Dim)]
    if (t.dims is None or sizes) and not takes_item(call.node, engine.frames[-1].statement_node):
        sure = any(d.sure for d in sizes) if t.dims is not None else engine.context.axes.declared is None
        engine.emit(observations.Squeeze, call.node, t.trace, op=call.name, about=t, sure=sure)


def _index_add(call: LibraryCall) -> None:
    index, source = call.arg(2, "index"), call.arg(3, "source")
    if isinstance(index, dom.Tensor) and index.distinct:
        return
    # What `where` and `nonzero` give along an axis mostly has each index once.
    sure = not (isinstance(index, dom.Tensor) and (index.ragged is not None or _from_a_list(index)))
    trace = call.tensor.trace
    fields: dict[str, Any] = {"sure": sure, "doubt": "guess", "op": call.name}
    call.engine.emit(observations.IndexAddCall, call.node, trace, about=source, **fields)


_INSPECTED: dict[str, Callable[[LibraryCall], None]] = {
    "scaled_dot_product_attention": _attention,
    "batch_norm": _batch_norm,
    "squeeze": _squeeze,
    "index_add": _index_add,
    "index_add_": _index_add,
}


def _lowered(call: LibraryCall, entry: Op) -> None:
    """Record a call where an exporter has no form of the operator, or none for these arguments."""
    engine, op = call.engine, call.op
    # What a condition alone asks for is no part of TorchScript's graph, and constants are folded.
    asking = [e for e in engine.context.exporters if e == "dynamo" or not engine.context.testing]
    refused = [e for e in asking if entry.lowers(e, engine.context.opset) is False]
    if "torchscript" in refused and call.constant():
        refused.remove("torchscript")
    detail = ""
    for condition in entry.unless:
        refuses = condition.exporter in engine.context.exporters and condition.outcome == "refused"
        if refuses and _holds(call, condition.when):
            refused.append(condition.exporter)
            detail = condition.when
    # In-place and random operators have rules of their own; a refused move to a device is no operator of the graph.
    # An exported model computes no loss.
    quiet = op.endswith(("_", "_loss")) or entry.random or entry.reads_data or op in _NO_OPERATORS
    if refused and not quiet:
        written = engine.table.outcomes("not loaded", op)
        outcomes = {exporter: written.get(exporter, Outcome.EXPORT_ERROR) for exporter in refused}
        since = entry.lowering.get("torchscript") or 0
        fields: dict[str, Any] = {"trace": call.tensor.trace, "detail": detail, "since": since}
        unexportable_calls.emit(engine, call.node, observations.Call, call.name, outcomes, **fields)


def _distribution(engine: Engine, name: str, node: ast.AST) -> dom.Value:
    """A distribution is known by its name; `sample` and `rsample` of one draw."""
    tail = name.rpartition(".")[2]
    if tail[:1].isupper():
        return dom.External(name)
    if tail in ("sample", "rsample", "sample_n"):
        _drawn(engine, node, name, meant=True)
        return dom.Tensor()
    return dom.Tensor() if tail in ("log_prob", "entropy", "cdf", "icdf") else dom.UNKNOWN


def _drops(call: LibraryCall) -> bool:
    """Whether attention is given a rate of dropout that the mode of the module has no say in."""
    probability = call.arg(4, "dropout_p")
    node = call.node
    if not isinstance(node, ast.Call) or probability is None:
        return False
    if isinstance(rate := dom.or_default(probability), dom.Const):
        return isinstance(rate.literal, float) and rate.literal > 0
    return isinstance(probability, dom.Config) and is_own(argument(node, "dropout_p", 4))


def _from_a_list(index: dom.Tensor) -> bool:
    """True for indices collected in a Python list, of which nobody knows how many there are."""
    return index.source == "made" and not (index.dims and isinstance(index.dims[0], (dom.Const, dom.Dim)))


def _drawn(engine: Engine, node: ast.AST, name: str, source: str = "torch", meant: bool = False) -> None:
    """A draw from a generator, which may be `meant`: an observation, unless only training reads what is drawn."""
    frame = engine.frames[-1]
    if engine.context.tracing and not (
        frame.unit is not None and for_training_only(frame.body.function, frame.statement_node)
    ):
        if unexportable_calls.stand_in(engine, node):
            return
        latent = meant or (name.rpartition(".")[2] in _NOISE and _is_latent(frame, node))
        latent = latent or any(f.unit is not None and _SPARES_DRAWS.search(f.unit.text) for f in engine.frames)
        engine.emit(observations.RandomDraw, node, op=name, source=source, latent=latent)
        asked = without_mode(engine.frames)
        if asked is not None:
            engine.emit(observations.DropoutCall, asked, op=asked.text)


def _is_latent(frame: Running, draw: ast.AST) -> bool:
    """True where a part of a model, or first of all a method of it, is fed noise alone: to sample is what it is for."""
    fed = fed_with(frame.body.function, frame.statement_node, draw)
    if fed is None or ast.unparse(fed[0].func).partition(".")[0] != "self":
        return False
    called = frame.eval(fed[0].func) if isinstance(fed[0].func, ast.Attribute) else dom.UNKNOWN
    return not isinstance(called, dom.Function) or fed[1] in fed[0].args[:1]


def _holds(call: LibraryCall, condition: str) -> bool:
    """Whether a condition of the operator table holds for sure: `name=literal`, or `name` given and true."""
    name, equals, wanted = condition.partition("=")
    value = call.kwargs.get(name)
    if not isinstance(value, dom.Const):
        return False
    return repr(value.literal) == wanted if equals else bool(value.literal)
