"""The abstract domain: what the static pass knows of a Python value, and how two such values join.

The order is a priority between kinds (a value that may be a tensor is a tensor) and, within a kind, field by field.
Values are immutable by convention; they are not `frozen` because millions of them are made.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar

from onnxlint.records import EXPORTERS, Step

if TYPE_CHECKING:
    from onnxlint.flow.tree import Place
    from onnxlint.project.classes import ClassInfo, FunctionUnit
    from onnxlint.project.modules import ModuleInfo

Key = TypeVar("Key")
# What is known of a number that sizes make, where no axis is empty: it is one or more, it is more than zero (maybe a
# fraction), or it may be nothing at all, as what a difference or a division leaves.
COUNT, SHARE, REST = range(3)
UNSURE = "?"  # the name of a dim that may or may not be dynamic: nobody declared the axes


@dataclass(slots=True)
class Trace:
    """A linked list of steps, latest first: how a value came to be what it is."""

    path: str
    line: int
    message: str
    parent: Trace | None = None
    root: Trace = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        self.root = self if self.parent is None else self.parent.root

    def steps(self, limit: int = 6) -> tuple[Step, ...]:
        """The steps in the order of execution: the first one and the last `limit - 1`, one for each line."""
        found: list[Step] = []
        at: Trace | None = self
        while at is not None and len(found) < limit:
            step = Step(at.path, at.line, at.message)
            if not found or (found[-1].path, found[-1].line) != (step.path, step.line):
                found.append(step)
            at = at.parent
        if at is not None:  # traces grow as long as a function: the way back is not walked to its end
            found[-1] = Step(self.root.path, self.root.line, self.root.message)
        return tuple(reversed(found))


WEIGHT = 1000  # values that one value may hold; in a heavier one, what is held in what it holds is forgotten


class _Plain:
    """A value that holds no other: each weighs 1, one that holds others as much as all of them and 1."""

    __slots__ = ()
    weight: ClassVar[int] = 1


@dataclass(slots=True, unsafe_hash=True)
class Unknown(_Plain):
    """Nothing is known; no rule fires on it."""

    trace: Trace | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True, unsafe_hash=True)
class Const(_Plain):
    """A Python literal, or a static size whose number is known."""

    value: Hashable
    trace: Trace | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        # True == 1 == 1.0 == 1+0j in Python, and they must not share a summary.
        if isinstance(self.value, (bool, float, complex)):
            self.value = _Typed(self.value)

    @property
    def literal(self) -> Any:
        """The Python value itself."""
        return self.value.value if isinstance(self.value, _Typed) else self.value


@dataclass(slots=True, frozen=True)
class _Typed:
    value: Any

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _Typed)
            and type(other.value) is type(self.value)
            and repr(other.value) == repr(self.value)
        )

    def __hash__(self) -> int:
        kind = type(self.value)
        return hash((kind, self.value if kind is bool else repr(self.value)))


@dataclass(slots=True, unsafe_hash=True)
class Config(_Plain):
    """A Python value fixed when the model is built: a constructor argument, an attribute, a static size, a dtype.

    `off` is the default, `False` or `None`, of a parameter of an entry point that nobody was seen to give another.
    """

    trace: Trace | None = field(default=None, compare=False, repr=False)
    off: str = ""


@dataclass(slots=True, unsafe_hash=True)
class Dim(_Plain):
    """A Python integer (or a comparison of some) that depends on the dynamic axes `axes`; `example` is its value there.

    `site` is set once the exporter's symbol was turned into a plain Python number: where, and by what.
    `plain` tells an axis as it stands from arithmetic on it.
    """

    axes: frozenset[str]
    example: int | None = None
    site: Site | None = None
    plain: bool = True
    trace: Trace | None = field(default=None, compare=False, repr=False)
    form: str = field(default="", compare=False)  # "remainder" of a division, "equal" of two sizes
    least: int = COUNT

    @property
    def sure(self) -> bool:
        """True when one of the axes is known to be dynamic, not only possibly so."""
        return any(not a.startswith(UNSURE) for a in self.axes)


@dataclass(slots=True, unsafe_hash=True)
class Shape(_Plain):
    """`tensor.shape`."""

    tensor: Tensor
    trace: Trace | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True, unsafe_hash=True)
class Data(_Plain):
    """A Python scalar or list read out of a tensor at `site`; `fixed` if that tensor does not depend on the inputs."""

    site: Site
    fixed: bool = False
    sized: bool = False  # it is a size that depends on data: `len(torch.unique(x))`
    trace: Trace | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True, unsafe_hash=True)
class Array(_Plain):
    """A numpy array made from a tensor at `site`."""

    site: Site
    fixed: bool = False
    trace: Trace | None = field(default=None, compare=False, repr=False)


Extent: TypeAlias = "Dim | Const | Config | Data"


@dataclass(slots=True, unsafe_hash=True)
class Tensor(_Plain):
    """A tensor: `dims` if its rank is known, else `lead` is its first dim if that is known.

    `source` is `input` (depends on what the model is fed), `weight` (a parameter or buffer) or `made` (from Python
    values alone). `kind` is `int`, `index` (integers that are not negative), `signed` (differences of each with each),
    `float`, `bool`, `complex` or None. `view` names what an in-place write would reach. `guessed` is True where only
    the lack of an annotation speaks for a tensor: it may as well be a list or a number. `given` is the parameter of
    the exported forward that this still is. `distinct` marks the indices of a sort along the only axis: none repeats.
    """

    dims: tuple[Extent, ...] | None = None
    lead: Extent | None = None
    source: str = "input"
    kind: str | None = None
    view: str | None = None
    made_at: Place | None = None
    trace: Trace | None = field(default=None, compare=False, repr=False)
    guessed: bool = False
    given: str = ""
    distinct: bool = False

    @property
    def axes(self) -> frozenset[str]:
        """Every dynamic axis that a dim of this tensor depends on, as far as known."""
        known = self.dims if self.dims is not None else ((self.lead,) if self.lead is not None else ())
        return frozenset(a for d in known if isinstance(d, Dim) for a in d.axes)

    @property
    def ragged(self) -> Data | None:
        """The dim whose size depends on data, if there is one."""
        known = self.dims if self.dims is not None else ((self.lead,) if self.lead is not None else ())
        return next((d for d in known if isinstance(d, Data)), None)


@dataclass(slots=True, unsafe_hash=True)
class Tuple:
    """A tuple or list of known length."""

    items: tuple[Value, ...]
    kind: str = "tuple"
    trace: Trace | None = field(default=None, compare=False, repr=False)
    weight: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        self.weight = 1 + sum([v.weight for v in self.items])
        if self.weight > WEIGHT + len(self.items):
            self.items = _flat(self.items)
            self.weight = 1 + len(self.items)


@dataclass(slots=True, unsafe_hash=True)
class Seq:
    """A list, tuple, iterator or generator of unknown length; `size` is what its length depends on, if it matters."""

    item: Value
    size: Value | None = None
    trace: Trace | None = field(default=None, compare=False, repr=False)
    weight: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        self.weight = 1 + self.item.weight
        if self.weight > WEIGHT:
            self.item = UNKNOWN
            self.weight = 2


@dataclass(slots=True, unsafe_hash=True)
class Dict:
    """A dict: known string or number keys in `items`, and `rest` for whatever else it may hold."""

    items: tuple[tuple[Hashable, Value], ...] = ()
    rest: Value | None = None
    trace: Trace | None = field(default=None, compare=False, repr=False)
    weight: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        rest = self.rest.weight if self.rest is not None else 0
        self.weight = 1 + rest + sum([v.weight for _, v in self.items])
        if self.weight > WEIGHT + len(self.items):
            self.items = _flat_pairs(self.items)
            self.rest = None if self.rest is None else UNKNOWN
            self.weight = 2 + len(self.items)

    def get(self, key: Hashable) -> Value | None:
        """The value under a known key, else what any key may hold."""
        return next((v for k, v in self.items if k == key), self.rest)


class Object:
    """An instance of a class of the project, compared by identity. `attrs` grows as methods assign to self.

    `serial` counts the objects of a process: it orders them the same way in every run.
    """

    __slots__ = ("attrs", "buffers", "cls", "mode", "serial")

    def __init__(self, cls: ClassInfo) -> None:
        self.cls = cls
        self.serial = next(_SERIALS)
        self.attrs: dict[str, Value] = {}
        self.buffers: set[str] = set()

    def __repr__(self) -> str:
        return f"<{self.cls.qualname} {self.serial}>"


_SERIALS = itertools.count()


@dataclass(slots=True, unsafe_hash=True)
class Instance(_Plain):
    """An object of a class of the project (a model, a config, an output record); `mode` is a module's, where known."""

    object: Object
    trace: Trace | None = field(default=None, compare=False, repr=False)
    mode: str = "train"


