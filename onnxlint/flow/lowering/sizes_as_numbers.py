"""Dynamic sizes where an operator, or Python, wants a number: what the arguments of a call tell."""

import ast
from collections.abc import Sequence
from typing import Any

from onnxlint.base.records import Outcome
from onnxlint.flow.lowering.unexportable_calls import Form, emit
from onnxlint.flow.operators.transfer import Call
from onnxlint.flow.state import observations as obs
from onnxlint.flow.state.protocols import InContext, Lowering
from onnxlint.flow.values import domain as dom
from onnxlint.flow.values.domain import replace
from onnxlint.flow.values.node_places import argument
from onnxlint.flow.values.shapes import CLIP, extent_of

_OF_CHANNELS = ("normalized_shape", "num_groups")  # an axis that may be dynamic is mostly one of channels here
_FITTING = frozenset(("view", "reshape", "unflatten", "unfold", "expand"))  # they fail where a size does not fit
_TENSOR, _SYMBOL = dom.External("torch.Tensor"), dom.External("torch.SymInt")
# Dynamo keeps the symbol through these, and loses it in an `int()` around them.
_KEEPS_SYMBOLS = frozenset({"math.ceil()", "math.floor()", "float()", "len()"})
# What stays more than zero in these, and what they round up.
_KEEPS_SIGN = frozenset({"float()", "len()", "min()", "max()", "math.log1p()", "math.sqrt()", "math.exp()"})


def operator(engine: Lowering, call: Call) -> bool:
    """Look at an operator in traced code; True where the rule for it says all there is to say."""
    op = call.op
    if op in _FITTING or sum(t.source == "input" for t in call.tensors()) > 1:
        engine.frames[-1].attempt(call.node)
    if op in engine.table.curated["split"]:
        _split(engine, call)
    elif op == "squeeze":
        _squeeze(engine, call)
    elif op.startswith("adaptive_") and op[-1:] == "d":
        adaptive(engine, call.tensor, op, call.arg(1, "output_size"), call.node)
    elif op in ("interpolate", "upsample"):
        _scale(engine, call)
    elif op == "one_hot" and dom.as_int(call.arg(1, "num_classes") or dom.Const(-1)) == -1:
        if call.tensor.source == "input" and not call.tensor.guessed:
            emit(engine, call.node, obs.DataSize, op, "data-size")
    elif op == "unfold" and call.method:
        _window(engine, call, along(engine, call.tensor, dom.as_int(call.arg(1, "dimension") or dom.Const(None))))
    elif op == "fold":
        _window(engine, call, _symbol(call.arg(1, "output_size")))
    elif op == "as_strided":
        _strides(engine, call)
    elif op == "repeat_interleave":
        _interleave(engine, call)
    _flags(engine, call)
    if op not in engine.table.named:
        return False
    _attributes(engine, call)
    return _factory(engine, call)


def _scale(engine: Lowering, call: Call) -> None:
    factor = call.arg(2, "scale_factor")
    if not dom.is_true(call.kwargs.get("recompute_scale_factor")):
        size_use(engine, call.node, obs.SizeArgument, "scale", call.op, _symbol(factor))
    scaled = call.arg(1, "size") in (None, dom.NONE) and factor not in (None, dom.NONE)
    if scaled and call.arg(3, "mode") == dom.Const("area"):  # a pooling to a size that is computed
        emit(engine, call.node, obs.Call, call.name, "scale: area", call.op, detail="mode='area'")


def layer(engine: Lowering, called: dom.Layer, args: Sequence[dom.Value], node: ast.AST) -> None:
    """Look at the call of a torch.nn module in traced code."""
    short = called.name.rpartition(".")[2]
    x = args[0] if args else None
    if not isinstance(x, dom.Tensor):
        return
    if short.startswith("Adaptive") and short[-1:] == "d":
        adaptive(engine, x, f"adaptive_{short[8:11].lower()}_pool{short[-2:]}", called.arg(0, "output_size"), node)
    elif short == "Fold":
        size_use(engine, node, obs.SizeArgument, "window", "fold", _symbol(called.arg(0, "output_size")))


