"""Sizes through operators and layers: the table of expressions, held against torch itself in the slow tests."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from analysing import PRELUDE, analyse, project_of, result_of
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from onnxlint.flow.values import shapes
from onnxlint.flow.values.domain import CONFIG, Config, Const, Data, Dim, Extent, Shape, Tensor, Tuple, Value, as_int

SIZES = (2, 6, 8, 4)  # of `x` in the table
TABLE = tuple(
    tuple(part.strip() for part in line.split("  ->  "))
    for line in (Path(__file__).parent / "shape_table.txt").read_text(encoding="utf-8").splitlines()
)
SOURCE = """
from einops import rearrange, reduce, repeat
import einops as E
def f(x):
    return """
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
AGAINST_TORCH = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
every_row = pytest.mark.parametrize(("expression", "sizes"), TABLE, ids=[row[0] for row in TABLE])


def abstract(expression: str, dims: tuple[Extent, ...] | None, axes: shapes.Axes | None = None) -> Value:
    """What an expression in `x` gives for an input of these dims."""
    return result_of(f"{SOURCE}{expression}\n", Tensor(dims), axes=axes)


def dims_of(v: Value) -> tuple[Extent, ...]:
    assert isinstance(v, Tensor)
    assert v.dims is not None, "the rank is not known"
    return v.dims


def text_of(dims: tuple[Extent, ...]) -> str:
    """Sizes as the table writes them: `n` for a size that depends on data."""
    return " ".join("n" if isinstance(d, Data) else str(as_int(d)) for d in dims) or "()"


@every_row
def test_the_sizes_of(expression: str, sizes: str) -> None:
    assert text_of(dims_of(abstract(expression, tuple(Const(n) for n in SIZES)))) == sizes


def dynamic(sizes: tuple[int, ...] = SIZES) -> tuple[Dim, ...]:
    """Every axis dynamic, with its size on the example."""
    return tuple(Dim(frozenset((f"a{i}",)), n) for i, n in enumerate(sizes))


@every_row
def test_a_size_on_the_example_is_the_same(expression: str, sizes: str) -> None:
    for d, size in zip(dims_of(abstract(expression, dynamic())), sizes.replace("()", "").split(), strict=True):
        known = d.example if isinstance(d, Dim) else as_int(d)
        assert known is None or isinstance(d, Data) or str(known) == size


@functools.cache
def scope() -> dict[str, Any]:
    """The names that the expressions use."""
    einops = pytest.importorskip("einops")
    torch = pytest.importorskip("torch")
    names = {name: getattr(einops, name) for name in ("rearrange", "reduce", "repeat")}
    return {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "E": einops, **names}


def real(expression: str, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that torch gives."""
    torch = scope()["torch"]
    torch.manual_seed(0)
    return tuple(eval(expression, {**scope(), "x": torch.randn(*sizes)}).shape)


def other_sizes(axis: int) -> Iterator[tuple[int, ...]]:
    """The sizes of the table with one of them changed."""
    for n in (SIZES[axis] * 2, SIZES[axis] * 3, SIZES[axis] + 1, SIZES[axis] + 2, SIZES[axis] - 1):
        yield (*SIZES[:axis], n, *SIZES[axis + 1 :])


@pytest.mark.slow
@every_row
def test_torch_gives_the_sizes_of(expression: str, sizes: str) -> None:
    shown = [str(n) for n in real(expression, SIZES)]
    wanted = sizes.replace("()", "").split()
    assert [s if w != "n" else "n" for s, w in zip(shown, wanted, strict=True)] == wanted


@pytest.mark.slow
@every_row
def test_what_changes_with_an_axis_is_told_to_depend_on_it(expression: str, sizes: str) -> None:
    dims = dims_of(abstract(expression, dynamic()))
    before = real(expression, SIZES)
    for axis in range(len(SIZES)):
        for changed in other_sizes(axis):
            try:
                after = real(expression, changed)
            except (RuntimeError, IndexError, ValueError, AssertionError):
                continue  # torch or einops rejects that size
            for d, old, new in zip(dims, before, after, strict=True):
                if old != new and not isinstance(d, Data):
                    assert isinstance(d, Dim), f"{d} is {old} or {new}"
                    assert f"a{axis}" in d.axes


