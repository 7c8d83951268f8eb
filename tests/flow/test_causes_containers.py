"""Containers of modules and of values: a hazard there is found at its line; without one there is silence."""

from __future__ import annotations

import pytest
from analysing import findings_of, found_and_expected

CASES = {
    "numbers read from a tensor, in a dict in a dict": """
        class M(nn.Module):
            def forward(self, x):
                scores = x.sum(dim=0).numpy()
                found = {"scores": {}, "kept": []}
                for i in range(4):
                    found["scores"][i] = round(scores[i] - 0.5, 3)
                    if found["scores"][i] > 0:  # expect: ONX101
                        x = x + 1
                return x
    """,
    "items of a Sequential": """
        class Block(nn.Module):
            def forward(self, x):
                return x if x.sum() > 0 else -x  # expect: ONX101
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(nn.Linear(4, 4), Block())
            def forward(self, x):
                return self.body[1](self.body[0](x))
    """,
    "a slice of a ModuleList": """
        class Block(nn.Module):
            def __init__(self, gated):
                super().__init__()
                self.gated = gated
            def forward(self, x):
                if self.gated:
                    return x if x.sum() > 0 else -x  # expect: ONX101
                return x
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.blocks = nn.ModuleList([Block(False), Block(True), Block(True)])
            def forward(self, x):
                for block in self.blocks[1:]:
                    x = block(x)
                return x
    """,
    "a module by the number of channels": """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.down = nn.ModuleDict()
                self.down.update({f"{n}_2": nn.Conv2d(n, n, 1) for n in (4, 8)})
                self.up = nn.ModuleDict({"4": nn.Conv2d(4, 4, 1)})
            def forward(self, x):
                x = self.down[f"{x.size(1)}_2"](x)
                return self.up[f"{x.size(1)}"](x) + self.up[x.size(1)](x)  # expect: ONX208
    """,
    "a ModuleDict by key, items and values": """
        class Block(nn.Module):
            def forward(self, x):
                return x if x.sum() > 0 else -x  # expect: ONX101
        class Head(nn.Module):
            def forward(self, x):
                return x * x.max().item()  # expect: ONX401
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.parts = nn.ModuleDict({"block": Block(), "lin": nn.Linear(4, 4)})
                self.heads = nn.ModuleDict({"a": Head()})
            def forward(self, x):
                x = self.parts["block"](x)
                for name, head in self.heads.items():
                    x = x + head(x)
                for name in self.parts:
                    x = self.parts[name](x)
                return x
    """,
    "a ModuleDict by attribute": """
        class Block(nn.Module):
            def forward(self, x):
                return x if x.sum() > 0 else -x  # expect: ONX101
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.parts = nn.ModuleDict()
                self.parts["block"] = Block()
            def forward(self, x):
                return self.parts.block(x)
    """,
    "lists in lists": """
        class Block(nn.Module):
            def forward(self, x):
                return x if x.sum() > 0 else -x  # expect: ONX101
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.stages = nn.ModuleList([nn.ModuleList([nn.Linear(4, 4), Block()]) for _ in range(2)])
            def forward(self, x):
                for lin, block in self.stages:
                    x = block(lin(x))
                return x
    """,
    "a list that grows": """
        class Block(nn.Module):
            def forward(self, x):
                return x if x.sum() > 0 else -x  # expect: ONX101
        class M(nn.Module):
            def __init__(self, depth=2):
                super().__init__()
                layers = []
                for i in range(depth):
                    layers.append(nn.Linear(4, 4))
                    layers += [nn.ReLU(), Block()]
                self.body = nn.Sequential(*layers)
            def forward(self, x):
                return self.body(x)
    """,
    "an OrderedDict in a Sequential": """
        from collections import OrderedDict
        class Block(nn.Module):
            def forward(self, x):
                return x if x.sum() > 0 else -x  # expect: ONX101
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential(OrderedDict([("lin", nn.Linear(4, 4)), ("block", Block())]))
            def forward(self, x):
                return self.body(x)
    """,
    "add_module to a Sequential": """
        class Block(nn.Module):
            def forward(self, x):
                return x if x.sum() > 0 else -x  # expect: ONX101
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Sequential()
                self.body.add_module("lin", nn.Linear(4, 4))
                self.body.add_module("block", Block())
            def forward(self, x):
                return self.body(x)
    """,
    "zip and enumerate": """
        class Block(nn.Module):
            def forward(self, x, scale):
                return x * scale if x.sum() > 0 else -x  # expect: ONX101
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.blocks = nn.ModuleList([Block(), Block()])
                self.scales = [1.0, 2.0]
            def forward(self, x):
                for i, (block, scale) in enumerate(zip(self.blocks, self.scales)):
                    if i == 0 or scale > 1:
                        x = block(x, scale)
                return x
    """,
    "children and modules": """
        class Block(nn.Module):
            def forward(self, x):
                return x if x.sum() > 0 else -x  # expect: ONX101
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = Block()
            def forward(self, x):
                for child in self.children():
                    x = child(x)
                return x
    """,
    "a ParameterList and a ParameterDict": """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.scales = nn.ParameterList([nn.Parameter(torch.ones(4)) for _ in range(2)])
                self.named = nn.ParameterDict({"a": nn.Parameter(torch.ones(4))})
            def forward(self, x):
                for scale in self.scales:
                    x = x * scale
                x = x + self.named["a"]
                return x if (x * self.scales[0]).sum() > 0 else -x  # expect: ONX101
    """,
    "tensors in a list, a dict and a tuple": """
        class M(nn.Module):
            def forward(self, x):
                seen = []
                seen.append(x.abs())
                named = {"a": x, "n": 3}
                pair = (x, 2)
                if named["n"] > 2 and pair[1] > 1 and len(seen) > 0:
                    x = x + 1
                if seen[-1].sum() > 0:  # expect: ONX101
                    x = x + 2
                if named["a"].sum() > 0:  # expect: ONX101
                    x = x + 3
                first, number = pair
                if number > 1:
                    x = x + 4
                return x if first.sum() > 0 else -x  # expect: ONX101
    """,
    "a default dict and setdefault": """
        from collections import defaultdict
        class M(nn.Module):
            def forward(self, x):
                found = defaultdict(list)
                found["a"].append(x)
                sums = {}
                sums.setdefault("a", x.sum())
                if sums["a"] > 0:  # expect: ONX101
                    x = -x
                return x + found["a"][0]
    """,
}