def adaptive(engine: Lowering, t: dom.Tensor, op: str, size: dom.Value | None, node: ast.AST) -> None:
    """Pooling to a grid of fixed size."""
    rank = int(op[-2]) if op[-2:-1].isdecimal() else 0
    if not rank or size is None or dom.is_none(size):
        return
    cells = size.items if isinstance(size, dom.Tuple) and len(size.items) == rank else (size,) * rank
    if any(map(dom.is_none, cells)):  # an axis stays as it is: by its size, which is no constant where any is dynamic
        dims = filter(None, (along(engine, t, axis) for axis in range(-rank - 2, 0)))
        size_use(engine, node, obs.PooledSize, "adaptive: as it is", op, next(dims, None), unchanged=True)
    for i, wanted in enumerate(cells):
        number, dim = dom.as_int(wanted), along(engine, t, i - rank)
        if number is None or number < 2:
            continue
        if dim is not None:
            size_use(engine, node, obs.PooledSize, "adaptive", op, dim)
            return
        fixed = dom.as_int(t.dims[i - rank]) if t.dims is not None and len(t.dims) >= rank else None
        if fixed is not None and fixed % number and t.source == "input":
            emit(engine, node, obs.PooledSize, op, "adaptive: not a factor", size=fixed, cells=number)
            return


def negated_division(engine: Lowering, node: ast.BinOp, left: dom.Value) -> None:
    """`-n // k`: Python rounds down, an ONNX division of integers rounds to zero."""
    negated = isinstance(node.left, ast.UnaryOp) and isinstance(node.left.op, ast.USub)
    if negated and isinstance(left, dom.Dim) and left.site is None:
        size_use(engine, node, obs.SizeDivision, "negative-division", "//", left)


def counted(engine: Lowering, kind: type[obs.SizeUse], form: str, name: str, args: dom.Args, node: ast.AST) -> None:
    """A function takes a size for a number: `divmod(n, k)`, `torch._check(n <= 8)`."""
    size_use(engine, node, kind, form, name, next((a for a in args if isinstance(a, dom.Dim) and a.site is None), None))


def repeated(engine: Lowering, dim: dom.Dim, node: ast.AST, first: bool) -> None:
    """`[x] * n`: a list has a length. It is the `first` operand or the second, and looks like one."""
    side = (node.left if first else node.right) if isinstance(node, ast.BinOp) else None
    if dim.site is None and isinstance(side, (ast.List, ast.Tuple, ast.ListComp, ast.Name)):
        size_use(engine, node, obs.SizeRepetition, "repetition" if dim.plain else "repetition: computed", "*", dim)


def pinned(engine: Lowering, node: ast.expr, dim: dom.Dim, keyword: str, mask: tuple[str, ...]) -> None:
    """`assert n == 8` on an axis that was declared dynamic."""
    if "dynamo" in mask:
        size_use(engine, node, obs.SizeCheck, "pinned", "assert" if keyword == "assert" else "check", dim, pins=True)


def looked_up(engine: Lowering, owner: dom.Value, key: dom.Value, node: ast.AST, how: str = "[]") -> None:
    """A Python container is asked for the item of `key`."""
    if not engine.context.tracing or not isinstance(owner, (dom.Dict, dom.Tuple, dom.Seq, dom.Layer)):
        return
    if isinstance(owner, dom.Tuple) and len(owner.items) < 2:
        return
    hashed = isinstance(owner, dom.Dict) or (isinstance(owner, dom.Layer) and isinstance(owner.items, dom.Dict))
    if isinstance(key, dom.Tuple) and key.kind == "tuple" and hashed:
        dim = next((i for i in key.items if isinstance(i, dom.Dim) and i.site is None), None)
        size_use(engine, node, obs.SizeKey, "key: tuple", how, dim)
    elif isinstance(key, dom.Dim):
        _by_size(engine, owner, key, node, how, hashed)
    elif isinstance(key, (dom.Data, dom.Tensor)) and how == "[]":
        _by_data(engine, key, node)


def _by_size(engine: Lowering, owner: dom.Value, key: dom.Dim, node: ast.AST, how: str, hashed: bool) -> None:
    word = key.site.how if key.site is not None else ""
    if word.startswith("f-string"):
        return  # a text is a key like any other; what is kept under it is the business of the rule for caches
    layer = isinstance(owner, dom.Layer)
    plain, word = "key: module" if layer and hashed else "key", "" if layer else word
    size_use(engine, node, obs.SizeKey, "key: number" if word else "key: kept" if how == "=" else plain, how, key)