LEARNT = {
    "view with all axes by name": ("x.view(x.shape[0], x.shape[1], -1)", "a0 | a1 | a2 a3"),
    "view that drops the batch": ("x.view(1, -1)", "1 | a0 a1 a2 a3"),
    "transpose": ("x.transpose(0, 1)", "a1 | a0 | a2 | a3"),
    "cat along an axis": ("torch.cat([x, x[:, :1]], 1)", "a0 | a1 | a2 | a3"),
    "a fixed part": ("x[:, :3]", "a0 | 3 | a2 | a3"),
    "what is left past a fixed part": ("x[:, 3:]", "a0 | a1 | a2 | a3"),
    "as long as another axis": ("x[:, : x.shape[2]]", "a0 | a2 | a2 | a3"),
    "flattened axes": ("x.flatten(2)", "a0 | a1 | a2 a3"),
    "a mean": ("x.mean((1, 2))", "a0 | a3"),
    "a product": ("x @ x.transpose(-1, -2)", "a0 | a1 | a2 | a2"),
    "a convolution": ("nn.Conv2d(6, 10, 3)(x)", "a0 | 10 | a2 | a3"),
    "a linear layer": ("nn.Linear(4, 9)(x)", "a0 | a1 | a2 | 9"),
    "an adaptive pool": ("F.adaptive_avg_pool2d(x, 1)", "a0 | a1 | 1 | 1"),
    "zeros as long as an axis": ("torch.zeros(x.shape[1], 3)", "a1 | 3"),
    "einops, heads": ('rearrange(x, "b n (h d) w -> b h n d w", h=2)', "a0 | 2 | a1 | a2 | a3"),
}


@pytest.mark.parametrize(("expression", "expected"), LEARNT.values(), ids=LEARNT.keys())
def test_the_axes_behind(expression: str, expected: str) -> None:
    dims = dims_of(abstract(expression, dynamic()))
    shown = [" ".join(sorted(d.axes)) if isinstance(d, Dim) else str(as_int(d)) for d in dims]
    assert " | ".join(shown) == expected


PLAIN = {
    "an axis as it stands": ("x.shape[1]", True),
    "an axis of a tensor that was moved": ("x.transpose(1, 2).shape[2]", True),
    "an axis after a convolution that keeps sizes": ("nn.Conv2d(6, 6, 3, padding=1)(x).shape[2]", True),
    "an axis after a convolution that does not": ("nn.Conv2d(6, 6, 3)(x).shape[2]", False),
    "arithmetic": ("x.shape[1] + 1", False),
    "flattened axes": ("x.flatten(1).shape[1]", False),
}


@pytest.mark.parametrize(("expression", "plain"), PLAIN.values(), ids=PLAIN.keys())
def test_plain_is(expression: str, plain: bool) -> None:
    found = abstract(expression, dynamic())
    assert isinstance(found, Dim)
    assert found.plain is plain


UNKNOWN_RANK: dict[str, tuple[str, tuple[tuple[int, str], ...] | None, Value]] = {
    "axis 0 is the batch": ("x.shape[0]", None, Dim(frozenset(("batch",)))),
    "the last axis is static": ("x.shape[-1]", None, CONFIG),
    "any other may be dynamic": ("x.shape[1]", None, Dim(frozenset(("?1",)))),
    "a declared axis is dynamic": ("x.shape[1]", ((1, "length"),), Dim(frozenset(("length",)))),
    "an axis that is not declared is static": ("x.shape[0]", ((1, "length"),), CONFIG),
    "a weight's axes are static": ("nn.Parameter(torch.randn(3)).shape[0]", None, Const(3)),
    "a permutation's axes": ("x.permute(1, 0, 2).shape[1]", None, Dim(frozenset(("batch",)))),
}


@pytest.mark.parametrize(("expression", "declared", "expected"), UNKNOWN_RANK.values(), ids=UNKNOWN_RANK.keys())
def test_where_the_rank_is_not_known(expression: str, declared: Any, expected: Value) -> None:
    assert abstract(expression, None, shapes.Axes(declared)) == expected


