"""Calls of library functions: torch's operators and classes, numpy, math, einops."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from onnxlint.flow import einops, exports, facts, hazards, layers, lowering, pitfalls, shapes, special
from onnxlint.flow.domain import (
    CONFIG,
    UNKNOWN,
    Array,
    Config,
    Const,
    Data,
    Dict,
    Dim,
    External,
    Instance,
    Partial,
    Seq,
    Tensor,
    Truth,
    Tuple,
    Value,
)
from onnxlint.flow.forms import takes_item
from onnxlint.flow.joins import element, join_all
from onnxlint.flow.liveness import for_training_only
from onnxlint.flow.modes import without_mode
from onnxlint.flow.operators import HANDLERS
from onnxlint.flow.special import DECORATED
from onnxlint.flow.transfer import Call, like, numpy_result, result_by_table

if TYPE_CHECKING:
    from onnxlint.flow.interpret import Interpreter

from onnxlint.flow.python import BUILTINS, TRUTHS, Kwargs, frozen, make_dict

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


def library(engine: Interpreter, name: str, args: list[Value], kwargs: Kwargs, node: ast.AST) -> Value:
    """A call of something that is not of the project."""
    if name == DECORATED:
        here = engine.frames[-1].symbol
        # What the wrapper made a number of on the way in, the function computes with.
        given = (v for v in (*args, *kwargs.values()) if isinstance(v, (Dim, Data)) and v.site is not None)
        engine.use_all([v for v in given if v.site is not None and v.site.place.symbol == here], "an argument")
        return engine.decorated[-1] if engine.decorated else UNKNOWN
    if engine.tracing:
        hazards.library(engine, name, args, kwargs, node)
    if name.startswith("builtins."):
        handler = BUILTINS.get(name[9:])
        return handler(engine, args, kwargs, node) if handler is not None else UNKNOWN
    if name in TRUTHS:
        return Truth(TRUTHS[name])
    if name.startswith("torch."):
        return torch_call(engine, name, args, kwargs, node)
    if name in engine.table.curated["clock"]:
        return Data(engine.site(node, f"{name}()"), True)
    root = name.partition(".")[0]
    if root == "math":
        return frozen(engine, args, node, f"{name}()")
    if root == "numpy":
        if name.startswith("numpy.random.") and not name.endswith(("Generator", "default_rng", "seed", "RandomState")):
            _drawn(engine, node, name, "python-random")
            return CONFIG
        return numpy_result(Call(engine, name.rpartition(".")[2], name, args, kwargs, node))
    if root == "random" and name.count(".") == 1 and not name.endswith((".seed", ".Random")):
        _drawn(engine, node, name, "python-random")
        return args[0] if name == "random.choice" and args and isinstance(args[0], Tensor) else CONFIG
    if name in ("functools.partial",) and args:
        return Partial(args[0], tuple(args[1:]), tuple(sorted(kwargs.items())))
    if name in ("dataclasses.field", "attrs.field", "attr.ib"):
        made = kwargs.get("default_factory") or kwargs.get("factory")
        return engine.apply(made, [], {}, node) if made is not None else kwargs.get("default", UNKNOWN)
    if name in ("copy.deepcopy", "copy.copy", "typing.cast"):
        return args[-1] if args else UNKNOWN
    if name == "collections.deque":
        return BUILTINS["list"](engine, args[:1], {}, node)
    if name == "collections.OrderedDict":
        return make_dict(engine, args, kwargs, node)
    if name.startswith("einops.") or root == "einops":
        engine.use_all([v for v in kwargs.values() if isinstance(v, (Dim, Data))], name)
        return einops.call(name, args, kwargs)
    if name in ("functools.reduce",) and len(args) >= 2:
        first = element(args[1]) if isinstance(args[1], (Tuple, Seq)) else UNKNOWN
        return engine.apply(args[0], [args[2] if len(args) > 2 else first, first], {}, node)
    if root == "operator" and len(args) == 2:
        return special.operator_function(engine, name, args, node)
    if name == "collections.defaultdict":
        made = args[0] if args else UNKNOWN
        return Dict((), Tuple((), "list") if made == External("builtins.list") else None)
    if name == "dataclasses.replace" and args and isinstance(args[0], Instance):
        return special.replaced(args[0], kwargs)
    if name in ("itertools.chain", "itertools.product", "itertools.pairwise", "itertools.zip_longest"):
        return Seq(join_all([element(a) for a in args if isinstance(a, (Tuple, Seq))]) or UNKNOWN)
    return UNKNOWN


def torch_call(engine: Interpreter, name: str, args: list[Value], kwargs: Kwargs, node: ast.AST) -> Value:
    """A call of a function or class of torch."""
    if name in exports.APIS:
        return engine.export_call(name, args, kwargs, node)
    if name.startswith("torch.nn.") and name.rpartition(".")[2][:1].isupper():
        short = name.rpartition(".")[2]
        if short == "Parameter":
            given = args[0] if args else UNKNOWN
            return (
                replace(given, source="weight", made_at=None) if isinstance(given, Tensor) else Tensor(source="weight")
            )
        if engine.tracing and "Dropout" in short:
            # A module made in forward never hears of eval().
            engine.emit(facts.OpCall, node, op=name, hazard="dropout")
        if name.count(".") > 2 and ".modules." in name:
            name = f"torch.nn.{short}"
        tracked = kwargs.get("track_running_stats")
        if short.startswith(("BatchNorm", "SyncBatchNorm")) and isinstance(tracked, Const) and tracked.literal is False:
            engine.emit(facts.OpCall, node, op=name, hazard="batch-norm", always=True)
        return layers.build(name, args, kwargs)
    if name == "torch.export.export":
        exports.record_program(engine, args, kwargs, node)
        return External("torch.export.ExportedProgram")
    if name in ("torch.Size",):
        return args[0] if args else Tuple(())
    if name.startswith("torch.distributions."):
        return _distribution(engine, name, node)
    layer = hazards.hooked(name, args)
    if layer is not None:
        return layer
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
        if name in engine.table.curated["check"] and engine.tracing:
            pitfalls.checked(engine, name, args, node)
        if name == "torch.utils.checkpoint.checkpoint" and args:
            return engine.apply(args[0], args[1:], {}, node)
        return CONFIG
    if name in ("torch.jit.script", "torch.jit.trace", "torch.compile"):
        hazards.compiled_part(engine, name, args, node)
        if name == "torch.compile" and args and isinstance(args[0], Instance):
            return replace(args[0], wrapping="compile")
        return args[0] if args else CONFIG
    if name in (
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
    engine: Interpreter, op: str, name: str, args: list[Value], kwargs: Kwargs, node: ast.AST, method: bool
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
    writes = False
    if bare != op:
        call = replace(call, op=bare)
        writes = entry is not None and entry.inplace and op not in ("detach_", "requires_grad_")
        if writes and isinstance(args[0] if args else None, Tensor):
            inplace_write(engine, call, args[0])
    if handler is not None:
        result = handler(call)
        # What an in-place operator gives back is the tensor that it wrote to.
        written = args[0] if writes else None
        if isinstance(result, Tensor) and isinstance(written, Tensor):
            return replace(result, view=written.view)
        return result
    assert entry is not None or method
    if entry is None:
        return UNKNOWN
    if entry.complex:
        return like(call, None, None, "complex")
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
    if op == "item" and t.source == "weight" and not engine.tracing and not t.guessed:
        return CONFIG  # a number already when the model is built
    site = engine.site(call.node, f".{op}()")
    fixed = t.source != "input"
    if op in ("numpy", "__array__"):
        return Array(site, fixed, t.trace)
    if op == "tolist" and not fixed:
        _listed(engine, call.node, t)
    return Data(site, fixed, False, t.trace)


def _listed(engine: Interpreter, node: ast.AST, t: Tensor) -> None:
    """Measured: dynamo reads `t.tolist()` item by item, which fixes the axes of `t`, be the list used or not."""
    extents = t.dims if t.dims is not None else (shapes.extent_of(t, 0, engine.axes),)
    free = [d for d in extents if isinstance(d, Dim)]
    mask = tuple(e for e in engine.exporters if e in engine.table.outcomes("read", "tolist"))
    if free and mask and not hazards.guarded(engine):
        sure = not t.guessed and any(d.sure for d in free)
        engine.emit(facts.Escape, node, t.trace, sure=sure, exporters=mask, how=".tolist()", source="data")


def inplace_write(engine: Interpreter, call: Call, target: Value) -> None:
    """An in-place operator writes into `target`: state if that is the module's, else perhaps through a view."""
    assert isinstance(target, Tensor)
    if target.source == "weight" and isinstance(call.node, ast.Call) and isinstance(call.node.func, ast.Attribute):
        inner = call.node.func.value
        while isinstance(inner, (ast.Subscript, ast.Attribute)) and not (
            isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name) and inner.value.id == "self"
        ):
            inner = inner.value
        if isinstance(inner, ast.Attribute):
            engine.state_write(engine.frames[-1], inner, target, augmented=True)
            return
    if isinstance(call.node, ast.Call) and isinstance(call.node.func, ast.Attribute):
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
    if op == "scaled_dot_product_attention" and _drops(call):
        engine.emit(facts.OpCall, call.node, op=call.name, hazard="dropout")
    if op in ("batch_norm", "instance_norm") and call.name.startswith("torch.nn.functional."):
        training = call.arg(5, "training") if op == "batch_norm" else None
        # On weights (weight standardisation) the statistics are constants, and both exporters are right.
        if isinstance(training, Const) and training.literal is True and call.tensor.source == "input":
            engine.emit(facts.OpCall, call.node, trace, op=call.name, hazard="batch-norm")
    if op == "squeeze" and call.arg(1, "dim") is None and isinstance(call.args[0] if call.args else None, Tensor):
        t = call.tensor
        dynamic = t.dims is None or any(isinstance(d, Dim) for d in t.dims)
        if t.source == "input" and dynamic and not takes_item(call.node, engine.frames[-1].statement_node):
            known = [d for d in t.dims or () if isinstance(d, Dim)]
            engine.emit(
                facts.OpCall,
                call.node,
                trace,
                op=call.name,
                about=t,
                hazard="squeeze",
                sure=any(d.sure for d in known) if t.dims is not None else engine.axes.declared is None,
            )
    if op in ("index_add", "index_add_"):
        index = call.arg(2, "index")
        # What `where` and `nonzero` give along an axis mostly has each index once.
        sure = not (isinstance(index, Tensor) and (index.ragged is not None or _from_a_list(index)))
        source = call.arg(3, "source")
        if not (isinstance(index, Tensor) and index.distinct):
            engine.emit(facts.OpCall, call.node, trace, sure=sure, about=source, op=call.name, hazard="index-add")
    if op in _RANDOM:
        _drawn(engine, call.node, call.name)
    if pitfalls.operator(engine, call):
        return
    if lowering.operator(engine, call, entry if isinstance(entry, Op) else None):
        return
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
        # An exported model computes no loss.
        quiet = op.endswith(("_", "_loss")) or entry.random or entry.reads_data or op in _NO_OPERATORS
        if refused and not quiet:
            engine.emit(
                facts.OpCall,
                call.node,
                trace,
                op=call.name,
                hazard="unsupported",
                refused_by=tuple(dict.fromkeys(refused)),
                detail=detail,
                since=entry.lowering.get("torchscript") or 0,
                exporters=tuple(dict.fromkeys(refused)),
            )


