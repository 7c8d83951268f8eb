"""Writes of forward: which are state of a run before, and which an export loses."""

from __future__ import annotations

import textwrap

import pytest
from analysing import told
from test_silence import forward

WRITES = {
    "an attribute": ("self.last = x\nreturn self.last", ["StateWrite attribute: self.last"]),
    "a buffer, counted up": ("self.scale += 1\nreturn x * self.scale", ["StateWrite buffer: self.scale"]),
    "a buffer, copied into": (
        "y = x * self.scale\nself.scale.copy_(x.mean())\nreturn y",
        ["StateWrite buffer: self.scale"],
    ),
    "writes through a slice with a name": (
        "y = self.lin(x)\nleft = y[:, :2]\nleft += 1\nleft *= 2\nreturn y",
        ["ViewWrite: left += 1", "ViewWrite: left *= 2"],
    ),
    "writes through two slices with names": (
        "y = self.lin(x)\nleft, right = y[:, :2], y[:, 2:]\nleft += 1\nright.mul_(2)\nreturn y",
        ["ViewWrite: left += 1", "ViewWrite: right.mul_(2)"],
    ),
    "two writes through a slice, in a chain": (
        "y = self.lin(x)\nleft = y[:, :2]\nleft.mul_(2).square_()\nreturn y",
        ["ViewWrite: left.mul_(2)"],
    ),
    "two writes through a slice on the spot, in a chain": (
        "y = self.lin(x)\ny[:, :2].mul_(2).square_()\nreturn y",
        ["ViewWrite: y[:, :2].mul_(2).square_()"],
    ),
    "a write through a slice, before its name is bound anew": (
        "y = self.lin(x)\nleft = y[:, :2]\nleft += 1\nleft = x[:, :2] * 2\nleft *= 2\nreturn y.sum() + left",
        ["ViewWrite: left += 1"],
    ),
    "a write through each row of a loop": (
        "y = self.lin(x)\nfor column in y.unbind(1):\n    column.add_(1)\nreturn y",
        ["ViewWrite: column.add_(1)"],
    ),
    "a write through a part of a row": (
        "y = self.lin(x)\ny[0].narrow(0, 0, 2).add_(1)\ny[0].select(0, 1).fill_(1)\ny[0][1].mul_(2)\nreturn y",
        ["ViewWrite: y[0].narrow(0, 0, 2).add_(1)"],
    ),
    "a write through a part on the spot": (
        "y = self.lin(x)\ny.narrow(1, 0, 2).add_(1)\ny.unsqueeze(0).mul_(2)\ny.squeeze(1).mul_(2)\nreturn y",
        [
            "ViewWrite: y.narrow(1, 0, 2).add_(1)",
            "ViewWrite: y.squeeze(1).mul_(2)",
            "ViewWrite: y.unsqueeze(0).mul_(2)",
        ],
    ),
}


@pytest.mark.parametrize(("body", "expected"), WRITES.values(), ids=WRITES.keys())
def test_seen(body: str, expected: list[str]) -> None:
    assert told(forward(body)) == sorted(expected)


def test_a_grid_kept_at_the_size_of_the_first_input() -> None:
    source = """
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.grid = None
    def forward(self, x):
        if self.grid is None:
            self.grid = torch.arange(x.shape[0])
        return x + self.grid
"""
    assert told(source) == ["StateWrite cache: self.grid"]