def _by_data(engine: Lowering, key: dom.Data | dom.Tensor, node: ast.AST) -> None:
    if isinstance(key, dom.Data) and (key.fixed or not key.site.how):
        return
    if isinstance(key, dom.Tensor) and (key.source != "input" or key.guessed or key.dims != ()):
        return  # a list takes a tensor without axes; what takes any other is a tensor itself
    emit(engine, node, obs.ItemChoice, "[]", "item", trace=key.trace)


def _split(engine: Lowering, call: Call) -> None:
    how = call.arg(1, "split_size_or_sections", "split_size", "chunks", "indices_or_sections")
    axis = call.int_arg(1 if call.op == "unbind" else 2, "dim", default=0)
    dim = None if _in_known_pieces(call, how) else along(engine, call.tensor, axis) or _batch_of(call, how, axis)
    if dim is not None and call.op == "unbind" and axis == 1 and len(call.tensor.dims or ()) == CLIP:
        dim = replace(dim, axes=frozenset(("length",))) if not dim.sure else dim
    # Of an axis that may be dynamic, what is cut into chunks or by a setting is mostly channels.
    if dim is not None and (dim.sure or call.op == "unbind" or (call.op == "split" and dom.as_int(how) is not None)):
        halves = call.op == "chunk" and dom.as_int(how) == 2
        size_use(engine, call.node, obs.SizeSplit, "split: two pieces" if halves else "split", call.op, dim)


def _in_known_pieces(call: Call, how: dom.Value | None) -> bool:
    """True where there are sizes for every piece, or one piece."""
    if isinstance(how, (dom.Tuple, dom.Seq, dom.Tensor, dom.Shape, dom.Data)):
        return True
    return call.op not in ("split", "unbind") and dom.as_int(how) == 1


def _batch_of(call: Call, how: dom.Value | None, axis: int | None) -> dom.Dim | None:
    """The size that a first axis of nobody knows which is cut by: a batch is by that of a batch."""
    batch = axis == 0 and call.tensor.source == "input"
    return how if batch and isinstance(how, dom.Dim) and how.site is None else None


def _interleave(engine: Lowering, call: Call) -> None:
    """Dynamo's form of `repeat_interleave` by a size holds where the axis has one element."""
    dim, axis, t = _symbol(call.arg(1, "repeats")), call.int_arg(2, "dim"), call.tensor
    size = t.dims[axis] if t.dims is not None and axis is not None and -len(t.dims) <= axis < len(t.dims) else None
    if dom.as_int(size) != 1 and not (axis == 0 and dim is not None and _has_one_row(engine, dim, t)):
        size_use(engine, call.node, obs.SizeRepetition, "repetition", call.op, dim)


def _has_one_row(engine: Lowering, dim: dom.Dim, t: dom.Tensor) -> bool:
    """True for a constant of unknown size, and, where nobody declared axes, for what another input's batch repeats."""
    roots = [v.trace.root for v in (dim, t) if v.trace is not None]
    apart = len(roots) == 2 and roots[0] != roots[1] and t.source == "input" and engine.context.axes.declared is None
    return (dim.plain and t.fixed and not t.extents) or (apart and dim.axes == {"batch"})


def _squeeze(engine: Lowering, call: Call) -> None:
    axes = call.arg(1, "dim")
    for axis in axes.items if isinstance(axes, dom.Tuple) else (axes,):
        number = dom.as_int(axis)
        dim = along(engine, call.tensor, number)
        if dim is not None and dim.plain:
            size_use(engine, call.node, obs.Squeeze, "squeeze-axis", call.op, dim, dim=number)
            return


def _window(engine: Lowering, call: Call, dim: dom.Dim | None) -> None:
    if call.tensor.source == "input":
        size_use(engine, call.node, obs.SizeArgument, "window", call.op, dim)


def _strides(engine: Lowering, call: Call) -> None:
    strides, t = call.arg(2, "stride"), call.tensor
    if isinstance(strides, dom.Tuple) and all(dom.as_int(s) is not None for s in strides.items):
        return
    dims = filter(None, (along(engine, t, axis) for axis in range(1, len(t.dims) if t.dims is not None else 2)))
    size_use(engine, call.node, obs.SizeArgument, "strides", call.op, next(dims, None))


