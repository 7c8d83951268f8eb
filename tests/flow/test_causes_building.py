"""Building a model: a hazard there is found at its line, and the same code without one stays silent."""

from __future__ import annotations

import pytest
from analysing import found_and_expected

CASES = {
    "modules given by a star": """
        class M(nn.Module):
            def __init__(self, *parts):
                super().__init__()
                self.parts = nn.ModuleList(parts)
            def forward(self, x):
                y = x
                for part in self.parts:
                    if x.sum() > 0:  # expect: ONX101
                        y = part(x)
                return y
    """,
    "a default class of a base that gets its arguments by a star": """
        class Block(nn.Module):
            def forward(self, x):
                return x if x.sum() > 0 else -x  # expect: ONX101
        class Base(nn.Module):
            def __init__(self, width=4, block=Block):
                super().__init__()
                self.block = block()
        class M(Base):
            def __init__(self, *args):
                super().__init__(*args)
            def forward(self, x):
                return self.block(x)
    """,
    "a registry of classes": """
        class Block(nn.Module):
            def forward(self, x):
                return x if x.sum() > 0 else -x  # expect: ONX101
        BLOCKS = {"gate": Block, "none": nn.Identity}
        class M(nn.Module):
            def __init__(self, kind="gate"):
                super().__init__()
                self.block = BLOCKS[kind]()
            def forward(self, x):
                return self.block(x)
    """,
    "a registry filled by a decorator": """
        MODELS = {}
        def register(cls):
            MODELS[cls.__name__] = cls
            return cls
        @register
        class Block(nn.Module):
            def forward(self, x):
                return x if x.sum() > 0 else -x  # expect: ONX101
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.block = MODELS["Block"]()
            def forward(self, x):
                return self.block(x)
    """,
    "a function as an attribute": """
        def gate(x):
            return x if x.sum() > 0 else -x  # expect: ONX101
        def safe(x):
            return x.abs()
        class M(nn.Module):
            def __init__(self, kind="gate"):
                super().__init__()
                self.act = gate if kind == "gate" else safe
                self.good = safe
            def forward(self, x):
                return self.good(self.act(x))
    """,
    "a lambda as an attribute": """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.act = lambda x: x if x.sum() > 0 else -x  # expect: ONX101
                self.good = lambda x: x.abs()
            def forward(self, x):
                return self.good(self.act(x))
    """,
    "a dict of functions": """
        def gate(x):
            return x if x.sum() > 0 else -x  # expect: ONX101
        ACTS = {"gate": gate, "relu": F.relu, "abs": torch.abs}
        class M(nn.Module):
            def __init__(self, act="gate"):
                super().__init__()
                self.act = ACTS[act]
            def forward(self, x):
                return self.act(x)
    """,
    "setattr and getattr with constant names": """
        class Block(nn.Module):
            def forward(self, x):
                return x if x.sum() > 0 else -x  # expect: ONX101
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                setattr(self, "block", Block())
            def forward(self, x):
                return getattr(self, "block")(x)
    """,
    "setattr and getattr with numbered names": """
        class Block(nn.Module):
            def forward(self, x):
                return x if x.sum() > 0 else -x  # expect: ONX101
        class M(nn.Module):
            def __init__(self, depth=3):
                super().__init__()
                self.depth = depth
                for i in range(depth):
                    setattr(self, f"block{i}", Block())
            def forward(self, x):
                for i in range(self.depth):
                    x = getattr(self, f"block{i}")(x)
                return x
    """,
    "add_module with numbered names": """
        class Block(nn.Module):
            def forward(self, x):
                return x if x.sum() > 0 else -x  # expect: ONX101
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                for i in range(3):
                    self.add_module("block%d" % i, Block())
            def forward(self, x):
                for module in self.children():
                    x = module(x)
                return x
    """,
    "modules in a plain list": """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.blocks = [nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.1)) for _ in range(3)]  # expect: ONX306
            def forward(self, x):
                for block in self.blocks:
                    x = block(x)
                return x
        class Good(nn.Module):
            def __init__(self):
                super().__init__()
                self.blocks = nn.ModuleList([nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.1)) for _ in range(3)])
            def forward(self, x):
                for block in self.blocks:
                    x = block(x)
                return x
    """,
    "modules in a plain dict": """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.heads = {"a": nn.Dropout(0.1), "b": nn.Dropout(0.2)}  # expect: ONX306
            def forward(self, x):
                return self.heads["a"](x)
        class Good(nn.Module):
            def __init__(self):
                super().__init__()
                self.heads = nn.ModuleDict({"a": nn.Dropout(0.1), "b": nn.Dropout(0.2)})
            def forward(self, x):
                return self.heads["a"](x)
    """,
    "an overridden eval that does nothing": """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.drop = nn.Dropout(0.1)
            def eval(self):
                super().eval()
                self.drop.train()  # expect: ONX303
                return self
            def forward(self, x):
                return self.drop(x)
        class Good(nn.Module):
            def __init__(self):
                super().__init__()
                self.drop = nn.Dropout(0.1)
                self.norm = nn.BatchNorm1d(4)
            def train(self, mode=True):
                super().train(mode)
                self.norm.eval()
                return self
            def forward(self, x):
                return self.drop(self.norm(x))
    """,
    "modules made in forward": """
        class M(nn.Module):
            def forward(self, x):
                drop = nn.Dropout(0.5)  # expect: ONX302
                return drop(x)
        class Good(nn.Module):
            def __init__(self):
                super().__init__()
                self.drop = nn.Dropout(0.5)
            def forward(self, x):
                return self.drop(x)
    """,
    "a module made in forward with a hazard inside": """
        class Block(nn.Module):
            def forward(self, x):
                return x if x.sum() > 0 else -x  # expect: ONX101
        class M(nn.Module):
            def forward(self, x):
                return Block()(x)
    """,
    "a class method that builds": """
        class M(nn.Module):
            def __init__(self, act):
                super().__init__()
                self.act = act
            @classmethod
            def default(cls):
                return cls(lambda x: x if x.sum() > 0 else -x)  # expect: ONX101
            def forward(self, x):
                return self.act(x)
        def main(path):
            torch.onnx.export(M.default().eval(), (torch.randn(2, 4),), path, dynamic_shapes=({0: "b"},))
    """,
    "a configuration object": """
        from dataclasses import dataclass
        @dataclass
        class Config:
            width: int = 4
            gated: bool = True
            act: str = "relu"
        class M(nn.Module):
            def __init__(self, config: Config):
                super().__init__()
                self.config = config
                self.lin = nn.Linear(config.width, config.width)
            def forward(self, x):
                if self.config.gated:
                    x = self.lin(x)
                if self.config.width > 3 and x.sum() > 0:  # expect: ONX101
                    x = -x
                return x
    """,
    "numbers read from tensors while the model is built": """
        def planned(n):
            return torch.cumprod(torch.arange(n), dim=0)
        class Layer(nn.Module):
            def __init__(self, fold: int, rate: float, other):
                super().__init__()
                self.fold, self.rate, self.other = fold, rate, other
            def forward(self, x):
                if self.fold > 1 or self.rate > 2:
                    x = x + 1
                if self.other > 1:  # expect: ONX101
                    x = x * 2
                return x
        class M(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.scales = planned(n)
                self.layers = nn.ModuleList()
                for a, b in zip(self.scales[:-1], self.scales[1:]):
                    fold = int(b // a)
                    rate = b.item()
                    self.layers.append(Layer(fold=fold, rate=rate, other=b))
            def forward(self, x):
                if int(self.scales[0]) > 1:  # expect: ONX101
                    x = x + 1
                for layer in self.layers:
                    x = layer(x)
                return x
    """,
    "a table that each run leaves for the next": """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.table = None
            def forward(self, x):
                x = self.step(x)
                self.table = torch.arange(x.shape[1])  # expect: ONX204
                return x
            def step(self, x):
                return self.shifted(x)
            def shifted(self, x):
                return x if self.table is None else x + self.table.sum()
        def main(path):
            dims = {"x": {0: "batch", 1: "length"}}
            torch.onnx.export(M(), (torch.randn(2, 7),), path, dynamic_shapes=dims)
    """,
    "a cache warmed by the factory": """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.mask = None
            def forward(self, x):
                if self.mask is None or self.mask.shape[0] != x.shape[1]:  # expect: ONX106
                    self.mask = torch.ones(x.shape[1], x.shape[1]).tril()  # expect: ONX204
                return x + self.mask.sum()
        def build():
            model = M()
            model(torch.zeros(1, 7, 4))
            return model.eval()
        def main(path):
            example = torch.randn(2, 7, 4)
            torch.onnx.export(build(), (example,), path, dynamic_shapes={"x": {0: "batch", 1: "length"}})
    """,
}


@pytest.mark.parametrize("source", CASES.values(), ids=CASES.keys())
def test_findings_are_those_marked(source: str) -> None:
    found, expected = found_and_expected(source)
    assert found == expected
