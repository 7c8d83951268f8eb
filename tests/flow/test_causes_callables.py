"""Callables of every kind: a hazard there is found at its line, and the same code without one stays silent."""

from __future__ import annotations

import textwrap

import pytest
from analysing import findings_of, found_and_expected

CASES = {
    "functools.partial of a function": """
        def gate(x, limit):
            return x if x.sum() > limit else -x  # expect: ONX101
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.gate = partial(gate, limit=3)
            def forward(self, x):
                return self.gate(x)
    """,
    "functools.partial of a class": """
        class Block(nn.Module):
            def __init__(self, width, gated):
                super().__init__()
                self.lin, self.gated = nn.Linear(width, width), gated
            def forward(self, x):
                if self.gated:
                    return x if x.sum() > 0 else -x  # expect: ONX101
                return self.lin(x)
        class M(nn.Module):
            def __init__(self, block=partial(Block, gated=True)):
                super().__init__()
                self.block = block(4)
            def forward(self, x):
                return self.block(x)
    """,
    "a property": """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.ones(4))
            @property
            def norm(self):
                return self.weight.norm()
            def forward(self, x):
                return x * self.scale(x)
            def scale(self, x):
                return x.max().item()  # expect: ONX401
    """,
    "a property that reads a tensor kept by forward": """
        class M(nn.Module):
            def forward(self, x):
                self._x = x
                return x + self.total
            @property
            def total(self):
                if self._x.sum() > 0:  # expect: ONX101
                    return 1
                return 2
    """,
    "a hazard in a property": """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("steps", torch.zeros(1))
            @property
            def warm(self):
                return self.steps.sum() > 3
            def forward(self, x):
                return torch.where(self.warm, x, -x)
    """,
    "torch.no_grad around forward": """
        class M(nn.Module):
            @torch.no_grad()
            def forward(self, x):
                return x if x.sum() > 0 else -x  # expect: ONX101
        class N(nn.Module):
            @torch.inference_mode()
            def forward(self, x):
                return x if x.sum() > 0 else -x  # expect: ONX101
    """,
    "a decorator of the project": """
        import functools
        def checked(function):
            @functools.wraps(function)
            def wrapper(self, x, *args, **kwargs):
                if x.isnan().any():  # expect: ONX101
                    x = torch.zeros_like(x)
                return function(self, x, *args, **kwargs)
            return wrapper
        class M(nn.Module):
            @checked
            def forward(self, x):
                return x * x.max().item()  # expect: ONX401
    """,
    "a decorator with arguments": """
        import functools
        def limited(limit):
            def decorate(function):
                @functools.wraps(function)
                def wrapper(*args, **kwargs):
                    out = function(*args, **kwargs)
                    return out if out.sum() < limit else out / 2  # expect: ONX101
                return wrapper
            return decorate
        class M(nn.Module):
            @limited(4)
            def forward(self, x):
                return x.abs()
    """,
    "a decorator that makes a number of a size": """
        def by_number(function):
            def wrapper(size, *rest):
                return function(int(size), *rest)  # expect: ONX202
            return wrapper
        def as_given(function):
            def wrapper(size, *rest):
                print(int(size))
                return function(size, *rest)
            return wrapper
        @by_number
        def ramp(size, slope):
            return torch.arange(size) * slope
        @as_given
        def steps(size, slope):
            return torch.arange(size) * slope
        class M(nn.Module):
            def forward(self, x):
                return x + ramp(x.shape[0], 2)[:, None] + steps(x.shape[0], 2)[:, None]
    """,
    "a helper that drops unless it is told the mode": """
        def drop_path(x, rate=0.1, training=True):
            if rate == 0.0 or not training:
                return x
            return x * torch.empty_like(x).bernoulli_(1 - rate)  # expect: ONX305
        class Forgets(nn.Module):
            def forward(self, x):
                return drop_path(x, 0.2)  # expect: ONX302
        class Tells(nn.Module):
            def forward(self, x):
                return drop_path(x, 0.2, self.training)
        class TellsByName(nn.Module):
            def drop(self, x, training=True):
                return drop_path(x, training=training)
            def forward(self, x):
                return self.drop(x, self.training)
    """,
    "a decorator of a helper": """
        def twice(function):
            def wrapper(x):
                return function(function(x))
            return wrapper
        @twice
        def gate(x):
            return x if x.sum() > 0 else -x  # expect: ONX101
        @twice
        def good(x):
            return x.abs()
        class M(nn.Module):
            def forward(self, x):
                return gate(good(x))
    """,
    "a decorator that did nothing to sizes many times": """
        def bounded(function):
            def wrapper(value):
                if value > 4:  # expect: ONX101
                    return function(value)
                return function(value)
            return wrapper
        @bounded
        def one(n):
            return n
        @bounded
        def two(n):
            return n
        @bounded
        def three(n):
            return n
        @bounded
        def four(n):
            return n
        @bounded
        def five(n):
            return n
        @bounded
        def six(x):
            return x.abs()
        class M(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.n = n
            def forward(self, x):
                scale = one(self.n) + two(self.n) + three(self.n) + four(self.n) + five(self.n)
                return six(x.sum()) * scale
    """,
    "lru_cache of a helper of sizes": """
        from functools import lru_cache
        @lru_cache(maxsize=None)
        def grid(size):
            return torch.arange(size)
        class M(nn.Module):
            def forward(self, x):
                return x + grid(8)
    """,
    "torch.jit.ignore and unused": """
        class M(nn.Module):
            @torch.jit.unused
            def slow(self, x):
                return x if x.sum() > 0 else -x  # expect: ONX101
            @torch.jit.ignore
            def other(self, x):
                return x * x.max().item()  # expect: ONX401
            def forward(self, x):
                return self.slow(x) + self.other(x)
    """,
    "jaxtyped forward": """
        from jaxtyping import Float, jaxtyped
        from beartype import beartype
        class M(nn.Module):
            @jaxtyped(typechecker=beartype)
            def forward(self, x: Float[Tensor, "batch width"]) -> Float[Tensor, "batch width"]:
                return x if x.sum() > 0 else -x  # expect: ONX101
    """,
    "closures": """
        class M(nn.Module):
            def forward(self, x):
                scale = x.abs().max()
                def norm(y):
                    if scale > 1:  # expect: ONX101
                        return y / scale
                    return y
                return norm(x)
        class Good(nn.Module):
            def forward(self, x):
                scale = x.abs().amax()
                def norm(y):
                    return y / scale.clamp(min=1)
                return norm(x)
    """,
    "a nonlocal of a closure": """
        class M(nn.Module):
            def forward(self, x):
                total = 0
                def add(y):
                    nonlocal total
                    total = total + y.sum()
                    return y
                x = add(x)
                return x if total > 0 else -x  # expect: ONX101
    """,
    "a lambda handed over": """
        def apply(function, x):
            return function(x)
        class M(nn.Module):
            def forward(self, x):
                return apply(lambda y: y if y.sum() > 0 else -y, x)  # expect: ONX101
        class Good(nn.Module):
            def forward(self, x):
                return apply(lambda y: torch.where(y.sum() > 0, y, -y), x)
    """,
    "map, filter, sorted and max with a function": """
        class M(nn.Module):
            def forward(self, x):
                parts = list(map(self.part, x.chunk(2, dim=1)))
                best = max(parts, key=lambda p: p.sum())  # expect: ONX110
                return parts[0] + best
            def part(self, p):
                return p * p.max().item()  # expect: ONX401
    """,
    "__call__ overridden": """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(4, 4)
            def __call__(self, x):
                if x.sum() > 0:  # expect: ONX101
                    return super().__call__(x)
                return x
            def forward(self, x):
                return self.lin(x)
    """,
    "a callable object that is no module": """
        class Gate:
            def __call__(self, x):
                return x if x.sum() > 0 else -x  # expect: ONX101
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.gate = Gate()
            def forward(self, x):
                return self.gate(x)
    """,
    "torch.utils.checkpoint": """
        from torch.utils.checkpoint import checkpoint
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(4, 4)
                self.save = True
            def forward(self, x):
                if self.save:
                    x = checkpoint(self.block, x, use_reentrant=False)
                return torch.utils.checkpoint.checkpoint(self.other, x)  # expect: ONX404
            def block(self, x):
                return self.lin(x) if x.sum() > 0 else x  # expect: ONX101
            def other(self, x):
                return self.lin(x) * x.max().item()  # expect: ONX401
    """,
    "checkpoint_sequential and vmap": """
        class Block(nn.Module):
            def forward(self, x):
                return x if x.sum() > 0 else -x  # expect: ONX101
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.blocks = nn.Sequential(Block(), Block())
            def forward(self, x):
                return torch.utils.checkpoint.checkpoint_sequential(self.blocks, 2, x)
    """,
    "a context manager of the project": """
        from contextlib import contextmanager
        @contextmanager
        def scaled(x):
            if x.sum() > 0:  # expect: ONX101
                yield x * 2
            else:
                yield x
        class M(nn.Module):
            def forward(self, x):
                with scaled(x) as y:
                    return y + 1
    """,
    "a class as a context manager": """
        class Scaled:
            def __init__(self, x):
                self.x = x
            def __enter__(self):
                return self.x / self.x.max().item()  # expect: ONX401
            def __exit__(self, *error):
                return False
        class M(nn.Module):
            def forward(self, x):
                with Scaled(x) as y:
                    return y + 1
    """,
    "recursion": """
        class M(nn.Module):
            def step(self, x, depth):
                if depth == 0:
                    return x
                if x.sum() > 0:  # expect: ONX101
                    return self.step(x / 2, depth - 1)
                return x
            def forward(self, x):
                return self.step(x, 3)
    """,
    "arguments passed on": """
        class Inner(nn.Module):
            def forward(self, x, y, *, gain=1.0):
                return x * gain if y.sum() > 0 else x  # expect: ONX101
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = Inner()
            def forward(self, *args, **kwargs):
                return self.inner(*args, **kwargs)
        class N(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = Inner()
            def forward(self, x, y):
                given = {"gain": 2.0}
                return self.inner(*(x, y), **given)
    """,
    "a static method and a class method": """
        class M(nn.Module):
            @staticmethod
            def gate(x):
                return x if x.sum() > 0 else -x  # expect: ONX101
            @classmethod
            def scale(cls, x):
                return x * x.max().item()  # expect: ONX401
            def forward(self, x):
                return M.gate(self.scale(x))
    """,
    "a method kept in a local name": """
        class M(nn.Module):
            def gate(self, x):
                return x if x.sum() > 0 else -x  # expect: ONX101
            def forward(self, x):
                step = self.gate
                steps = [step, torch.relu]
                for s in steps:
                    x = s(x)
                return x
    """,
    "functools.reduce": """
        from functools import reduce
        class M(nn.Module):
            def forward(self, x):
                return reduce(lambda a, b: a if a.sum() > 0 else b, x.chunk(2, dim=1))  # expect: ONX101
    """,
    "operators of an object": """
        class Box:
            def __init__(self, x):
                self.x = x
            def __add__(self, other):
                return Box(self.x + other.x if self.x.sum() > 0 else other.x)  # expect: ONX101
            def __getitem__(self, index):
                return self.x[index]
            def __len__(self):
                return 2
        class M(nn.Module):
            def forward(self, x):
                return (Box(x) + Box(x)).x + Box(x)[0]
    """,
    "async and generators as helpers": """
        def pieces(x):
            for part in x.chunk(2, dim=1):
                if part.sum() > 0:  # expect: ONX101
                    yield part
                else:
                    yield -part
        class M(nn.Module):
            def forward(self, x):
                return torch.cat(list(pieces(x)), dim=1)
    """,
    "yield from": """
        def inner(x):
            yield x * x.max().item()  # expect: ONX401
        def outer(x):
            yield from inner(x)
        class M(nn.Module):
            def forward(self, x):
                return sum(outer(x))
    """,
}


