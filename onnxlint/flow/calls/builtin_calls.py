"""Calls of Python's builtins: which numbers they freeze, which sequences they make, what they look up."""

import ast
from collections.abc import Callable, Sequence
from typing import Any

from onnxlint.flow.calls.attribute_access import any_module_of, items_of, read_dim
from onnxlint.flow.lowering import sizes_as_numbers
from onnxlint.flow.lowering.sizes_as_numbers import frozen
from onnxlint.flow.python.entry_parameters import FOR_EXPORTS
from onnxlint.flow.state.observations import SizeDivision
from onnxlint.flow.state.protocols import Assigning, Calling, Evaluating, InContext, Lowering, Observing, Operating
from onnxlint.flow.tables import EXPORTER_GUARDS
from onnxlint.flow.values import domain as dom
from onnxlint.flow.values.domain import replace
from onnxlint.flow.values.equivalent_code import holds_outputs
from onnxlint.flow.values.joins import element, join_all
from onnxlint.flow.values.node_places import last_name
from onnxlint.flow.values.size_forms import may_be_list

Builtin = Callable[[Evaluating, dom.Args, dom.Kwargs, ast.AST], dom.Value]


_EXTREMES = ("min()", "max()")  # which leave a size what it is


def _number(how: str, convert: Callable[[float], float]) -> Builtin:
    def build(engine: InContext, args: dom.Args, kwargs: dom.Kwargs, node: ast.AST) -> dom.Value:
        first = args[0] if args else dom.Const(0)
        if isinstance(first, dom.Const) and isinstance(first.literal, (int, float)):
            try:
                return dom.Const(convert(first.literal))
            except (OverflowError, ValueError):  # of an infinite number, or of none
                return dom.CONFIG
        if how == "round()" and isinstance(first, dom.Dim) and first.site is not None and first.site.how in _EXTREMES:
            args = [replace(first, site=None)]  # a tensor yet to TorchScript, and it has none to round
        result = frozen(engine, args, node, how)
        if isinstance(result, dom.Dim) and isinstance(first, dom.Dim) and how == "int()":
            return replace(result, example=first.example)
        return result

    return build


def _bool(engine: InContext, args: dom.Args, kwargs: dom.Kwargs, node: ast.AST) -> dom.Value:
    first = args[0] if args else dom.Const(False)
    if isinstance(first, dom.Const):
        return dom.Const(bool(first.literal))
    return first if isinstance(first, dom.Truth) else frozen(engine, args, node, "bool()")


def _len(engine: Calling, args: dom.Args, kwargs: dom.Kwargs, node: ast.AST) -> dom.Value:
    v = args[0] if args else dom.UNKNOWN
    if isinstance(v, dom.Tensor):
        frame = engine.frames[-1]
        if v.guessed or holds_outputs(node) or (frame.unit is not None and may_be_list(node, frame.body.function)):
            return dom.CONFIG
        extent = read_dim(engine, v, dom.Const(0))
        return frozen(engine, [extent], node, "len()") if isinstance(extent, (dom.Dim, dom.Data)) else extent
    if isinstance(v, dom.Tuple) or (isinstance(v, dom.Dict) and v.rest is None):
        return dom.Const(len(v.items))
    if isinstance(v, dom.Seq) and v.size is not None:
        return v.size
    if isinstance(v, dom.Shape):
        return dom.Const(len(v.tensor.dims)) if v.tensor.dims is not None else dom.CONFIG
    if isinstance(v, dom.Layer) and isinstance(v.items, dom.Tuple):
        return dom.Const(len(v.items.items))
    if isinstance(v, dom.Data):
        return dom.Data(v.site, v.fixed, True, v.trace)
    if isinstance(v, dom.Instance):
        unit = v.object.cls.find_method("__len__")
        return engine.call_function(dom.Function(unit, v), [], {}, node) if unit is not None else dom.CONFIG
    return dom.CONFIG


def _range(engine: InContext, args: dom.Args, kwargs: dom.Kwargs, node: ast.AST) -> dom.Value:
    numbers = [dom.as_int(a) for a in args]
    bounds = [n for n in numbers if n is not None]
    if 0 < len(bounds) == len(numbers) <= 3:
        values = range(*bounds) if bounds[2:] != [0] else range(0)
        many = bool(values[4:])  # `len` has a limit
        return dom.Seq(dom.CONFIG) if many else dom.Tuple(tuple(dom.Const(i) for i in values))
    for v in args:
        if isinstance(v, dom.Tensor) and v.source == "input":
            return dom.Seq(dom.CONFIG, dom.Data(engine.site(node, "range()"), False, False, v.trace))
        if isinstance(v, (dom.Data, dom.Array)):
            return dom.Seq(dom.CONFIG, v)
    for v in args:
        if isinstance(v, dom.Dim):
            return dom.Seq(dom.CONFIG, replace(v, site=v.site or engine.site(node, "range()")))
    return dom.Seq(dom.CONFIG)


