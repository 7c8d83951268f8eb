"""What calling a module of torch.nn returns: sizes through convolutions, pooling, recurrent layers and containers."""

import ast

from onnxlint.flow.lowering import attention_lengths, exporter_support, sizes_as_numbers
from onnxlint.flow.operators import spatial, unflattened_sizes
from onnxlint.flow.operators.register import HANDLERS
from onnxlint.flow.operators.transfer import Call
from onnxlint.flow.state import observations as obs
from onnxlint.flow.state.protocols import Lowering
from onnxlint.flow.tables import LAYER_ARGUMENTS, LAYER_OPERATORS
from onnxlint.flow.values import domain as dom
from onnxlint.flow.values import shapes
from onnxlint.flow.values.domain import replace
from onnxlint.flow.values.joins import element

_CONTAINERS = ("Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict")
CONTAINERS = frozenset(f"torch.nn.{name}" for name in _CONTAINERS)
HOOKS = ("register_forward_pre_hook", "register_forward_hook")

_LAST = {"Linear": 1, "LazyLinear": 0, "Bilinear": 2, "NonDynamicallyQuantizableLinear": 1}
_KEEP = ("ReLU", "GELU", "Dropout", "Identity")
_PARAMETERS = ("weight", "bias", "in_proj_weight", "in_proj_bias", "running_mean", "running_var")


def build(name: str, args: dom.Args, kwargs: dom.Kwargs) -> dom.Layer:
    """An instance of a torch.nn class."""
    if name not in CONTAINERS:
        return dom.Layer(name, (*enumerate(args), *sorted(kwargs.items())))
    first = args[0] if args else None
    if name != "torch.nn.Sequential":
        first = first.items if isinstance(first, dom.Layer) else first
        if isinstance(first, (dom.Unknown, dom.Config)):  # some, that nobody knows
            first = dom.Dict((), dom.UNKNOWN) if name.endswith("Dict") else dom.Seq(dom.UNKNOWN)
        items = first if isinstance(first, (dom.Tuple, dom.Seq, dom.Dict)) else dom.Tuple((), "list")
    else:
        alone = first if len(args) == 1 else None
        if isinstance(alone, (dom.Unknown, dom.Config)):  # one layer, or a dict of some
            alone = dom.Seq(dom.UNKNOWN)
        items = alone if isinstance(alone, (dom.Seq, dom.Dict)) else dom.Tuple(tuple(args), "list")
    return dom.Layer(name, (), items)


def attribute(layer: dom.Layer, name: str) -> dom.Value:
    """`layer.weight`, `layer.in_features`, …"""
    short = layer.name.rpartition(".")[2]
    if name in _PARAMETERS:
        dims: shapes.Dims | None = None
        if name == "weight" and short in ("Linear", "Embedding"):
            a, b = layer.arg(0, "in_features"), layer.arg(1, "out_features")
            if short == "Embedding":
                b, a = layer.arg(0, "num_embeddings"), layer.arg(1, "embedding_dim")
            dims = tuple(shapes.from_value(v or dom.CONFIG) for v in (b, a))
        return dom.Tensor(dims, None, "weight", "float")
    return dom.Const(False) if name == "training" else layer.arg(LAYER_ARGUMENTS.get(name, 99), name) or dom.CONFIG


def call(engine: Lowering, layer: dom.Layer, args: dom.Args, kwargs: dom.Kwargs, node: ast.AST) -> dom.Value:
    """`layer(*args)`, with the hooks around it."""
    if engine.context.tracing:
        exporter_support.layer(engine, layer, args, node)
    hooks = {name: hook for name, hook in layer.args if name in HOOKS}
    if not hooks:
        return _call(engine, layer, args, kwargs, node)
    bare = replace(layer, args=tuple(a for a in layer.args if a[0] not in HOOKS))
    before, after = (hooks.get(name) for name in HOOKS)
    if before is not None:
        changed = engine.apply(before, [bare, dom.Tuple(tuple(args))], {}, node)
        if isinstance(changed, (dom.Tuple, dom.Tensor)):
            args = list(changed.items) if isinstance(changed, dom.Tuple) else [changed]
    result = _call(engine, bare, args, kwargs, node)
    if after is not None:
        changed = engine.apply(after, [bare, dom.Tuple(tuple(args)), result], {}, node)
        result = result if dom.is_none(changed) or changed == dom.UNKNOWN else changed
    return result


