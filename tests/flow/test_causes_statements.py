"""Statements and expressions: a hazard there is found at its line, and the same code without one stays silent."""

from __future__ import annotations

import pytest
from analysing import found_and_expected

CASES = {
    "the power of a spectrum, by its magnitude": """
        class M(nn.Module):
            def forward(self, x: Tensor):
                return torch.fft.rfft(x).abs().pow(2)  # expect: ONX407
    """,
    "a list that is printed alone": """
        class M(nn.Module):
            def forward(self, x: Tensor):
                print("scores", x.tolist())  # expect: ONX401
                return x * 2
    """,
    "numbers that are printed alone": """
        class M(nn.Module):
            def __init__(self, verbose=False):
                super().__init__()
                self.verbose = verbose
                self.register_buffer("scale", torch.ones(4))
            def forward(self, x: Tensor):
                print(x, x.mean().item(), x.mean().tolist(), self.scale.tolist())
                if self.verbose:
                    print(x.tolist())
                return x * 2
    """,
    "a transpose that TorchScript refuses": """
        class M(nn.Module):
            def forward(self, x: Tensor):
                return x @ x.mT  # expect: ONX404
    """,
    "a transpose that TorchScript knows": """
        class M(nn.Module):
            def forward(self, x: Tensor):
                return x @ x.T + x @ x.transpose(-1, -2)
    """,
    "the last frames in a deque": """
        from collections import deque
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.frames = deque(maxlen=3)
            def forward(self, x):
                self.frames.append(x)  # expect: ONX304
                return torch.stack(list(self.frames)).mean(0)
    """,
    "tensors sorted by a number read out of them": """
        class M(nn.Module):
            def forward(self, x, y):
                return sorted([x, y], key=lambda t: t.max().item())[0]  # expect: ONX110
    """,
    "a cache of keys and values in a tuple": """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.past = None
            def forward(self, k):
                if self.past is not None:
                    k = torch.cat([self.past[0], k], 1)
                self.past = (k, k + 1)  # expect: ONX304
                return k
    """,
    "attention that drops in eval mode too": """
        class M(nn.Module):
            def __init__(self, p=0.1):
                super().__init__()
                self.p = p
            def forward(self, q):
                return F.scaled_dot_product_attention(q, q, q, dropout_p=self.p)  # expect: ONX302
    """,
    "attention that drops nothing unless somebody says so": """
        class M(nn.Module):
            def __init__(self, p=0.0):
                super().__init__()
                self.p = p
            def forward(self, q):
                return F.scaled_dot_product_attention(q, q, q, dropout_p=self.p)
    """,
    "attention that drops in training": """
        class M(nn.Module):
            def __init__(self, p=0.1):
                super().__init__()
                self.p = p
            def forward(self, q):
                return F.scaled_dot_product_attention(q, q, q, dropout_p=self.p if self.training else 0.0)
    """,
    "a sample that a distribution is asked for is what is wanted": """
        class M(nn.Module):
            def forward(self, mean):
                return torch.distributions.Normal(mean, 1.0, validate_args=False).rsample()
    """,
    "the mean of a distribution": """
        class M(nn.Module):
            def forward(self, mean):
                return torch.distributions.Normal(mean, 1.0, validate_args=False).mean
    """,
    "sizes in a numpy array": """
        class M(nn.Module):
            def forward(self, x):
                size = np.array([x.shape[0], 3]) * 2  # expect: ONX202
                return torch.zeros(tuple(size.tolist()))
    """,
    "a tensor of the sizes of another": """
        class M(nn.Module):
            def forward(self, x):
                scale = torch.tensor(x.shape).sum()  # expect: ONX203
                return x * scale
        class Good(nn.Module):
            def forward(self, x):
                return x * x.shape[0]
    """,
    "comprehensions": """
        class M(nn.Module):
            def forward(self, x):
                parts = [p if p.sum() > 0 else -p for p in x.chunk(2, dim=1)]  # expect: ONX101
                kept = [p for p in parts if p.mean() > 0]  # expect: ONX101
                named = {i: float(p.max()) for i, p in enumerate(parts)}  # expect: ONX401
                return torch.cat(parts, dim=1) * named[0] + len(kept)
        class Good(nn.Module):
            def forward(self, x):
                parts = [p.abs() for i, p in enumerate(x.chunk(2, dim=1)) if i < 2]
                return torch.cat(parts, dim=1)
    """,
    "a generator expression": """
        class M(nn.Module):
            def forward(self, x):
                total = sum(p.max().item() for p in x.chunk(2, dim=1))  # expect: ONX401
                return x * total
    """,
    "any and all over tensors": """
        class M(nn.Module):
            def forward(self, x):
                if any(p.sum() > 0 for p in x.chunk(2, dim=1)):  # expect: ONX101
                    return x
                return -x
    """,
    "match on data": """
        class M(nn.Module):
            def forward(self, x):
                match int(x.sum()):  # expect: ONX101
                    case 0:
                        return x
                    case _:
                        return -x
    """,
    "match on classes and sequences": """
        class M(nn.Module):
            def forward(self, x, y=None):
                match (x, y):
                    case (Tensor(), None):
                        x = x + 1
                    case (a, b):
                        x = a + b
                match x:
                    case Tensor() if x.sum() > 0:  # expect: ONX101
                        return x
                    case [first, *rest]:
                        return first
                return x
    """,
    "match on configuration": """
        class M(nn.Module):
            def __init__(self, mode="a"):
                super().__init__()
                self.mode = mode
            def forward(self, x):
                match self.mode:
                    case "a":
                        return x.abs()
                    case "b" | "c":
                        return x if x.sum() > 0 else -x  # expect: ONX101
                    case {"kind": kind}:
                        return x + kind
                return x
    """,
    "the walrus": """
        class M(nn.Module):
            def forward(self, x):
                if (total := x.sum()) > 0:  # expect: ONX101
                    x = x / total
                return [y := x * 2, y + (1 if y.mean() > 0 else 2)][1]  # expect: ONX101
    """,
    "try, except and finally": """
        class M(nn.Module):
            def forward(self, x):
                try:
                    if x.sum() > 0:  # expect: ONX101
                        x = x + 1
                except RuntimeError:
                    x = x * x.max().item()  # expect: ONX401
                else:
                    x = x - 1
                finally:
                    y = x if x.mean() > 0 else -x  # expect: ONX101
                return y
    """,
    "while with a break": """
        class M(nn.Module):
            def forward(self, x):
                steps = 0
                while True:
                    x = x / 2
                    steps += 1
                    if x.abs().max() < 1:  # expect: ONX109
                        break
                return x + steps
    """,
    "while on data and while on configuration": """
        class M(nn.Module):
            def __init__(self, depth=3):
                super().__init__()
                self.depth = depth
            def forward(self, x):
                while x.abs().max() > 1:  # expect: ONX101
                    x = x / 2
                left = self.depth
                while left > 0:
                    x = x + 1
                    left -= 1
                return x
    """,
    "unpacking with a star": """
        class M(nn.Module):
            def forward(self, x):
                first, *rest = x.chunk(3, dim=1)
                if rest[-1].sum() > 0:  # expect: ONX101
                    return first
                a, b = (first, 3)
                return a if b > 2 else -a
    """,
    "chained and augmented assignment": """
        class M(nn.Module):
            def forward(self, x):
                a = b = x.sum()
                c = 0
                c += a
                if c > 0:  # expect: ONX101
                    x = x + 1
                return x if b > 0 else -x  # expect: ONX101
    """,
    "del and a global": """
        LIMIT = 3
        class M(nn.Module):
            def forward(self, x):
                y = x.sum()
                del y
                if LIMIT > 2:
                    x = x + 1
                return x if x.sum() > LIMIT else -x  # expect: ONX101
    """,
    "what torch has, and an import that older ones lack": """
        FUSED = None
        try:
            from torch.nn.functional import scaled_dot_product_attention
            FUSED = True
        except ImportError:
            FUSED = False
            OTHER = True
        class M(nn.Module):
            def forward(self, x, mask=None):
                batch, n_ctx, width = x.shape
                if FUSED:
                    causal = mask is not None and n_ctx > 1
                    return scaled_dot_product_attention(x, x, x, is_causal=causal)  # expect: ONX113
                return x if x.sum() > 0 else -x
    """,
    "conditional imports and definitions": """
        try:
            import flash
            HAS = True
        except ImportError:
            HAS = False
        if HAS:
            def act(x):
                return x.relu()
        else:
            def act(x):
                return x if x.sum() > 0 else -x  # expect: ONX101
        class M(nn.Module):
            def forward(self, x):
                if not HAS:
                    x = x + 1
                return act(x)
    """,
    "an f-string, a print and an assert": """
        class M(nn.Module):
            def forward(self, x):
                assert x.dim() == 2, f"rank {x.dim()}"
                assert 0 < x.max() < 3, "too large"  # expect: ONX103
                return x
    """,
    "the operator module and named operators": """
        import operator
        class M(nn.Module):
            def forward(self, x):
                if operator.gt(x.sum(), 0):  # expect: ONX101
                    return x
                if torch.gt(x.sum(), 0):  # expect: ONX101
                    return -x
                return x * operator.mul(2, 3)
    """,
    "early return in a loop": """
        class M(nn.Module):
            def forward(self, x):
                for i in range(3):
                    x = x * 2
                    if x.max() > 8:  # expect: ONX109
                        return x
                return x
    """,
    "a loop that carries a tensor into its next turn": """
        class M(nn.Module):
            def forward(self, x):
                last = None
                for i in range(3):
                    if last is not None and last.sum() > 0:  # expect: ONX101
                        x = x + 1
                    last = x * 2
                return x
    """,
}


@pytest.mark.parametrize("source", CASES.values(), ids=CASES.keys())
def test_findings_are_those_marked(source: str) -> None:
    found, expected = found_and_expected(source)
    assert found == expected