def _keys(engine: Operating, values: Sequence[dom.Value], kwargs: dom.Kwargs, node: ast.AST) -> list[dom.Value]:
    """What `max(values, key=...)` compares: what `key` gives, or the values themselves."""
    key = kwargs.get("key")
    return list(values) if key is None else [engine.apply(key, [v], {}, node) for v in values]


def _minmax(how: str) -> Builtin:
    def build(engine: Operating, args: dom.Args, kwargs: dom.Kwargs, node: ast.AST) -> dom.Value:
        values = list(args)
        if len(args) == 1 and isinstance(args[0], (dom.Tuple, dom.Seq)):
            values = list(args[0].items) if isinstance(args[0], dom.Tuple) else [args[0].item]
        elif len(args) == 1 and isinstance(args[0], dom.Shape):
            values = list(args[0].tensor.dims or ())
        elif len(args) == 1 and isinstance(args[0], dom.Tensor):
            if args[0].dims is not None:
                engine.emit_operator(node, args[0], how, len(args))
            return dom.Tensor((), None, args[0].source, args[0].kind, None, None, args[0].trace)
        numbers = [v.literal for v in values if isinstance(v, dom.Const) and isinstance(v.literal, (int, float))]
        if values and len(numbers) == len(values):
            return dom.Const(min(numbers) if how == "min()" else max(numbers))
        compared = _compared(_keys(engine, values, kwargs, node), "key" in kwargs)
        if compared is not None:
            engine.emit_operator(node, compared, how, len(args) if "key" not in kwargs else 1)
        if "key" in kwargs:
            return join_all(values) or dom.UNKNOWN
        return compared if compared is not None else frozen(engine, values, node, how)

    return build


def _compared(values: Sequence[dom.Value], by_key: bool) -> dom.Tensor | None:
    """The tensor that a builtin compares; a number that its key read out of one stands for a tensor."""
    tensor = next((v for v in values if isinstance(v, dom.Tensor)), None)
    if tensor is None and by_key:
        number = next((v for v in values if isinstance(v, dom.Data) and not v.fixed), None)
        tensor = dom.Tensor((), trace=number.trace) if number is not None else None
    return tensor


def _sum(engine: Observing, args: dom.Args, kwargs: dom.Kwargs, node: ast.AST) -> dom.Value:
    v = args[0] if args else dom.UNKNOWN
    if isinstance(v, dom.Tuple) and v.items:
        result = v.items[0]
        for other in v.items[1:]:
            result = engine.frames[-1].arithmetic("+", result, other, node)
        return result
    if isinstance(v, dom.Seq):
        return v.item
    if isinstance(v, dom.Tensor):
        engine.report_loop(node, v)
        return replace(v, dims=None, lead=None, view=None, parameter="")
    return dom.CONFIG


def _sorted(engine: Operating, args: dom.Args, kwargs: dom.Kwargs, node: ast.AST) -> dom.Value:
    """`sorted(values)`: compares them, or what `key` gives of them."""
    v = args[0] if args else dom.UNKNOWN
    if isinstance(v, (dom.Tuple, dom.Seq, dom.Tensor)):
        compared = _compared(_keys(engine, items_of(engine, v, node), kwargs, node), "key" in kwargs)
        if compared is not None:
            engine.emit_operator(node, compared, "sorted()", 1)
    result = _sequence("list")(engine, args, {}, node)
    return dom.Seq(element(result), None, result.trace) if isinstance(result, dom.Tuple) and result.items else result


def _divmod(engine: Lowering, args: dom.Args, kwargs: dom.Kwargs, node: ast.AST) -> dom.Value:
    """`divmod(n, k)`."""
    if len(args) != 2:
        return dom.UNKNOWN
    if engine.context.tracing:
        sizes_as_numbers.counted(engine, SizeDivision, "negative-division", "divmod", args, node)
    return dom.Tuple(tuple(engine.frames[-1].arithmetic(operator, args[0], args[1], node) for operator in ("//", "%")))