@pytest.mark.parametrize("source", CASES.values(), ids=CASES.keys())
def test_findings_are_those_marked(source: str) -> None:
    found, expected = found_and_expected(source)
    assert found == expected


def test_torchscript_calls_the_symbolic_of_an_autograd_function_and_dynamo_its_forward() -> None:
    source = """
        class Select(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return {result}
            {symbolic}

        class M(nn.Module):
            def forward(self, x):
                return Select.apply(x)
    """
    symbolic = "@staticmethod\n            def symbolic(g, x): return g.op('Relu', x)"

    def objections(result: str, symbolic: str) -> list[tuple[str, tuple[str, ...]]]:
        return [(c, e) for c, _, e in findings_of(source.format(result=result, symbolic=symbolic))]

    assert objections("x + torch.randn_like(x)", symbolic) == [("ONX305", ("dynamo",))]
    assert objections("torch.randn(x.shape[0], 4)", "") == [("ONX305", ("torchscript", "dynamo"))]
    assert ("ONX305", ("dynamo",)) in objections("torch.randn(x.shape[0], 4)", symbolic)
    assert objections("x.new_zeros(x.size(0), 4)", symbolic) == [("ONX409", ("dynamo",))]
    assert objections("torch.relu(x)", symbolic) == []


@pytest.mark.parametrize(
    ("noise", "objected"),
    [
        ("torch.randn_like(x) * torch.exp(x) * noise_scale", []),
        ("torch.randn(x.size(0), 2).to(device=x.device) * temperature", []),
        ("torch.randn_like(x) + noise_scale", ["ONX305"]),
        ("torch.randn_like(x) * 0.1", ["ONX305"]),
    ],
)
def test_noise_whose_strength_is_passed_in_is_meant(noise: str, objected: list[str]) -> None:
    source = f"""
        class M(nn.Module):
            def forward(self, x: Tensor, noise_scale: float = 0.6, temperature: float = 1.0):
                return x + {noise}
    """
    assert [code for code, _, _ in findings_of(source)] == objected