NAMED = {
    "a batch by position": ("b, n, c = x.shape", "b", Dim(frozenset(("batch",)))),
    "a length by its name": ("b, seq_len, c = x.shape", "seq_len", Dim(frozenset(("length",)))),
    "channels by their name": ("b, channels, h, w = x.shape", "channels", CONFIG),
    "the last axis": ("b, n, foo = x.shape", "foo", CONFIG),
    "the rest of the axes": ("b, *rest = x.shape", "b", Dim(frozenset(("batch",)))),
}


@pytest.mark.parametrize(("statement", "name", "expected"), NAMED.values(), ids=NAMED.keys())
def test_an_unpacked_shape_gives(statement: str, name: str, expected: Value) -> None:
    assert result_of(f"def f(x):\n    {statement}\n    return {name}\n", Tensor()) == expected


def test_a_shape_s_slice_is_a_tuple_of_its_sizes() -> None:
    found = abstract("x.shape[1:3]", dynamic())
    assert isinstance(found, Tuple)
    assert found.items == dynamic()[1:3]


def test_size_without_an_axis_is_the_shape() -> None:
    assert isinstance(abstract("x.size()", dynamic()), Shape)


def test_what_a_mask_selects_has_a_size_of_its_own() -> None:
    found = abstract("x[x > 0]", dynamic())
    assert [type(d) for d in dims_of(found)] == [Data]


def test_an_index_of_which_nothing_is_known_hides_the_rank() -> None:
    found = result_of("def f(x, i):\n    return x[:, i]\n", Tensor(dynamic()), domain_unknown())
    assert isinstance(found, Tensor)
    assert found.dims is None
    assert found.lead == dynamic()[0]


def domain_unknown() -> Value:
    from onnxlint.flow.values.domain import UNKNOWN

    return UNKNOWN


small = st.integers(1, 7)
numbers = st.integers(-7, 7)


@given(small, st.integers(1, 5), small, st.integers(0, 3), st.integers(1, 3), st.booleans())
@AGAINST_TORCH
@pytest.mark.slow
def test_windows_fit_as_often_as_in_torch(
    n: int, kernel: int, stride: int, padding: int, dilation: int, ceil: bool
) -> None:
    torch = pytest.importorskip("torch")
    assume(2 * padding <= kernel and n + 2 * padding >= dilation * (kernel - 1) + 1)
    x = torch.zeros(1, 1, n)
    pooled = torch.nn.functional.max_pool1d(x, kernel, stride, padding, dilation, ceil_mode=ceil)
    assert shapes.Window(kernel, stride, padding, dilation, ceil).size(n) == pooled.shape[2]
    weight = torch.zeros(1, 1, kernel)
    convolved = torch.nn.functional.conv1d(x, weight, None, stride, padding, dilation)
    assert shapes.Window(kernel, stride, padding, dilation).size(n) == convolved.shape[2]


@given(small, st.integers(1, 5), st.integers(1, 4), st.integers(0, 2), st.integers(1, 3), st.integers(0, 2))
@AGAINST_TORCH
@pytest.mark.slow
def test_transposed_convolutions_grow_as_in_torch(
    n: int, kernel: int, stride: int, padding: int, dilation: int, more: int
) -> None:
    torch = pytest.importorskip("torch")
    window = shapes.Window(kernel, stride, padding, dilation)
    size = window.transposed(n, more)
    assume(more < max(stride, dilation) and size is not None and size > 0)
    x, weight = torch.zeros(1, 1, n), torch.zeros(1, 1, kernel)
    given_ = {"stride": stride, "padding": padding, "dilation": dilation, "output_padding": more}
    assert size == torch.nn.functional.conv_transpose1d(x, weight, **given_).shape[2]