def _abs(engine: InContext, args: dom.Args, kwargs: dom.Kwargs, node: ast.AST) -> dom.Value:
    if args and isinstance(args[0], dom.Tensor):
        kind = "index" if args[0].kind == "int" else args[0].kind
        return replace(args[0], kind=kind, view=None, parameter="", distinct=False)
    return args[0] if args and not isinstance(args[0], dom.Const) else dom.CONFIG


def _sequence(kind: str) -> Callable[[Observing, dom.Args, dom.Kwargs, ast.AST], dom.Value]:
    def build(engine: Observing, args: dom.Args, kwargs: dom.Kwargs, node: ast.AST) -> dom.Value:
        if not args:
            return dom.Tuple((), kind)
        v = args[0]
        if isinstance(v, dom.Tuple):
            return dom.Tuple(v.items, kind, v.trace)
        if isinstance(v, dom.Dict) and v.rest is None:
            return dom.Tuple(tuple(dom.Const(k) for k, _ in v.items), kind, v.trace)
        if isinstance(v, dom.Shape):
            dims = v.tensor.dims
            return dom.Tuple(dims, kind, v.trace) if dims is not None else v
        if isinstance(v, dom.Tensor):
            engine.report_loop(node, v)
        if isinstance(v, dom.Seq):
            return v
        if isinstance(v, dom.Dim):
            return dom.Seq(v)  # a numpy array of dimensions
        items = items_of(engine, v, node)
        return dom.Seq(items[0] if len(items) == 1 else join_all(items) or dom.UNKNOWN)

    return build


def make_dict(engine: InContext, args: dom.Args, kwargs: dom.Kwargs, node: ast.AST) -> dom.Value:
    """`dict(...)`."""
    result = dom.Dict(tuple(kwargs.items()))
    first = args[0] if args else None
    if isinstance(first, dom.Dict):
        return dom.Dict((*first.items, *result.items), first.rest)
    if isinstance(first, dom.Tuple) and all(isinstance(p, dom.Tuple) and len(p.items) == 2 for p in first.items):
        pairs = [p.items for p in first.items if isinstance(p, dom.Tuple)]
        if all(isinstance(k, dom.Const) for k, _ in pairs):
            return dom.Dict((*((k.literal, v) for k, v in pairs if isinstance(k, dom.Const)), *result.items))
        return dom.Dict(result.items, join_all([v for _, v in pairs]))
    if isinstance(first, dom.Seq):
        pair = first.item.items if isinstance(first.item, dom.Tuple) else ()
        return dom.Dict(result.items, pair[1] if len(pair) == 2 else dom.UNKNOWN)
    return result


def _enumerate(engine: Observing, args: dom.Args, kwargs: dom.Kwargs, node: ast.AST) -> dom.Value:
    v = args[0] if args else dom.UNKNOWN
    if isinstance(v, dom.Tensor):
        engine.report_loop(node, v)
    items = items_of(engine, v, node)
    if isinstance(v, (dom.Tuple, dom.Layer)) and len(items) > 1:
        return dom.Tuple(tuple(dom.Tuple((dom.Const(i), item)) for i, item in enumerate(items)), "list")
    size = v.size if isinstance(v, dom.Seq) else None
    return dom.Seq(dom.Tuple((dom.CONFIG, items[0] if items else dom.UNKNOWN)), size)


def _side_by_side(engine: Observing, args: dom.Args, node: ast.AST) -> None:
    """Report a loop over tensors, but where a list, whose length is no size, is beside them: the shortest ends it."""
    listed = (dom.Tuple, dom.Layer, dom.Instance)
    if not any(isinstance(v, listed) or (isinstance(v, dom.Seq) and isinstance(v.item, dom.Dict)) for v in args):
        for v in args:
            engine.report_loop(node, v)


def _zip(engine: Observing, args: dom.Args, kwargs: dom.Kwargs, node: ast.AST) -> dom.Value:
    columns = [items_of(engine, v, node) for v in args]
    _side_by_side(engine, args, node)
    if (
        columns
        and all(isinstance(v, (dom.Tuple, dom.Layer)) for v in args)
        and len({len(c) for c in columns}) == 1
        and len(columns[0]) > 1
    ):
        return dom.Tuple(tuple(dom.Tuple(row) for row in zip(*columns, strict=True)), "list")
    size = next((v.size for v in args if isinstance(v, dom.Seq) and v.size is not None), None)
    return dom.Seq(dom.Tuple(tuple(join_all(c) or dom.UNKNOWN for c in columns)), size)


