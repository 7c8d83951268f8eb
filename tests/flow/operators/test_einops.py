"""einops: a hazard there is found at its line, and the same code without one stays silent."""

from __future__ import annotations

import pytest
from analysing import found_and_expected

CASES = {
    "a side worked out in Python": """
        import math
        from einops import rearrange
        class M(nn.Module):
            def forward(self, x: Tensor):
                b, length, width = x.shape
                return rearrange(x, "b (h w) c -> b c h w", h=int(math.sqrt(length)))  # expect: ONX202
        class Good(nn.Module):
            def __init__(self, side=8):
                super().__init__()
                self.side = side
            def forward(self, x: Tensor):
                return rearrange(x, "b (h w) c -> b c h w", h=self.side)
    """,
    "what rearrange gives is a tensor": """
        from einops import rearrange
        class M(nn.Module):
            def forward(self, x):
                y = rearrange(x, "b (h d) -> b h d", h=2)
                return y if y.sum() > 0 else -y  # expect: ONX101
        class Good(nn.Module):
            def forward(self, x):
                y = rearrange(x, "b (h d) -> b h d", h=2)
                return y if y.ndim == 3 else -y
    """,
    "reduce, repeat, einsum, pack and unpack": """
        from einops import einsum, pack, reduce, repeat, unpack
        class M(nn.Module):
            def forward(self, x):
                if reduce(x, "b d -> b", "max").sum() > 0:  # expect: ONX101
                    x = x + 1
                if repeat(x, "b d -> b r d", r=2).sum() > 0:  # expect: ONX101
                    x = x + 2
                if einsum(x, x, "b d, c d -> b c").sum() > 0:  # expect: ONX101
                    x = x + 3
                y, shapes = pack([x, x], "b *")
                if y.sum() > 0:  # expect: ONX101
                    x = x + 4
                first, second = unpack(y, shapes, "b *")
                return first if second.sum() > 0 else -second  # expect: ONX101
    """,
    "the layers": """
        from einops.layers.torch import EinMix, Rearrange, Reduce
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(Rearrange("b (h d) -> b h d", h=2), nn.Linear(2, 2))
                self.pool = Reduce("b h d -> b d", "mean")
                self.mix = EinMix("b d -> b e", weight_shape="d e", d=2, e=2)
            def forward(self, x):
                y = self.mix(self.pool(self.body(x)))
                return y if y.sum() > 0 else -y  # expect: ONX101
    """,
    "a literal batch": """
        from einops import rearrange, repeat
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.token = nn.Parameter(torch.zeros(1, 1, 4))
            def forward(self, x):
                b, n, d = x.shape
                tokens = repeat(self.token, "1 1 d -> b 1 d", b=b)
                return torch.cat([tokens, rearrange(x, "b n d -> b n d")], dim=1)
    """,
    "sizes by parse_shape": """
        from einops import parse_shape, rearrange
        class M(nn.Module):
            def forward(self, x):
                y = rearrange(x, "b c h w -> (b h) w c")
                y = y.softmax(dim=-1)
                return rearrange(y, "(b h) w c -> b c h w", **parse_shape(x, "b c h w"))
    """,
    "the module by its name": """
        import einops
        class M(nn.Module):
            def forward(self, x):
                y = einops.rearrange(x, "b n d -> b d n")
                return y if y.sum() > 0 else -y  # expect: ONX101
    """,
    "a helper around rearrange": """
        from einops import rearrange
        def heads(t, h):
            return rearrange(t, "b n (h d) -> b h n d", h=h)
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.qkv = nn.Linear(4, 12)
            def forward(self, x):
                q, k, v = map(lambda t: heads(t, 2), self.qkv(x).chunk(3, dim=-1))
                return q if k.sum() > 0 else v  # expect: ONX101
    """,
}


@pytest.mark.parametrize("source", CASES.values(), ids=CASES.keys())
def test_findings_are_those_marked(source: str) -> None:
    found, expected = found_and_expected(source)
    assert found == expected