@dataclass(slots=True, unsafe_hash=True)
class Layer:
    """A module of torch.nn: its dotted name, arguments by name or position, and items if it is a container."""

    name: str
    args: tuple[tuple[str | int, Value], ...] = ()
    items: Tuple | Seq | Dict | None = None
    trace: Trace | None = field(default=None, compare=False, repr=False)
    weight: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        items = self.items.weight if self.items is not None else 0
        self.weight = 1 + items + sum([v.weight for _, v in self.args])
        if self.weight > WEIGHT + len(self.args):
            self.args = _flat_pairs(self.args)
            self.items = None if self.items is None else Seq(UNKNOWN)
            self.weight = 3 + len(self.args)

    def arg(self, position: int, name: str) -> Value | None:
        """The argument given by position or by name."""
        return next((v for k, v in self.args if k in (position, name)), None)


@dataclass(slots=True, unsafe_hash=True)
class Function:
    """A function of the project, with the object it is bound to and the variables it closes over."""

    unit: FunctionUnit
    bound: Value | None = None
    scope: Scope | None = field(default=None, compare=False, repr=False)
    trace: Trace | None = field(default=None, compare=False, repr=False)

    @property
    def weight(self) -> int:
        """How many values this one holds, itself included."""
        return 1 + (self.bound.weight if self.bound is not None else 0)