@pytest.mark.parametrize(
    ("first", "expected"), [("", []), ("y = y + self.past\n        ", ["StateWrite cache: self.past"])]
)
def test_what_a_part_makes_anew_in_each_of_its_runs_is_no_cache(first: str, expected: list[str]) -> None:
    """Whether the part runs is another question."""
    source = f"""
class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.past = torch.zeros(1, 4)
    def forward(self, y):
        {first}self.past = torch.zeros(y.shape[0], 4).type_as(y)
        return self.step(y)
    def step(self, y):
        return y + self.past

class M(nn.Module):
    def __init__(self, deep):
        super().__init__()
        self.part, self.deep = Part(), deep
    def forward(self, x):
        return self.part(x) if self.deep else x
"""
    assert told(source) == expected


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("inference", []),
        ("rows", ["StateWrite cache: self.past", "StateWrite state: self.past"]),
    ],
)
def test_what_a_method_for_inference_makes_anew_is_of_its_run(method: str, expected: list[str]) -> None:
    source = f"""
class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.past = torch.zeros(1, 4)
    def begin(self, y):
        self.past = torch.zeros(y.shape[0], 4)
    def forward(self, y):
        self.past = self.past + y
        return self.past

class Loop(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = Part()
    def {method}(self, x):
        self.part.begin(x)
        for _ in range(3):
            x = self.part(x)
        return x

class M(nn.Module):
    def __init__(self, deep):
        super().__init__()
        self.loop, self.deep = Loop(), deep
    def forward(self, x):
        if self.deep:
            x = self.loop.{method}(x)
        return x
"""
    assert told(source) == expected


@pytest.mark.parametrize(
    ("test", "expected"),
    [("step == 0", []), ("step == 1", ["StateWrite cache: self.past", "StateWrite state: self.past"])],
)
def test_what_the_first_step_makes_anew_is_of_this_run(test: str, expected: list[str]) -> None:
    source = f"""
class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.past = None
    def begin(self, y):
        self.past = torch.zeros(y.shape[0], 4)
    def forward(self, y, step: int):
        if {test}:
            self.begin(y)
        self.past = self.past + y
        return self.past

class M(nn.Module):
    def __init__(self, steps: int):
        super().__init__()
        self.part, self.steps = Part(), steps
    def forward(self, x):
        for step in range(self.steps):
            x = self.part(x, step)
        return x
"""
    assert told(source) == expected


def test_a_step_that_is_an_input_of_the_model_is_not_the_first_of_a_run() -> None:
    source = """
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.past = None
    def forward(self, y, step: int):
        if step == 0:
            self.past = torch.zeros(y.shape[0], 4)
        self.past = self.past + y
        return self.past
"""
    assert "StateWrite state: self.past" in told(source)


MEMO = """
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = None
    def {name}(self):
        self.first = None
    def forward(self, x):
        if {test}:
            self.first = torch.tanh(x)
        return x - self.first
"""


@pytest.mark.parametrize(
    ("method", "test", "kind"),
    [
        ("reset", "self.first is None", "memo"),
        ("reset", "self.first is None and x.dim() > 1", "memo"),
        ("reset", "self.first is None or self.anew", "state"),
        ("__init__", "self.first is None", "state"),
    ],
)
def test_what_somebody_resets_is_a_memo(method: str, test: str, kind: str) -> None:
    assert told(MEMO.format(name=method, test=test)) == [f"StateWrite {kind}: self.first"]


def test_an_attribute_that_a_call_at_module_level_writes_is_told() -> None:
    script = "torch.onnx.export(M().eval(), torch.ones(2, 3), 'm.onnx', dynamo=False, opset_version=15)\n"
    seen = told(MEMO.format(name="__init__", test="x.dim() > 1") + script)
    assert seen == [f"ExportCall: {script.strip()}", "StateWrite attribute: self.first"]


def test_what_is_set_above_in_an_arm_is_of_this_run() -> None:
    body = "if x.dim() > 2:\n    self.last = self.lin(x)\n    self.last = self.last * 2\nreturn x + self.last"
    assert told(forward(body)) == ["StateWrite attribute: self.last"]


COUNTING = """\
class Pool(nn.Module):
    def __init__(self, flag=False):
        super().__init__()
        self.flag = flag
        self.times = None
    def start(self, x):
{start}
        return x
    def step(self, x):
        self.times *= 2
        return x * self.times

class M(nn.Module):
    def __init__(self, flag=False):
        super().__init__()
        self.flag = flag
        self.pool = Pool(flag)
    def forward(self, x: Tensor):
{first}
        for _ in range(3):
            x = self.pool.step(x)
        return x
"""
ANEW = "self.times = 1"
CALLED = "x = self.pool.start(x)"
STARTS = {
    "set at the start of each run": (ANEW, CALLED, []),
    "set in an arm": (f"if self.flag:\n    {ANEW}", CALLED, ["StateWrite"]),
    "set after a return": (f"if self.flag:\n    return x\n{ANEW}", CALLED, ["StateWrite"]),
    "set by a call in an arm": (ANEW, f"if self.flag:\n    {CALLED}", ["StateWrite"]),
    "set to what it was": ("self.times = self.times or 1", CALLED, ["StateWrite"]),
    "never set": ("pass", CALLED, ["StateWrite"]),
}


