"""Modules in a plain list: a finding, unless nobody has to register them."""

from __future__ import annotations

import pytest
from analysing import findings_of

SOURCE = """\
class Smooth(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.size, self.average = size, nn.AvgPool1d(size)
    def forward(self, x: Tensor):
        return self.average(x)

class Block(nn.Module):
    def __init__(self, inner, number):
        super().__init__()
        self.inner, self.scale = inner, nn.Linear(4, number)
    def forward(self, x: Tensor):
        return self.scale(self.inner(x))

class Frozen(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Linear(4, 4)
        for weight in self.parameters():
            weight.requires_grad = False
    def forward(self, x: Tensor):
        return self.scale(x)

def load_part(name, device):
    return nn.Linear(4, 4).to(device)

class M(nn.Module):
    def __init__(
        self, model
    ):
        super().__init__()
        self.model = model
        {made}
    def forward(self, x: Tensor):
        for m in self.parts:
            x = m(x)
        return x
"""
KEYED = "self.parts = {}\n        self.parts['a'] = nn.Linear(4, 4)\n        self.parts['b', 0] = nn.Linear(4, 5)"
LEFT_OUT = {
    "also in a ModuleList": KEYED + "\n        self.net = nn.ModuleList(list(self.parts.values()))",
    "no weights": "self.parts = [Smooth(n) for n in (3, 5)]",
    "frozen": "self.parts = [nn.Linear(4, 4)]\n        self.parts[0].requires_grad_(False)",
    "one that freezes itself": "self.parts = [Frozen()]",
    "one that freezes itself, in eval mode": "frozen = Frozen().eval()\n        self.parts = [frozen]",
    "one that it is given": "self.parts = [model]",
    "one that a function loads": "self.parts = [load_part('tiny', 'cpu')]",
    "one that was made before": "part = nn.Linear(4, 4)\n        self.parts = [part]",
    "let go again": "self.parts = [nn.Linear(4, 4), nn.Linear(4, 4)]\n        del self.parts",
    "around what an attribute holds": "self.parts = [Block(layer, 4) for layer in self.model.layers]",
}
HIDDEN = {
    "keyed by text and by tuples": KEYED,
    "one that it is given, which a layer is made of": "self.parts = [Block(model, 4)]",
    "weights": "self.parts = [nn.Linear(4, 4)]",
    "one that was made before, twice": "part = nn.Linear(4, 4)\n        self.parts = [part] * 2",
    "a list that was made before": "parts = [nn.Linear(4, 4), nn.Linear(4, 4)]\n        self.parts = parts",
    "one to which others come": "part = nn.Linear(4, 4)\n        self.parts = [part]\n"
    "        self.parts.append(nn.Linear(4, 4))",
    "one that freezes itself and one that does not": "self.parts = [Frozen(), nn.Linear(4, 4)]",
    "dropout": "self.parts = [nn.Dropout(0.1)]",
    "around what is made here": "self.parts = [Block(nn.Linear(4, 4), n) for n in self.model.sizes]",
}


@pytest.mark.parametrize("made", LEFT_OUT.values(), ids=LEFT_OUT)
def test_modules_that_are_left_out_rightly(made: str) -> None:
    assert not findings_of(SOURCE.format(made=made))


@pytest.mark.parametrize("made", HIDDEN.values(), ids=HIDDEN)
def test_modules_that_are_hidden(made: str) -> None:
    assert [code for code, *_ in findings_of(SOURCE.format(made=made))] == ["ONX306"]


def test_a_list_that_forward_does_not_go_through_hides_nothing_from_an_export() -> None:
    source = SOURCE.format(made="self.parts = [nn.Linear(4, 4)]")
    assert findings_of(source)
    assert not findings_of(
        source.replace(
            "forward(self, x: Tensor):\n        for",
            "forward(self, x: Tensor):\n        return x\n    def walk(self, x):\n        for",
        )
    )


def test_a_list_of_modules_that_the_constructor_is_given_is_no_less_hidden() -> None:
    built = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stack = M([nn.Linear(4, 4), nn.BatchNorm1d(4)])
    def forward(self, x: Tensor):
        return self.stack(x)
"""
    source = SOURCE.format(made="self.parts = model") + built
    assert [code for code, *_ in findings_of(source)] == ["ONX306"]


def test_modules_that_the_holder_registers_and_passes_on_in_a_list_are_not_hidden() -> None:
    built = """
class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.dense = nn.Linear(4, 4)
    def forward(self, x: Tensor):
        return self.dense(x)
class Other(Part):
    pass
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Part(), Part()
        self.stack = M({given})
    def forward(self, x: Tensor):
        return self.stack(x)
"""
    source = SOURCE.format(made="self.parts = model") + built
    assert not findings_of(source.replace("{given}", "[self.first, self.second]"))
    assert [code for code, *_ in findings_of(source.replace("{given}", "[self.first, Other()]"))] == ["ONX306"]
    assert [code for code, *_ in findings_of(source.replace("{given}", "[Part(), Part()]"))] == ["ONX306"]