@dataclass(slots=True, unsafe_hash=True)
class Lambda(_Plain):
    """A lambda, with the file and the shift of the body it stands in, and the frame that it evaluates its body in."""

    node: Any
    path: str
    shift: int = 0
    frame: Any = field(default=None, compare=False, repr=False)
    trace: Trace | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True, unsafe_hash=True)
class ClassRef(_Plain):
    """A class of the project."""

    info: ClassInfo
    trace: Trace | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True, unsafe_hash=True)
class PyModule(_Plain):
    """A module of the project."""

    info: ModuleInfo
    trace: Trace | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True, unsafe_hash=True)
class External(_Plain):
    """Something from a library, by its canonical dotted name: `torch.nn.functional.relu`."""

    name: str
    trace: Trace | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True, unsafe_hash=True)
class Method:
    """A method of a value that is not of the project: `x.view`."""

    receiver: Value
    name: str
    trace: Trace | None = field(default=None, compare=False, repr=False)

    @property
    def weight(self) -> int:
        """How many values this one holds, itself included."""
        return 1 + self.receiver.weight


@dataclass(slots=True, unsafe_hash=True)
class Partial:
    """`functools.partial(function, ...)`."""

    function: Value
    args: tuple[Value, ...]
    kwargs: tuple[tuple[str, Value], ...]
    trace: Trace | None = field(default=None, compare=False, repr=False)
    weight: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        self.weight = 1 + self.function.weight + sum([v.weight for v in self.args])
        self.weight += sum([v.weight for _, v in self.kwargs])
        if self.weight > WEIGHT + len(self.args) + len(self.kwargs):
            self.args, self.kwargs = _flat(self.args), _flat_pairs(self.kwargs)
            self.function = self.function if self.function.weight < WEIGHT // 2 else UNKNOWN
            self.weight = 1 + self.function.weight + len(self.args) + len(self.kwargs)


@dataclass(slots=True, unsafe_hash=True)
class Super:
    """`super()` in a method of `info`, on `bound`."""

    info: ClassInfo
    bound: Value
    trace: Trace | None = field(default=None, compare=False, repr=False)

    @property
    def weight(self) -> int:
        """How many values this one holds, itself included."""
        return 1 + self.bound.weight


@dataclass(slots=True, unsafe_hash=True)
class Truth(_Plain):
    """A condition that the exporter itself decides: true in the exporters named, false in the others.

    In those that are `undecided` it depends on something else too.
    """

    exporters: frozenset[str]
    undecided: frozenset[str] = frozenset()
    trace: Trace | None = field(default=None, compare=False, repr=False)

    def verdict(self, exporter: str) -> bool | None:
        """What the condition is in one exporter, None where that is not decided."""
        return None if exporter in self.undecided else exporter in self.exporters

    def negated(self) -> Truth:
        """`not` of it."""
        return Truth(frozenset(EXPORTERS) - self.exporters - self.undecided, self.undecided, self.trace)

    def either(self, other: Truth) -> Truth:
        """`or` of two."""
        yes = self.exporters | other.exporters
        return Truth(yes, (self.undecided | other.undecided) - yes, self.trace or other.trace)