def _call(engine: Lowering, layer: dom.Layer, args: dom.Args, kwargs: dom.Kwargs, node: ast.AST) -> dom.Value:
    short = layer.name.rpartition(".")[2]
    x: dom.Value = args[0] if args else next(iter(kwargs.values()), dom.UNKNOWN)
    if short == "Sequential":
        return _sequential(engine, layer, args, kwargs, node)
    if engine.context.tracing:
        sizes_as_numbers.layer(engine, layer, args, node)
        attention_lengths.called(engine, layer, args, kwargs, node)
        _steps(engine, layer, x, node)
        engine.use_all([v for _, v in layer.args if isinstance(v, (dom.Dim, dom.Tuple, dom.Seq))], short)
    engine.use_all(args, short)
    if isinstance(x, dom.Tensor) and x.source != "input" and any(_depends(a) for a in args[1:]):
        x = replace(x, source="input")
    if not isinstance(x, dom.Tensor):
        return dom.Tensor(trace=getattr(x, "trace", None)) if x == dom.UNKNOWN else x
    if x.parameter:
        x = replace(x, parameter="")
        args = [x, *args[1:]]
    if short in ("LSTM", "GRU", "RNN"):
        return _recurrent(engine, layer, args, node)
    if short in ("LSTMCell", "GRUCell", "RNNCell"):
        batch = x.dims[0] if x.dims else x.lead
        if batch is not None:
            _check_states(engine, args, 0, 2, batch)
        one = _with_last(x, layer.arg(1, "hidden_size"))
        return dom.Tuple((one, one)) if short == "LSTMCell" else one
    if short == "MultiheadAttention":
        return _multihead(layer, x, args, kwargs)
    made_at = x.made_at if short == "Embedding" else None  # a table looked up at literal positions: a literal length
    result = _shape(engine, layer, short, x, node)
    return replace(result, source=x.source if x.source == "input" else "weight", view=None, made_at=made_at)


def _sequential(engine: Lowering, layer: dom.Layer, args: dom.Args, kwargs: dom.Kwargs, node: ast.AST) -> dom.Value:
    result: dom.Value = args[0] if args else dom.UNKNOWN
    items = layer.items
    if isinstance(items, dom.Dict) and not items.items:  # some, that nobody knows
        items = dom.Seq(items.rest or dom.UNKNOWN)
    if isinstance(items, (dom.Tuple, dom.Dict)):
        for item in items.items if isinstance(items, dom.Tuple) else (item for _, item in items.items):
            result = engine.apply(item, [result], {}, node)
    elif isinstance(items, dom.Seq):
        result = engine.apply(items.item, [result], {}, node)
        if result == dom.UNKNOWN and isinstance(args[0], dom.Tensor):
            result = dom.Tensor(trace=args[0].trace)
        # How many there are is not known, so only what every item keeps is.
        kept = isinstance(items.item, dom.Layer) and items.item.name.rpartition(".")[2] in _KEEP
        if not kept and isinstance(result, dom.Tensor) and isinstance(args[0], dom.Tensor):
            result = replace(result, dims=None, lead=args[0].dims[0] if args[0].dims else args[0].lead)
    return result


def _depends(v: dom.Value) -> bool:
    if isinstance(v, dom.Tuple):
        return any(_depends(i) for i in v.items)
    return isinstance(v, dom.Tensor) and v.source == "input"


def _with_last(x: dom.Tensor, size: dom.Value | None) -> dom.Tensor:
    last = shapes.from_value(size or dom.CONFIG)
    return replace(x, dims=(*x.dims[:-1], last) if x.dims else None, lead=x.lead, kind="float", view=None)


def _multihead(layer: dom.Layer, x: dom.Tensor, args: dom.Args, kwargs: dom.Kwargs) -> dom.Value:
    """The output, and the weights of the attention: (batch, query, key), averaged over heads unless asked otherwise."""
    key = args[1] if len(args) > 1 else kwargs.get("key", x)
    each_head = kwargs.get("average_attn_weights")
    dims: shapes.Dims | None = None
    if each_head is None and x.dims is not None and len(x.dims) == 3 and isinstance(key, dom.Tensor) and key.dims:
        batch, length = (0, 1) if dom.is_true(layer.arg(8, "batch_first")) else (1, 0)
        dims = (x.dims[batch], x.dims[length], key.dims[length]) if len(key.dims) == 3 else None
    return dom.Tuple((replace(x, view=None), dom.Tensor(dims, None, x.source, "float", None, None, x.trace)))


