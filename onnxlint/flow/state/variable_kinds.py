"""What is known of the variables where an observation was seen, in words: a remedy reads it, and looks at no value."""

from collections.abc import Mapping

from onnxlint.flow.values.domain import Array, Const, Data, Dim, Extent, Tensor, Value, as_int


def describe_all(names: Mapping[str, Value]) -> dict[str, str]:
    """Describe the variables that are tensors, arrays, sizes or numbers read out of tensors; the others are left out.

    `tensor/float:batch,3,*`: its kind where that is known, then its sizes: a number, a dynamic axis as it stands, `*`
    for anything else; nothing behind the colon is a scalar, no colon an unknown rank. `weight` and `made` do not depend
    on the inputs, `guess` may be no tensor at all. `dim:batch` is a size, `dim` arithmetic on sizes.
    """
    return {name: kind for name, v in names.items() if (kind := describe(v))}


def describe(v: Value) -> str:
    """One value, as `describe_all` has it; empty for one that is left out."""
    if isinstance(v, Tensor):
        word = "guess" if v.guessed else {"input": "tensor"}.get(v.source, v.source)
        kind = f"/{v.kind}" if v.kind else ""
        if v.dims is not None:
            return f"{word}{kind}:{','.join(_size(d) for d in v.dims)}"
        lead = f":{_size(v.lead)},..." if v.lead is not None else ""
        return f"{word}{kind}{lead}"
    if isinstance(v, Dim):
        return f"dim:{_size(v)}" if v.plain else "dim"
    if isinstance(v, Data):
        return "data"
    return "array" if isinstance(v, Array) else ""


def _size(extent: Extent) -> str:
    if isinstance(extent, Dim) and extent.plain and len(extent.axes) == 1:
        return next(iter(extent.axes))
    number = as_int(extent) if isinstance(extent, Const) else None
    return "*" if number is None else str(number)