@pytest.mark.parametrize(("start", "first", "expected"), STARTS.values(), ids=STARTS.keys())
def test_a_counter_is(start: str, first: str, expected: list[str]) -> None:
    source = COUNTING.format(start=textwrap.indent(start, " " * 8), first=textwrap.indent(first, " " * 8))
    assert [observation.split()[0] for observation in told(source)] == expected


RESET = """
class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(4, 4)
        self.h = None
    def reset(self, x, keep=False):
        if {test}:
            self.h = x.new_zeros(x.size(0), 4)
            self.c = x.new_zeros(x.size(0), 4)
    def step(self, x):
        self.h, self.c = self.cell(x, (self.h, self.c))
        return self.h
    def forward(self, x):
        self.reset(x{given})
        return torch.stack([self.step(x[:, i]) for i in range(3)])
"""


@pytest.mark.parametrize(
    ("test", "given", "seen"),
    [
        ("not keep", "", False),
        ("not keep", ", keep=True", True),
        ("self.h is None", "", True),
        ("x.sum() > 0", "", True),
    ],
)
def test_a_state_that_a_method_resets_in_an_arm_that_every_run_takes(test: str, given: str, seen: bool) -> None:
    kinds = {text.split()[0] for text in told(RESET.format(test=test, given=given))}
    assert ("StateWrite" in kinds) is seen


MADE = """\
class M(nn.Module):
    def forward(self, x: Tensor, xs: list[Tensor]):
        out = torch.zeros(x.shape[0], 6)
{body}
        return out
"""


@pytest.mark.parametrize(
    ("body", "lost"),
    [
        ("v = out[:, 2:]\nv.copy_(x)", ["v.copy_(x)"]),
        ("v = out[:, 2:]\nv[:] = x", ["v[:]"]),
        ("v = out.view(-1)\nv += 1", ["v += 1"]),
        ("out.view(-1)[:5] = x", ["out.view(-1)[:5]"]),
        ("out[:, 2:].copy_(x)", []),
        ("out[:, 2:] = x", []),
        ("v = out.view(-1)\nv += 1\nout = v.view(out.shape)", []),
        ("v = out.view(-1)\nv += 1\nout = v.view(2, -1) + out", ["v += 1"]),
        ("v = out[:, 2:].clone()\nv.copy_(x)\nout = v", []),
        ("out = out.view(2, -1)\nout[:, 2:] = x", []),
        ("v = out.view(2, -1)\nv[v > 0].fill_(0)", []),  # of a copy, in eager too
        ("for row in out:\n    row[:3] = 1", ["row[:3]"]),
        ("for row in out.unbind(0):\n    row.fill_(1)", ["row.fill_(1)"]),
        ("for row in out:\n    row.fill_(1)\nout = out[0]", ["row.fill_(1)"]),
        ("for i, row in enumerate(out):\n    row.copy_(x[i])", ["row.copy_(x[i])"]),
        ("for item, row in zip(xs, out):\n    row[: item.shape[0]].copy_(item)", ["row[: item.shape[0]]"]),
        ("for row in out:\n    row = row * 2\n    row[:3] = 1", []),
        ("a, b = out.chunk(2, 1)\na.copy_(x)", ["a.copy_(x)"]),
    ],
)
def test_a_write_through_a_view_of_what_forward_makes_is_lost(body: str, lost: list[str]) -> None:
    seen = told(MADE.format(body=textwrap.indent(body, " " * 8)))
    assert [line.removeprefix("ViewWrite: ") for line in seen if line.startswith("ViewWrite")] == lost
