"""Calls of torch's operators, as functions and as methods of tensors: what they give, and what is worth a look."""

import ast
import re
from collections.abc import Callable, Mapping
from typing import Any

from onnxlint.base.records import Outcome
from onnxlint.flow.exports.train_modes import without_mode
from onnxlint.flow.lowering import exporter_support, sizes_as_numbers, unexportable_calls
from onnxlint.flow.operators.register import HANDLERS
from onnxlint.flow.operators.transfer import Call, like, result_by_table
from onnxlint.flow.state import observations
from onnxlint.flow.state.liveness import fed_with, for_training_only, root
from onnxlint.flow.state.protocols import Assigning, Lowering, Running, Writing
from onnxlint.flow.tables import NAMES
from onnxlint.flow.tables.operator_table import Op
from onnxlint.flow.values import domain as dom
from onnxlint.flow.values import shapes
from onnxlint.flow.values.domain import replace
from onnxlint.flow.values.joins import fed
from onnxlint.flow.values.node_places import argument, is_own
from onnxlint.flow.values.size_forms import gives_back, takes_item

_NOISE = ("randn", "randn_like", "normal", "normal_")  # what a generator begins from
_SPARES_DRAWS = re.compile(r"\bif (?:not )?(?:deterministic|greedy)\b")  # who calls it says whether to draw
_RANDOM = frozenset(NAMES["random"])
_FILLING = frozenset(("normal", "uniform", "zero", "fill", "copy", "bernoulli", "random", "exponential"))
_DROPOUTS = frozenset(["dropout", "alpha_dropout", "feature_alpha_dropout", "dropout1d", "dropout2d", "dropout3d"])
_NO_OPERATORS = frozenset(NAMES["quiet"])
_KEEPS_SIZES = frozenset(NAMES["keeps-sizes"])
_ESCAPES = frozenset(("item", "tolist", "numpy", "__int__", "__float__", "__bool__", "__index__", "__array__"))


class OperatorCall(Call):
    """A call that may write into its tensor, and that exporters may refuse."""

    __slots__ = ()
    engine: Writing


def operator(
    engine: Writing, op: str, name: str, args: dom.Args, kwargs: dom.Kwargs, node: ast.AST, method: bool
) -> dom.Value:
    """A call of an operator, as a function or as a method of a tensor."""
    if op == "where" and len(args) == 1 and not kwargs:
        op = "where1"
    entry = engine.table.get(name)
    call = OperatorCall(engine, op, name, args, kwargs, node, method=method)
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


def _counted(call: Call, pieces: dom.Value) -> dom.Value:
    """The pieces of an axis: how many there are is a number of the example."""
    if not isinstance(pieces, dom.Seq) or not isinstance(pieces.size, dom.Dim):
        return pieces
    if call.op not in call.engine.table.curated["split"]:
        return pieces
    site = pieces.size.site or call.engine.site(call.node, dom.PIECES)
    return replace(pieces, size=replace(pieces.size, site=site))


def _by_table(call: Call, entry: Op, op: str) -> dom.Value:
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
        return replace(result, view=op if call.tensor.view in (None, "index", "select", "row") else call.tensor.view)
    return result


def _escape(engine: Lowering, call: Call, op: str) -> dom.Value:
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


def _listed(engine: Lowering, node: ast.AST, t: dom.Tensor) -> None:
    """Measured: dynamo reads `t.tolist()` item by item, which fixes the axes of `t`, be the list used or not."""
    extents = t.dims if t.dims is not None else (shapes.extent_of(t, 0, engine.context.axes),)
    free = [d for d in extents if isinstance(d, dom.Dim)]
    mask = tuple(e for e in engine.context.exporters if e in engine.table.outcomes("read", "tolist"))
    if free and mask and not unexportable_calls.guarded(engine):
        sure = not t.guessed and any(d.sure for d in free)
        fields: dict[str, Any] = {"sure": sure, "doubt": "guess" if t.guessed else "axis"}
        engine.emit(observations.Escape, node, t.trace, exporters=mask, how=".tolist()", source="data", **fields)


def inplace_write(engine: Assigning, call: Call, target: dom.Tensor) -> None:
    """An in-place operator writes into `target`: state if that is the module's, else perhaps through a view."""
    if not isinstance(call.node, ast.Call) or not isinstance(call.node.func, ast.Attribute):
        return
    if target.source == "weight":
        inner = call.node.func.value
        while isinstance(inner, (ast.Subscript, ast.Attribute)) and not is_own(inner):
            inner = inner.value
        if isinstance(inner, ast.Attribute):
            anew = inner is call.node.func.value and call.op.rstrip("_") in _FILLING
            engine.state_write(engine.frames[-1], inner, target, augmented=True, anew=anew)
            return
    engine.written_in_place(target, call.node.func.value, call.node)
    names = engine.frames[-1].scope.names
    name = root(call.node.func.value)
    base = names.get(name) if name is not None else None
    if isinstance(base, dom.Tensor):  # `y[0].copy_(x)`: y depends on the inputs by now
        names[str(name)] = fed(base, (*call.args[1:], *call.kwargs.values()))


def _inspect(engine: Lowering, call: OperatorCall, entry: Op | None) -> None:
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
        refusing = (e for e in engine.context.exporters if entry and entry.lowers(e, engine.context.opset) is False)
        drawn(engine, call.node, call.name, outcomes=dict.fromkeys(refusing, Outcome.EXPORT_ERROR))
    noted = sizes_as_numbers.operator(engine, call) or exporter_support.operator(engine, call, entry)
    if not noted and entry is not None:
        _lowered(call, entry)


