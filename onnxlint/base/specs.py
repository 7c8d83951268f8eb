"""Spec strings such as `float32[batch, 3, height=224]` ↔ TensorSpec: records only, no torch."""

import difflib
import re

from onnxlint.base.probe_records import DimSpec, TensorSpec

DTYPES = (
    *("float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64"),
    *("uint8", "uint16", "uint32", "uint64", "bool", "complex64", "complex128"),
)
_MEANT = {"float": "float32", "half": "float16", "double": "float64", "int": "int32", "long": "int64"}
_MEANT |= {"short": "int16", "byte": "uint8", "boolean": "bool", "complex": "complex64"}


class SpecError(ValueError):
    """A spec string that cannot be read. `position` is the offset in the text, from 0, where it went wrong."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message)
        self.message = message
        self.position = position


def parse_spec(text: str) -> TensorSpec:
    """Read `dtype[dim, ...]`; a dim is a size, a name (dynamic), or `name=size`. Raises SpecError."""
    match = re.match(r"\s*([^\s\[\],=]*)\s*", text)
    assert match is not None  # the pattern matches the empty string
    dtype = match.group(1)
    if dtype not in DTYPES:
        raise SpecError(_no_dtype(dtype), match.start(1))
    start = match.end()
    if start == len(text):
        raise SpecError(f"`{dtype}` has no dims; a scalar is written `{dtype}[]`", start)
    if text[start] != "[":
        raise SpecError(f"`[` was expected after `{dtype}`, not `{text[start]}`", start)
    end = text.find("]", start)
    if end < 0:
        raise SpecError("the `[` is never closed", start)
    if text[end + 1 :].strip():
        raise SpecError(f"`{text[end + 1 :].strip()}` follows the closing `]`", end + 1)
    return TensorSpec(dtype, _dims(text, start + 1, end))


def format_spec(spec: TensorSpec) -> str:
    """Write a spec the way `parse_spec` reads it."""
    return f"{spec.dtype}[{', '.join(_format_dim(dim) for dim in spec.dims)}]"


def _format_dim(dim: DimSpec) -> str:
    if dim.name is None:
        return str(dim.size)
    return dim.name if dim.size is None else f"{dim.name}={dim.size}"


def _no_dtype(dtype: str) -> str:
    if not dtype:
        return "a spec starts with a dtype, such as `float32`"
    plain = dtype.removeprefix("torch.").lower()
    near = [_MEANT[plain]] if plain in _MEANT else difflib.get_close_matches(plain, DTYPES, 1, 0.5)
    hint = f"; did you mean `{near[0]}`?" if near else f"; known dtypes are {', '.join(DTYPES)}"
    return f"`{dtype}` is not a dtype{hint}"


def _dims(text: str, start: int, end: int) -> tuple[DimSpec, ...]:
    if not text[start:end].strip():
        return ()
    dims: list[DimSpec] = []
    sizes: dict[str, int | None] = {}
    position = start
    for part in text[start:end].split(","):
        at = position + len(part) - len(part.lstrip())
        position += len(part) + 1
        dim = _dim(part.strip(), at)
        if dim.name is not None:
            before = sizes.setdefault(dim.name, dim.size)
            if None not in (before, dim.size) and before != dim.size:
                raise SpecError(f"`{dim.name}` is {before} before and {dim.size} here", at)
        dims.append(dim)
    return tuple(dims)


def _dim(text: str, at: int) -> DimSpec:
    if not text:
        raise SpecError("a dim is missing between the commas", at)
    name, equals, size = (part.strip() for part in text.partition("="))
    if not equals and name.isascii() and name.isdigit():
        return DimSpec(None, _size(name, at))
    if not (name.isascii() and name.isidentifier()):
        raise SpecError(f"`{text}` is not a dim: write a size, a name, or `name=size`", at)
    return DimSpec(name, _size(size, at) if equals else None)


def _size(text: str, at: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20) or int(text) < 1:
        raise SpecError(f"`{text}` is not a size: a size is a whole number from 1", at)
    return int(text)
