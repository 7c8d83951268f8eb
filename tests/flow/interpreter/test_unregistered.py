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

class M(nn.Module):
    def __init__(self, model):
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
    "one that it is given": "self.parts = [model]",
    "around what an attribute holds": "self.parts = [Block(layer, 4) for layer in self.model.layers]",
}
HIDDEN = {
    "keyed by text and by tuples": KEYED,
    "one that it is given, which a layer is made of": "self.parts = [Block(model, 4)]",
    "weights": "self.parts = [nn.Linear(4, 4)]",
    "dropout": "self.parts = [nn.Dropout(0.1)]",
    "around what is made here": "self.parts = [Block(nn.Linear(4, 4), n) for n in self.model.sizes]",
}


@pytest.mark.parametrize("made", LEFT_OUT.values(), ids=LEFT_OUT)
def test_modules_that_are_left_out_rightly(made: str) -> None:
    assert not findings_of(SOURCE.format(made=made))


@pytest.mark.parametrize("made", HIDDEN.values(), ids=HIDDEN)
def test_modules_that_are_hidden(made: str) -> None:
    assert [code for code, *_ in findings_of(SOURCE.format(made=made))] == ["ONX306"]
