"""The frame of the transfer functions: a call of an operator, their register, what the operator table alone tells."""

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from onnxlint.flow.state.protocols import Operating
from onnxlint.flow.values import domain as dom
from onnxlint.flow.values import shapes
from onnxlint.flow.values.domain import replace
from onnxlint.flow.values.joins import element
from onnxlint.flow.values.node_places import last_name

_INTEGERS, _FLOATS = "int|long|short|uint", "float|half|double|bfloat"
_DTYPE = re.compile(rf"(?P<int>{_INTEGERS})|(?P<float>{_FLOATS})|(?P<bool>bool)|(?P<complex>complex|cfloat|cdouble)")


@dataclass(slots=True)
class Call:
    """One call of a torch operator: the tensor it works on is the first of `args`, method or function alike."""

    engine: Operating
    op: str
    name: str
    args: dom.Args
    kwargs: dom.Kwargs
    node: ast.AST
    method: bool = False

    def arg(self, position: int, *names: str) -> dom.Value | None:
        """An argument by position (0 is the tensor) or by one of its names."""
        for name in names:
            if name in self.kwargs:
                return self.kwargs[name]
        return self.args[position] if position < len(self.args) else None

    def int_arg(self, position: int, *names: str, default: int | None = None) -> int | None:
        """A literal integer argument; `default` where it is not given; None where it is not a literal."""
        v = self.arg(position, *names)
        return default if v is None else dom.as_int(v)

    @property
    def tensor(self) -> dom.Tensor:
        """The tensor that the operator works on."""
        for v in self.args[:1] or self.kwargs.values():
            if isinstance(v, dom.Tensor):
                return v
        return dom.Tensor(source="made")

    def tensors(self) -> list[dom.Tensor]:
        """Every tensor among the arguments, lists of tensors included."""
        tensors: list[dom.Tensor] = []
        for v in [*self.args, *self.kwargs.values()]:
            if isinstance(v, dom.Tensor):
                tensors.append(v)
            elif isinstance(v, (dom.Tuple, dom.Seq)):
                tensors += [i for i in dom.contents(v) if isinstance(i, dom.Tensor)]
        return tensors

    def constant(self) -> bool:
        """True where no tensor among the arguments depends on an input or a weight, not by its size either."""
        tensors, operands = self.tensors(), (*self.args, *self.kwargs.values())
        if not tensors or any(isinstance(v, (dom.Dim, dom.Unknown)) for v in operands):
            return False
        return all(t.source == "made" and t.dims and not t.axes and not t.guessed for t in tensors)

    def sizes(self, start: int, *names: str) -> list[dom.Value] | None:
        """A size given as separate numbers or as one tuple; None where it cannot be told apart."""
        rest = [self.kwargs[n] for n in names if n in self.kwargs][:1] or self.args[start:]
        if len(rest) == 1:
            only = rest[0]
            if isinstance(only, dom.Tuple):
                return list(only.items)
            if isinstance(only, dom.Shape):
                return list(only.tensor.dims) if only.tensor.dims is not None else None
            if isinstance(only, (dom.Seq, dom.Config)) or only == dom.UNKNOWN:
                return None
        return list(rest)

    def made(
        self, sizes: Sequence[dom.Value] | None, kind: str | None, source: str = "made", trace: dom.Trace | None = None
    ) -> dom.Tensor:
        """A fresh tensor made here."""
        spread = sizes is None or any(isinstance(v, dom.Seq) for v in sizes)  # by `*`, nobody knows how many
        dims = tuple(map(shapes.from_value, sizes or ())) if not spread else None
        return dom.Tensor(dims, None, source, kind, None, self.engine.place(self.node), trace)

    def ragged(self, fixed: bool) -> dom.Data:
        """A size that the values of a tensor decide here."""
        return dom.Data(self.engine.site(self.node, ""), fixed, True, self.tensor.trace)


Handler = Callable[[Call], dom.Value]
HANDLERS: dict[str, Handler] = {}


def handles(*ops: str) -> Callable[[Handler], Handler]:
    """Register the transfer function of some operators, each named alone or several with blanks between."""

    def register(handler: Handler) -> Handler:
        HANDLERS.update(dict.fromkeys(" ".join(ops).split(), handler))
        return handler

    return register


def like(call: Call, dims: shapes.Dims | None, lead: dom.Extent | None = None, kind: str | None = None) -> dom.Tensor:
    """A result that depends on what the arguments depend on."""
    tensors = call.tensors()
    trace = next((t.trace for t in tensors if t.source == "input" and t.trace), None) or call.tensor.trace
    source = dom.common_source(tensors)
    fixed = source in ("weight", "made")
    traced = call.engine.context.tracing  # what is not known there, or what a list holds, may depend on the inputs
    if fixed and any(dom.UNKNOWN in ((v, *dom.contents(v)) if traced else dom.contents(v)) for v in call.args):
        source = "input"
    hidden = fixed and (source == "input" or dom.UNKNOWN in call.args or any(t.guessed for t in tensors))
    return dom.Tensor(dims, lead if dims is None else None, source, kind, None, None, trace, hidden)


def cast_kind(call: Call) -> str | None:
    """The kind of numbers after `x.to(...)`."""
    dtype = call.arg(1, "dtype")
    if isinstance(dtype, dom.Tensor):
        return dtype.kind
    written = call.node.args if isinstance(call.node, ast.Call) else []
    moves = len(written) == 1 and last_name(written[0]).endswith("device")  # `x.to(y.device)` leaves the kind alone
    kind = kind_of(dtype) if dtype is not None and not moves else call.tensor.kind
    return "index" if kind == "int" and call.tensor.kind in ("bool", "index") else kind


def kind_of(v: dom.Value | None) -> str | None:
    """The kind of numbers that a dtype argument stands for."""
    kind = _DTYPE.match(str(getattr(v, "name", "")).rpartition(".")[2])
    return kind.lastgroup if kind is not None else None


def result_by_table(call: Call, returns: str) -> dom.Value:
    """The result of an operator without a transfer function of its own, by what the operator table says."""
    if returns in ("tensor", "tensors"):
        return like(call, None) if returns == "tensor" else dom.Seq(like(call, None))
    if returns in ("int", "float", "bool", "other", "none"):
        return dom.CONFIG
    return dom.Shape(call.tensor) if returns == "shape" else dom.UNKNOWN


def numpy_result(call: Call) -> dom.Value:
    """The result of a numpy function: an array of data if any argument is tensor data."""
    for v in [*call.args, *call.kwargs.values()]:
        inner = element(v) if isinstance(v, (dom.Tuple, dom.Seq)) else v
        if isinstance(inner, (dom.Array, dom.Data)):
            here = isinstance(inner, dom.Data) and inner.sized  # a count: numpy is what makes a constant of it
            return dom.Array(call.engine.site(call.node, call.name) if here else inner.site, inner.fixed, inner.trace)
        if isinstance(inner, dom.Tensor):
            return dom.Array(call.engine.site(call.node, call.name), inner.fixed, inner.trace)
        if isinstance(inner, dom.Dim):
            return replace(inner, site=inner.site or call.engine.site(call.node, call.name), plain=False)
    return dom.CONFIG