def _recurrent(engine: Lowering, layer: dom.Layer, args: dom.Args, node: ast.AST) -> dom.Value:
    x = args[0]
    assert isinstance(x, dom.Tensor)
    double = layer.arg(6, "bidirectional")
    two = dom.is_true(double)
    width = shapes.from_value(layer.arg(1, "hidden_size") or dom.CONFIG)
    output = _with_last(x, shapes.fold((dom.Const(2), width)) if two else width if double is None else dom.CONFIG)
    batch_axis = 0 if dom.is_true(layer.arg(4, "batch_first")) else 1
    batch: dom.Extent = dom.CONFIG
    if x.dims is not None and len(x.dims) == 3:
        batch = x.dims[batch_axis]
    elif x.dims is None and batch_axis == 0:
        batch = shapes.extent_of(x, 0, engine.context.axes)
    _check_states(engine, args[:2], 1, 3, batch)
    layers_ = shapes.from_value(layer.arg(2, "num_layers") or dom.Const(1))
    count = shapes.fold((dom.Const(2), layers_)) if two else layers_ if double is None else dom.CONFIG
    dims = (count, batch, width) if x.dims is None or len(x.dims) == 3 else (count, width)
    state = dom.Tensor(dims, None, x.source, "float", None, None, x.trace)
    return dom.Tuple((output, dom.Tuple((state, state)) if layer.name.rpartition(".")[2] == "LSTM" else state))


def _steps(engine: Lowering, layer: dom.Layer, x: dom.Value, node: ast.AST) -> None:
    """The number of steps: dynamo specializes that of `nn.RNN`, and with the steps first that of the others."""
    short, time_first = layer.name.rpartition(".")[2], not dom.is_true(layer.arg(4, "batch_first"))
    if isinstance(x, dom.Tensor) and (short == "RNN" or (time_first and short in ("LSTM", "GRU"))):
        dim = sizes_as_numbers.length_along(engine, x, 0 if time_first else 1)
        form, more = ("recurrent" if short == "RNN" else "recurrent: time first"), {"time_first": time_first}
        sizes_as_numbers.size_use(engine, node, obs.RecurrentSize, form, f"nn.{short}", dim, name=short, **more)


def _check_states(engine: Lowering, args: dom.Args, axis: int, rank: int, batch: dom.Extent) -> None:
    """The states that a recurrent layer is given: none may have the batch of the example."""
    for state in args[1].items if len(args) > 1 and isinstance(args[1], dom.Tuple) else args[1:]:
        if isinstance(state, dom.Tensor) and state.dims is not None and len(state.dims) == rank:
            engine.check_fixed_batch(state, axis, batch)


def _shape(engine: Lowering, layer: dom.Layer, short: str, x: dom.Tensor, node: ast.AST) -> dom.Tensor:
    if short in _LAST:
        return _with_last(x, layer.arg(_LAST[short], "out_features"))
    if short in LAYER_OPERATORS:
        (op, *names), more = LAYER_OPERATORS[short], {"start_dim": dom.Const(1)} if short == "Flatten" else {}
        return _by_operator(engine, layer, op, " ".join(names), x, node, **more)
    if short.startswith(("Conv", "LazyConv")):
        return _convolution(engine, layer, short, x, node)
    if "Pool" in short:
        return _pooling(engine, layer, short, x, node)
    if short.endswith(("Pad1d", "Pad2d", "Pad3d")):
        return _padding(layer, short, x)
    if short == "Embedding":
        width = shapes.from_value(layer.arg(1, "embedding_dim") or dom.CONFIG)
        return replace(x, dims=(*x.dims, width) if x.dims is not None else None, kind="float")
    if short in ("CosineSimilarity", "PairwiseDistance"):
        axis = dom.as_int(layer.arg(0, "dim") or dom.Const(1)) if short == "CosineSimilarity" else -1
        return replace(x, dims=shapes.reduce(x, (axis,), False) if axis is not None else None, lead=None)
    if short == "Unflatten":
        axis, sizes = dom.as_int(layer.arg(0, "dim")), layer.arg(1, "unflattened_size")
        dims = shapes.unflatten(x, axis, sizes.items if isinstance(sizes, dom.Tuple) else None)
        return unflattened_sizes.lost(engine, replace(x, dims=dims), x, node)
    return x


