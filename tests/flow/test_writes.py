"""What forward writes: what a second run changes nothing of, and inputs that are inputs no more."""

from __future__ import annotations

import textwrap

import pytest
from analysing import findings_of, reported


def codes(body: str) -> list[str]:
    """The rules that object to a forward of this body."""
    head = (
        "class M(nn.Module):\n    export = False\n\n    def __init__(self):\n        super().__init__()\n"
        "        self.register_buffer('b', torch.zeros(4))\n        self.grid = torch.zeros(4)\n"
        "        self.n, self.seen = 0, []\n\n"
        "    def forward(self, x, i: Tensor, y: Tensor):\n"
    )
    tail = "\n    def other(self):\n        return self.grid, self.n, self.b, self.training, self.seen[0]\n"
    return sorted(code for code, _, _ in findings_of(head + textwrap.indent(textwrap.dedent(body), " " * 8) + tail))


@pytest.mark.parametrize(
    "write",
    ["self.grid = self.grid.to(x)", "self.b = self.b.float().cpu()", "self.training |= self.export", "self.n &= 3"],
)
def test_a_write_that_a_second_run_repeats_is_no_state(write: str) -> None:
    assert codes(f"{write}\nreturn x + self.grid") == []


@pytest.mark.parametrize("write", ["self.b = self.b.to(x) + 1", "self.b *= x", "self.n += 1", "self.n = 1 + self.n"])
def test_a_write_that_a_second_run_changes_is_state(write: str) -> None:
    assert codes(f"{write}\nreturn x + self.b * self.n") == ["ONX304"]


@pytest.mark.parametrize("write", ["self.n += 1", "self.n = self.n + 1", "self.seen.append(x)"])
def test_what_no_forward_reads_is_counted_for_python_alone(write: str) -> None:
    assert codes(f"{write}\nreturn x + self.b") == []


def test_a_write_through_a_view_whose_base_is_not_read_again_is_used() -> None:
    assert codes("z = x * 2\nreturn z.view(-1).scatter_(0, i, y).view(z.shape)") == []
    assert codes("z = x * 2\nz = z.view(-1).scatter_(0, i, y).view(z.shape)\nreturn z") == []
    assert codes("w = x * 2\nz = w.view(4, -1)\nz = z.view(-1).scatter_(0, i, y)\nreturn z + w") == ["ONX406"]
    arms = "w = x * 2\nif y is x:\n    z = w.view(4, -1)\nelse:\n    z = w * 2\n    z = z.view(-1).scatter_(0, i, w)"
    assert codes(f"{arms}\nreturn z") == []
    assert codes("z = x * 2\nz.view(-1).scatter_(0, i, y)\nreturn z") == ["ONX406"]
    assert codes("z = x * 2\nw = z.view(-1).scatter_(0, i, y)\nreturn w + z.sum()") == ["ONX406"]


def test_a_write_by_key_makes_a_dict_and_goes_through_no_view() -> None:
    assert codes("out = self.head(x)\nfor k in range(2):\n    out[k]['a'] = y * 2\nreturn out") == []
    assert codes("out = self.head(x)\nout.view(-1)[1] = y.sum()\nreturn out") == ["ONX406"]


def test_a_write_into_one_row_on_the_spot_is_kept() -> None:
    """Measured with torch 2.13: TorchScript's file answers as eager does."""
    assert codes("out = self.head(x)\nout[0][1] = y * 2\nreturn out") == []


@pytest.mark.parametrize("write", ["z[i > 0] = ext.of(y)", "z[0] = y", "z[i > 0] = 1"])
def test_a_tensor_depends_on_the_inputs_once_it_is_written_with_them(write: str) -> None:
    body = f"z = x.new_zeros(5)\n{write}\nif (z > 1).any():\n    return y\nreturn y * 2"
    text = "class M(nn.Module):\n    def forward(self, x, i: Tensor, y: Tensor):\n" + textwrap.indent(body, " " * 8)
    assert [(code, exporters) for code, _, exporters in findings_of(text)] == [("ONX101", ("torchscript", "dynamo"))]


def buffers(body: str, more: str = "") -> list[str]:
    """The lines of a forward of this body with a finding of state; nothing else reads its two buffers but `more`."""
    head = (
        "class M(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.register_buffer('b', torch.zeros(4))\n        self.register_buffer('c', torch.zeros(4))\n\n"
        "    def forward(self, x, bias=None):\n"
    )
    lines = textwrap.dedent(body).strip().splitlines()
    text = head + textwrap.indent("\n".join(lines), " " * 8) + more
    at = head.count("\n") + 1
    return [lines[line - at] for code, line, _ in sorted(findings_of(text)) if code == "ONX304"]


SET_ANEW = {
    "copied over": "self.b.copy_(x[0])\nreturn x + self.b",
    "zeroed, and added to": "self.b.zero_()\nself.b.add_(x[0])\nreturn x + self.b",
    "drawn": "self.b.normal_()\nreturn x + self.b",
    "assigned": "self.b = x.mean(0)\nreturn x * self.b",
    "in the arm that reads it": "if bias is not None:\n    self.b.copy_(bias)\n    x = x + self.b\nreturn x",
}


@pytest.mark.parametrize("body", SET_ANEW.values(), ids=SET_ANEW.keys())
def test_a_buffer_that_each_run_sets_before_it_reads_it_is_no_state(body: str) -> None:
    assert buffers(body) == []


