"""What forward writes: what a second run changes nothing of, and inputs that are inputs no more."""

from __future__ import annotations

import textwrap

import pytest
from analysing import findings_of


def codes(body: str) -> list[str]:
    """The rules that object to a forward of this body."""
    head = (
        "class M(nn.Module):\n    export = False\n\n    def __init__(self):\n        super().__init__()\n"
        "        self.register_buffer('b', torch.zeros(4))\n        self.grid = torch.zeros(4)\n        self.n = 0\n\n"
        "    def forward(self, x, i: Tensor, y: Tensor):\n"
    )
    tail = "\n    def other(self):\n        return self.grid, self.n, self.b, self.training\n"
    return sorted(code for code, _, _ in findings_of(head + textwrap.indent(textwrap.dedent(body), " " * 8) + tail))


@pytest.mark.parametrize(
    "write",
    ["self.grid = self.grid.to(x)", "self.b = self.b.float().cpu()", "self.training |= self.export", "self.n &= 3"],
)
def test_a_write_that_a_second_run_repeats_is_no_state(write: str) -> None:
    assert codes(f"{write}\nreturn x + self.grid") == []


@pytest.mark.parametrize("write", ["self.b = self.b.to(x) + 1", "self.b |= x", "self.n += 1"])
def test_a_write_that_a_second_run_changes_is_state(write: str) -> None:
    assert codes(f"{write}\nreturn x + self.b") == ["ONX304"]


def test_a_write_through_a_view_whose_base_is_not_read_again_is_used() -> None:
    assert codes("z = x * 2\nreturn z.view(-1).scatter_(0, i, y).view(z.shape)") == []
    assert codes("z = x * 2\nz.view(-1).scatter_(0, i, y)\nreturn z") == ["ONX406"]
    assert codes("z = x * 2\nw = z.view(-1).scatter_(0, i, y)\nreturn w + z.sum()") == ["ONX406"]
