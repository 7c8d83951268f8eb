"""From what the interpreter sees to observations: reads, escapes, frozen sizes. One per kind and place."""

import ast
import re
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from onnxlint.base.records import Span
from onnxlint.flow.lowering import unexportable_calls
from onnxlint.flow.operators import unflattened_sizes
from onnxlint.flow.state import observations
from onnxlint.flow.state.budget import Budget
from onnxlint.flow.state.context import Context, Located
from onnxlint.flow.state.observations import Observation
from onnxlint.flow.state.protocols import Running
from onnxlint.flow.state.self_reads import Attributes
from onnxlint.flow.state.variable_kinds import describe, describe_all
from onnxlint.flow.tables.operator_table import OpTable
from onnxlint.flow.values import domain as dom
from onnxlint.flow.values import shapes
from onnxlint.flow.values.domain import Value
from onnxlint.flow.values.node_places import NOWHERE, Body, Place
from onnxlint.project.classes import FunctionUnit

MANY_NAMES = 200
_USED = {dom.Data, dom.Dim, dom.Array, dom.Tuple, dom.Seq}  # what may have been frozen, or hold what was
_WORD = re.compile(r"\w+")
_POSITIONS = re.compile(r"\bself\.\w*pos\w*emb")
_BY_SIZE = (observations.Branch, observations.Escape)  # which keep the size of the example
_MAY_STAY = ("", "range()", "max()", "min()", "len()")  # what they give is no plain number in every export

_OF_TWO = frozenset(("?0", "?1", "?-1", "?-2"))  # axes that a tensor with two of them has


