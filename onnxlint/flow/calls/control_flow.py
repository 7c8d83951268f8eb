"""Control flow of torch as functions: `torch.cond`, `while_loop`, `scan`, `associative_scan` and `map`."""

from collections.abc import Callable

from onnxlint.flow.operators.transfer import Call, like
from onnxlint.flow.python.call_arguments import STARRED
from onnxlint.flow.values.domain import CONFIG, UNKNOWN, Const, Seq, Tensor, Tuple, Unknown, Value, replace
from onnxlint.flow.values.joins import element, join_all


def run(call: Call) -> Value:
    """Run the functions that it is handed on what they get; what comes out are tensors.

    An exporter that refuses the call never sees what stands in them.
    """
    engine = call.engine
    settled = call.op == "cond" and isinstance(call.arg(0, "pred"), Const)
    refused = () if settled else engine.table.outcomes("function", call.name)
    left = tuple(e for e in engine.context.exporters if e not in refused) or engine.context.exporters
    with engine.within(exporters=left):
        made = _RUN[call.op](call)
    if made is None or isinstance(made, Unknown):
        return like(call, None)
    return _each(made, lambda t: replace(t, parameter="", view=None, distinct=False))


def _cond(call: Call) -> Value | None:
    pred, fed = call.arg(0, "pred"), _items(call.arg(3, "operands"))
    arms = call.arg(1, "true_fn"), call.arg(2, "false_fn")
    if isinstance(pred, Const):
        arms = (arms[0] if pred.literal else arms[1], None)
    return join_all([call.engine.apply(arm, fed, {}, call.node) for arm in arms if arm is not None])


def _while_loop(call: Call) -> Value | None:
    state = call.arg(2, "carried_inputs", "operands")
    test, body = call.arg(0, "cond_fn"), call.arg(1, "body_fn")
    if test is not None:
        call.engine.apply(test, _items(state), {}, call.node)
    after = call.engine.apply(body, _items(state), {}, call.node) if body is not None else UNKNOWN
    return join_all([v for v in (state, after) if v is not None and not isinstance(v, Unknown)])


def _scan(call: Call) -> Value | None:
    combine, init, xs = call.arg(0, "combine_fn"), call.arg(1, "init"), call.arg(2, "xs")
    if combine is None or init is None or xs is None:
        return None
    made = call.engine.apply(combine, [init, _each(xs, _step)], {}, call.node)
    if not isinstance(made, Tuple) or len(made.items) != 2:
        return Tuple((init, Tensor()))
    return Tuple((join_all([init, made.items[0]]) or init, _each(made.items[1], lambda y: _stacked(y, xs))))


def _associative_scan(call: Call) -> Value | None:
    combine, xs = call.arg(0, "combine_fn"), call.arg(1, "xs")
    if combine is not None and xs is not None:
        call.engine.apply(combine, [xs, xs], {}, call.node)
    return xs


def _map(call: Call) -> Value | None:
    function, xs = call.arg(0, "f"), call.arg(1, "xs")
    if function is None or xs is None:
        return None
    made = call.engine.apply(function, [_each(xs, _step), *call.args[2:]], {}, call.node)
    return _each(made, lambda y: _stacked(y, xs))


def _items(operands: Value | None) -> list[Value]:
    """What a branch function is handed one by one."""
    if operands is None:
        return []
    if isinstance(operands, Tuple):
        return list(operands.items)
    return [Seq(element(operands) if isinstance(operands, Seq) else UNKNOWN, None, STARRED)]


def _each(v: Value, change: Callable[[Tensor], Tensor]) -> Value:
    """A tensor, or tuples of them, with each one changed."""
    if isinstance(v, Tuple):
        return replace(v, items=tuple(_each(item, change) for item in v.items))
    return change(v) if isinstance(v, Tensor) else v


def _step(xs: Tensor) -> Tensor:
    return replace(xs, dims=xs.dims[1:] if xs.dims else None, lead=None, parameter="", view=None)


def _stacked(y: Tensor, xs: Value) -> Tensor:
    first = xs.items[0] if isinstance(xs, Tuple) and xs.items else xs
    lead = (first.dims[0] if first.dims else first.lead) if isinstance(first, Tensor) else None
    dims = (lead or CONFIG, *y.dims) if y.dims is not None else None
    return replace(y, dims=dims, lead=lead if dims is None else None)


_RUN = {"cond": _cond, "while_loop": _while_loop, "scan": _scan, "associative_scan": _associative_scan, "map": _map}