def _distribution(engine: Interpreter, name: str, node: ast.AST) -> Value:
    """A distribution is known by its name; `sample` and `rsample` of one draw."""
    tail = name.rpartition(".")[2]
    if tail[:1].isupper():
        return External(name)
    if tail in ("sample", "rsample", "sample_n"):
        _drawn(engine, node, name)
        return Tensor()
    return Tensor() if tail in ("log_prob", "entropy", "cdf", "icdf") else UNKNOWN


def _drops(call: Call) -> bool:
    """Whether attention is given a rate of dropout that the mode of the module has no say in."""
    given = call.arg(4, "dropout_p")
    node = call.node
    if not isinstance(node, ast.Call) or given is None:
        return False
    written = next(
        (k.value for k in node.keywords if k.arg == "dropout_p"), node.args[4] if len(node.args) > 4 else None
    )
    if isinstance(given, Const):
        return isinstance(given.literal, float) and given.literal > 0
    own = isinstance(written, ast.Attribute) and isinstance(written.value, ast.Name) and written.value.id == "self"
    return isinstance(given, Config) and own


def _from_a_list(index: Tensor) -> bool:
    """True for indices collected in a Python list, of which nobody knows how many there are."""
    return index.source == "made" and not (index.dims and isinstance(index.dims[0], (Const, Dim)))


def _drawn(engine: Interpreter, node: ast.AST, name: str, hazard: str = "") -> None:
    """A draw from a generator: a fact, unless only training reads what is drawn."""
    frame = engine.frames[-1]
    if engine.tracing and not (frame.unit is not None and for_training_only(frame.body.function, frame.statement_node)):
        engine.emit(facts.OpCall, node, op=name, random=True, hazard=hazard)
        asked = without_mode(engine.frames)
        if asked is not None:
            engine.emit(facts.OpCall, asked, op=asked.text, hazard="dropout")


def _holds(call: Call, condition: str) -> bool:
    """Whether a condition of the operator table holds for sure: `name=literal`, or `name` given and true."""
    name, equals, wanted = condition.partition("=")
    given = call.kwargs.get(name)
    if not isinstance(given, Const):
        return False
    return repr(given.literal) == wanted if equals else bool(given.literal)
