"""Fixes that are not offered, or not as safe ones, since what works before would not work after."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from applying import lint

from onnxlint.base.records import Finding, Fix, Outcome, Safety

HEAD = """\
import torch
import torch.nn.functional as F
from torch import nn


def moved(old, new):
    old.lerp_(new, 0.1)


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))
        self.lin = nn.Linear(4, 4)

    def forward(self, x):
        h = self.lin(x)
"""


def found_in(body: str, folder: Path) -> tuple[Finding, ...]:
    """The findings of a forward with this body."""
    (folder / "model.py").write_text(HEAD + textwrap.indent(textwrap.dedent(body).strip("\n"), " " * 8) + "\n")
    return lint(folder)


def fix_of(code: str, body: str, folder: Path) -> Fix | None:
    """The fix of the one finding of a rule."""
    (found,) = [f for f in found_in(body, folder) if f.code == code]
    fix = found.fix
    return fix if fix is not None and fix.edits else None


WRITES = {
    "by a method": "self.mean.data.copy_(h.mean(0))\nreturn h",
    "through a view": "self.mean.data.view(-1)[:2].fill_(0)\nreturn h",
    "to an item": "self.mean.data[0] = 0\nreturn h",
    "to an attribute of a view": "self.mean.data.T[0] = 0\nreturn h",
    "by a function": "nn.init.zeros_(self.mean.data)\nreturn h",
    "as out": "torch.add(h[0], 1, out=self.mean.data)\nreturn h",
    "under a name": "m = self.mean.data\nm.mul_(2)\nreturn h",
    "under a name, added to": "m = self.mean.data\nm += 2\nreturn h",
}


@pytest.mark.parametrize("body", WRITES.values(), ids=WRITES.keys())
def test_no_detach_where_data_is_written(body: str, tmp_path: Path) -> None:
    found = found_in(body, tmp_path)
    assert found, "a write through `.data` is objected to, for the state that it keeps or for the `.data`"
    assert not [f for f in found if f.fix is not None and f.fix.edits]


def test_no_detach_where_the_values_leave_torch_next(tmp_path: Path) -> None:
    assert [f.code for f in found_in("return h + torch.from_numpy(h.data.cpu().numpy())", tmp_path)] == ["ONX402"]
    assert fix_of("ONX411", "return h + torch.from_numpy(self.lin.weight.data.cpu().numpy()).sum()", tmp_path) is None
    assert fix_of("ONX411", "return h + h.data.cpu().abs()", tmp_path) is not None


def test_state_that_is_written_through_data_is_one_finding(tmp_path: Path) -> None:
    (found,) = found_in("self.mean.data.copy_(h.mean(0))\nreturn h", tmp_path)
    assert found.code == "ONX304"
    assert found.effects == {"torchscript": Outcome.WRONG_VALUES, "dynamo": Outcome.EXPORT_ERROR}


READS = {
    "in arithmetic": ("return h * h.data", Safety.SAFE),
    "by a method": ("return h * h.data.abs()", Safety.SAFE),
    "by a function of torch": ("return h * torch.abs(h.data)", Safety.SAFE),
    "under a name": ("d = h.data\nreturn h * d.abs()", Safety.SAFE),
    "an item": ("return h * h.data[0]", Safety.SAFE),
    "by a function that may write": ("moved(h.data, x)\nreturn h", Safety.UNSAFE),
    "under a second name": ("d = h.data\ne = d\nreturn h * e", Safety.UNSAFE),
}


@pytest.mark.parametrize(("body", "safety"), READS.values(), ids=READS.keys())
def test_detach_where_data_is_read(body: str, safety: Safety, tmp_path: Path) -> None:
    fix = fix_of("ONX411", body, tmp_path)
    assert fix is not None
    assert fix.safety is safety


def test_no_clone_of_the_tuple_that_an_input_is_in(tmp_path: Path) -> None:
    assert fix_of("ONX415", "out = (h, x)\nreturn out", tmp_path) is None
    assert fix_of("ONX415", "y = x\nreturn h, y", tmp_path) is not None


def test_no_guard_around_what_stands_behind_a_draw(tmp_path: Path) -> None:
    assert fix_of("ONX305", "h = h + torch.rand_like(h); y = h\nreturn y", tmp_path) is None
    assert fix_of("ONX305", "h = h + torch.rand_like(h);\nreturn h", tmp_path) is not None