def _map(engine: Operating, args: dom.Args, kwargs: dom.Kwargs, node: ast.AST) -> dom.Value:
    if len(args) < 2:
        return dom.UNKNOWN
    columns = [items_of(engine, v, node) for v in args[1:]]
    _side_by_side(engine, args[1:], node)
    if isinstance(args[1], (dom.Tuple, dom.Shape)) and len(columns) == 1 and len(columns[0]) > 1:
        return dom.Tuple(tuple(engine.apply(args[0], [item], {}, node) for item in columns[0]), "list")
    item = engine.apply(args[0], [join_all(c) or dom.UNKNOWN for c in columns], {}, node)
    return dom.Seq(item, next((v.size for v in args[1:] if isinstance(v, dom.Seq)), None))


def _anyall(engine: Observing, args: dom.Args, kwargs: dom.Kwargs, node: ast.AST) -> dom.Value:
    v = args[0] if args else dom.UNKNOWN
    if isinstance(v, dom.Tensor):
        return frozen(engine, [v], node, "any()")
    if isinstance(v, dom.Tuple) and v.items and all(isinstance(i, dom.Const) for i in v.items):
        held = (bool(i.literal) for i in v.items if isinstance(i, dom.Const))
        every = isinstance(node, ast.Call) and last_name(node.func) == "all"
        return dom.Const(all(held) if every else any(held))
    item = element(v) if isinstance(v, (dom.Tuple, dom.Seq)) else dom.UNKNOWN
    if isinstance(item, dom.Tensor) and item.guessed:
        return dom.CONFIG
    if isinstance(item, (dom.Tensor, dom.Data)):
        if isinstance(item, dom.Tensor) and not engine.context.testing:
            engine.emit_operator(node, item, "any()", 1)
        return frozen(engine, [item], node, "any()")
    return item if isinstance(item, dom.Dim) else dom.CONFIG


def getter_default(default: dom.Value, otherwise: dom.Value) -> dom.Value:
    """What a getter gives that is told what to give where nothing is set."""
    return dom.Config(default=default) if isinstance(default, dom.Const) else otherwise


def _getattr(engine: Operating, args: dom.Args, kwargs: dom.Kwargs, node: ast.AST) -> dom.Value:
    if len(args) >= 2 and isinstance(args[1], dom.Const) and isinstance(args[1].literal, str):
        value = engine.attribute(args[0], args[1].literal, node)
        if len(args) > 2 and isinstance(value, (dom.Unknown, dom.Config)):
            if args[2] == dom.Const(False) and FOR_EXPORTS.search(args[1].literal):
                return dom.Config(default=dom.Const(True))  # who exports the model sets it
            return getter_default(args[2], value) if isinstance(args[0], (dom.Unknown, dom.Config)) else args[2]
        return value
    if args and isinstance(args[0], dom.Config):
        return dom.CONFIG
    return any_module_of(args[0]) if args and isinstance(args[0], dom.Instance) else dom.UNKNOWN


def _hasattr(engine: Lowering, args: dom.Args, kwargs: dom.Kwargs, node: ast.AST) -> dom.Value:
    """Decided where torch is asked for what it has (older versions are no concern of an export guard), and where a size
    is asked for what only tensors have."""
    owner, name = (args[0], args[1]) if len(args) == 2 else (dom.UNKNOWN, dom.UNKNOWN)
    if name in (dom.Const("size"), dom.Const("shape")) and isinstance(owner, dom.Dim):
        return _isinstance(engine, [owner, dom.External("torch.Tensor")], {}, node)
    if isinstance(owner, dom.External) and isinstance(name, dom.Const):
        full = f"{owner.name}.{name.literal}"
        if full in EXPORTER_GUARDS or engine.table.get(full) is not None:
            return dom.Const(True)
    return dom.CONFIG


def _setattr(engine: Assigning, args: dom.Args, kwargs: dom.Kwargs, node: ast.AST) -> dom.Value:
    if len(args) == 3 and isinstance(args[0], dom.Instance):
        name = args[1].literal if isinstance(args[1], dom.Const) else None
        engine.set_attribute(args[0].object, name if isinstance(name, str) else "*", args[2])
    return dom.NONE


def _super(engine: InContext, args: dom.Args, kwargs: dom.Kwargs, node: ast.AST) -> dom.Value:
    frame = engine.frames[-1]
    if args and isinstance(args[0], dom.ClassRef):
        return dom.Super(args[0].info, args[1] if len(args) > 1 else (frame.bound or dom.UNKNOWN))
    return dom.Super(frame.owner, frame.bound) if frame.owner is not None and frame.bound is not None else dom.UNKNOWN