KEPT = {
    "read before": ("y = x + self.b\nself.b.copy_(x[0])\nreturn y", "self.b.copy_(x[0])"),
    "read on the way": ("self.b.copy_(self.b * 0.9 + x[0])\nreturn x + self.b", "self.b.copy_(self.b * 0.9 + x[0])"),
    "set in one arm": ("if bias is not None:\n    self.b.copy_(bias)\nreturn x + self.b", "    self.b.copy_(bias)"),
    "set in part": ("self.b[0].copy_(x[0, 0])\nreturn x + self.b", "self.b[0].copy_(x[0, 0])"),
    "outside of the trace": ("self.b.data.copy_(x[0])\nreturn x + self.b", "self.b.data.copy_(x[0])"),
}


@pytest.mark.parametrize(("body", "line"), KEPT.values(), ids=KEPT.keys())
def test_a_buffer_of_which_an_earlier_run_leaves_something_is_state(body: str, line: str) -> None:
    assert buffers(body) == [line]


def test_a_buffer_that_another_method_reads_is_state() -> None:
    more = "\n\n    def last(self):\n        return self.b\n"
    assert buffers("self.b.copy_(x[0])\nreturn x + self.b", more) == ["self.b.copy_(x[0])"]


STEPS = """
    class Cell(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = nn.GRUCell(4, 4)
            self.last = None

        def begin(self, x):
            {begin}

        def step(self, x):
            y = x + self.h
            self.h, self.last = self.cell(y, self.h), y
            return y

        def forward(self, x):
            self.begin(x)
            return self.step(x) + self.step(x)

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.part = Cell()

        def forward(self, x, flag=True):
            if flag:
                return self.part(x)
            return x
"""


@pytest.mark.parametrize(
    ("begin", "objected"),
    [("self.h = torch.zeros_like(x)", []), ("pass", ["ONX304"]), ("if x.dim() == 2: self.h = x", ["ONX304"])],
    ids=["made anew by each run", "never made", "made by some runs"],
)
def test_what_each_run_of_a_part_sets_before_it_is_read_is_no_state(begin: str, objected: list[str]) -> None:
    assert sorted(code for code, _, _ in findings_of(STEPS.format(begin=begin))) == objected


def test_the_targets_of_an_assignment_are_not_read() -> None:
    assert codes("self.grid, self.n = x * 2, x + 1\nreturn self.grid + self.n") == []
    assert codes("self.grid, self.n = self.grid * x, 1\nreturn self.grid") == ["ONX304"]


@pytest.mark.parametrize(("made", "cached"), [("self.grid = x.sum(0)", False), ("pass", True), ("y = self.grid", True)])
def test_what_is_assigned_above_is_no_cache(made: str, cached: bool) -> None:
    body = f"if i.dim() > 1:\n    {made}\n    if self.b.any():\n        self.grid = torch.eye(x.shape[0])"
    assert ("ONX204" in codes(body + "\nreturn x @ self.grid")) is cached


TABLE = """
    class M(nn.Module):
        def __init__(self, config, longest=5000):
            super().__init__()
            self.table = None
            self.fill({filled})

        def fill(self, n):
            if self.table is not None and self.table.size(0) >= n:
                return
            self.table = torch.arange(n)[:, None].float()

        def forward(self, x: Tensor):
            self.fill(x.shape[1])
            return x + self.table[: x.shape[1]]
"""
EMPTY = TABLE.replace("is not None and", "is not None:\n                if").replace(
    "                return", " " * 20 + "return"
)
ABSENT = (
    TABLE.replace("is not None and", "is None or")
    .replace(">= n", "< n")
    .replace("return\n", "")
    .replace("            self.table = torch", "                self.table = torch")
)
GROWING = """
    class M(nn.Module):
        def __init__(self, config, longest=5000):
            super().__init__()
            self.longest = {filled}
            self.table = torch.arange(self.longest)[:, None].float()

        def forward(self, x: Tensor):
            if x.shape[1] > self.longest:
                self.longest = x.shape[1]
                self.table = torch.arange(self.longest)[:, None].float()
            return x + self.table[: x.shape[1]]
"""


@pytest.mark.parametrize("source", [TABLE, EMPTY, ABSENT, GROWING])
@pytest.mark.parametrize(
    ("filled", "shown"),
    [("longest", False), ("config.max_positions", False), ("4096", False), ("8", True)],
)
def test_a_table_that_the_constructor_fills_for_the_longest_input(source: str, filled: str, shown: bool) -> None:
    found = {code for code, _, _ in findings_of(source.format(filled=filled))}
    assert found == ({"ONX106", "ONX204"} if shown else set())


def test_a_limit_that_forward_does_not_lift() -> None:
    cut = GROWING.replace("self.longest = x.shape[1]\n", "x = x[:, : self.longest] * 2\n").replace("x.shape[1]) *", "n")
    assert {code for code, _, _ in findings_of(cut.format(filled="longest"))} == {"ONX106"}


def test_what_forward_keeps_is_about_one_thing_in_a_class() -> None:
    source = """
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("last", torch.zeros(4))
                self.register_buffer("sum", torch.zeros(4))

            def forward(self, x):
                self.last = self.last * x
                self.sum += x
                return self.last * self.sum
    """
    assert [f.about for f in reported(source) if f.code == "ONX304"] == ["model.M what forward keeps"] * 2
