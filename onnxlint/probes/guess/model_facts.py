"""What a built model says about its inputs: attributes, `config`, position tables and the first layers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from torch import nn

from onnxlint.probes.guess import conventions as say


class Slot(NamedTuple):
    """An assumed tensor."""

    dtype: str
    shape: tuple[int, ...]

    def resized(self, axis: int, size: int) -> Self:
        """The tensor with another size on one axis."""
        shape = list(self.shape)
        shape[axis] = size
        return self._replace(shape=tuple(shape))


class Plain(NamedTuple):
    """An assumed argument that is no tensor."""

    value: Any


Guess = Slot | Plain
Guesses = Mapping[str, Guess]  # by the name of the parameter, or of what it holds


def slots_of(guess: Guesses) -> dict[str, Slot]:
    """The tensors of a guess."""
    return {name: slot for name, slot in guess.items() if isinstance(slot, Slot)}


def floats(*shapes: tuple[int, ...]) -> list[Slot]:
    """Slots of floating-point numbers."""
    return [Slot("float32", shape) for shape in shapes]


@dataclass(frozen=True, slots=True)
class Facts:
    """Sizes that the model names, likeliest first; `layers` are slots that its layers could take."""

    sides: tuple[tuple[int, int], ...]
    channels: tuple[int, ...]
    lengths: tuple[int, ...]
    widths: tuple[int, ...]
    bands: int
    spectrum: int
    frames: int
    layers: tuple[Slot, ...]
    heads: tuple[int, int]  # of attention: how many, and how wide
    states: tuple[tuple[int, ...], ...]  # the shapes of what recurrent layers keep, from the next layer on

    @property
    def image(self) -> tuple[int, ...]:
        """The likeliest image without its batch."""
        return (self.channels[0], *self.sides[0])


def read_facts(model: nn.Module) -> Facts:
    """Look at a model without running it."""
    owners = list(_owners(model))
    sides = _unique([*_sides(owners, model), *say.SIDES])
    channels = [n for n in _numbers(owners, say.KEYS["channels"]) if n <= 64]
    first = next((m for m in model.modules() if isinstance(m, (nn.Conv2d, nn.Conv3d))), None)
    if first is not None:
        inner = not channels and first.in_channels > 4  # a wide layer is rather not the first that runs
        channels = [3, first.in_channels] if inner else [first.in_channels, *channels]
    lengths = _lengths(owners, model)
    parts = [*owners, *model.modules()]
    heads = (_numbers(parts, say.KEYS["heads"]) or [4])[0]
    widths = _unique([*_numbers(owners, say.KEYS["widths"]), *_features(model), 32])
    sizes = sides, _unique([*channels, 3, 1]), _unique(lengths), widths
    bands, frames = (_numbers(owners, say.KEYS["bands"]) or [80])[0], (_numbers(owners, say.KEYS["frames"]) or [8])[0]
    spectrum = 2 * (_numbers(owners, ("max_source_positions",)) or [50])[0]
    attention = heads, (_numbers(parts, say.KEYS["head-widths"]) or [max(widths[0] // heads, 1)])[0]
    layers, states = _unique(_layers(model, sides, lengths)), _unique(list(_states(model)))
    return Facts(*sizes, bands, spectrum, frames, layers, attention, states)


def _states(model: nn.Module) -> Iterator[tuple[int, ...]]:
    for layer in model.modules():
        if isinstance(layer, nn.RNNCellBase):
            yield (say.BATCH, layer.hidden_size)
        elif isinstance(layer, nn.RNNBase):
            yield (layer.num_layers * (1 + layer.bidirectional), say.BATCH, layer.proj_size or layer.hidden_size)


def _owners(model: nn.Module) -> Iterator[Any]:
    """The model and its configuration, then the parts of the configuration."""
    yield model
    for name in ("config", "cfg", "args", "hparams"):
        config = getattr(model, name, None)
        if config is None or isinstance(config, nn.Module):
            continue
        yield config
        parts = ("text_config", "vision_config", "audio_config", "encoder", "decoder")
        yield from (inner for part in parts if (inner := getattr(config, part, None)) is not None)


def _value(owner: Any, name: str) -> Any:
    if isinstance(owner, dict):
        return owner.get(name)
    try:
        return getattr(owner, name, None)
    except Exception:  # noqa: BLE001 - a property of the user's that raises names no size
        return None


def _numbers(owners: Sequence[Any], names: Sequence[str]) -> list[int]:
    values = [_value(owner, name) for owner in owners for name in names]
    return [v for v in values if isinstance(v, int) and not isinstance(v, bool) and 0 < v < 1_000_000]


def _sides(owners: Sequence[Any], model: nn.Module) -> Iterator[tuple[int, int]]:
    for owner in (*owners, *(m for m in model.modules() if m is not model)):
        for name in say.KEYS["image-size"]:
            value = _value(owner, name)
            if isinstance(value, int) and not isinstance(value, bool) and 4 <= value <= 2048:
                yield value, value
            elif isinstance(value, (tuple, list)) and value and all(type(i) is int and i > 3 for i in value[-2:]):
                yield (value[-2], value[-1]) if len(value) > 1 else (value[0], value[0])


def _lengths(owners: Sequence[Any], model: nn.Module) -> list[int]:
    """Sequences as long as a position table may be what a model needs; shorter ones are what it takes more often."""
    exact = []
    for name, parameter in model.named_parameters():
        if "pos" in name and parameter.dim() >= 2:
            exact += [d for size in parameter.shape[:-1] if 1 < size < 2000 for d in (size, size - 1)]
    longest = _numbers(owners, say.KEYS["longest"])
    usual = [n for n in say.LENGTHS if n <= min(longest, default=n)]
    return [*usual[:1], *exact, *usual[1:], *(n for n in longest if n < 2000)] or [1]


def _features(model: nn.Module) -> list[int]:
    widths: list[int] = []
    for layer in model.modules():
        match layer:
            case nn.Linear(in_features=n) | nn.Embedding(embedding_dim=n) | nn.LayerNorm(normalized_shape=(*_, n)):
                widths.append(n)
    return widths[:8]


def of_layer(layer: nn.Module, sides: Sequence[tuple[int, int]], lengths: Sequence[int]) -> list[Slot]:
    """Slots that a layer takes as they are, likeliest first."""
    if isinstance(layer, nn.Embedding):
        return [Slot("int64", (say.BATCH, n)) for n in lengths[:3]]
    return floats(*((say.BATCH, *shape) for shape in _rows(layer, sides, lengths)))


def _rows(layer: nn.Module, sides: Sequence[tuple[int, int]], lengths: Sequence[int]) -> Iterable[tuple[int, ...]]:
    """The shapes of what a layer takes, without the batch."""
    t = lengths[0]
    match layer:
        case nn.Conv2d(in_channels=c) | nn.ConvTranspose2d(in_channels=c):
            return ((c, *s) for s in sides[:6])
        case nn.Conv1d(in_channels=c) | nn.ConvTranspose1d(in_channels=c):
            return ((c, n) for n in (64, 16, 256))
        case nn.Conv3d(in_channels=c) | nn.ConvTranspose3d(in_channels=c):
            return ((c, f, *s) for f in (8, 4) for s in sides[:3])
        case nn.Linear(in_features=k):
            # Images at last, for a layer over square patches of them.
            patches = [c for c in (3, 1) if k > c and round((k / c) ** 0.5) ** 2 * c == k]
            images = ((c, *s) for c in patches for s in sides[:3])
            return ((k,), *((n, k) for n in lengths[:3]), *((*s, k) for s in sides[:2]), *images)
        case nn.LayerNorm(normalized_shape=shape):
            return ((t, *shape), shape, (*sides[0], *shape))
        case nn.BatchNorm2d(num_features=c) | nn.InstanceNorm2d(num_features=c):
            return ((c, 16, 16),)
        case nn.BatchNorm1d(num_features=c):
            return ((c,), (c, t))
        case nn.GroupNorm(num_channels=c):
            return ((c, 16, 16), (c, t))
        case nn.RNNBase(input_size=k) | nn.MultiheadAttention(embed_dim=k):
            return ((t, k),)
        case nn.RNNCellBase(input_size=k):
            return ((k,),)
        case _:
            return ()


def _layers(model: nn.Module, sides: Sequence[tuple[int, int]], lengths: Sequence[int]) -> list[Slot]:
    b = say.BATCH
    slots = [slot for layer in list(model.modules())[:400] for slot in of_layer(layer, sides, lengths)]
    for parameter in list(model.parameters())[:20]:
        shape = parameter.shape or (1,)
        slots += floats((b, lengths[0], shape[-1]), (b, shape[0], 16, 16))
    slots += floats((b, 16), (b, 3, 64, 64), (b, 16, 16, 16), (b, 8, 32))
    return [*slots, Slot("int64", (b, 8)), *floats((b, 3, 224, 224))]


def _unique(values: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(values))
