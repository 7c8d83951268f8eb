"""What forward leaves in globals, on classes and in plain lists: state, where something reads it."""

from __future__ import annotations

import textwrap

import pytest
from analysing import told

MODEL = """
CACHE = []
class M(nn.Module):
    scale = 1
    def __init__(self):
        super().__init__()
        self.kept, self.log, self.table = [], [], {{}}
    def forward(self, x: Tensor):
        {body}
        return x * self.scale{reading}
"""


def writes(body: str, reading: str = "") -> list[str]:
    """The state that a forward is seen to write."""
    lines = textwrap.indent(textwrap.dedent(body), " " * 8).strip()
    return [line for line in told(MODEL.format(body=lines, reading=reading)) if line.startswith("StateWrite")]


def test_a_global_list_that_something_reads() -> None:
    assert writes("CACHE.append(x)", " + CACHE[0]") == ["StateWrite global: CACHE"]
    assert writes("CACHE.append(x)") == []


def test_a_local_list_of_the_same_name_is_none() -> None:
    assert writes("CACHE = []\nCACHE.append(x)", " + CACHE[0]") == []


def test_a_list_of_the_module_that_forward_reads() -> None:
    assert writes("self.kept.append(x)", " + self.kept[0]") == ["StateWrite container: self.kept"]
    assert writes("self.log.append(x)") == []


@pytest.mark.parametrize("item", ["3", "self.scale", "'name'", "torch.zeros(3)"])
def test_what_does_not_depend_on_the_inputs_is_no_state(item: str) -> None:
    assert writes(f"CACHE.append({item})", " + CACHE[0]") == []


@pytest.mark.parametrize("owner", ["M", "self.__class__", "type(self)"])
def test_an_attribute_of_the_class_is_shared_by_every_model(owner: str) -> None:
    assert writes(f"{owner}.scale = x.mean()") == [f"StateWrite class: {owner}.scale"]


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("if key in self.table:\n    return self.table[key]", []),
        ("if key in self.table:\n    x = x + self.table[key]", ["StateWrite container: self.table"]),
        ("if key not in self.kept:\n    return x", ["StateWrite container: self.table"]),
    ],
)
def test_what_is_kept_under_its_key_to_be_given_back_is_no_state(before: str, expected: list[str]) -> None:
    body = f"key = x.dtype\n{before}\nself.table[key] = x * 2"
    assert writes(body, " + self.table[x.dtype]") == expected
