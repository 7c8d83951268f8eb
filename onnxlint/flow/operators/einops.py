"""What the functions of einops return: sizes through their patterns."""

import math
import re
from collections.abc import Mapping, Sequence

from onnxlint.flow.operators.products import einsum
from onnxlint.flow.values import domain as dom
from onnxlint.flow.values import shapes
from onnxlint.flow.values.domain import replace
from onnxlint.flow.values.joins import element


def call(name: str, args: Sequence[dom.Value], kwargs: Mapping[str, dom.Value]) -> dom.Value:
    """A call of einops; of its functions, those that follow a pattern."""
    tensors = [a for a in args if isinstance(a, dom.Tensor)]
    t = _stacked(args[0] if args else dom.UNKNOWN)
    texts = [a.literal for a in args if isinstance(a, dom.Const) and isinstance(a.literal, str)]
    if name.endswith(".einsum") and tensors and texts:
        return _einsum(texts[0], tensors)
    if name.endswith((".pack", ".unpack")):
        plain = replace(t, dims=None, lead=None, view=None) if isinstance(t, dom.Tensor) else dom.UNKNOWN
        return dom.Tuple((plain, dom.CONFIG)) if name.endswith(".pack") else dom.Seq(plain)
    if not name.endswith((".rearrange", ".reduce", ".repeat")) or not isinstance(t, dom.Tensor):
        return dom.UNKNOWN
    pattern = texts[0] if texts else ""
    dims = _dims(pattern, t.dims, kwargs) if t.dims is not None else None
    lead = None
    if dims is None and t.lead is not None:
        left, _, right = pattern.partition("->")
        lead = t.lead if left.split()[:1] == right.split()[:1] and left.strip()[:1] not in ("(", ".") else None
    return dom.Tensor(dims, lead, t.source, t.kind, None, None, t.trace)


def _stacked(v: dom.Value) -> dom.Value:
    """einops takes a list of tensors for one with an axis more in front."""
    if not isinstance(v, (dom.Tuple, dom.Seq)):
        return v
    one = element(v)
    if not isinstance(one, dom.Tensor) or one.dims is None:
        return one
    count = dom.Const(len(v.items)) if isinstance(v, dom.Tuple) else v.size or dom.UNKNOWN
    return replace(one, dims=(shapes.from_value(count), *one.dims))


def _einsum(pattern: str, tensors: Sequence[dom.Tensor]) -> dom.Tensor:
    names: dict[str, str] = {}

    def letters(side: str) -> str:
        return "".join(w if w == "..." else names.setdefault(w, chr(97 + len(names))) for w in side.split())

    left, _, right = pattern.partition("->")
    text = ",".join(letters(term) for term in left.split(",")) + "->" + letters(right)
    source = next((t for t in tensors if t.source == "input"), tensors[0])
    dims = einsum(text, tensors, shapes.Axes()) if all(t.dims is not None for t in tensors) else None
    return dom.Tensor(dims, None, source.source, None, None, None, source.trace)


def _axes(side: str) -> list[str | tuple[str, ...]]:
    """The axes of one side of a pattern: a name, or the names that stand in brackets."""
    return [word or tuple(group.split()) for group, word in re.findall(r"\(([^()]*)\)|([^\s()]+)", side)]


def _dims(pattern: str, dims: shapes.Dims, kwargs: Mapping[str, dom.Value]) -> shapes.Dims | None:
    left, arrow, right = pattern.partition("->")
    before, after = _axes(left), _axes(right)
    rest: shapes.Dims = ()
    if "..." in before:
        dots, count = before.index("..."), len(dims) - len(before) + 1
        if count < 0:
            return None
        rest = dims[dots : dots + count]
        dims = (*dims[:dots], dom.Const(1), *dims[dots + count :])
    if not arrow or len(before) != len(dims):
        return None
    sizes: dict[str, dom.Extent] = {name: shapes.from_value(v) for name, v in kwargs.items()}
    for axis, size in zip(before, dims, strict=True):
        _take_apart(axis, size, sizes)
    result: list[dom.Extent] = []
    for axis in after:
        if axis == "...":
            result.extend(rest)
            continue
        names = (axis,) if isinstance(axis, str) else axis
        result.append(shapes.fold([d for n in names for d in (rest if n == "..." else (_size(n, sizes),))]))
    return tuple(result)


def _size(name: str, sizes: Mapping[str, dom.Extent]) -> dom.Extent:
    return dom.literal_size(name) if name.isdigit() else sizes.get(name, dom.CONFIG)


def _take_apart(axis: str | tuple[str, ...], size: dom.Extent, sizes: dict[str, dom.Extent]) -> None:
    """The sizes of the names in one axis of the left side; at most one of them may be open."""
    names = [n for n in ((axis,) if isinstance(axis, str) else axis) if n != "..."]
    if len(names) == 1 and (isinstance(axis, str) or len(axis) == 1):
        sizes[names[0]] = size
        return
    open_names = [n for n in names if n not in sizes and not n.isdigit()]
    if len(open_names) != 1:
        return
    literals = [dom.as_int(_size(n, sizes)) for n in names if n != open_names[0]]
    factor = math.prod(n for n in literals if n is not None) if None not in literals else None
    part = shapes.resized(size, lambda n: n // factor if factor else None)
    for other in (sizes[n] for n in names if isinstance(sizes.get(n), dom.Dim)):
        part = shapes.combine(part, other)
    sizes[open_names[0]] = part