def _dropout(call: Call) -> None:
    training, p = call.arg(2, "training"), call.arg(1, "p")
    off = isinstance(p, dom.Const) and p.literal in (0, 0.0)
    if not off and (training is None or (isinstance(training, dom.Const) and training.literal is True)):
        call.engine.emit(observations.DropoutCall, call.node, op=call.name)


def _attention(call: Call) -> None:
    if _drops(call):
        call.engine.emit(observations.DropoutCall, call.node, op=call.name)


def _batch_norm(call: Call) -> None:
    training, t = call.arg(5, "training"), call.tensor
    if not call.name.startswith("torch.nn.functional."):
        return
    # On weights (weight standardisation) the statistics are constants, and both exporters are right.
    if isinstance(training, dom.Const) and training.literal is True and t.source == "input":
        call.engine.emit(observations.BatchNormCall, call.node, t.trace, op=call.name)


def _squeeze(call: Call) -> None:
    engine, t, frame = call.engine, call.tensor, call.engine.frames[-1]
    if call.arg(1, "dim") is not None or not call.args or t.source != "input":
        return
    sizes = [d for d in t.dims or () if isinstance(d, dom.Dim)]
    if (t.dims is None or sizes) and not takes_item(call.node, frame.statement_node):
        sure = any(d.sure for d in sizes) if t.dims is not None else engine.context.axes.declared is None
        ends = engine.context.outermost and len(engine.frames) == 1  # with it, no layer comes to read the result
        used = not (ends and gives_back(call.node, frame.statement_node, frame.body.function))
        fields: dict[str, Any] = {"sure": sure and used, "doubt": "axis" if used else "guess", "op": call.name}
        engine.emit(observations.Squeeze, call.node, t.trace, about=t, **fields)


def _index_add(call: Call) -> None:
    index, source = call.arg(2, "index"), call.arg(3, "source")
    if isinstance(index, dom.Tensor) and index.distinct:
        return
    # What `where` and `nonzero` give along an axis mostly has each index once, and what a Python list collected may.
    counted = isinstance(index, dom.Tensor) and index.dims and isinstance(index.dims[0], (dom.Const, dom.Dim))
    sure = not isinstance(index, dom.Tensor) or (index.ragged is None and (index.source != "made" or bool(counted)))
    trace = call.tensor.trace
    fields: dict[str, Any] = {"sure": sure, "doubt": "guess", "op": call.name}
    call.engine.emit(observations.IndexAddCall, call.node, trace, about=source, **fields)


_INSPECTED: dict[str, Callable[[Call], None]] = {
    "scaled_dot_product_attention": _attention,
    "batch_norm": _batch_norm,
    "squeeze": _squeeze,
    **dict.fromkeys(("index_add", "index_add_"), _index_add),
}


def _lowered(call: OperatorCall, entry: Op) -> None:
    """Record a call where an exporter has no form of the operator, or none for these arguments."""
    engine, op = call.engine, call.op
    # What a condition alone asks for is no part of TorchScript's graph, constants are folded, and of complex numbers
    # that is told where they are made.
    asking = [e for e in engine.context.exporters if e == "dynamo" or not engine.context.testing]
    refused = [e for e in asking if entry.lowers(e, engine.context.opset) is False]
    told = call.tensor.kind == "complex" and not engine.table.outcomes("not loaded", op)
    if "torchscript" in refused and (told or call.constant()):
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
    quiet |= bool(call.args) and dom.is_none(call.args[0])  # PyTorch itself raises: no model comes through here
    if refused and not quiet:
        written = engine.table.outcomes("not loaded", op)
        outcomes = {exporter: written.get(exporter, Outcome.EXPORT_ERROR) for exporter in refused}
        since = entry.lowering.get("torchscript") or 0
        fields: dict[str, Any] = {"trace": call.tensor.trace, "detail": detail, "since": since}
        unexportable_calls.emit(engine, call.node, observations.Call, call.name, outcomes, **fields)


def _drops(call: Call) -> bool:
    """Whether attention is given a rate of dropout that the mode of the module has no say in."""
    probability = call.arg(4, "dropout_p")
    node = call.node
    if not isinstance(node, ast.Call) or probability is None:
        return False
    if isinstance(rate := dom.or_default(probability), dom.Const):
        return isinstance(rate.literal, float) and rate.literal > 0
    return isinstance(probability, dom.Config) and is_own(argument(node, "dropout_p", 4))


def drawn(
    engine: Lowering,
    node: ast.AST,
    name: str,
    source: str = "torch",
    meant: bool = False,
    outcomes: Mapping[str, Outcome] | None = None,
) -> None:
    """A draw from a generator, which may be `meant`: an observation, unless only training reads it, or it is seeded."""
    frame = engine.frames[-1]
    seeded = source == "python" and frame.unit is not None and "random.seed(" in frame.unit.text
    spared = seeded or (frame.unit is not None and for_training_only(frame.body.function, frame.statement_node, node))
    if engine.context.tracing and not spared:
        if unexportable_calls.stand_in(engine, node):
            return
        latent = meant or (name.rpartition(".")[2] in _NOISE and _is_latent(frame, node))
        latent = latent or any(f.unit is not None and _SPARES_DRAWS.search(f.unit.text) for f in engine.frames)
        engine.emit(observations.RandomDraw, node, op=name, source=source, latent=latent, outcomes=outcomes or {})
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


def _holds(call: Call, condition: str) -> bool:
    """Whether a condition of the operator table holds for sure: `name=literal`, or `name` given and true."""
    name, equals, wanted = condition.partition("=")
    value = call.kwargs.get(name)
    if not isinstance(value, dom.Const):
        return False
    return repr(value.literal) == wanted if equals else bool(value.literal)