def _attributes(engine: Lowering, call: Call) -> None:
    if call.method and call.op == "unfold":
        return  # of a tensor, by dimension, size and step
    for form in ("attribute", "attribute: shape", "attribute: groups"):
        entry = engine.table.curated[form].get(call.op)
        for position, name in entry.arguments if entry is not None else ():
            v = call.arg(position, name)
            dim = _symbol(v)
            if form == "attribute: shape":
                if _has_dynamic_axis(engine, call.tensor) and _reads_shape(engine, call.node, position, name):
                    emit(engine, call.node, obs.SizeAttribute, call.op, form, parameter=name)
                    return
            elif dim is not None and (dim.sure or (form == "attribute" and name not in _OF_CHANNELS)):
                dim, outcomes = _of_attribute(engine, call, form, dim, alone=v is dim)
                size_use(engine, call.node, obs.SizeAttribute, outcomes, call.op, dim, parameter=name)
                return
    if call.op == "affine_grid":
        size = call.arg(1, "size")
        sizes = size.items if isinstance(size, dom.Tuple) else size.tensor.dims if isinstance(size, dom.Shape) else None
        dim = next((d for d in (sizes or ())[2:] if isinstance(d, dom.Dim) and d.site is None), None)
        size_use(engine, call.node, obs.SizeAttribute, "attribute: grid", call.op, dim, parameter="size")


def _of_attribute(engine: Lowering, call: Call, form: str, dim: dom.Dim, alone: bool) -> tuple[dom.Dim, Form]:
    """A size as an attribute, and what exporters make of it: TorchScript takes one alone for a number in some."""
    outcomes = alone and engine.table.outcomes("attribute: one", call.op)
    outcomes = outcomes or engine.table.outcomes(form, call.op)
    refused = {e: o for e, o in outcomes.items() if e == "torchscript" and o is Outcome.EXPORT_ERROR}
    if dim.sure or not refused or not _has_dynamic_axis(engine, call.tensor, sure=True):
        return dim, outcomes
    return replace(dim, axes=frozenset(("batch",))), refused  # which reads each size by a node, whatever is dynamic


def _has_dynamic_axis(engine: Lowering, t: dom.Tensor, sure: bool = False) -> bool:
    if t.dims is None and t.lead is None:
        return t.source == "input" and engine.context.axes.declared != ()
    return t.source == "input" and any(isinstance(d, dom.Dim) and (d.sure or not sure) for d in t.extents)


def _reads_shape(engine: Lowering, node: ast.AST, position: int, name: str) -> bool:
    """True where the argument is written with `x.shape` or `x.size()`: a value of the trace, on a fixed axis too."""
    if not isinstance(node, ast.Call) or any(isinstance(a, ast.Starred) for a in node.args):
        return False
    written = argument(node, name, position)
    nodes = ast.walk(written) if written is not None else ()
    owners = [n.value for n in nodes if isinstance(n, ast.Attribute) and n.attr in ("shape", "size")]
    values = [engine.frames[-1].eval(o) if isinstance(o, (ast.Name, ast.Attribute)) else None for o in owners]
    return not all(isinstance(v, dom.Tensor) and v.source == "weight" for v in values)


def _factory(engine: Lowering, call: Call) -> bool:
    entry = engine.table.curated["factory"].get(call.op)
    for position, name in entry.arguments if entry is not None and not call.method else ():
        dim = _symbol(call.arg(position, name))
        if dim is not None:
            size_use(engine, call.node, obs.FactorySize, "factory", call.op, dim)
            return True
    return False


def _flags(engine: Lowering, call: Call) -> None:
    for name, v in call.kwargs.items():
        if isinstance(v, dom.Dim) and v.site is None and name in engine.table.curated["flag"]:
            size_use(engine, call.node, obs.SizeFlag, "flag", call.op, v, name=name, parameter=name)


def along(engine: Lowering, t: dom.Tensor, axis: int | None) -> dom.Dim | None:
    """The dynamic size of one axis, where it is known that the tensor has it."""
    if axis is None or t.source != "input":
        return None
    if t.dims is None and not t.parameter and (axis != 0 or t.lead is None):
        return None
    extent = extent_of(t, axis, engine.context.axes)
    return extent if isinstance(extent, dom.Dim) else None


def length_along(engine: Lowering, t: dom.Tensor, axis: int) -> dom.Dim | None:
    """The dynamic size of an axis that holds steps; the first, certainly dynamic as a batch, may hold them."""
    dim = along(engine, t, axis)
    if dim is not None and axis == 0 and engine.context.axes.declared is None:
        return replace(dim, axes=frozenset((f"{dom.UNSURE}0",)))
    return dim


