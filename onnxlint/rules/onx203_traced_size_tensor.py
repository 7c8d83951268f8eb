import libcst as cst

from onnxlint.base.records import Fix, Outcome, Safety
from onnxlint.flow.state.observations import TensorFromPython
from onnxlint.rules.engine.rule import Node, Objection, Objections, Rule
from onnxlint.rules.engine.site import Site, argument, bare, call_name, dotted, has_star, is_name, keywords, positional
from onnxlint.rules.helpers.call_edits import set_argument
from onnxlint.rules.helpers.value_kinds import Values, parameters

Made = tuple[str, list[cst.BaseExpression]]
_WRAPPERS = ("list", "tuple", "np.array", "numpy.array", "np.asarray", "numpy.asarray")
_LITERAL = (cst.Integer, cst.Float, cst.Imaginary, cst.SimpleString)

# Measured: TorchScript keeps one bare size symbolic everywhere, and none that stands in a list.
_LISTS = frozenset(("tensor", "new_tensor"))  # which dynamo keeps symbolic, in a list too
_REFUSED = frozenset(("as_tensor", "asarray"))  # which dynamo does not even take one size for


class TracedSizeTensor(Rule):
    """Object to a tensor built from Python data at a dynamic size."""

    def on_tensor_from_python(self, node: Node, tensor: TensorFromPython) -> Objections:
        name = tensor.call.rpartition(".")[2]
        if tensor.source == "length":
            message = f"`{tensor.call}` builds a tensor from Python data at a dynamic size: it becomes a constant"
            yield Objection(message, about="lists made by a size")
        elif tensor.source == "sizes":
            dynamo = {} if name in _LISTS else {"dynamo": Outcome.EXPORT_ERROR}
            message = f"`{tensor.call}` builds a tensor from a list with a dynamic size in it: it becomes a constant"
            advice = "make a tensor of each size and stack them: `torch.stack([torch.tensor(n) for n in sizes])`"
            yield Objection(message, advice, effects={"torchscript": Outcome.WRONG_VALUES, **dynamo})
        elif tensor.source in ("axis", "axes"):
            yield Objection(
                f"`{tensor.call}` makes a tensor by a dynamic size, which TorchScript does not follow: it takes"
                f" {'one size for data' if tensor.source == 'axis' else 'the size of the example'}",
                "write `torch.zeros(n, 8)` or `x.new_zeros(n, 8)`",
                about="a tensor made by a size",
                effects={"torchscript": Outcome.EXPORT_ERROR if tensor.source == "axis" else Outcome.SHAPE_ERROR},
            )
        elif tensor.source == "size" and name in _REFUSED:
            message = f"`{tensor.call}` builds a tensor from a dynamic size, which dynamo refuses"
            advice = "write `torch.tensor(n)`, which both exporters keep symbolic"
            yield Objection(message, advice, effects={"dynamo": Outcome.EXPORT_ERROR})

    def fix_call(self, site: Site, call: cst.Call) -> Fix | None:
        """Safe: `torch.arange` and `torch.full` give the numbers that the list holds, in the same dtype."""
        if has_star(call) or len(positional(call)) != 1 or set(keywords(call)) - {"dtype", "device"}:
            return None
        name, data = call_name(call), call.args[0].value
        if name not in ("tensor", "as_tensor", "from_numpy", "LongTensor"):
            return None
        while isinstance(data, cst.Call) and dotted(data.func) in _WRAPPERS and _is_plain(data) and len(data.args) == 1:
            data = data.args[0].value
        made = _arange(site, data) or _full(site, data)
        if made is None or (name == "LongTensor" and Values(site).is_size(data)):
            return None
        function, (*values, last) = made
        args = [*map(cst.Arg, values), call.args[0].with_changes(value=last), *call.args[1:]]
        new: cst.Call | None = call.with_changes(func=site.expression(function), args=args, lpar=(), rpar=())
        if new is not None and name == "LongTensor":
            new = set_argument(new, "dtype", site.expression("torch.long"))
        device = _device(site, call) if name != "from_numpy" and argument(call, "device") is None else None
        if new is not None and device is not None:
            new = set_argument(new, "device", cst.parse_expression(device))
        if new is None:
            return None
        return site.fix(f"make it with an operator: `{function}(...)`", Safety.SAFE, site.replace(call, new))


def _is_plain(call: cst.Call) -> bool:
    return not keywords(call) and not has_star(call)


def _arange(site: Site, data: cst.BaseExpression) -> Made | None:
    match data:
        case cst.ListComp(cst.Name(item), cst.CompFor(cst.Name(target), loop, [], None)):
            data = loop if item == target else data
        case cst.List(elements=[cst.StarredElement(value=listed)]):
            data = listed
    if not isinstance(data, cst.Call) or not _is_plain(data):
        return None
    limits = positional(data)
    if dotted(data.func) not in ("range", "np.arange", "numpy.arange") or not all(map(Values(site).is_size, limits)):
        return None
    return "torch.arange", [bare(limit) for limit in limits]


def _full(site: Site, data: cst.BaseExpression) -> Made | None:
    """`[value] * n`, `[value for _ in range(n)]`."""
    values = Values(site)
    match data:
        case cst.BinaryOperation(left=cst.List(elements=[cst.Element(value=value)]), operator=cst.Multiply()):
            count = data.right
        case cst.ListComp(value, cst.CompFor(_, cst.Call() as loop, [], None)):
            if dotted(loop.func) != "range" or len(positional(loop)) != 1 or not _is_plain(loop):
                return None
            count = positional(loop)[0]
        case _ if values.is_size(data):
            return "torch.full", [cst.Tuple([]), bare(data)]
        case _:
            return None
    if not (isinstance(value, _LITERAL) or is_name(value, "True", "False")) or not values.is_size(count):
        return None
    return "torch.full", [site.expression("({count},)", count=bare(count)), bare(value)]


def _device(site: Site, call: cst.Call) -> str | None:
    """`x.device` of a tensor in scope that depends on the inputs."""
    function = site.function(call)
    names = parameters(function) if function is not None else []
    return next((f"{name}.device" for name in names if site.value(name).startswith("tensor")), None)
