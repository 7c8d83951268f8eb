"""What a built model says about its inputs: attributes, `config`, position tables and the first layers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from torch import nn

from onnxlint.probes.guess import conventions as say


class Slot(NamedTuple):
    """An assumed tensor."""

    dtype: str
    shape: tuple[int, ...]


class Plain(NamedTuple):
    """An assumed argument that is no tensor."""

    value: Any


Guess = Slot | Plain


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
    sides = _sides(owners, model)
    channels = [n for n in _numbers(owners, say.CHANNELS) if n <= 64]
    first = next((m for m in model.modules() if isinstance(m, (nn.Conv2d, nn.Conv3d))), None)
    if first is not None:
        usual = [] if channels or first.in_channels <= 4 else [3]  # a wide layer is rather not the first that runs
        channels = [*channels, *usual, first.in_channels] if usual else [first.in_channels, *channels]
    lengths = _lengths(owners, model)
    widths = _numbers(owners, say.WIDTHS)
    parts = [*owners, *model.modules()]
    heads = (_numbers(parts, say.HEADS) or [4])[0]
    wide = _unique([*widths, *_features(model), 32])
    return Facts(
        sides=_unique([*sides, *say.SIDES]),
        channels=_unique([*channels, 3, 1]),
        lengths=_unique(lengths),
        widths=wide,
        bands=(_numbers(owners, say.BANDS) or [80])[0],
        spectrum=2 * (_numbers(owners, ("max_source_positions",)) or [50])[0],
        frames=(_numbers(owners, say.FRAMES) or [8])[0],
        layers=_unique(_layers(model, _unique([*sides, *say.SIDES]), lengths)),
        heads=(heads, (_numbers(parts, say.HEAD_WIDTHS) or [max(wide[0] // heads, 1)])[0]),
        states=_unique(list(_states(model))),
    )


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
        for part in ("text_config", "vision_config", "audio_config", "encoder", "decoder"):
            inner = getattr(config, part, None)
            if inner is not None:
                yield inner


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


def _sides(owners: Sequence[Any], model: nn.Module) -> list[tuple[int, int]]:
    sides: list[tuple[int, int]] = []
    for owner in (*owners, *(m for m in model.modules() if m is not model)):
        for name in say.IMAGE_SIZE:
            value = _value(owner, name)
            if isinstance(value, int) and not isinstance(value, bool) and 4 <= value <= 2048:
                sides.append((value, value))
            elif isinstance(value, (tuple, list)) and value and all(type(i) is int and i > 3 for i in value[-2:]):
                sides.append((value[-2], value[-1]) if len(value) > 1 else (value[0], value[0]))
    return sides


def _lengths(owners: Sequence[Any], model: nn.Module) -> list[int]:
    """Sequences as long as a position table may be what a model needs; shorter ones are what it takes more often."""
    exact = []
    for name, parameter in model.named_parameters():
        if "pos" in name and parameter.dim() >= 2:
            exact += [d for size in parameter.shape[:-1] if 1 < size < 2000 for d in (size, size - 1)]
    longest = _numbers(owners, say.LONGEST)
    limit = min(longest) if longest else None
    usual = [n for n in say.LENGTHS if limit is None or n <= limit]
    return [*usual[:1], *exact, *usual[1:], *(n for n in longest if n < 2000)] or [1]


def _features(model: nn.Module) -> list[int]:
    widths: list[int] = []
    for layer in model.modules():
        match layer:
            case (
                nn.Linear(in_features=width)
                | nn.Embedding(embedding_dim=width)
                | nn.LayerNorm(normalized_shape=(*_, width))
            ):
                widths.append(width)
    return widths[:8]


def of_layer(layer: nn.Module, sides: Sequence[tuple[int, int]], lengths: Sequence[int]) -> list[Slot]:
    """Slots that a layer takes as they are, likeliest first."""
    b, t = say.BATCH, lengths[0]
    side = sides[0]
    match layer:
        case nn.Embedding():
            return [Slot("int64", (b, n)) for n in lengths[:3]]
        case nn.Conv2d() | nn.ConvTranspose2d():
            return [Slot("float32", (b, layer.in_channels, *s)) for s in sides[:6]]
        case nn.Conv1d() | nn.ConvTranspose1d():
            return [Slot("float32", (b, layer.in_channels, n)) for n in (64, 16, 256)]
        case nn.Conv3d() | nn.ConvTranspose3d():
            return [Slot("float32", (b, layer.in_channels, f, *s)) for f in (8, 4) for s in sides[:3]]
        case nn.Linear():
            k = layer.in_features
            wide = [Slot("float32", (b, k)), *(Slot("float32", (b, n, k)) for n in lengths[:3])]
            return [*wide, *(Slot("float32", (b, *s, k)) for s in sides[:2]), *_patches(k, sides)]
        case nn.LayerNorm():
            shape = tuple(layer.normalized_shape)
            return [Slot("float32", (b, t, *shape)), Slot("float32", (b, *shape)), Slot("float32", (b, *side, *shape))]
        case nn.BatchNorm2d() | nn.InstanceNorm2d():
            return [Slot("float32", (b, layer.num_features, 16, 16))]
        case nn.BatchNorm1d():
            return [Slot("float32", (b, layer.num_features)), Slot("float32", (b, layer.num_features, t))]
        case nn.GroupNorm():
            return [Slot("float32", (b, layer.num_channels, 16, 16)), Slot("float32", (b, layer.num_channels, t))]
        case nn.RNNBase():
            return [Slot("float32", (b, t, layer.input_size))]
        case nn.RNNCellBase():
            return [Slot("float32", (b, layer.input_size))]
        case nn.MultiheadAttention():
            return [Slot("float32", (b, t, layer.embed_dim))]
        case _:
            return []


def _patches(features: int, sides: Sequence[tuple[int, int]]) -> list[Slot]:
    """Images, for a linear layer over square patches of them."""
    slots = []
    for channels in (3, 1):
        side = round((features / channels) ** 0.5)
        if side > 1 and side * side * channels == features:
            slots += [Slot("float32", (say.BATCH, channels, *s)) for s in sides[:3]]
    return slots


def _layers(model: nn.Module, sides: Sequence[tuple[int, int]], lengths: Sequence[int]) -> list[Slot]:
    slots: list[Slot] = []
    for layer in list(model.modules())[:400]:
        slots += of_layer(layer, sides, lengths)
    for parameter in list(model.parameters())[:20]:
        k = parameter.shape[-1] if parameter.dim() else 1
        slots += [
            Slot("float32", (say.BATCH, lengths[0], k)),
            Slot("float32", (say.BATCH, parameter.shape[0] if parameter.dim() else 1, 16, 16)),
        ]
    b = say.BATCH
    slots += [Slot("float32", (b, 16)), Slot("float32", (b, 3, 64, 64)), Slot("float32", (b, 16, 16, 16))]
    return [*slots, Slot("float32", (b, 8, 32)), Slot("int64", (b, 8)), Slot("float32", (b, 3, 224, 224))]


def _unique(values: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(values))