def _symbol(v: dom.Value | None) -> dom.Dim | None:
    """The dynamic size among the numbers of an argument, unless it was made a plain number on the way."""
    if isinstance(v, dom.Dim):
        return v if v.site is None else None
    items = v.tensor.dims or () if isinstance(v, dom.Shape) else v.items if isinstance(v, dom.Tuple) else ()
    return next((dim for item in items if (dim := _symbol(item)) is not None), None)


def type_asked(engine: Lowering, size: dom.Dim, kinds: dom.Value, node: ast.AST) -> None:
    """`isinstance(n, int)`. Measured: a size is no `int` in either exporter, and both take the other arm."""
    asked = kinds.items if isinstance(kinds, dom.Tuple) else (kinds,)
    if asked == (_TENSOR,) and _takes_axes(node, engine.frames[-1].statement_node):
        size_use(engine, node, obs.TypeTest, "type: tensor", "isinstance", size, tensor=True)
    if dom.External("builtins.int") not in asked or not all(isinstance(kind, dom.External) for kind in asked):
        return
    blind = {"torchscript": _TENSOR, "dynamo": _SYMBOL}
    # A size is a tensor to TorchScript whether or not the axis is dynamic; to dynamo a symbol only if it is.
    blind = {e: kind for e, kind in blind.items() if kind not in asked and (size.sure or e == "torchscript")}
    outcomes = {e: o for e, o in engine.table.outcomes("type", "isinstance").items() if e in blind}
    emit(engine, node, obs.TypeTest, "isinstance", outcomes, trace=size.trace)


def _takes_axes(asked: ast.AST, statement: ast.AST | None) -> bool:
    """True for `if isinstance(n, torch.Tensor): n = n.size(-1)`: a size is a tensor without axes to TorchScript."""
    name = asked.args[0] if isinstance(asked, ast.Call) and asked.args else None
    if statement is None or not isinstance(name, ast.Name):
        return False
    for choice in ast.walk(statement):
        if isinstance(choice, (ast.If, ast.IfExp)) and choice.test is asked:
            arm = choice.body if isinstance(choice.body, list) else [choice.body]
            nodes = [n for part in arm for n in ast.walk(part) if isinstance(n, (ast.Attribute, ast.Subscript))]
            read = {getattr(n, "attr", "size") for n in nodes if getattr(n.value, "id", "") == name.id}
            return not read.isdisjoint(("size", "shape"))
    return False


def size_use(
    engine: Lowering, node: ast.AST, kind: type[obs.SizeUse], form: Form, op: str, dim: dom.Dim | None, /, **fields: Any
) -> None:
    """Record a use of the size `dim`, if there is one, with what the overlay has under `form`."""
    if dim is not None:
        axis = ", ".join(sorted(a for a in dim.axes if not a.startswith("?")))
        emit(engine, node, kind, op, form, doubt="axis", trace=dim.trace, sure=dim.sure, axis=axis, **fields)


def frozen(engine: InContext, args: Sequence[dom.Value], node: ast.AST, how: str) -> dom.Value:
    """A Python number made from the arguments: tensors are read, symbolic dims are frozen."""
    for v in args:
        if isinstance(v, dom.Tensor):
            built = v.source == "weight" and not engine.context.tracing and not v.guessed
            if built or (v.source == "made" and not v.axes):
                return dom.CONFIG  # a number already when the model is built
            return dom.Data(engine.site(node, how), v.fixed, False, v.trace)
        if isinstance(v, dom.Data):
            # A size that depends on data was a symbol until here.
            return v if v.site.how else dom.Data(engine.site(node, how), v.fixed, True, v.trace)
        if isinstance(v, dom.Array):
            return dom.Data(v.site, v.fixed, False, v.trace)
    for v in args:
        if isinstance(v, dom.Dim):
            soft = v.site is not None and how == "int()" and v.site.how in _KEEPS_SYMBOLS
            site = v.site if v.site is not None and not soft else engine.site(node, how)
            return dom.Dim(v.axes, None, site, False, v.trace, least=_least(how, args))
    return dom.CONFIG


def _least(how: str, args: Sequence[dom.Value]) -> int:
    """What a number made from sizes is at least: rounding a share down may leave nothing."""
    least = max(v.least for v in args if isinstance(v, dom.Dim))
    if how == "math.ceil()":
        return dom.COUNT if least == dom.SHARE else least
    if how == "int()":
        return least if least == dom.COUNT else dom.REST
    if how in _KEEPS_SIGN:
        return least if how in ("len()", "min()", "max()", "float()") else max(least, dom.SHARE)
    return dom.REST
