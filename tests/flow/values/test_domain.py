"""The laws of the lattice: `join` commutes, associates, is idempotent and keeps the priority; `widen` is above."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import cast

import pytest
from analysing import PRELUDE, project_of, result_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onnxlint.base.records import EXPORTERS
from onnxlint.flow.interpreter.frame import Frame
from onnxlint.flow.values import domain, joins
from onnxlint.flow.values.domain import (
    CONFIG,
    NONE,
    UNKNOWN,
    Array,
    ClassRef,
    Config,
    Const,
    Data,
    Dict,
    Dim,
    Extent,
    External,
    Function,
    Instance,
    Lambda,
    Layer,
    Method,
    Object,
    Partial,
    PyModule,
    Scripted,
    Seq,
    Shape,
    Site,
    Super,
    Tensor,
    Trace,
    Truth,
    Tuple,
    Unknown,
    Value,
    or_none,
)
from onnxlint.flow.values.joins import join, join_all, widen
from onnxlint.flow.values.node_places import Body, Place
from onnxlint.project.modules import Project

pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")
LAWS = settings(max_examples=400, deadline=None)
SOURCE = """\
class A:
    def f(self): return 1; return 2
    def g(self): return 3
class B(A):
    def f(self): return 4
class C:
    pass
def f(): return 5; return 6
def g(): return 7
x = lambda a: a
y = lambda a: a
"""


@cache
def world() -> Project:
    """Two files with equal contents, so that equal names do not mean equal things."""
    return project_of({"one/a.py": SOURCE, "two/a.py": SOURCE})


@cache
def places() -> tuple[Place, ...]:
    """Places on several lines, several on one line, and in two files."""
    found = []
    for info in world().modules.values():
        numbers = [n for n in ast.walk(info.file.tree) if isinstance(n, ast.Constant)]
        numbers.sort(key=lambda n: (n.lineno, n.col_offset))
        found += [Place(Body(info, "<module>", 1), node, 2 + i // 2, "a") for i, node in enumerate(numbers)]
    return tuple(found)


@cache
def objects() -> tuple[Object, ...]:
    return tuple(Object(info) for info in world().classes() for _ in range(2))


@cache
def lambdas() -> tuple[Lambda, ...]:
    frames = [_FakeFrame("m.f"), _FakeFrame("m.g")]
    return tuple(Lambda(ast.parse("lambda a: a", mode="eval").body, frame) for frame in frames for _ in range(2))


class _FakeFrame(Frame):
    def __init__(self, symbol: str) -> None:
        self.symbol = symbol


def test_the_world_has_what_the_strategies_draw_from() -> None:
    assert len(places()) == 14
    assert len({place.order for place in places()}) < len(places())
    assert len(objects()) == 12


sites = st.builds(Site, st.deferred(lambda: st.sampled_from(places()[2:5])), st.sampled_from((".item()", "int()")))
offs = st.sampled_from(("", "False", "None"))
traces = st.none() | st.builds(Trace, st.just("a.py"), st.integers(1, 3), st.just("made"))
literals = st.none() | st.booleans() | st.integers(-1, 2) | st.sampled_from((0.0, 1.0, -0.0, float("nan"), "a", "", 0j))
consts = st.builds(Const, literals, traces)
dims = st.builds(
    Dim,
    st.frozensets(st.sampled_from(("batch", "length", "?1")), min_size=1),
    st.none() | st.integers(1, 2),
    st.none() | sites,
    st.booleans(),
    traces,
    least=st.sampled_from((domain.COUNT, domain.SHARE, domain.REST)),
)
data = st.builds(Data, sites, st.booleans(), st.booleans(), traces)
extents = cast(
    "st.SearchStrategy[Extent]", st.builds(Const, st.integers(1, 3)) | st.builds(Config, traces, offs) | dims | data
)
made_at = st.none() | st.deferred(lambda: st.sampled_from(places()[:2]))
sources = st.sampled_from(("made", "weight", "input"))
kinds = st.sampled_from((None, "int", "float"))
views = st.sampled_from((None, "view", "index"))
known = st.builds(Tensor, st.lists(extents, max_size=2).map(tuple), st.none(), sources, kinds, views, made_at, traces)
tensors = known | st.builds(
    Tensor, st.none(), st.none() | extents, sources, kinds, views, made_at, traces, distinct=st.booleans()
)
units = st.deferred(
    lambda: st.sampled_from(
        [
            *(u for m in world().modules.values() for u in m.functions.values()),
            *(u for c in world().classes() for u in c.methods.values()),
        ]
    )
)
classes = st.deferred(lambda: st.sampled_from(list(world().classes())))
exporters = st.frozensets(st.sampled_from(EXPORTERS))
truths = st.builds(lambda yes, open_: Truth(yes - open_, open_), exporters, exporters)
FLAT: tuple[st.SearchStrategy[Value], ...] = (
    st.builds(Unknown, traces),
    consts,
    st.builds(Config, traces, offs),
    dims,
    data,
    st.builds(Array, sites, st.booleans(), traces),
    tensors,
    st.builds(Shape, tensors, traces),
    truths,
    st.builds(Scripted, st.sampled_from(("script", "trace")), traces),
    st.builds(External, st.sampled_from(("torch.relu", "torch.nn.functional.relu", "math.ceil")), traces),
    st.builds(ClassRef, classes, traces),
    st.builds(PyModule, st.deferred(lambda: st.sampled_from(list(world().modules.values()))), traces),
    st.builds(Instance, st.deferred(lambda: st.sampled_from(objects())), traces),
    st.deferred(lambda: st.sampled_from(lambdas())),
)
names = st.sampled_from(("view", "relu"))
keys = st.sampled_from(("a", "b", 0))
Kinds = tuple[st.SearchStrategy[Value], ...]


def containers(inner: st.SearchStrategy[Value]) -> Kinds:
    """Values that hold values, by kind."""
    items = st.lists(inner, max_size=2).map(tuple)
    sequences = st.builds(Tuple, items, st.sampled_from(("tuple", "list", "slice")), traces) | st.builds(
        Seq, inner, st.none() | inner, traces
    )
    dicts = st.builds(
        Dict, st.dictionaries(keys, inner, max_size=2).map(lambda d: tuple(d.items())), st.none() | inner, traces
    )
    arguments = st.dictionaries(st.sampled_from((0, "dim")), inner, max_size=2)
    return (
        sequences,
        dicts,
        st.builds(
            Layer,
            st.sampled_from(("torch.nn.Linear", "torch.nn.Sequential")),
            arguments.map(lambda d: tuple(d.items())),
            st.none() | sequences | dicts,
            traces,
        ),
        st.builds(Function, units, st.none() | inner, st.none(), traces),
        st.builds(Method, inner, names, traces),
        st.builds(Super, classes, inner, traces),
        st.builds(
            Partial,
            inner.filter(lambda v: not isinstance(v, (Const, Tuple, Seq))),
            items,
            st.dictionaries(names, inner, max_size=1).map(lambda d: tuple(sorted(d.items()))),
            traces,
        ),
    )


leaves = st.one_of(*FLAT)
values: st.SearchStrategy[Value] = st.recursive(leaves, lambda inner: st.one_of(*containers(inner)), max_leaves=6)
few = st.one_of(st.just(UNKNOWN), st.just(NONE), consts, dims, FLAT[-2])
KINDS: Kinds = (*FLAT, extents, *containers(few), *containers(leaves))
triples = st.tuples(values, values, values) | st.one_of(*(st.tuples(kind, kind, kind) for kind in KINDS))


def test_numbers_that_are_joined_first_leave_no_more_open_than_those_that_are_joined_last() -> None:
    no, yes, size = Const(False), Const(True), Dim(frozenset(("batch",)))
    assert join(join(no, yes), size) == join(no, join(yes, size)) == replace(size, optional=True)


@LAWS
@given(values)
def test_joining_a_value_with_itself_changes_nothing(a: Value) -> None:
    assert join(a, a) == a


@LAWS
@given(triples)
def test_the_order_of_joining_does_not_matter(three: tuple[Value, Value, Value]) -> None:
    a, b, _ = three
    assert join(a, b) == join(b, a)


@LAWS
@given(triples)
def test_the_grouping_of_joins_does_not_matter(three: tuple[Value, Value, Value]) -> None:
    a, b, c = three
    assert join(join(a, b), c) == join(a, join(b, c))


@LAWS
@given(triples)
def test_a_join_stands_above_both(three: tuple[Value, Value, Value]) -> None:
    a, b, _ = three
    both = join(a, b)
    assert join(both, a) == both
    assert join(both, b) == both


@LAWS
@given(triples)
def test_a_join_has_the_higher_priority_of_the_two(three: tuple[Value, Value, Value]) -> None:
    a, b, _ = three
    joined, ranks = joins._rank(join(a, b)), sorted((joins._rank(a), joins._rank(b)))
    widened = {joins._rank(CONFIG): {Const, Truth}, joins._rank(Seq(UNKNOWN)): {Tuple}}
    assert joined == ranks[1] or {type(a), type(b)} & widened[joined]


@LAWS
@given(values)
def test_widening_stands_above_the_value(a: Value) -> None:
    assert join(a, widen(a)) == widen(a)


@LAWS
@given(values)
def test_widening_twice_is_widening_once(a: Value) -> None:
    assert widen(widen(a)) == widen(a)


@LAWS
@given(triples)
def test_equal_values_have_equal_hashes(three: tuple[Value, Value, Value]) -> None:
    a, b, _ = three
    assert hash(join(a, b)) == hash(join(b, a))


@LAWS
@given(triples)
def test_joining_many_is_joining_two_by_two(three: tuple[Value, Value, Value]) -> None:
    a, b, c = three
    assert join_all(three) == join(join(a, b), c)


def test_joining_none_at_all_gives_none() -> None:
    assert join_all(()) is None


@pytest.mark.parametrize(
    ("a", "b"), [(True, 1), (1, 1.0), (False, 0j), (0.0, -0.0), (1, "1"), (None, False)], ids=lambda v: repr(v)
)
def test_literals_of_different_types_are_different_constants(a: object, b: object) -> None:
    assert Const(a) != Const(b)  # type: ignore[arg-type]
    assert Const(a).literal is a  # type: ignore[arg-type]


def test_a_constant_that_may_be_missing_decides_nothing() -> None:
    assert join(Const(True), Truth(frozenset(EXPORTERS))) == CONFIG
    assert join(NONE, Const(True)) == CONFIG
    assert join(UNKNOWN, Const(True)) == CONFIG


@LAWS
@given(truths, truths, st.sampled_from(EXPORTERS))
def test_truths_combine_as_python_s_conditions_do(a: Truth, b: Truth, exporter: str) -> None:
    def possible(truth: Truth) -> set[bool]:
        verdict = truth.verdict(exporter)
        return {True, False} if verdict is None else {verdict}

    assert possible(a.negated()) == {not x for x in possible(a)}
    assert possible(a.either(b)) == {x or y for x in possible(a) for y in possible(b)}
    assert possible(cast("Truth", join(a, b))) == possible(a) | possible(b)


def test_an_unknown_value_that_may_be_none_stays_unknown() -> None:
    assert join(NONE, UNKNOWN) == UNKNOWN


def test_a_tensor_that_may_be_missing_is_a_tensor() -> None:
    assert join(NONE, Tensor()) == or_none(Tensor())
    assert join(Tensor(), CONFIG) == or_none(Tensor())
    assert join(Tensor(), Tuple(())) == Tensor()


def test_ranks_that_differ_leave_the_first_dim() -> None:
    a, b = Tensor((Const(2), Const(3))), Tensor((Const(2), Const(3), Const(4)))
    assert join(a, b) == Tensor(None, Const(2))


def test_a_dim_of_two_sizes_has_the_axes_of_both() -> None:
    a, b = Dim(frozenset(("batch",)), 2), Dim(frozenset(("length",)), 2)
    assert join(a, b) == Dim(frozenset(("batch", "length")), 2)


def test_the_first_object_built_stands_for_the_others() -> None:
    info = next(iter(world().classes()))
    first, second = Instance(Object(info)), Instance(Object(info))
    assert join(second, first) == first


def test_of_two_functions_the_same_one_is_taken_in_every_run() -> None:
    one, two = (info.functions["f"] for info in world().modules.values())
    assert join(Function(two), Function(one)) == Function(one)


def test_a_trace_keeps_its_first_and_its_last_steps() -> None:
    trace = None
    for line in range(1, 10):
        trace = Trace("a.py", line, f"step {line}", trace)
    assert trace is not None
    assert [step.line for step in trace.steps(4)] == [1, 7, 8, 9]


def test_steps_on_one_line_are_told_once() -> None:
    trace = Trace("a.py", 1, "inner", Trace("a.py", 1, "outer", Trace("b.py", 1, "elsewhere")))
    assert [(s.path, s.message) for s in trace.steps()] == [("b.py", "elsewhere"), ("a.py", "inner")]


def test_every_kind_of_value_has_a_priority() -> None:
    kinds = {
        k
        for base in (domain._Plain, domain._Holder)
        for k in vars(domain).values()
        if base in getattr(k, "__mro__", ())
    }
    assert kinds - {domain._Plain, domain._Holder} == set(joins._PRIORITY)


# ------------------------------------------------------------------------------------------------------ bounds

DEEPEST = 64
EXTREMES = (
    0,
    -1,
    1 << 62,
    (1 << 63) - 1,
    1 << 63,
    -(1 << 63) - 1,
    10**5000,
    "a" * 600,
    "a" * 10**6,
    1e308,
    float("inf"),
)
extreme = st.sampled_from(EXTREMES).map(Const)
counts = st.sampled_from((0, 1, 2, domain.WEIGHT - 1, domain.WEIGHT, domain.WEIGHT + 1, 3 * domain.WEIGHT))


def held_by(v: Value) -> list[Value]:
    """What a value holds."""
    if isinstance(v, Tuple):
        return list(v.items)
    if isinstance(v, Dict):
        return [i for i in (*(i for _, i in v.items), v.rest) if i is not None]
    if isinstance(v, Seq):
        return [i for i in (v.item, v.size) if i is not None]
    if isinstance(v, Layer):
        return [i for i in (*(i for _, i in v.args), v.items) if i is not None]
    if isinstance(v, Partial):
        return [v.function, *v.args, *(i for _, i in v.kwargs)]
    inner = v.receiver if isinstance(v, Method) else v.bound if isinstance(v, (Function, Super)) else None
    return [] if inner is None else [inner]


def assert_bounded(v: Value) -> None:
    """Fail unless a value is as small as the domain promises, every value in it counted as often as it is there."""
    level, count, depth = [v], 0, 0
    while level:
        count, depth = count + len(level), depth + 1
        assert count <= 3 * domain.WEIGHT
        assert depth <= DEEPEST
        for each in level:
            if isinstance(each, Const):
                literal = each.literal
                assert not isinstance(literal, int) or literal in domain.NUMBERS
                assert not isinstance(literal, str) or len(literal) <= domain.TEXT
            elif isinstance(each, Tensor):
                assert len(each.dims or ()) <= domain.AXES
            elif isinstance(each, Dim):
                assert len(each.axes) <= domain.AXES
                assert each.example is None or each.example in domain.NUMBERS
            elif isinstance(each, External):
                assert len(each.name) <= domain.TEXT
        level = [inner for each in level for inner in held_by(each)]


@st.composite
def grown(draw: st.DrawFn) -> Value:
    """A value that was put into others again and again, with many others beside it."""
    v = draw(values | extreme)
    for _ in range(draw(st.integers(0, 6))):
        beside = draw(values | extreme)
        many = (v, *[beside] * draw(counts)) if draw(st.booleans()) else (v,) * (draw(counts) + 1)
        pairs = tuple(enumerate(many))
        v = draw(
            st.sampled_from(
                (
                    Tuple(many, "list"),
                    Seq(v, beside),
                    Dict(pairs, beside),
                    Layer("torch.nn.Linear", pairs),
                    Partial(v, many, ()),
                    Method(v, "view"),
                    Super(next(iter(world().classes())), v),
                )
            )
        )
    return v


EXPRESSIONS = (
    *("a + b", "a - b", "a * b", "a // b", "a % b", "a ** b", "a << b", "-a", "a * 99", "(a, b) * 99", "f'{a}{b}'"),
    *("[*a, *b]", "{**a, **b}", "{a: b}", "[(x, x) for x in a]", "list(zip(a, b))", "sum([a, b], a)", "dict(a)"),
    *("f(*a, *b)", "f(**a)", "g(a, *b)", "x.view(*a, *b)", "x[a, b]", "x.shape[0] * a * b", "min(a, b)"),
)
BOUNDS = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))


@BOUNDS
@given(grown(), grown())
def test_values_and_their_joins_are_bounded(a: Value, b: Value) -> None:
    for v in (a, join(a, b), widen(join(a, b)), Tuple((a, b)), Method(Tuple((a, b)), "view")):
        assert_bounded(v)
        assert hash(v) == hash(v)
    assert join(a, b) == join(b, a)
    assert join(a, a) == a


@BOUNDS
@given(grown(), grown(), st.sampled_from(EXPRESSIONS))
def test_what_expressions_make_of_values_is_bounded(a: Value, b: Value, expression: str) -> None:
    source = "def f(*a, **d):\n    return a, d\ndef g(*a):\n    return partial(f, *a, *a)\n"
    source += f"def h(a, b, x):\n    return {expression}\n"
    assert_bounded(result_of(PRELUDE + source, a, b, Tensor((Const(2), Dim(frozenset(("batch",)), 1 << 62))), name="h"))


@pytest.mark.parametrize("wrap", [lambda v: Tuple((v,)), Seq, lambda v: Dict((("a", v),)), lambda v: Tuple((v, v))])
def test_a_value_in_a_value_without_end_is_bounded(wrap: Callable[[Value], Value]) -> None:
    v: Value = Tensor()
    for _ in range(2000):
        v = wrap(v)
    assert_bounded(v)


def test_a_value_that_fits_is_kept_whole() -> None:
    assert len(cast("Tuple", Tuple((NONE,) * domain.WEIGHT)).items) == domain.WEIGHT
    assert Const((1 << 63) - 1).literal == (1 << 63) - 1
    assert Const("a" * domain.TEXT).literal == "a" * domain.TEXT
    nested = Tuple((Tuple((Tensor(), Dict((("a", Tuple((NONE, NONE))),)))),) * 9)
    assert held_by(held_by(nested)[8])[1] == Dict((("a", Tuple((NONE, NONE))),))


def test_what_does_not_fit_says_less() -> None:
    assert Const(1 << 63) == CONFIG
    assert Const("a" * (domain.TEXT + 1)) == CONFIG
    assert Tuple((NONE,) * (domain.WEIGHT + 1)) == Seq(CONFIG)
    assert Tuple((Tensor(),) * (domain.WEIGHT + 1)) == Seq(UNKNOWN)
    assert Dict(tuple((i, NONE) for i in range(domain.WEIGHT + 1))) == Dict((), CONFIG)
    assert Tensor((Const(2),) * (domain.AXES + 1)) == Tensor(None, Const(2))
    assert External("a" * (domain.TEXT + 1)) == External("a" * domain.TEXT)
