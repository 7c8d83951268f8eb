"""Tensors for declared specs: sizes for the dims that have none, and values that a model can take."""

import re
from collections.abc import Mapping
from types import MappingProxyType

import torch

from onnxlint.base.probe_records import TensorSpec
from onnxlint.probes.common.nested import root, word
from onnxlint.probes.examples.value_domains import length_sampler, sampler

Sizes = Mapping[str, tuple[int, ...]]
Ranges = Mapping[str, tuple[float, float]]
# What a dim is called says which sizes it can have: strides halve images, so those sizes are even.
_BY_NAME = (
    (re.compile(r"^(b|n|bs|batch\w*|\w*batch)$", re.IGNORECASE), (2, 3, 5)),
    (re.compile(r"^(h|w|height|width|image_\w+|\w*_(h|w|height|width))$", re.IGNORECASE), (64, 96, 128, 160)),
    (re.compile(r"^(samples|wave\w*|audio\w*|frames|time\w*)$", re.IGNORECASE), (400, 480, 560)),
)
_OTHERWISE = (6, 7, 9, 10, 11, 12, 13, 14, 15)
_SMALL = 4


def tensors_for(
    specs: Mapping[str, TensorSpec], sizes: Sizes, model: torch.nn.Module, ranges: Ranges = MappingProxyType({})
) -> dict[str, torch.Tensor]:
    """One tensor per spec, within its declared range; a named dim has one size everywhere, unlike all others."""
    chosen = choose_sizes(specs, sizes)
    shapes = {n: tuple(chosen[d.name] if d.name else d.size or 1 for d in spec.dims) for n, spec in specs.items()}
    made = {}
    for name, spec in specs.items():
        bounds = ranges.get(name, ranges.get(root(name)))
        longest = None if spec.values or bounds is not None else measured(name, spec.dtype, shapes)
        if longest is None:
            made[name] = _tensor(word(name), spec, shapes[name], model, bounds)
        else:
            falling = torch.tensor([2, 1], dtype=getattr(torch, spec.dtype))  # as `pack_padded_sequence` wants them
            made[name] = length_sampler(falling, longest)(shapes[name], "normal")
    return made


LENGTHS = re.compile(r"(^|_)(len|lens|length|lengths)($|_)")


def measured(name: str, dtype: str, shapes: Sizes) -> int | None:
    """The size of the axis that row lengths refer to: the second of an input with as many rows; else None."""
    whole = dtype.removeprefix("torch.").startswith("int")
    if not LENGTHS.search(word(name).lower()) or not whole or len(shapes[name]) != 1:
        return None
    others = [n for n, s in shapes.items() if n != name and len(s) > 1 and s[0] == shapes[name][0]]
    words = _stems(word(name).lower())
    others.sort(key=lambda other: not words & _stems(word(other).lower()))
    return shapes[others[0]][1] if others else None


def choose_sizes(specs: Mapping[str, TensorSpec], sizes: Sizes) -> dict[str, int]:
    """A size for every named dim: as declared, else from the sizes to try, else one that fits the name."""
    dims = [dim for spec in specs.values() for dim in spec.dims]
    chosen = {dim.name: dim.size for dim in dims if dim.name is not None and dim.size is not None}
    used = {dim.size for dim in dims if dim.size is not None}
    for dim in dims:
        if dim.name is not None and dim.name not in chosen:
            declared = (size for size in sizes.get(dim.name, ()) if size > 1)
            usual = next((usual for pattern, usual in _BY_NAME if pattern.match(dim.name)), ())
            free = (size for size in (*declared, *usual, *_OTHERWISE) if size not in used)
            chosen[dim.name] = next(free, max(used | {1}) + 1)
            used.add(chosen[dim.name])
    return chosen


def _tensor(
    name: str, spec: TensorSpec, shape: tuple[int, ...], model: torch.nn.Module, bounds: tuple[float, float] | None
) -> torch.Tensor:
    dtype = getattr(torch, spec.dtype)
    if spec.values:
        return torch.tensor(spec.values).to(dtype).reshape(shape)
    if bounds is not None and dtype != torch.bool and not dtype.is_complex:
        return sampler(torch.zeros(1, dtype=dtype), 1, bounds)(shape, "normal")
    if dtype == torch.bool or "mask" in name.lower():
        mask = _mask(shape)
        # torch calls the positions to leave out `key_padding_mask`: there, True is the padding
        return (~mask if dtype == torch.bool and "pad" in name.lower() else mask).to(dtype)
    if dtype.is_floating_point or dtype.is_complex:
        return torch.randn(shape, dtype=torch.complex64 if dtype.is_complex else torch.float32).to(dtype)
    low, high = integer_range(name, model)
    return torch.randint(low, high, shape, dtype=torch.int64).to(dtype)


def _mask(shape: tuple[int, ...]) -> torch.Tensor:
    """A padding mask: rows start True; the first stays so, the second does not, and no row is empty."""
    if not shape:
        return torch.tensor(True)
    length = shape[-1]
    filled = torch.randint((length + 1) // 2, length + 1, (*shape[:-1], 1))
    filled.view(-1)[:1] = length
    filled.view(-1)[1:2] = max(1, length - 1)
    return torch.arange(length) < filled


# What embeddings of something beside the tokens themselves are called.
_BESIDE = frozenset({"position", "positional", "pos", "wpe", "type", "segment", "lang", "language"})


def integer_range(name: str, model: torch.nn.Module) -> tuple[int, int]:
    """From (inclusive) and to (exclusive) for the integers of a parameter: the embedding that fits its name says."""
    lowered = name.lower()
    if LENGTHS.search(lowered):
        return 1, _SMALL + 1
    if "mask" in lowered:
        return 0, 2
    embeddings = [(path, m) for path, m in model.named_modules() if isinstance(m, torch.nn.Embedding)]
    if not embeddings:
        return 0, _SMALL
    words = _stems(lowered)
    path, best = max(embeddings, key=lambda item: len(words & _stems(item[0].lower())))
    if not words & _stems(path.lower()):
        best = next((m for path, m in embeddings if not _stems(path.lower()) & _BESIDE), embeddings[0][1])
    return 0, best.num_embeddings


def _stems(name: str) -> set[str]:
    """The words of a name that say what it is about: without plural, and without what every embedding is called."""
    words = {word.rstrip("s") for word in re.split(r"[^a-z]+", name)}
    return words - {"", "id", "idx", "index", "emb", "embed", "embedding", "x", "input", "model", "encoder"}