@pytest.mark.parametrize("source", CASES.values(), ids=CASES.keys())
def test_findings_are_those_marked(source: str) -> None:
    found, expected = found_and_expected(source)
    assert found == expected


@pytest.mark.parametrize(
    ("loop", "objected"),
    [
        ("zip(x, x + 1)", ["ONX104"]),
        ("zip(records, x)", []),
        ("zip(self.parts, x)", []),
        ("map(torch.add, x, x)", ["ONX104"]),
        ("map(lambda layer, item: layer(item), self.parts, x)", []),
    ],
)
def test_a_tensor_beside_a_list_is_looped_over_as_often_as_the_list_is_long(loop: str, objected: list[str]) -> None:
    source = f"""
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.parts = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])

            def forward(self, x: Tensor, records: list[dict[str, Tensor]]):
                return [item for item in {loop}]
    """
    assert sorted(code for code, _, _ in findings_of(source)) == objected


@pytest.mark.parametrize(
    ("each", "objected"),
    [
        ("x[i] = self.parts[i](x[i])", []),
        ("x[i] = torch.cat((self.parts[i](x[i]), self.parts[i](x[i])), 1)", []),
        ("x[i] = self.parts[i](x[i]); anchors = [x.view(-1) for x in self.anchors]", []),
        ("x[i] = self.parts[i](x)", ["ONX104"]),
    ],
)
def test_what_a_layer_for_each_item_is_given_may_be_a_list(each: str, objected: list[str]) -> None:
    source = f"""
        class Head(nn.Module):
            def __init__(self):
                super().__init__()
                self.parts = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])

            def forward(self, x):
                for i in range(2):
                    {each}
                return torch.cat([xi.flatten(2) for xi in x], 2)
    """
    assert sorted(code for code, _, _ in findings_of(source)) == objected