Value: TypeAlias = (
    "Unknown | Const | Config | Dim | Shape | Data | Array | Tensor | Tuple | Seq | Dict | Instance | Layer"
    " | Function | Lambda | ClassRef | PyModule | External | Method | Partial | Super | Truth"
)


class Scope:
    """Variables of one activation, and the activation that encloses it."""

    __slots__ = ("names", "outer")

    def __init__(self, names: dict[str, Any], outer: Scope | None = None) -> None:
        self.names = names
        self.outer = outer

    def lookup(self, name: str) -> Any | None:
        """The value of a variable here or in an enclosing function."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.outer
        return None


@dataclass(slots=True, unsafe_hash=True)
class Site:
    """Where a tensor or a symbolic dim became a plain Python value, and by what: `.item()`, `int()`, `len()`."""

    place: Place
    how: str


UNKNOWN = Unknown()
NONE = Const(None)
CONFIG = Config()


def _flat(values: tuple[Value, ...]) -> tuple[Value, ...]:
    return tuple([v if v.weight == 1 else UNKNOWN for v in values])


def _flat_pairs(pairs: tuple[tuple[Key, Value], ...]) -> tuple[tuple[Key, Value], ...]:
    return tuple([(k, v if v.weight == 1 else UNKNOWN) for k, v in pairs])


_PRIORITY: dict[type, int] = {
    kind: rank
    for rank, kind in enumerate(
        (
            Unknown,
            Const,
            Truth,
            Config,
            External,
            PyModule,
            ClassRef,
            Super,
            Partial,
            Method,
            Lambda,
            Function,
            Layer,
            Instance,
            Dict,
            Tuple,
            Seq,
            Shape,
            Dim,
            Array,
            Data,
            Tensor,
        )
    )
}


def _rank(v: Value) -> int:
    if type(v) is Const and v.value is None:
        return -1
    return _PRIORITY[type(v)]


def join(a: Value, b: Value) -> Value:
    """The least value that stands for both: the kind of higher priority, and its fields widened."""
    if a is b or a == b:
        return a
    ra, rb = _rank(a), _rank(b)
    if {type(a), type(b)} == {Tuple, Seq}:
        return _join_sequences(a, b)
    if ra != rb:
        upper, lower = (a, b) if ra > rb else (b, a)
        if type(upper) in (Const, Truth):
            # One value, or else another of which less is known: no condition may be decided by the first alone.
            return Config(upper.trace or lower.trace)
        return Config(upper.trace) if type(upper) is Config and upper.off else upper
    joiner = _JOIN.get(type(a))
    return joiner(a, b) if joiner is not None else _choose(a, b)


def join_all(values: Iterable[Value]) -> Value | None:
    """Join any number of values; None for none."""
    result: Value | None = None
    for v in values:
        result = v if result is None else join(result, v)
    return result


def join_returns(values: Sequence[Value]) -> Value | None:
    """Join what a function gives back; a tensor that may as well be a tuple, a dict or a record is a guess only."""
    truths = [v for v in values if isinstance(v, Truth)]
    if truths and all(isinstance(v, Truth) or (isinstance(v, Const) and v.literal is False) for v in values):
        # Each was asked under some exporters, and False is what is left where asking fails: together they know all.
        return Truth(frozenset(e for v in truths for e in v.exporters))
    joined = join_all(values)
    if type(joined) is Tensor and not joined.guessed:
        mixed = any(isinstance(v, (Tuple, Seq, Dict, Instance)) or (type(v) is Tensor and v.guessed) for v in values)
        return replace(joined, guessed=True) if mixed else joined
    return joined


def _choose(a: Value, b: Value) -> Value:
    """Of two values that do not join, the same one whatever the order: the one that comes first in the source."""
    return min(a, b, key=_order)


def _order(v: Value) -> tuple[str, int, str]:
    """What values of one kind are ordered by, the same in every run for the same source."""
    if isinstance(v, Function):
        return f"{v.unit.module.path}:{v.unit.qualname}", v.unit.line, ""
    if isinstance(v, ClassRef):
        return f"{v.info.module.path}:{v.info.qualname}", v.info.line, ""
    if isinstance(v, Super):
        return f"{v.info.module.path}:{v.info.qualname}", v.info.line, ""
    if isinstance(v, PyModule):
        return v.info.path, 0, ""
    if isinstance(v, Instance):
        return v.object.cls.qualname, v.object.serial, ""
    if isinstance(v, (External, Layer, Method)):
        return v.name, 0, ""
    if isinstance(v, Partial):
        inner = _order(v.function)
        return f"{type(v.function).__name__} {inner[0]}", inner[1], f"{len(v.args)} {[k for k, _ in v.kwargs]}"
    if isinstance(v, Lambda):
        return getattr(v.frame, "symbol", ""), id(v.node), ""
    return "", 0, repr(v)


def _join_const(a: Const, b: Const) -> Value:
    return Config(a.trace or b.trace)


def _join_config(a: Config, b: Config) -> Value:
    return Config(a.trace or b.trace)


def _join_dim(a: Dim, b: Dim) -> Value:
    return Dim(
        a.axes | b.axes,
        a.example if a.example == b.example else None,
        _earlier(a.site, b.site),
        a.plain and b.plain,
        a.trace or b.trace,
        least=max(a.least, b.least),
    )


def _earlier(a: Site | None, b: Site | None) -> Site | None:
    if a is None or b is None:
        return a or b
    if (a.place.order, a.how) == (b.place.order, b.how) and a != b:
        return min(a, b, key=lambda s: dataclasses.astuple(s.place.span))
    return min(a, b, key=lambda s: (s.place.order, s.how))


def join_extents(a: Extent, b: Extent) -> Extent:
    """Join two sizes of one axis."""
    joined = join(a, b)
    assert isinstance(joined, (Dim, Const, Config, Data))
    return joined


def _join_tensor(a: Tensor, b: Tensor) -> Value:
    dims = None
    if a.dims is not None and b.dims is not None and len(a.dims) == len(b.dims):
        dims = tuple(join_extents(x, y) for x, y in zip(a.dims, b.dims, strict=True))
    leads = [first_dim(a), first_dim(b)]
    lead = None
    if dims is None and leads[0] is not None and leads[1] is not None:
        lead = join_extents(leads[0], leads[1])
    order = ("made", "weight", "input")
    return Tensor(
        dims,
        lead,
        max(a.source, b.source, key=order.index),
        _join_kinds(a.kind, b.kind),
        a.view if a.view == b.view else None,
        a.made_at if a.made_at == b.made_at else None,
        a.trace or b.trace,
        a.guessed and b.guessed,
        a.given if a.given == b.given else "",
        a.distinct and b.distinct,
    )


def _join_kinds(a: str | None, b: str | None) -> str | None:
    return a if a == b else "int" if {a, b} == {"int", "index"} else None


def first_dim(t: Tensor) -> Extent | None:
    """The size of axis 0, if known."""
    if t.dims is not None:
        return t.dims[0] if t.dims else None
    return t.lead


def _join_shape(a: Shape, b: Shape) -> Value:
    joined = _join_tensor(a.tensor, b.tensor)
    assert isinstance(joined, Tensor)
    return Shape(joined, a.trace or b.trace)


def _join_read(a: Any, b: Any) -> Value:
    site = _earlier(a.site, b.site)
    assert site is not None
    if isinstance(a, Data):
        return Data(site, a.fixed and b.fixed, a.sized and b.sized, a.trace or b.trace)
    return Array(site, a.fixed and b.fixed, a.trace or b.trace)


def _join_sequences(a: Any, b: Any) -> Value:
    if isinstance(a, Tuple) and isinstance(b, Tuple) and len(a.items) == len(b.items):
        kind = a.kind if a.kind == b.kind else "tuple"
        return Tuple(tuple(join(x, y) for x, y in zip(a.items, b.items, strict=True)), kind, a.trace or b.trace)
    item = join(element(a), element(b))
    sizes = [s.size for s in (a, b) if isinstance(s, Seq) and s.size is not None]
    return Seq(item, join_all(sizes), a.trace or b.trace)


def element(v: Tuple | Seq) -> Value:
    """What any item of a sequence may be."""
    if isinstance(v, Seq):
        return v.item
    return join_all(v.items) or UNKNOWN


def _join_dict(a: Dict, b: Dict) -> Value:
    rests = [r for r in (a.rest, b.rest) if r is not None]
    left, right = dict(a.items), dict(b.items)
    items = []
    for k in sorted({**left, **right}, key=repr):
        mine, theirs = left.get(k), right.get(k)
        items.append((k, join(mine, theirs) if mine is not None and theirs is not None else (mine or theirs)))
    return Dict(tuple(items), join_all(rests), a.trace or b.trace)  # type: ignore[arg-type]


def _join_layer(a: Layer, b: Layer) -> Value:
    if a.name != b.name:
        return _choose(a, b)
    items: Any = None
    if a.items is not None and b.items is not None:
        items = join(a.items, b.items)
    keys = {k for k, _ in a.args} & {k for k, _ in b.args}
    mine, theirs = dict(a.args), dict(b.args)
    args = tuple((k, join(mine[k], theirs[k])) for k in sorted(keys, key=str))
    return Layer(a.name, args, items or a.items or b.items, a.trace or b.trace)


def _join_function(a: Function, b: Function) -> Value:
    if a.unit is not b.unit:
        return _choose(a, b)
    return Function(a.unit, _join_optional(a.bound, b.bound), a.scope or b.scope, a.trace or b.trace)


def _join_method(a: Method, b: Method) -> Value:
    if a.name != b.name:
        return _choose(a, b)
    return Method(join(a.receiver, b.receiver), a.name, a.trace or b.trace)


def _join_super(a: Super, b: Super) -> Value:
    if a.info is not b.info:
        return _choose(a, b)
    return Super(a.info, join(a.bound, b.bound), a.trace or b.trace)


def _join_partial(a: Partial, b: Partial) -> Value:
    if _order(a) != _order(b):
        return _choose(a, b)
    args = tuple(join(x, y) for x, y in zip(a.args, b.args, strict=True))
    kwargs = tuple((k, join(v, w)) for (k, v), (_, w) in zip(a.kwargs, b.kwargs, strict=True))
    return Partial(join(a.function, b.function), args, kwargs, a.trace or b.trace)


def _join_truth(a: Truth, b: Truth) -> Value:
    differ = (a.exporters ^ b.exporters) | a.undecided | b.undecided
    return Truth(a.exporters - differ, differ, a.trace or b.trace)


def _join_optional(a: Value | None, b: Value | None) -> Value | None:
    return join(a, b) if a is not None and b is not None else a or b


_JOIN: dict[type, Any] = {
    Function: _join_function,
    Method: _join_method,
    Super: _join_super,
    Partial: _join_partial,
    Const: _join_const,
    Config: _join_config,
    Dim: _join_dim,
    Tensor: _join_tensor,
    Shape: _join_shape,
    Data: _join_read,
    Array: _join_read,
    Tuple: _join_sequences,
    Seq: _join_sequences,
    Dict: _join_dict,
    Layer: _join_layer,
    Truth: _join_truth,
}


Traced = TypeVar("Traced", bound="Tensor | Dim | Data | Shape")
_FIELDS: dict[type[Any], list[str]] = {k: [f.name for f in fields(k) if f.init] for k in (Tensor, Dim, Data, Shape)}
_TRACES = {kind: names.index("trace") for kind, names in _FIELDS.items()}
_GETTERS = {kind: attrgetter(*names) for kind, names in _FIELDS.items()}


def traced(v: Traced, trace: Trace | None) -> Traced:
    """The same value with another trace: `dataclasses.replace` for the one field that changes all the time."""
    kind = type(v)
    given = list(_GETTERS[kind](v))
    given[_TRACES[kind]] = trace
    return kind(*given)


def widen(v: Value) -> Value:
    """Forget what could grow without end in a loop: the length of a list."""
    if isinstance(v, Tuple) and v.kind == "list":
        return Seq(element(v), None, v.trace)
    return v


def is_none(v: Value) -> bool:
    """True for the literal None."""
    return isinstance(v, Const) and v.value is None


def as_int(v: Value | None) -> int | None:
    """The number of a literal integer."""
    if isinstance(v, Const) and isinstance(v.literal, int) and not isinstance(v.literal, bool):
        return v.literal
    return None


def truth_of(v: Value) -> Truth:
    """What the truth of any value is in each exporter."""
    if isinstance(v, Truth):
        return v
    everywhere = frozenset(EXPORTERS)
    if isinstance(v, Const):
        return Truth(everywhere if v.literal else frozenset())
    return Truth(frozenset(), everywhere)


def reads_data(v: Value) -> bool:
    """True when the truth of `v` would be read out of a tensor."""
    return isinstance(v, (Tensor, Data, Array))
