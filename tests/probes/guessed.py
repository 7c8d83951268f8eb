"""Small modules that nobody described: each can be fed by one source of knowledge."""

import time
from dataclasses import dataclass

import torch
from torch import Tensor, nn


class ByName(nn.Module):
    def forward(self, image, attention_mask):
        return image.mean((1, 2, 3)) * attention_mask.sum(1)


class ByTokenName(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(7, 4)

    def forward(self, input_ids):
        return self.embed(input_ids)


class ByFirstLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(11, 3)

    def forward(self, x):
        return self.out(x)


class ByLayerReached(nn.Module):
    """The layer that is registered first is not the one that runs first."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(6, 3)
        self.stem = nn.Conv1d(5, 6, 3, padding=1)

    def forward(self, x):
        return self.head(self.stem(x).transpose(1, 2))


class ByEmbeddingReached(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(4, 2)
        self.embed = nn.Embedding(9, 4)

    def forward(self, x):
        return self.out(self.embed(x))


class ByConfig(nn.Module):
    def __init__(self):
        super().__init__()
        self.config = Config()

    def forward(self, pixel_values):
        if pixel_values.shape[1:] != (4, 40, 40):
            raise ValueError("no such image")
        return pixel_values * 2


@dataclass
class Config:
    image_size: int = 40
    num_channels: int = 4
    dim: int = 24


class ByConvention(nn.Module):
    """What `config` says of the sequence: no longer than its positions."""

    def __init__(self):
        super().__init__()
        self.max_position_embeddings = 5
        self.embed = nn.Embedding(9, 4)
        self.positions = nn.Embedding(5, 4)

    def forward(self, input_ids):
        return self.embed(input_ids) + self.positions(torch.arange(input_ids.shape[1]))


class ByDefault(nn.Module):
    def forward(self, x=None, scale=2.0):
        return x * scale


class ByAnnotation(nn.Module):
    def forward(self, x: Tensor, steps: int, flag: bool):
        return x * steps if flag else x + steps


class _Float:
    """What jaxtyping's annotations look like."""

    dtypes = ("float32",)

    def __init__(self, dim_str):
        self.dim_str = dim_str


class ByJaxtyping(nn.Module):
    def __init__(self):
        super().__init__()
        self.dim = 13

    def forward(self, x: _Float("b n d"), y: _Float("b 3 d")):
        assert x.dim() == 3
        return torch.cat([x, y], 1)


class ByMatmulMessage(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(2, 17, 3)[0])

    def forward(self, x):
        assert x.dim() == 2
        return x @ self.weight


class ByRankMessage(nn.Module):
    def forward(self, x):
        b, c, h, w = x.shape
        return x.reshape(b, c, h * w)


class ByDtypeMessage(nn.Module):
    def forward(self, x):
        return torch.nn.functional.one_hot(x, 16)


class ByMultipleMessage(nn.Module):
    def forward(self, image):
        if image.shape[-1] % 48:
            raise ValueError("the sides have to be divisible by 48")
        return image


class ByMissingMessage(nn.Module):
    def forward(self, x, extra=None):
        if extra is None:
            raise ValueError("you have to specify extra")
        return x + extra


class ByUnpackedNone(nn.Module):
    def forward(self, x, mask=None):
        return x[:, :1] * mask.shape[0]


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTM(6, 5, batch_first=True)

    def forward(self, x):
        return self.cell(x)[0]


class Together(nn.Module):
    """Tokens and mask have to be of one length; the table of positions fixes nothing else."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(9, 4)

    def forward(self, tokens, mask):
        return self.embed(tokens) * mask.unsqueeze(-1)


class Strided(nn.Module):
    """Takes images whose sides are multiples of 8 only, and flattens none."""

    def forward(self, image):
        return image.unflatten(2, (-1, 8)).unflatten(4, (-1, 8)).mean((3, 5))


class Square(nn.Module):
    def forward(self, image):
        return image @ image


class NeedsArguments(nn.Module):
    def __init__(self, dim, num_heads, dropout):
        super().__init__()
        self.mix = nn.MultiheadAttention(dim, num_heads, dropout, batch_first=True)

    def forward(self, x):
        return self.mix(x, x, x)[0]


class NeedsConfig(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        self.out = nn.Linear(config.dim, 2)

    def forward(self, x):
        return self.out(x)


class NeedsTuple(nn.Module):
    def __init__(self, depth):
        super().__init__()
        assert isinstance(depth, tuple), "depth must be a tuple"
        self.out = nn.Linear(3, len(depth))

    def forward(self, x):
        return self.out(x)


class NeedsModule(nn.Module):
    def __init__(self, encoder: ByFirstLayer):
        super().__init__()
        self.encoder = encoder

    def forward(self, x):
        return self.encoder(x)


class NeedsSizes(nn.Module):
    def __init__(self, dim, levels: list[int] | tuple[int, ...], scales: "tuple[int, ...]"):
        super().__init__()
        self.out = nn.Linear(dim, sum(levels) + sum(scales))

    def forward(self, x):
        return self.out(x)


class NeedsMoreByName(nn.Module):
    def __init__(self, **kwargs):
        super().__init__()
        self.inner = NeedsArguments(**kwargs)

    def forward(self, x):
        return self.inner(x)


class InChunks(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])

    def forward(self, x):
        assert x.shape[-1] == 8
        x = x.chunk(2, dim=-1)
        return [part(chunk) for part, chunk in zip(self.parts, x, strict=True)]


class NeedsUnknown(nn.Module):
    def __init__(self, teacher):
        super().__init__()
        self.teacher = teacher

    def forward(self, x):
        return self.teacher(x)


class NeedsWidthAndUnknown(nn.Module):
    def __init__(self, dim, teacher):
        super().__init__()
        self.out = nn.Linear(dim, 2)
        self.teacher = teacher

    def forward(self, x):
        return self.teacher(self.out(x))


class RaisesInConstructor(nn.Module):
    def __init__(self, dim):
        super().__init__()
        raise RuntimeError("no weights on this machine")

    def forward(self, x):
        return x


class NeverTakes(nn.Module):
    def forward(self, x):
        raise RuntimeError("not today")


class Hangs(nn.Module):
    def forward(self, x):
        time.sleep(600)


class HangsInConstructor(nn.Module):
    def __init__(self, dim):
        super().__init__()
        time.sleep(600)

    def forward(self, x):
        return x


class TwoSequences(nn.Module):
    """Two tensors that share their batch, and nothing else."""

    def __init__(self):
        super().__init__()
        self.query = nn.Linear(12, 16)
        self.key = nn.Linear(20, 16)

    def forward(self, query, key):
        return self.query(query) @ self.key(key).transpose(1, 2)


class Pyramid(nn.Module):
    """A list with an item for every layer, each half as large as the one before."""

    def __init__(self):
        super().__init__()
        self.laterals = nn.ModuleList([nn.Conv2d(c, 8, 1) for c in (6, 10, 14)])

    def forward(self, features):
        levels = [layer(f) for layer, f in zip(self.laterals, features, strict=True)]
        found = levels[-1]
        for level in levels[-2::-1]:
            found = level + nn.functional.interpolate(found, scale_factor=2)
        return found


class States(nn.Module):
    """A tensor and a pair of them."""

    def __init__(self):
        super().__init__()
        self.mix = nn.Linear(9, 9)

    def forward(self, x, state):
        hidden, cell = state
        return self.mix(x) + hidden * cell


class Keyed(nn.Module):
    """A dict of tensors by name."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(40, 8)
        self.scale = nn.Linear(8, 1)

    def forward(self, batch):
        h = self.words(batch["input_ids"])
        return self.scale(h).squeeze(-1) * batch["attention_mask"]


class Listed(nn.Module):
    """An annotated list, from which two items are taken."""

    def forward(self, images: list[torch.Tensor]):
        return images[0] - images[1]


class TwoTables(nn.Module):
    """Indices into the second table, which is the smaller one: what is looked up tells, not the names."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(500, 8)
        self.kinds = nn.Embedding(7, 8)

    def forward(self, x):
        return self.kinds(x) @ self.words.weight.t()


class Dropping(nn.Module):
    """Random in training mode."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(5, 5)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(self.stem(x))


def evaluating():
    """The same as it is exported."""
    return Dropping().eval()


class NeedsWidth(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.linear = nn.Linear(dim, 3)

    def forward(self, x):
        return self.linear(x)


class BringsItsExample(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(5, 3)
        self.example_input_array = torch.rand(2, 5)

    def forward(self, x):
        return self.linear(x)


class ByNarrowType(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 16)
        self.linear = nn.Linear(16, 3).half()

    def forward(self, input_ids: torch.IntTensor, weight: torch.HalfTensor):
        return self.linear(self.embed(input_ids).half().mean(1) * weight)


class ByPast(nn.Module):
    """Attention over what is kept from earlier steps: heads, and as long as nobody says."""

    def __init__(self):
        super().__init__()
        self.heads, self.head_dim = 4, 6
        self.qkv = nn.Linear(24, 72)

    def forward(self, x, past_key, past_value):
        b, n, _ = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, self.head_dim).permute(2, 0, 3, 1, 4)
        k, v = torch.cat([past_key, k], 2), torch.cat([past_value, v], 2)
        return nn.functional.scaled_dot_product_attention(q, k, v), k, v


class ByState(nn.Module):
    """One step of a recurrent cell, with the state of the last."""

    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(5, 7)

    def forward(self, x, h, c):
        return self.cell(x, (h, c))


class BySquare(nn.Module):
    """A matrix whose two axes move as one."""

    def forward(self, weights):
        return weights @ weights


class ByWhatMoves(nn.Module):
    """Takes four axes of one fixed size too, and these are found first."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(5, 6))

    def forward(self, scores):
        return scores.permute(*reversed(range(scores.dim()))) @ scores