def _by_operator(
    engine: Lowering, layer: dom.Layer, op: str, names: str, x: dom.Tensor, node: ast.AST, **more: dom.Value
) -> dom.Tensor:
    """The input with the dims that an operator gives for the arguments of a layer."""
    options = {name: v for i, name in enumerate(names.split()) if (v := layer.arg(i, name)) is not None}
    made = HANDLERS[op](Call(engine, op, layer.name, [x], {**more, **options}, node)) if op in HANDLERS else None
    return replace(x, dims=made.dims if isinstance(made, dom.Tensor) else None)


def _padding(layer: dom.Layer, short: str, x: dom.Tensor) -> dom.Tensor:
    amount, rank = layer.arg(0, "padding"), int(short[-2])
    amounts = dom.Tuple((amount,) * 2 * rank) if amount is not None and not isinstance(amount, dom.Tuple) else amount
    mode = dom.Const("circular" if short.startswith("Circular") else "constant")
    return unflattened_sizes.padded(replace(x, dims=spatial.pad(x.dims, amounts)), mode)


def _convolution(engine: Lowering, layer: dom.Layer, short: str, x: dom.Tensor, node: ast.AST) -> dom.Tensor:
    rank = int(short[-2]) if short[-1] == "d" and short[-2].isdecimal() else 2
    mode = layer.arg(8, "padding_mode")
    if isinstance(mode, dom.Const) and mode.literal != "zeros":
        x = unflattened_sizes.padded(x, mode)  # it is padded by an operator of its own
    if x.dims is not None and len(x.dims) == rank + 2:
        number = dom.as_int(layer.arg(0, "in_channels"))
        wanted = number if number is not None else "a fixed number of"
        engine.check_fixed_axis(x, 1, f"{short} takes {wanted} channels")
    channels = shapes.from_value(layer.arg(1, "out_channels") or dom.CONFIG)
    kernel = [dom.CONFIG if n is None else dom.Const(n) for n in shapes.each(layer.arg(2, "kernel_size"), rank, None)]
    op, names = f"conv{rank}d", "_ _ _ stride padding dilation"
    if "Transpose" in short:
        op, names = f"conv_transpose{rank}d", "_ _ _ stride padding output_padding _ _ dilation"
    weight = dom.Tensor((channels, channels, *kernel))
    return replace(_by_operator(engine, layer, op, names, x, node, weight=weight), kind="float")


def _pooling(engine: Lowering, layer: dom.Layer, short: str, x: dom.Tensor, node: ast.AST) -> dom.Tensor:
    if x.dims is None or not short[-2].isdecimal():
        return x
    if short.startswith("Adaptive"):
        return _by_operator(engine, layer, f"adaptive_avg_pool{short[-2:]}", "output_size", x, node)
    if short.startswith("Avg"):
        return _by_operator(engine, layer, f"avg_pool{short[-2:]}", "kernel_size stride padding ceil_mode", x, node)
    names = "kernel_size stride padding dilation _ ceil_mode"
    return _by_operator(engine, layer, f"max_pool{short[-2:]}", names, x, node)


def causal_mask(size: dom.Value | None) -> dom.Tensor:
    """What `nn.Transformer.generate_square_subsequent_mask(size)` gives."""
    length = shapes.from_value(size or dom.CONFIG)
    return dom.Tensor((length, length), None, "sizes" if isinstance(length, dom.Dim) else "made", "float")


def iterate(layer: dom.Layer) -> dom.Value:
    """What `for item in layer` gives: the item of a ModuleList, the key of a ModuleDict."""
    if isinstance(layer.items, (dom.Tuple, dom.Seq)):
        return element(layer.items)
    return dom.CONFIG if isinstance(layer.items, dom.Dict) else dom.UNKNOWN