slices = st.builds(
    lambda a, b, c: ":".join("" if v is None else str(v) for v in (a, b, c)),
    st.none() | numbers,
    st.none() | numbers,
    st.none() | st.integers(1, 3),
)
indices = st.lists(
    st.one_of(
        slices,
        st.sampled_from(("None", "0", "-1", "[0, 1]", "torch.tensor([[0, 1], [1, 0]])", "torch.tensor(1)", "[1]")),
    ),
    min_size=1,
    max_size=5,
).flatmap(lambda parts: st.integers(0, 2 * len(parts)).map(lambda at: _with_ellipsis(parts, at)))


def _with_ellipsis(parts: list[str], at: int) -> str:
    return ", ".join([*parts[:at], "...", *parts[at:]] if at < len(parts) else parts)


@given(indices)
@AGAINST_TORCH
@pytest.mark.slow
def test_an_index_gives_the_shape_that_torch_gives(index: str) -> None:
    expression = f"x[{index},]"
    try:
        expected = real(expression, SIZES)
    except (IndexError, ValueError):
        assume(False)
    assert text_of(dims_of(abstract(expression, tuple(Const(n) for n in SIZES)))) == (
        " ".join(map(str, expected)) or "()"
    )


@given(
    st.lists(st.sampled_from(("1", "2", "3", "4", "6", "8", "-1", "x.shape[0]", "x.shape[3]")), min_size=1, max_size=5)
)
@AGAINST_TORCH
@pytest.mark.slow
def test_a_view_has_the_shape_that_torch_gives(sizes: list[str]) -> None:
    expression = f"x.view({', '.join(sizes)})"
    try:
        expected = real(expression, SIZES)
    except RuntimeError:
        assume(False)
    found = dims_of(abstract(expression, tuple(Const(n) for n in SIZES)))
    assert [as_int(d) for d in found] == list(expected)


letters = st.text("abcd", min_size=1, max_size=3)


@given(st.lists(letters, min_size=1, max_size=3), st.data())
@AGAINST_TORCH
@pytest.mark.slow
def test_einsum_has_the_shape_that_torch_gives(terms: list[str], draw: st.DataObject) -> None:
    torch = pytest.importorskip("torch")
    every = sorted(set("".join(terms)))
    output = draw.draw(st.permutations(every).flatmap(lambda p: st.integers(0, len(p)).map(lambda n: "".join(p[:n]))))
    equation = ",".join(terms) + draw.draw(st.sampled_from((f"->{output}", "")))
    size = {letter: i + 2 for i, letter in enumerate("abcd")}
    fed = [torch.zeros([size[c] for c in term]) for term in terms]
    expected = torch.einsum(equation, *fed).shape
    from onnxlint.flow.operators.products import einsum

    tensors = [Tensor(tuple(Const(size[c]) for c in term)) for term in terms]
    found = einsum(equation, tensors, shapes.Axes())
    assert found is not None
    assert [as_int(d) for d in found] == list(expected)


dims = st.lists(st.sampled_from((1, 2, 3)), max_size=4)


@given(dims, dims)
@AGAINST_TORCH
def test_broadcasting_keeps_what_is_not_one(a: list[int], b: list[int]) -> None:
    pairs = list(zip(reversed(a), reversed(b), strict=False))
    assume(all(x == y or 1 in (x, y) for x, y in pairs))
    found = shapes.broadcast(tuple(map(Const, a)), tuple(map(Const, b)))
    assert found is not None
    longer = a if len(a) > len(b) else b
    expected = [*longer[: len(longer) - len(pairs)], *(max(pair) for pair in reversed(pairs))]
    assert [as_int(d) for d in found] == expected


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4))
def test_folding_axes_multiplies_their_sizes(sizes: list[int]) -> None:
    total = 1
    for n in sizes:
        total *= n
    assert as_int(shapes.fold(tuple(map(Const, sizes)))) == total


def test_folding_what_is_not_known_stays_unknown() -> None:
    assert isinstance(shapes.fold((Const(3), CONFIG)), Config)


def test_a_convolution_of_fewer_axes_than_it_takes_says_nothing_of_the_result() -> None:
    source = """
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv3d(3, 4, 2)
    def forward(self, x):
        return self.conv(x.reshape(x.shape[0], 6)).relu()
"""
    assert analyse(project_of(PRELUDE + source), debug=True).problems == ()
