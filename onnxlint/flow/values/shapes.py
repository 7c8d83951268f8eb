"""Sizes through shape operators: which dims of a result depend on which dynamic axes, as far as that can be told."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from onnxlint.flow.values import domain as dom
from onnxlint.flow.values.domain import CONFIG, Const, Data, Dim, Extent, Tensor, Value, as_int, replace
from onnxlint.flow.values.joins import join_extents

Dims = tuple[Extent, ...]
Given = Value | None  # an argument, where it is given
CLIP = 5  # axes: where the code asks for as many, the second is time
PIECES = 16  # of a tensor that is split, so many are told apart


@dataclass(frozen=True, slots=True)
class Axes:
    """What an axis of a tensor of unknown shape is taken for.

    With declared axes (`declared` maps an axis to its name) any other axis is static. Without, axis 0 is the batch,
    the last one is static, and any other is only possibly dynamic; so is axis 0 with `one_batch`.
    """

    declared: tuple[tuple[int, str], ...] | None = None
    one_batch: bool = False

    def extent(self, axis: int) -> Extent:
        """The size of an axis of a tensor nothing else is known of."""
        if self.declared is not None:
            name = dict(self.declared).get(axis)
            return Dim(frozenset((name,))) if name is not None else CONFIG
        known = axis == 0 and not self.one_batch
        return CONFIG if axis == -1 else Dim(frozenset(("batch" if known else f"{dom.UNSURE}{axis}",)))


def extent_of(t: Tensor, axis: int, axes: Axes) -> Extent:
    """`t.shape[axis]`."""
    if t.dims is not None:
        return t.dims[axis] if -len(t.dims) <= axis < len(t.dims) else CONFIG
    return t.lead if axis == 0 and t.lead is not None else axes.extent(axis) if t.source == "input" else CONFIG


def unknown(t: Tensor, rank: int, axes: Axes) -> Dims:
    """The dims of a tensor of which no more than its rank is known."""
    return tuple(extent_of(t, i if i < rank - 1 else -1, axes) for i in range(rank))


def from_value(v: Value) -> Extent:
    """A size given as an argument: symbols stay symbols, anything that is not a number is static."""
    if isinstance(v, (Dim, Data)):
        return v
    number = as_int(v)
    return Const(number) if number is not None else CONFIG


def combine(a: Extent, b: Extent, number: int | None = None) -> Extent:
    """The size that arithmetic on two sizes gives."""
    for ragged in (a, b):
        if isinstance(ragged, Data):
            return ragged
    dims = [d for d in (a, b) if isinstance(d, Dim)]
    axes = frozenset[str]().union(*[d.axes for d in dims])
    if axes:
        site = next((d.site for d in dims if d.site is not None), None)
        return Dim(axes, number, site, False, dims[0].trace, least=max(d.least for d in dims))
    return Const(number) if number is not None else CONFIG


def broadcast(a: Dims | None, b: Dims | None) -> Dims | None:
    """The dims of an elementwise result."""
    if a is None or b is None:
        return None
    if len(a) < len(b):
        a, b = b, a
    offset = len(a) - len(b)
    return (*a[:offset], *(_wider(x, y) for x, y in zip(a[offset:], b, strict=True)))


def _wider(x: Extent, y: Extent) -> Extent:
    if as_int(x) == 1:
        return y
    if as_int(y) == 1:
        return x
    if isinstance(x, Dim) and isinstance(y, Dim):
        return x if x.axes <= y.axes else y if y.axes <= x.axes else join_extents(x, y)
    return x if isinstance(x, (Dim, Data)) else y if isinstance(y, (Dim, Data)) else x


def elementwise(tensors: Sequence[Tensor]) -> tuple[Dims | None, Extent | None]:
    """Dims and first dim of an elementwise result of several tensors."""
    dims: Dims | None = tensors[0].dims
    for t in tensors[1:]:
        dims = broadcast(dims, t.dims)
    if dims is not None:
        return dims, None
    # The operand that depends on the inputs says what axis 0 is; weights and masks broadcast to it.
    leads = [t.dims[0] if t.dims else t.lead for t in tensors if t.source == "input" and (t.lead is not None or t.dims)]
    return None, next((d for d in leads if isinstance(d, (Dim, Data))), leads[0] if leads else None)


def normal(axis: int | None, rank: int) -> int | None:
    """A non-negative axis, or None where it is unknown or out of range."""
    return axis % rank if axis is not None and -rank <= axis < rank else None


def reduce(t: Tensor, axes: Sequence[int] | None, keep: bool) -> Dims | None:
    """Dims after a reduction over `axes` (None: over all)."""
    if t.dims is None:
        return () if axes is None and not keep else None
    gone = {normal(a, len(t.dims)) for a in (axes if axes is not None else range(len(t.dims)))}
    if None in gone:
        return None
    if keep:
        return tuple(Const(1) if i in gone else d for i, d in enumerate(t.dims))
    return tuple(d for i, d in enumerate(t.dims) if i not in gone)


def reshape(t: Tensor, sizes: Sequence[Value]) -> Dims:
    """Dims of `t.view(*sizes)`: -1 takes the axes that no other size names."""
    named: frozenset[str] = frozenset(a for s in sizes if isinstance(s, Dim) for a in s.axes)
    return tuple(_missing(t, sizes, named) if as_int(s) == -1 else from_value(s) for s in sizes)


def _missing(t: Tensor, sizes: Sequence[Value], named: frozenset[str]) -> Extent:
    """The size that -1 stands for."""
    if t.ragged is not None and not any(isinstance(s, Data) for s in sizes):
        return t.ragged
    left = t.axes - named
    if t.dims is None and t.lead is None and t.source == "input" and not named:
        left = frozenset((dom.UNSURE,))
    if left:
        return Dim(left, plain=False, trace=t.trace)
    count, rest = product(t.dims), product([from_value(s) for s in sizes if as_int(s) != -1])
    return Const(count // rest) if count is not None and rest else CONFIG


def unflatten(t: Tensor, axis: int | None, sizes: Sequence[Value] | None) -> Dims | None:
    """Dims after one axis is split into several sizes, of which one may be -1."""
    at = normal(axis, len(t.dims)) if t.dims is not None else None
    if t.dims is None or at is None or sizes is None:
        return None
    return (*t.dims[:at], *reshape(Tensor((t.dims[at],), None, t.source, trace=t.trace), sizes), *t.dims[at + 1 :])


def product(dims: Sequence[Extent] | None) -> int | None:
    """The number of elements, if every size is a known number."""
    numbers = [as_int(d) for d in dims] if dims is not None else [None]
    return None if None in numbers else math.prod(n for n in numbers if n is not None)


def fold(dims: Sequence[Extent]) -> Extent:
    """The size of several axes flattened into one."""
    result: Extent = Const(1)
    for d in dims:
        x, y = as_int(result), as_int(d)
        result = d if x == 1 else times(result, d, x * y if x is not None and y is not None else None)
    return result


def total(sizes: Sequence[Extent]) -> Extent:
    """The size of several pieces of one axis joined."""
    result = sizes[0]
    for d in sizes[1:]:
        x, y = as_int(result), as_int(d)
        result = combine(result, d, x + y if x is not None and y is not None else None)
    return result


def times(a: Extent, b: Extent, number: int | None = None) -> Extent:
    """The product of two sizes; one that knows if it is a multiple of an axis."""
    whole = [d for d in (a, b) if isinstance(d, Dim)]
    size = combine(a, b, number)
    multiple = isinstance(size, Dim) and len(whole) == 1 and (whole[0].plain or whole[0].form == dom.MULTIPLE)
    return replace(size, form=dom.MULTIPLE) if multiple and isinstance(size, Dim) else size


@dataclass(frozen=True, slots=True)
class Window:
    """What slides over one axis; a number that is not known is None. With `same`, the size is kept."""

    kernel: int | None
    stride: int | None = 1
    padding: int | None = 0
    dilation: int | None = 1
    ceil: bool = False
    same: bool = False

    def size(self, n: int) -> int | None:
        """How many windows fit on an axis of size `n`."""
        if self.same:
            return n
        if self.kernel is None or not self.stride or self.padding is None or self.dilation is None:
            return None
        room = n + 2 * self.padding - self.dilation * (self.kernel - 1) - 1
        if self.ceil:
            count = -(-room // self.stride) + 1
            return count - 1 if (count - 1) * self.stride >= n + self.padding else count
        return room // self.stride + 1

    def transposed(self, n: int, more: int | None) -> int | None:
        """The size after the transposed convolution, with `more` as output padding."""
        if self.kernel is None or self.stride is None or self.padding is None or self.dilation is None or more is None:
            return None
        return (n - 1) * self.stride - 2 * self.padding + self.dilation * (self.kernel - 1) + more + 1

    def keeps(self) -> bool:
        """True where every size stays what it was."""
        return self.size(100) == 100 and self.size(101) == 101


def slide(size: Extent, window: Window) -> Extent:
    """The size of one axis after a convolution or a pooling."""
    return size if window.keeps() else resized(size, window.size)


def slid(dims: Dims, rows: Sequence[Window]) -> Dims:
    """The sizes of several axes after one."""
    return tuple(slide(d, w) for d, w in zip(dims, rows, strict=True))


def resized(size: Extent, change: Callable[[int], int | None]) -> Extent:
    """A size changed by a function of its number; None from it means not known."""
    number = as_int(size)
    if number is not None:
        after = change(number)
        return Const(after) if after is not None else CONFIG
    if isinstance(size, Dim):
        return replace(size, plain=False, example=None if size.example is None else change(size.example))
    return size


def windows(
    rank: int, kernel: Given | Sequence[int | None], stride: Given, padding: Given, dilation: Given, ceil: Given = None
) -> list[Window]:
    """The windows of `rank` axes, from arguments given as one number or as one for each axis."""
    kernels = each(kernel, rank, None) if not isinstance(kernel, Sequence) else list(kernel)
    word = padding.literal if isinstance(padding, Const) else None
    paddings = [0] * rank if isinstance(word, str) else each(padding, rank, 0)
    rows = zip(kernels, each(stride, rank, 1), paddings, each(dilation, rank, 1), strict=True)
    return [Window(k, s, p, d, dom.is_true(ceil), word == "same") for k, s, p, d in rows]


def each(v: Value | None, rank: int, default: int | None) -> list[int | None]:
    """An argument for each of `rank` axes."""
    if v is None:
        return [default] * rank
    return [as_int(i) for i in v.items] if isinstance(v, dom.Tuple) and len(v.items) == rank else [as_int(v)] * rank


def matmul(a: Tensor, b: Tensor) -> Dims | None:
    """Dims of a matrix product, vectors included."""
    if not a.dims or not b.dims:
        return None
    left, right = a.dims, b.dims
    x: Dims = left if len(left) > 1 else (Const(1), *left)
    y: Dims = right if len(right) > 1 else (*right, Const(1))
    head = broadcast(x[:-2], y[:-2])
    if head is None:
        return None
    return (*head, *((x[-2],) if len(left) > 1 else ()), *((y[-1],) if len(right) > 1 else ()))


def parts(size: Extent, most: int) -> list[Extent] | None:
    """The sizes of the pieces of at most `most` that a known size falls into, if they are not very many."""
    number = as_int(size)
    if number is None or most <= 0 or number > PIECES * most:
        return None
    return [Const(min(most, number - at)) for at in range(0, number, most)]


def ints(v: Value | None) -> tuple[int, ...] | None:
    """Literal integers of an argument that is one number or a tuple of some."""
    number = as_int(v)
    if number is not None:
        return (number,)
    numbers = [as_int(i) for i in v.items] if isinstance(v, dom.Tuple) else [None]
    return None if None in numbers else tuple(n for n in numbers if n is not None)


def sizes_in(v: Value) -> Iterator[Extent]:
    """The sizes in a value: one itself, or those of a shape or a sequence."""
    if isinstance(v, Dim):
        yield v
    elif isinstance(v, dom.Shape):
        yield from v.tensor.dims or ()
    elif isinstance(v, dom.Tuple):
        yield from (i for i in v.items if isinstance(i, (Dim, Data)))
    elif isinstance(v, dom.Seq) and isinstance(v.size, (Dim, Data)):
        yield v.size
