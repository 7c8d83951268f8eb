"""The abstract domain: what the static pass knows of a Python value.

Values are immutable by convention; they are not `frozen` because millions of them are made.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar

from onnxlint.base.records import EXPORTERS, Step

if TYPE_CHECKING:
    from onnxlint.flow.values.node_places import Place
    from onnxlint.project.classes import ClassInfo, FunctionUnit, ModuleInfo

# What is known of a number that sizes make, where no axis is empty: it is one or more, it is more than zero (maybe a
# fraction), or it may be nothing at all, as what a difference or a division leaves.
COUNT, SHARE, REST = range(3)
FRACTION = "fraction"  # the form of a size that was divided, or met a float: it is a float itself
MULTIPLE = "multiple"  # the form of an axis times numbers that are fixed
PIECES = "pieces"  # what makes a number of the count of pieces that an axis is cut into: the operator says so itself
UNSURE = "?"  # the name of a dim that may or may not be dynamic: nobody declared the axes
SOURCES = ("input", "sizes", "weight", "made")


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
        steps: list[Step] = []
        at: Trace | None = self
        while at is not None and len(steps) < limit:
            if not steps or (steps[-1].path, steps[-1].line) != (at.path, at.line):
                steps.append(Step(at.path, at.line, at.message))
            at = at.parent
        if at is not None:  # traces grow as long as a function: the way back is not walked to its end
            steps[-1] = Step(self.root.path, self.root.line, self.root.message)
        return tuple(reversed(steps))


# How much one value may hold: every kind of value keeps to these when it is made, so that a step of the interpreter
# takes a bounded time. What there is more of is not known.
WEIGHT = 1000  # values in a value; in a heavier one, what is held in what it holds is forgotten
NUMBERS = range(-(1 << 63), 1 << 63)  # the integers, as torch has them
TEXT = 1000  # characters of a string
AXES = 64  # of a tensor, as torch has them; and as many dynamic ones that a size depends on
LOST = 1e-8  # the `abs_tol` of the constants in rewrite rules of onnxscript (0.7.2)
_SIZED = {int, str, bytes}
_ALIKE = {bool, float, complex}  # True == 1 == 1.0 == 1+0j in Python, and they must not share a summary
_CHAIN = 3 * WEIGHT  # what a method may be bound to


class _Literals(type):
    """The class of literals: one that is too large is no more than a setting.

    It makes the value by itself, without `__init__`, because a third of all values are literals.
    """

    def __call__(cls, value: Hashable, trace: Trace | None = None) -> Any:
        kind = type(value)
        if kind in _SIZED:
            if value not in NUMBERS if kind is int else len(value) > TEXT:  # type: ignore[arg-type]
                return Config(trace)
        elif kind in _ALIKE:
            value = _Typed(value)
        made: Any = object.__new__(cls)  # type: ignore[arg-type]
        made.value, made.trace = value, trace
        return made


class _Tuples(type):
    """The class of tuples and lists of known length: of one that is too long, only what it holds is known."""

    def __call__(
        cls, items: tuple[Value, ...], kind: str = "tuple", trace: Trace | None = None, optional: bool = False
    ) -> Any:
        if len(items) > WEIGHT:
            return Seq(_any_of(items), None, trace, optional)
        return super().__call__(items, kind, trace, optional)


class _Plain:
    """A value that holds no other: each weighs 1, one that holds others more than all of them."""

    __slots__ = ()
    weight: ClassVar[int] = 1


@dataclass(slots=True)
class _Holder:
    """A value that holds others: it weighs more than all of them, and the more the deeper they are nested."""

    weight: int = field(init=False, compare=False, repr=False)


@dataclass(slots=True, unsafe_hash=True)
class Unknown(_Plain):
    """Nothing is known; no rule fires on it."""

    trace: Trace | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True, unsafe_hash=True)
class Const(_Plain, metaclass=_Literals):
    """A Python literal, or a static size whose number is known."""

    value: Hashable
    trace: Trace | None = field(default=None, compare=False, repr=False)

    @property
    def literal(self) -> Any:
        """The Python value itself."""
        return self.value.value if isinstance(self.value, _Typed) else self.value


@dataclass(slots=True, frozen=True)
class _Typed:
    value: Any

    def __eq__(self, other: object) -> bool:
        mine = type(self.value), repr(self.value)
        return isinstance(other, _Typed) and (type(other.value), repr(other.value)) == mine

    def __hash__(self) -> int:
        kind = type(self.value)
        return hash((kind, self.value if kind is bool else repr(self.value)))


@dataclass(slots=True, unsafe_hash=True)
class Config(_Plain):
    """A Python value fixed when the model is built: a constructor argument, an attribute, a static size, a dtype.

    `default` is what it is unless somebody changes it: the default of a parameter that nobody was seen to give another.
    """

    trace: Trace | None = field(default=None, compare=False, repr=False)
    default: Const | None = None


@dataclass(slots=True, unsafe_hash=True)
class Dim(_Plain):
    """A Python integer (or a comparison of some) that depends on the dynamic axes `axes`; `example` is its value there.

    `site` is set once the exporter's symbol was turned into a plain Python number: where, and by what.
    `plain` tells an axis as it stands from arithmetic on it. `optional` is True where None may stand in its place.
    """

    axes: frozenset[str]
    example: int | None = None
    site: Site | None = None
    plain: bool = True
    trace: Trace | None = field(default=None, compare=False, repr=False)
    form: str = field(default="", compare=False)  # "remainder", "equal", FRACTION, MULTIPLE
    least: int = COUNT
    optional: bool = False

    def __post_init__(self) -> None:
        if self.example is not None and self.example not in NUMBERS:
            self.example = None
        if len(self.axes) > AXES:
            self.axes = frozenset(sorted(self.axes)[:AXES])

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


Extent: TypeAlias = Dim | Const | Config | Data


@dataclass(slots=True, unsafe_hash=True)
class Tensor(_Plain):
    """A tensor: `dims` if its rank is known, else `lead` is its first dim if that is known.

    `source` is `input` (depends on what the model is fed), `sizes` (made of sizes of such tensors), `weight` (a
    parameter or buffer) or `made` (from other Python values alone). `kind` is `int`, `index` (integers that are not
    negative), `signed` (differences of each with each), `float`, `bool`, `complex` or None. `view` names what an
    in-place write would reach. `guessed` is True where only the lack of an annotation speaks for a tensor: it may as
    well be a list or a number. `parameter` names the parameter of the exported forward that this still is. `distinct`
    marks the indices of a sort along the only axis: none repeats. `optional` is True where None may stand in its place.
    """

    dims: tuple[Extent, ...] | None = None
    lead: Extent | None = None
    source: str = "input"
    kind: str | None = None
    view: str | None = None
    made_at: Place | None = None
    trace: Trace | None = field(default=None, compare=False, repr=False)
    guessed: bool = False
    parameter: str = ""
    distinct: bool = False
    optional: bool = False

    def __post_init__(self) -> None:
        if self.dims is not None and len(self.dims) > AXES:
            self.lead, self.dims = self.dims[0], None

    @property
    def fixed(self) -> bool:
        """True where its values are the same for all inputs."""
        return self.source in ("weight", "made")

    @property
    def extents(self) -> tuple[Extent, ...]:
        """The sizes that are known: of every axis, else of the first if that one is."""
        return self.dims if self.dims is not None else (self.lead,) if self.lead is not None else ()

    @property
    def axes(self) -> frozenset[str]:
        """Every dynamic axis that a dim of this tensor depends on, as far as known."""
        return frozenset(a for d in self.extents if isinstance(d, Dim) for a in d.axes)

    @property
    def ragged(self) -> Data | None:
        """The dim whose size depends on data, if there is one."""
        return next((d for d in self.extents if isinstance(d, Data)), None)


@dataclass(slots=True, unsafe_hash=True)
class Tuple(_Holder, metaclass=_Tuples):
    """A tuple or list of known length; `optional` where None may stand in its place."""

    items: tuple[Value, ...]
    kind: str = "tuple"
    trace: Trace | None = field(default=None, compare=False, repr=False)
    optional: bool = False

    def __post_init__(self) -> None:
        items = self.items
        self.weight = _weight(sum([v.weight for v in items]))
        if self.weight > WEIGHT + len(items):
            self.items = tuple([_light(v) for v in items])
            self.weight = _weight(len(items))


@dataclass(slots=True, unsafe_hash=True)
class Seq(_Holder):
    """A list, tuple, iterator or generator of unknown length; `size` is what its length depends on, if it matters.

    `optional` is True where None may stand in its place. `leading` are the first items, as far as it has so many.
    """

    item: Value
    size: Value | None = None
    trace: Trace | None = field(default=None, compare=False, repr=False)
    optional: bool = False
    leading: tuple[Value, ...] = ()

    def __post_init__(self) -> None:
        size = self.size.weight if self.size is not None else 0
        self.weight = _weight(self.item.weight + size)
        if self.weight > WEIGHT:
            self.item, self.weight = UNKNOWN, _weight(1 + size)


@dataclass(slots=True, unsafe_hash=True)
class Dict(_Holder):
    """A dict: known string or number keys in `items`, and `rest` for whatever else it may hold.

    `merged` is True where it joins dicts that do not have the same keys in the same order.
    """

    items: tuple[tuple[Hashable, Value], ...] = ()
    rest: Value | None = None
    trace: Trace | None = field(default=None, compare=False, repr=False)
    merged: bool = field(default=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if len(self.items) > WEIGHT:
            values = [v for _, v in self.items]
            self.items, self.rest = (), _any_of(values if self.rest is None else [*values, self.rest])
        self.weight = _weight_of(self.items, self.rest)
        if self.weight > WEIGHT + len(self.items):
            self.items = tuple([(k, _light(v)) for k, v in self.items])
            self.rest = None if self.rest is None else UNKNOWN
            self.weight = _weight_of(self.items, self.rest)

    def get(self, key: Hashable) -> Value | None:
        """The value under a known key, else what any key may hold."""
        return next((v for k, v in self.items if k == key), self.rest)

    def without(self, key: Hashable) -> Dict:
        """The dict after `del self[key]`."""
        return Dict(tuple(i for i in self.items if i[0] != key), self.rest, self.trace, self.merged)


@dataclass(slots=True, eq=False, repr=False)
class Object:
    """An instance of a class of the project, compared by identity. `attrs` grows as methods assign to self.

    `settled` are the attributes that code assigned which ran before any export and after the constructor.
    `serial` counts the objects of a process: it orders them the same way in every run.
    """

    cls: ClassInfo
    serial: int = field(default_factory=itertools.count().__next__)
    attrs: dict[str, Value] = field(default_factory=dict)
    buffers: set[str] = field(default_factory=set)
    settled: set[str] = field(default_factory=set)

    def __repr__(self) -> str:
        return f"<{self.cls.qualname} {self.serial}>"


@dataclass(slots=True, unsafe_hash=True)
class Instance(_Plain):
    """An object of a class of the project (a model, a config, an output record); `mode` is a module's, where known.

    `wrapping` is "compile", "script" or "trace" for what `torch.compile`, `torch.jit.script` or `trace` made of it.
    """

    object: Object
    trace: Trace | None = field(default=None, compare=False, repr=False)
    mode: str = "train"
    wrapping: str = ""


@dataclass(slots=True, unsafe_hash=True)
class Layer(_Holder):
    """A module of torch.nn: its dotted name, arguments by name or position, and items if it is a container.

    `mode` is that of the module of the project which it was taken from.
    """

    name: str
    args: tuple[tuple[str | int, Value], ...] = ()
    items: Tuple | Seq | Dict | None = None
    trace: Trace | None = field(default=None, compare=False, repr=False)
    mode: str = field(default="train", compare=False, repr=False)

    def __post_init__(self) -> None:
        if len(self.args) > WEIGHT:
            self.args = ()
        self.weight = _weight_of(self.args, self.items)
        if self.weight > WEIGHT + len(self.args):
            self.args = tuple([(k, _light(v)) for k, v in self.args])
            self.items = None if self.items is None else Seq(UNKNOWN)
            self.weight = _weight_of(self.args, self.items)

    def arg(self, position: int, name: str) -> Value | None:
        """The argument given by position or by name."""
        return next((v for k, v in self.args if k in (position, name)), None)


@dataclass(slots=True, unsafe_hash=True)
class Function(_Holder):
    """A function of the project, with the object it is bound to and the variables it closes over."""

    unit: FunctionUnit
    bound: Value | None = None
    scope: Scope | None = field(default=None, compare=False, repr=False)
    trace: Trace | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        bound = self.bound
        self.weight = 1 if bound is None else _weight(bound.weight)
        if self.weight > _CHAIN:
            self.bound, self.weight = UNKNOWN, _weight(1)

    @property
    def is_closure(self) -> bool:
        """True for one that uses a variable of a function around it."""
        scope = self.scope
        while scope is not None and self.unit.words.isdisjoint(scope.names):
            scope = scope.outer
        return scope is not None


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

    def __post_init__(self) -> None:
        if len(self.name) > TEXT:
            self.name = self.name[:TEXT]  # which no library has


@dataclass(slots=True, unsafe_hash=True)
class Method(_Holder):
    """A method of a value that is not of the project: `x.view`."""

    receiver: Value
    name: str
    trace: Trace | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        self.weight = _weight(self.receiver.weight)
        if self.weight > _CHAIN:
            self.receiver, self.weight = UNKNOWN, _weight(1)


@dataclass(slots=True, unsafe_hash=True)
class Partial(_Holder):
    """`functools.partial(function, ...)`."""

    function: Value
    args: tuple[Value, ...]
    kwargs: tuple[tuple[str, Value], ...]
    trace: Trace | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if len(self.args) + len(self.kwargs) > WEIGHT:
            self.function, self.args, self.kwargs = UNKNOWN, (), ()
        self.weight = _weight_of(self.kwargs, self.function, *self.args)
        if self.weight > WEIGHT + len(self.args) + len(self.kwargs):
            self.args = tuple([_light(v) for v in self.args])
            self.kwargs = tuple([(k, _light(v)) for k, v in self.kwargs])
            self.function = self.function if self.function.weight < WEIGHT // 2 else UNKNOWN
            self.weight = _weight_of(self.kwargs, self.function, *self.args)


@dataclass(slots=True, unsafe_hash=True)
class Super(_Holder):
    """`super()` in a method of `info`, on `bound`."""

    info: ClassInfo
    bound: Value
    trace: Trace | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        self.weight = _weight(self.bound.weight)
        if self.weight > _CHAIN:
            self.bound, self.weight = UNKNOWN, _weight(1)


@dataclass(slots=True, unsafe_hash=True)
class Scripted(_Plain):
    """A ScriptModule of whose module nothing is known; it may join what is none, and is then forgotten."""

    wrapping: str
    trace: Trace | None = field(default=None, compare=False, repr=False)


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


# Every kind of value; of two kinds that join, what comes later stands for both.
_Lower = Scripted | Unknown | Const | Truth | Config | External | PyModule | ClassRef | Super | Partial | Method
Value = _Lower | Lambda | Function | Layer | Instance | Dict | Tuple | Seq | Shape | Dim | Array | Data | Tensor
_OPTIONAL = (Tensor, Dim, Tuple, Seq)
Args: TypeAlias = list[Value]  # what a call gives by position, and by name
Kwargs: TypeAlias = dict[str, Value]


@dataclass(slots=True, eq=False, repr=False)
class Scope:
    """Variables of one activation, and the activation that encloses it."""

    names: dict[str, Any]
    outer: Scope | None = None
    parts: set[str] = field(default_factory=set)  # names that stand for parts of the model one after the other

    def lookup(self, name: str) -> Any | None:
        """The value of a variable here or in an enclosing function."""
        scope: Scope | None = self
        while scope is not None and name not in scope.names:
            scope = scope.outer
        return scope.names[name] if scope is not None else None


@dataclass(slots=True, unsafe_hash=True)
class Site:
    """Where a tensor or a symbolic dim became a plain Python value, and by what: `.item()`, `int()`, `len()`.

    `exporters` are those whose arm that is, where it is not both."""

    place: Place
    how: str
    exporters: tuple[str, ...] = ()


def _weight(content: int) -> int:
    """Weigh a value by what it holds. An eighth on top for each level keeps the nesting from growing deep."""
    return 1 + content + (content >> 3)


def _weight_of(items: tuple[tuple[Any, Value], ...], *others: Value | None) -> int:
    return _weight(sum([v.weight for _, v in items]) + sum([v.weight for v in others if v is not None]))


def _light(v: Value) -> Value:
    return v if v.weight == 1 else UNKNOWN


def _any_of(values: Iterable[Value]) -> Value:
    """What is known of very many values: no more than that they are settings, if all are."""
    return CONFIG if all(type(v) in (Const, Config) for v in values) else UNKNOWN


UNKNOWN = Unknown()
NONE = Const(None)
CONFIG = Config()
DECORATED = External("onnxlint.decorated")  # the function in a decorator's wrapper: its result is known already


def contents(v: Value) -> Sequence[Value]:
    """The values that a tuple, a list or a dict may hold; none in any other."""
    if isinstance(v, Dict):
        return [i for _, i in v.items] + ([v.rest] if v.rest is not None else [])
    return (v.item,) if isinstance(v, Seq) else v.items if isinstance(v, Tuple) else ()


def first_dim(t: Tensor) -> Extent | None:
    """The size of axis 0, if known."""
    return (t.dims[0] if t.dims else None) if t.dims is not None else t.lead


def common_source(tensors: Iterable[Tensor]) -> str:
    """What a value depends on that is made from all of `tensors`."""
    return next((source for source in SOURCES if source in {t.source for t in tensors}), "made")


V = TypeVar("V")


@cache
def _fields_of(kind: type) -> tuple[Callable[[Any], Sequence[Any]], Mapping[str, int]]:
    names = [f.name for f in fields(kind) if f.init]
    get: Callable[[Any], Any] = attrgetter(*names)
    return (get if len(names) > 1 else lambda v: (get(v),)), {name: n for n, name in enumerate(names)}


def replace(v: V, **changes: Any) -> V:
    """`dataclasses.replace`, which asks every time which fields there are: for a tensor that takes twice as long."""
    kind: Any = type(v)
    get, places = _fields_of(kind)
    values = list(get(v))
    for name, new in changes.items():
        values[places[name]] = new
    return kind(*values)  # type: ignore[no-any-return]


def is_ellipsis(v: Value) -> bool:
    """True for `...`."""
    return isinstance(v, External) and v.name == "builtins.Ellipsis"


def is_none(v: Value) -> bool:
    """True for the literal None."""
    return isinstance(v, Const) and v.value is None


def or_none(v: Value) -> Value:
    """What is this value or None."""
    return replace(v, optional=True) if isinstance(v, _OPTIONAL) and not v.optional else v


def and_no_none(v: Value) -> Value:
    """The value where it is known not to be None."""
    return replace(v, optional=False) if isinstance(v, _OPTIONAL) and v.optional else v


def is_no_none(v: Value) -> bool:
    """True for what None cannot stand in the place of; of weights an attribute may hold none."""
    if type(v) is Tensor and (v.guessed or v.source == "weight"):
        return False
    if isinstance(v, _OPTIONAL):
        return not v.optional
    return v == DECORATED or (isinstance(v, Const) and v.value is not None)


def is_true(v: Value | None) -> bool:
    """True for a `True` that is written down."""
    return isinstance(v, Const) and v.literal is True


def size_of(v: Value) -> int | None:
    """The number of a literal size, or what a dynamic one is in the example."""
    return v.example if isinstance(v, Dim) else as_int(v)


def is_text(v: Value) -> bool:
    """True for a literal string."""
    return isinstance(v, Const) and type(v.value) is str


def is_switch(default: object) -> bool:
    """True for a default that says which arm is taken, or is too small for a file; a size, or no text, does not."""
    none = isinstance(default, (int, float)) and default <= 0
    return none or is_lost(default) or default is None or (isinstance(default, (bool, str)) and default != "")


def is_lost(number: object) -> bool:
    """True for a number that is not zero, and that dynamo's optimizer takes for zero: it leaves it out of a sum."""
    return isinstance(number, float) and 0 < abs(number) <= LOST


def or_default(v: Value) -> Value:
    """A setting that nobody changes is its default."""
    return v.default if isinstance(v, Config) and v.default is not None else v


def as_int(v: Value | None) -> int | None:
    """The number of a literal integer."""
    return v.value if type(v) is Const and type(v.value) is int else None


def literal_size(text: str) -> Extent:
    """The size that is written in a text."""
    return Const(int(text)) if text.isdecimal() and len(text) < 20 else CONFIG


def truth_of(v: Value) -> Truth:
    """What the truth of any value is in each exporter."""
    if isinstance(v, Truth):
        return v
    if isinstance(v, Const):
        return Truth(frozenset(EXPORTERS if v.literal else ()))
    return Truth(frozenset(), frozenset(EXPORTERS))


def reads_data(v: Value) -> bool:
    """True when the truth of `v` would be read out of a tensor."""
    return isinstance(v, (Tensor, Data, Array))