class Emitter(Located):
    """Collects observations. They count only while traced code runs: a forward and what it reaches."""

    def __init__(self, context: Context, table: OpTable) -> None:
        super().__init__(context)
        self.table = table
        self.frames: list[Running] = []
        self.budget = Budget()
        self.observations: dict[tuple[Any, ...], Observation] = {}
        self.changes = 0
        self.reads = Attributes()
        self.called_exports: set[Span] = set()  # that were reached through a call of the function around them
        self.in_export = False  # a model runs as an export call has it
        self.sized: set[Hashable] = set()  # functions that a model ran of which an export call names the axes
        self.fixed: dict[str, str] = {}

    def asking(self, asked: bool, **changes: Any) -> Located:
        """What runs meanwhile is done, where `asked`, only if a flag is turned on that is off by default."""
        return self.within(asked=self.context.asked or asked, **changes)

    def place(self, node: ast.AST) -> Place:
        """The place of a node of the function that runs now."""
        frame = self.frames[-1]
        return Place(frame.body, node, frame.line, frame.symbol)

    def site(self, node: ast.AST, how: str) -> dom.Site:
        """Where a symbol becomes a plain value."""
        here = self.context.exporters
        return dom.Site(self.place(node), how, () if len(here) > 1 else here)

    def _meets(self, site: dom.Site) -> tuple[str, ...]:
        """The exporters whose trace comes through here, and came through where a plain value was made."""
        here = self.context.exporters
        return tuple(e for e in here if e in site.exporters) if site.exporters else here

    def emit(
        self,
        observation: type[Observation],
        at: ast.AST | Place,
        trace: dom.Trace | None = None,
        *,
        sure: bool = True,
        doubt: str = "axis",
        exporters: tuple[str, ...] | None = None,
        always: bool = False,
        about: Value | None = None,
        **fields: Any,
    ) -> None:
        """Record an observation, or widen the one of its kind at this place. `about` is the value that it concerns.
        `doubt` says why it is not sure, where it is not."""
        where = self.context
        if not (where.tracing or always) or where.silent:
            return
        place = at if isinstance(at, Place) else self.place(at)
        doubt = self._doubted(observation, "" if sure or self._fits_positions(observation, doubt) else doubt)
        made = observation(
            span=place.span,
            text=place.text,
            symbol=place.symbol,
            sure=not doubt,
            doubt=doubt,
            outside=where.outside,
            exporters=exporters if exporters is not None else where.exporters,
            statement=place.line,
            certain=not where.by_size and not where.replaced,
            exported=self.in_export or observation is observations.ExportCall,
            **fields,
        )
        if self._known_from_callers(made):
            return
        before = self.observations.get(made.key)
        merged = made if before is None else before.and_also(made)
        if merged == before:
            return
        self.changes += 1
        if before is None or made.rank < before.rank:
            described = {} if about is None else {"": describe(about)}
            if self.frames and self.frames[-1].symbol == place.symbol:
                described |= describe_all(self._names_at(place))
            merged = replace(merged, trace=trace.steps() if trace is not None else (), described=described)
        self.observations[made.key] = merged

    def _doubted(self, observation: type[Observation], doubt: str) -> str:
        """The doubt of what is seen in the arm of a flag, or of a number that is constant in exports on purpose."""
        meant = self.context.for_exports and observation is observations.Escape
        return "flag" if (self.context.asked or meant) and doubt != "guess" else doubt

    def _fits_positions(self, observation: type[Observation], doubt: str) -> bool:
        """True in a function that resizes a table of positions: it is there for images of other sizes."""
        unit = self.frames[-1].unit if doubt == "axis" and observation in _BY_SIZE and self.frames else None
        if unit is None or unit.key in self.sized:
            return False
        return "interpolate(" in unit.text and _POSITIONS.search(unit.text) is not None

    def _known_from_callers(self, made: Observation) -> bool:
        """Whether an export call of unknown arguments is known from callers; one from a caller replaces that."""
        if not isinstance(made, observations.ExportCall):
            return False
        if made.caller:
            self.called_exports.add(made.span)
            self.observations.pop(replace(made, caller="").key, None)
        return not made.caller and made.span in self.called_exports

    def _names_at(self, place: Place) -> Mapping[str, Value]:
        """The variables of the frame; of very many only those that the place speaks of."""
        names = self.frames[-1].scope.names
        if len(names) <= MANY_NAMES:
            return names
        return {name: names[name] for name in _WORD.findall(place.text) if name in names}

    def emit_read(self, kind: type[Observation], node: ast.AST, v: Value, mask: tuple[str, ...], **more: Any) -> None:
        """A condition reads `v`."""
        if not mask:
            return
        fields: dict[str, Any] = {**more, "frozen": _frozen_at(v)}
        sure = True
        if isinstance(v, dom.Tensor):
            if v.source == "made" and not v.axes:
                return
            fields["reads"] = "data" if not v.fixed or v.axes else "weight"
            sure = not v.guessed
        elif isinstance(v, (dom.Data, dom.Array)):
            if unexportable_calls.clock(self.table, v):
                return
            if "numpy" in v.site.how and not v.fixed and v.site.place.symbol != self.frames[-1].symbol:
                self.use(v, "a condition")  # what another function read into numpy is a constant already
                return
            fields["reads"] = "weight" if v.fixed else "data"
            fields["sized"] = isinstance(v, dom.Data) and v.sized
        elif isinstance(v, dom.Dim):
            fields["reads"] = "dim"
            fields |= {"axes": " ".join(sorted(map(str, v.axes)))} if kind is observations.Branch else {}
            sure = v.sure
        else:
            return
        about = v if isinstance(v, dom.Tensor) else None
        doubt = "guess" if about is not None else "axis"
        self.emit(kind, node, v.trace, sure=sure, doubt=doubt, exporters=mask, about=about, **fields)

    def emit_operator(self, node: ast.AST, v: dom.Tensor, builtin: str = "", operands: int = 0) -> None:
        """`and`, `or`, `not`, `in`, `a < b < c` or a builtin such as `max(a, b)` asks a tensor for its truth."""
        if v.source != "made":
            fields: dict[str, Any] = {"builtin": builtin, "operands": operands}
            self.emit(observations.BoolOperator, node, v.trace, sure=not v.guessed, doubt="guess", **fields)

    def emit_argument(self, unit: FunctionUnit, name: str, v: dom.Const) -> None:
        """The example passes a Python value for a parameter of forward."""
        body = Body(unit.module, unit.qualname, unit.line)
        place = Place(body, NOWHERE, body.first, f"{unit.module.name}.{unit.qualname}")
        self.emit(observations.FrozenArgument, place, None, always=True, name=name, value=repr(v.literal))

    def report_loop(self, node: ast.AST, v: Value) -> None:
        """A loop runs over `v`."""
        if self.context.over_modules:
            return
        if isinstance(v, dom.Tensor):
            if v.source == "made" and not v.axes:
                return
            extent = shapes.extent_of(v, 0, self.context.axes)
            if v.source == "sizes":  # whatever their number, each is read as a Python number
                self.emit(observations.Loop, node, v.trace, sure=not v.guessed, over="sizes")
            elif isinstance(extent, (dom.Dim, dom.Data)):
                sure = not v.guessed and (not isinstance(extent, dom.Dim) or extent.sure)
                doubt = "guess" if v.guessed else "axis"
                axes = tuple(sorted(extent.axes)) if isinstance(extent, dom.Dim) else ()
                self.emit(observations.Loop, node, v.trace, sure=sure, doubt=doubt, over="tensor", axes=axes)
        elif isinstance(v, dom.Seq) and isinstance(v.size, dom.Dim):
            axes = tuple(sorted(v.size.axes))
            frozen = _frozen_at(v.size)
            if v.size.site is not None and ".log" in v.size.site.how:  # no exporter has it: a number of the example
                self.use(v.size, "a loop")
            self.emit(observations.Loop, node, v.size.trace, sure=v.size.sure, over="dim", axes=axes, frozen=frozen)
        elif isinstance(v, dom.Seq) and isinstance(v.size, (dom.Data, dom.Array)) and not v.size.fixed:
            self.emit(observations.Loop, node, v.size.trace, over="data", frozen=_frozen_at(v.size))

    def use(self, v: Value, how: str) -> None:
        """The graph depends on `v`: if it was frozen on the way, that is where."""
        fields: dict[str, Any]
        if not self.context.tracing:
            return
        if isinstance(v, (dom.Data, dom.Array)):
            numpy, mask = isinstance(v, dom.Array), self._meets(v.site)
            if not mask:
                return
            if isinstance(v, dom.Data) and unexportable_calls.clock(self.table, v):
                self.emit(observations.ClockRead, v.site.place, op=v.site.how)
            elif numpy or v.site.how:
                fields = {"how": v.site.how, "source": "data", "numpy": numpy or "numpy" in v.site.how}
                self.emit(observations.Escape, v.site.place, v.trace, weight=v.fixed, exporters=mask, **fields)
        elif isinstance(v, dom.Dim):
            if v.site is not None and v.site.how not in (unflattened_sizes.HIDDEN, dom.PIECES):
                mask = self._meets(v.site)
                if v.site.how == unflattened_sizes.READ:
                    mask = tuple(e for e in mask if e == "torchscript")
                if mask:
                    fields = {"sure": v.sure, "exporters": mask, "how": v.site.how, "source": "dim"}
                    self.emit(observations.Escape, v.site.place, v.trace, **fields)
        elif isinstance(v, dom.Tuple):
            for item in v.items:
                self.use(item, how)
        elif isinstance(v, dom.Seq):
            self.use(v.item, how)
            if v.size is not None:
                self.use(v.size, how)

    def use_all(self, values: Sequence[Value], how: str) -> None:
        """The graph depends on each of `values`."""
        for v in values:
            if type(v) in _USED:
                self.use(v, how)

    def check_literal_sizes(self, op: str, node: ast.AST, t: dom.Tensor, sizes: Sequence[Value]) -> None:
        """`view`/`reshape` with a literal where the batch of the example stood."""
        settled = all(isinstance(s, (dom.Const, dom.Dim)) for s in sizes)
        if t.source != "input" or not self.context.tracing or not settled:
            return
        named: frozenset[str] = frozenset(a for s in sizes if isinstance(s, dom.Dim) for a in s.axes)
        left = self._sure_axes(t, named)
        numbers = [dom.as_int(s) for s in sizes]
        literals = _literals(numbers, t)
        infers = -1 in numbers
        flat = len(t.dims) < 2 if t.dims is not None else numbers[:2] == [1, 1] and named <= _OF_TWO
        fixed = 0 in numbers or all(n == 1 for n in numbers)  # no element, or one: eager itself takes nothing else
        if not left or flat or fixed or not literals or (named and infers):
            return
        first = t.dims[0] if t.dims else t.lead
        position, number = literals[0]
        if infers and not (position == 0 and _stands_for_batch(number, len(sizes), t)):
            return
        example = first.example if isinstance(first, dom.Dim) else None
        fields: dict[str, Any] = {"axis": sorted(left)[0], "position": position, "literal": number}
        self.emit(observations.ShapeLiteral, node, t.trace, about=t, call=op, example=example, **fields)

    def _sure_axes(self, t: dom.Tensor, named: frozenset[str]) -> frozenset[str]:
        """The dynamic axes of a tensor, or of its first if the rank is unknown, but those of sizes that are `named`."""
        dims = t.dims if t.dims is not None else (t.lead if t.lead is not None else self.context.axes.extent(0),)
        left = (d.axes for d in dims if isinstance(d, dom.Dim) and d.plain and not d.axes & named)
        return frozenset(a for axes in left for a in axes if not a.startswith("?"))

    def check_literal_batch(self, op: str, node: ast.AST, t: dom.Tensor, sizes: Sequence[Value]) -> None:
        """`expand`/`repeat` of a weight to a literal batch; of a tensor made here, if that is the example's."""
        number = dom.as_int(sizes[0]) if sizes else None
        if t.source == "made" and number != self.context.example_batch:
            return
        if t.source == "input" or number is None or number <= 1 or len(sizes) < 2:
            return
        declared = self.context.axes.declared
        if declared is not None and 0 not in dict(declared):
            return
        grows = t.dims is None or len(sizes) > len(t.dims) or dom.as_int(t.dims[0]) == 1
        if grows and self.context.example_batch in (None, number):
            rest = op == "expand" and all(dom.as_int(s) == -1 for s in sizes[1:])
            sure = self.context.example_batch == number or rest
            fields: dict[str, Any] = {"call": op, "literal": number, "axis": "batch", "position": 0}
            self.emit(observations.ShapeLiteral, node, t.trace, sure=sure, doubt="guess", **fields)

    def check_fixed_batch(self, made: dom.Tensor, axis: int, batch: dom.Extent) -> None:
        """A tensor made with a literal size meets one whose size on that axis is dynamic."""
        if made.made_at is None or made.dims is None or not isinstance(batch, dom.Dim) or not batch.sure:
            return
        number = dom.as_int(made.dims[axis])
        if number is not None:
            fields: dict[str, Any] = {"literal": number, "axis": sorted(batch.axes)[0], "position": axis}
            self.emit(observations.ShapeLiteral, made.made_at, made.trace, call="fixed state", **fields)

    def check_same_batch(self, tensors: Sequence[dom.Tensor], along: int) -> None:
        """`cat` of a tensor made with a literal batch and one with a dynamic batch."""
        for i in range(len(tensors[0].dims or ())):
            dynamic = next((t.dims[i] for t in tensors if t.dims is not None and isinstance(t.dims[i], dom.Dim)), None)
            if i != along and dynamic is not None:
                for t in tensors:
                    self.check_fixed_batch(t, i, dynamic)

    def check_operands(self, a: dom.Tensor, b: dom.Tensor) -> None:
        """Elementwise arithmetic between a tensor made with a literal batch and one with a dynamic batch."""
        self.check_lengths(a, b)
        if a.dims is None or b.dims is None or len(a.dims) != len(b.dims) or not a.dims:
            return
        for made, other in ((a, b), (b, a)):
            if made.made_at is not None and isinstance(other.dims, tuple) and (dom.as_int(made.dims[0]) or 1) > 1:  # type: ignore[index]
                self.check_fixed_batch(made, 0, other.dims[0])

    def check_lengths(self, a: dom.Tensor, b: dom.Tensor) -> None:
        """Elementwise arithmetic between a tensor of the example's length and one whose length was declared dynamic."""
        for made, other in ((a, b), (b, a)):
            if made.made_at is None or not made.dims or not other.dims:
                continue
            for i in range(1, min(len(made.dims), len(other.dims)) + 1):
                number, extent = dom.as_int(made.dims[-i]), other.dims[-i]
                if not isinstance(extent, dom.Dim) or not extent.plain or i == len(other.dims):
                    continue
                if extent.sure and number is not None and number > 1 and extent.example == number:
                    fields: dict[str, Any] = {"literal": number, "example": number, "position": len(made.dims) - i}
                    fields["axis"] = sorted(extent.axes)[0]
                    self.emit(observations.ShapeLiteral, made.made_at, made.trace, call="literal length", **fields)

    def check_fixed_axis(self, x: dom.Tensor, axis: int, why: str) -> None:
        """A layer takes one size only on an axis that was asked for as dynamic."""
        if x.dims is not None and isinstance(x.dims[axis], dom.Dim):
            extent = x.dims[axis]
            assert isinstance(extent, dom.Dim)
            if extent.sure and extent.plain:
                for name in extent.axes:
                    self.fixed.setdefault(name, why)


def _literals(numbers: Sequence[int | None], t: dom.Tensor) -> list[tuple[int, int]]:
    """The numbers among sizes, each with its place, but those behind the first that the tensor has anyway."""
    own = [dom.as_int(d) for d in t.dims or ()]
    return [(i, n) for i, n in enumerate(numbers) if n is not None and n != -1 and (i == 0 or n not in (1, *own))]


def _frozen_at(v: Value) -> Span | None:
    """Where a value of tensor data or a dynamic size became a plain number, whatever asks for it later."""
    site = v.site if isinstance(v, (dom.Data, dom.Dim, dom.Array)) else None
    return site.place.span if site is not None and site.how not in _MAY_STAY else None


def _stands_for_batch(number: int | None, rank: int, t: dom.Tensor) -> bool:
    """Whether a literal in front stands for the batch, though -1 absorbs it: else an idiom (grouped convolution)."""
    first = t.dims[0] if t.dims else t.lead
    if not isinstance(first, dom.Dim) or number is None:
        return False
    flat = rank == 2 and number == 1 and (t.dims is None or len(t.dims) > 2)
    return flat or (number > 1 and number == first.example)