def _first(engine: InContext, args: dom.Args, kwargs: dom.Kwargs, node: ast.AST) -> dom.Value:
    if not args:
        return dom.UNKNOWN
    items = items_of(engine, args[0], node)
    return items[0] if items else dom.UNKNOWN


def _reversed(engine: InContext, args: dom.Args, kwargs: dom.Kwargs, node: ast.AST) -> dom.Value:
    v = args[0] if args else dom.UNKNOWN
    return dom.Tuple(tuple(reversed(v.items)), v.kind, v.trace) if isinstance(v, dom.Tuple) else v


# What a value is an instance of, and what it may be tested for that it is not.
_ANY = {"Sequence", "Iterable", "Collection", "Sized"}
_TYPES: dict[Any, set[str]] = {
    dom.Tensor: {"Tensor"},
    dom.Seq: {"list", "tuple", *_ANY},
    "list": {"list", *_ANY},
    "tuple": {"tuple", *_ANY},
    dom.Shape: {"tuple", "Size", *_ANY},
    dom.Dict: {"dict", "Mapping", "MutableMapping", "OrderedDict", "UserDict", "Iterable", "Collection", "Sized"},
}
_ELSEWHERE = {"list", "tuple", "dict", "set", "str", "int", "float", "bool", "Mapping", "Tensor", "ndarray", "NoneType"}
_ELSEWHERE |= {"Sequence", "Image", "Number", "Integral", "PackedSequence", "Size"}


def _isinstance(engine: Lowering, args: dom.Args, kwargs: dom.Kwargs, node: ast.AST) -> dom.Value:
    """Decided for tensors, containers and shapes; a size is a tensor in TorchScript's trace and none in dynamo's."""
    if len(args) != 2:
        return dom.CONFIG
    v = args[0]
    if isinstance(v, dom.Dim) and v.site is None:
        sizes_as_numbers.type_asked(engine, v, args[1], node)
        if args[1] == dom.External("torch.Tensor"):
            return dom.Truth(frozenset({"torchscript"}))
    kinds = args[1].items if isinstance(args[1], dom.Tuple) else (args[1],)
    if not all(isinstance(kind, (dom.External, dom.ClassRef)) for kind in kinds):
        return dom.CONFIG
    names = {kind.name.rpartition(".")[2] for kind in kinds if isinstance(kind, dom.External)}
    own = _TYPES.get(v.kind if isinstance(v, dom.Tuple) else type(v))
    if own is None:
        return dom.CONFIG
    if names & own:
        # Of a sequence nobody knows whether it is a list or a tuple.
        sure = not isinstance(v, dom.Seq) or {"list", "tuple"} <= names or bool(names & _ANY)
    else:
        sure = names <= _ELSEWHERE
    if isinstance(v, dom.Tensor) and v.guessed:
        return dom.Config(default=dom.Const(bool(names & own))) if sure else dom.CONFIG
    return dom.Const(bool(names & own)) if sure else dom.CONFIG


def _slice(engine: InContext, args: dom.Args, kwargs: dom.Kwargs, node: ast.AST) -> dom.Value:
    bounds = [dom.NONE, *args, dom.NONE] if len(args) == 1 else [*args, dom.NONE]
    return dom.Tuple(tuple(bounds[:3]), "slice")


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
    "tuple": _sequence("tuple"),
    **dict.fromkeys(("list", "set", "frozenset"), _sequence("list")),
    **dict.fromkeys(("any", "all"), _anyall),
    **dict.fromkeys(("abs", "pow"), _abs),
    "sorted": _sorted,
    "divmod": _divmod,
    "iter": lambda e, a, k, n: a[0] if a else dom.UNKNOWN,
    "reversed": _reversed,
    "dict": make_dict,
    "enumerate": _enumerate,
    "zip": _zip,
    "map": _map,
    "filter": lambda e, a, k, n: dom.Seq(items_of(e, a[1], n)[0]) if a[1:] and items_of(e, a[1], n) else dom.UNKNOWN,
    "isinstance": _isinstance,
    "hasattr": _hasattr,
    "getattr": _getattr,
    "setattr": _setattr,
    "super": _super,
    "next": _first,
    "print": lambda e, a, k, n: dom.NONE,
    "str": lambda e, a, k, n: frozen(e, a[:1], n, "str()") if a and isinstance(a[0], dom.Dim) else dom.CONFIG,
    "slice": _slice,
    **dict.fromkeys(("issubclass", "callable", "repr", "id", "type", "hash", "format"), lambda *_: dom.CONFIG),
    **dict.fromkeys(("object", "vars", "open"), lambda *_: dom.UNKNOWN),
}