@pytest.mark.parametrize("flag", ["deterministic", "verbose"])
def test_a_draw_that_a_flag_would_leave_out_is_asked_for(flag: str) -> None:
    source = f"""
        class M(nn.Module):
            def draw(self, x):
                return x + torch.rand_like(x)
            def act(self, x, {flag}):
                if {flag}:
                    return x
                return self.draw(x)
            def forward(self, x: Tensor, {flag}: bool = False):
                return self.act(x, {flag})
    """
    assert [code for code, _, _ in findings_of(source)] == ["ONX305"] * (flag == "verbose")


@pytest.mark.parametrize(
    ("body", "objected"),
    [
        ("z = torch.randn(x.size(0), 4).to(x.device)\nz = self.part(z)\nreturn z + x", []),
        ("return self.part(torch.randn_like(x))", []),
        ("return self.part(input=torch.randn_like(x))", []),
        ("return self.decode(torch.randn(x.size(0), 4) * self.scale)", []),
        (
            "z = torch.randn(2, 4)\nfor i in range(2):\n    z, _ = self._modules[f'p{i}'](z, x)\nreturn z",
            [],
        ),
        ("eps = torch.randn_like(x)\nreturn self.part(x) + eps * x", ["ONX305"]),
        ("eps = torch.randn_like(x)\nreturn self.mixed(x, eps)", ["ONX305"]),
        ("noise = torch.randn_like(x)\nh = x + noise\nreturn self.part(h) + self.part(noise)", ["ONX305"]),
        ("return self.part(torch.randn_like(x) * x)", ["ONX305"]),
        ("return self.part(torch.rand_like(x))", ["ONX305"]),
        ("noise = torch.randn_like(x)\nreturn torch.sigmoid(noise)", ["ONX305"]),
    ],
)
def test_noise_alone_that_a_part_is_fed_is_meant(body: str, objected: list[str]) -> None:
    source = f"""
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.part = nn.Linear(4, 4)
                self.scale = 0.5

            def decode(self, z):
                return self.part(z)

            def mixed(self, mean, eps):
                return mean + eps

            def forward(self, x: Tensor):
{textwrap.indent(body, " " * 16)}
    """
    assert [code for code, _, _ in findings_of(source)] == objected
