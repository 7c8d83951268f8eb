"""Inheritance: a hazard there is found at its line, and the same code without one stays silent."""

from __future__ import annotations

import pytest
from analysing import findings_of, found_and_expected

CASES = {
    "the forward of a base class": """
        class Base(nn.Module):
            def forward(self, x):
                if x.sum() > 0:  # expect: ONX101
                    return self.body(x)
                return x
        class M(Base):
            def __init__(self):
                super().__init__()
                self.body = nn.Linear(4, 4)
    """,
    "a method in the place of one that an inherited forward calls, which ran for the class above": """
        class Base(nn.Module):
            def forward(self, x):
                return self.encode(x) * 2
            def encode(self, x):
                return x
        class M(Base):
            def encode(self, x):
                if x.sum() > 0:  # expect: ONX101
                    return x
                return -x
        class All(nn.Module):
            def __init__(self, kind):
                super().__init__()
                self.parts = nn.ModuleList([Base(), M()])
            def forward(self, x):
                return self.parts[0](x)
    """,
    "a method that a class below has another of, neither of which any whole is seen to call": """
        class M(nn.Module):
            def forward(self, x):
                return self.encode(x) * 2
            def encode(self, x):
                if x.sum() > 0:  # expect: ONX101
                    return x
                return -x
        class Plain(M):
            def encode(self, x):
                return x
        class All(nn.Module):
            def __init__(self):
                super().__init__()
                self.parts = nn.ModuleList([M(), Plain()])
            def forward(self, x):
                return x
    """,
    "a template method of the base, filled in by the child": """
        class Base(nn.Module):
            def forward(self, x):
                return self.head(self.encode(x))
            def encode(self, x):
                raise NotImplementedError
        class M(Base):
            def __init__(self):
                super().__init__()
                self.head = nn.Linear(4, 4)
            def encode(self, x):
                return x * x.max().item()  # expect: ONX401
        class Good(Base):
            def __init__(self):
                super().__init__()
                self.head = nn.Linear(4, 4)
            def encode(self, x):
                return x * x.max()
    """,
    "a mixin beside the module": """
        class Clip:
            def clip(self, x):
                return x / 2 if x.abs().max() > 1 else x  # expect: ONX101
        class M(Clip, nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(4, 4)
            def forward(self, x):
                return self.clip(self.lin(x))
    """,
    "a chain of super().forward": """
        class A(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(4, 4)
            def forward(self, x):
                if x.sum() > 0:  # expect: ONX101
                    return self.lin(x)
                return x
        class B(A):
            def forward(self, x):
                return super().forward(x) + 1
        class C(B):
            def forward(self, x, scale=None):
                return super().forward(x) * 2
    """,
    "the order of several bases": """
        class Careful(nn.Module):
            def step(self, x):
                return x.clamp(min=0)
        class Careless(nn.Module):
            def step(self, x):
                if x.sum() > 0:
                    return x
                return -x
        class Good(Careful, Careless):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(4, 4)
            def forward(self, x):
                return self.step(self.lin(x))
    """,
    "cooperative super through a diamond": """
        class Root(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(4, 4)
            def forward(self, x):
                return self.lin(x)
        class Left(Root):
            def forward(self, x):
                return super().forward(x) + 1
        class Right(Root):
            def forward(self, x):
                if x.mean() > 0:  # expect: ONX101
                    return super().forward(x)
                return x
        class M(Left, Right):
            pass
    """,
    "super() with arguments": """
        class A(nn.Module):
            def __init__(self):
                super(A, self).__init__()
                self.lin = nn.Linear(4, 4)
            def features(self, x):
                return self.lin(x) if x.sum() > 0 else x  # expect: ONX101
            def forward(self, x):
                return self.features(x)
        class B(A):
            def features(self, x):
                return super(B, self).features(x) * 2
    """,
    "a base called by its name": """
        class A(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(4, 4)
            def forward(self, x):
                if x.sum() > 0:  # expect: ONX101
                    return self.lin(x)
                return x
        class B(A):
            def forward(self, x):
                return A.forward(self, x) + 1
    """,
    "a subclass of a layer of torch": """
        class Gated(nn.Linear):
            def forward(self, input):
                out = super().forward(input)
                if out.sum() > 0:  # expect: ONX101
                    return out
                return input
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(Gated(4, 4), nn.ReLU())
            def forward(self, x):
                return self.body(x)
    """,
    "a subclass of Sequential": """
        class Residual(nn.Sequential):
            def forward(self, x):
                for layer in self:
                    y = layer(x)
                    x = x + y if y.sum() > 0 else x  # expect: ONX101
                return x
        class Good(nn.Sequential):
            def forward(self, x):
                for layer in self:
                    x = x + layer(x)
                return x
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = Residual(nn.Linear(4, 4), nn.Linear(4, 4))
                self.good = Good(nn.Linear(4, 4), nn.Linear(4, 4))
            def forward(self, x):
                return self.good(self.body(x))
    """,
    "attributes of the class": """
        class M(nn.Module):
            limit = 4
            activation = torch.relu
            layer = nn.Linear
            def __init__(self):
                super().__init__()
                self.lin = self.layer(4, 4)
            def forward(self, x):
                if self.limit > 3:
                    x = self.lin(x)
                if self.activation is None:
                    return x
                return x if x.sum() > self.limit else -x  # expect: ONX101
    """,
    "a function as an attribute of the class": """
        def gate(self, x):
            return x if x.sum() > 0 else -x  # expect: ONX101
        class M(nn.Module):
            step = gate
            def forward(self, x):
                return self.step(x)
    """,
    "a generic base": """
        from typing import Generic, TypeVar
        T = TypeVar("T")
        class Base(nn.Module, Generic[T]):
            def forward(self, x):
                return self.body(x) if x.sum() > 0 else x  # expect: ONX101
        class M(Base[int]):
            def __init__(self):
                super().__init__()
                self.body = nn.Linear(4, 4)
    """,
    "an abstract base": """
        from abc import ABC, abstractmethod
        class Base(nn.Module, ABC):
            @abstractmethod
            def body(self, x): ...
            def forward(self, x):
                return self.body(x)
        class M(Base):
            def body(self, x):
                return x[: int(x.sum())]  # expect: ONX401
    """,
    "__getattr__ of a wrapper": """
        class Inner(nn.Module):
            def __init__(self):
                super().__init__()
                self.lin = nn.Linear(4, 4)
            def score(self, x):
                return self.lin(x) if x.sum() > 0 else x  # expect: ONX101
            def forward(self, x):
                return self.lin(x)
        class Wrapper(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = Inner()
            def __getattr__(self, name):
                try:
                    return super().__getattr__(name)
                except AttributeError:
                    return getattr(self.inner, name)
            def forward(self, x):
                return self.score(x)
    """,
    "a nested class": """
        class Outer(nn.Module):
            class Block(nn.Module):
                def forward(self, x):
                    return x if x.sum() > 0 else -x  # expect: ONX101
            def __init__(self):
                super().__init__()
                self.block = self.Block()
            def forward(self, x):
                return self.block(x)
    """,
    "a class made in a function": """
        def make(size):
            class Block(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.lin = nn.Linear(size, size)
                def forward(self, x):
                    if x.sum() > 0:  # expect: ONX101
                        return self.lin(x)
                    return x
            return Block()
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.block = make(4)
            def forward(self, x):
                return self.block(x)
    """,
}


@pytest.mark.parametrize("source", CASES.values(), ids=CASES.keys())
def test_findings_are_those_marked(source: str) -> None:
    found, expected = found_and_expected(source)
    assert found == expected


SWITCHED = """
class Base(nn.Module):
    def __init__(self, words=False, deep=False):
        super().__init__()
        self.words = words
    def forward(self, x):
        if self.words:
            return x if x.sum() > 0 else -x
        return x.mean()

class Words(Base):
    def __init__(self, **kwargs):
        Base.__init__(self, {flag}, **kwargs)

class Stacked(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = Words()
    def forward(self, x):
        return x * 2
"""


@pytest.mark.parametrize(("flag", "objected"), [("words=True", {("ONX101", 8)}), ("deep=None", set())])
def test_an_inherited_forward_is_run_for_a_class_that_turns_a_flag_of_its_base_on(
    flag: str, objected: set[tuple[str, int]]
) -> None:
    assert {(code, line) for code, line, _ in findings_of(SWITCHED.format(flag=flag))} == objected
