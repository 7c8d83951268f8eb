"""Models whose forward can be called in more than one way."""

import torch
from torch import Tensor, nn


class Masked(nn.Module):
    """Without the mask nothing is wrong."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 6)

    def forward(self, input_ids, mask: Tensor | None = None, labels: Tensor | None = None):
        h = self.embed(input_ids)
        if mask is not None:
            if mask.sum() > 4:  # masked
                h = h * mask[..., None]
            else:
                h = h * 2
        loss = h.sum() if labels is not None else 0.0
        return h.mean(1) + loss


class Unread(nn.Module):
    """What is given changes nothing, or is no tensor."""

    def forward(self, x, mask=None, size: int | None = None, mode: str | None = None):
        return x * (size or 2)


class Named(nn.Module):
    """Every input has a default; the second is needed by nobody."""

    def __init__(self):
        super().__init__()
        self.body = nn.Linear(6, 6)

    def forward(self, x=None, *, bias=None):
        h = self.body(x)
        return h if bias is None else h + bias


class Many(nn.Module):
    def forward(self, x, pos=None, scale=None, key_mask=None):
        for other in (pos, scale, key_mask):
            x = x if other is None else x + other.sum()
        return x


class Chance(nn.Module):
    """What differs between two calls may be chance alone."""

    def forward(self, x, scale=None):
        x = x + torch.rand_like(x)
        return x if scale is None else x * scale


class Fragile(nn.Module):
    """Nothing that is made up fits the optional input."""

    def forward(self, x, state=None):
        if state is not None and state.shape != (1, 1, 1, 1, 1, 1, 7):
            raise ValueError("what is this?")
        return x * 2
