"""What a fix leaves of a branch: its comments, the newlines and the indentation of the file, and what it computes."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from applying import fix_all

HEAD = """\
import torch
import torch.nn.functional as F
from torch import nn


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)

    def forward(self, x):
        h = self.lin(x)
        n = x.shape[1]
"""


def written(body: str) -> str:
    return HEAD + textwrap.indent(textwrap.dedent(body), " " * 8)


# What is written in `forward`, and what the fix of a rule makes of it.
BRANCHES = {
    "comments of a branch without its question": (
        "ONX101",
        """
        mask = h > 0
        # above
        if mask.any():  # why
            # first

            h = h.masked_fill(
                mask,  # where
                0,
            )  # end
            # below
        return h
        """,
        """
        mask = h > 0
        # above
        # why
        # first
        h = h.masked_fill(
            mask,  # where
            0,
        )  # end
            # below
        return h
        """,
    ),
    "an assertion over several lines": (
        "ONX103",
        """
        assert h.sum() > 0, (  # why
            "a"
            "b"
        )  # end
        assert h.sum() > 1, \\
            "c"
        return h
        """,
        """
        if not torch.onnx.is_in_onnx_export():
            assert h.sum() > 0, (  # why
                "a"
                "b"
            )  # end
        if not torch.onnx.is_in_onnx_export():
            assert h.sum() > 1, \\
                "c"
        return h
        """,
    ),
    "a tuple of one": (
        "ONX101",
        """
        if h.sum() > 0:
            return (h,)
        return (x,)
        """,
        """
        return torch.where(h.sum() > 0, h, x),
        """,
    ),
    "a rest of a division by a product": (
        "ONX115",
        """
        if n % (4 * 2):
            x = F.pad(x, (0, 0, 0, (4 * 2 - n % (4 * 2)) // 2))
        return x
        """,
        """
        x = F.pad(x, (0, 0, 0, (-n % (4 * 2)) // 2))
        return x
        """,
    ),
    "comments between the arguments of a call": (
        "ONX110",
        """
        return min(
            h.sum(),  # one
            h.mean(),
        )
        """,
        """
        return torch.minimum(
            h.sum(),  # one
            h.mean(),
        )
        """,
    ),
    "an arm of several lines": (
        "ONX101",
        """
        if h.sum() > 0:
            h = torch.where(h > 0,
                            h, -h)
        else:
            h = h + 1
        return h
        """,
        """
        h = torch.where(h.sum() > 0, torch.where(h > 0,
                        h, -h), h + 1)
        return h
        """,
    ),
}


@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("name", BRANCHES)
def test_a_branch_goes_and_what_is_around_it_stays(name: str, newline: str, tmp_path: Path) -> None:
    code, before, after = BRANCHES[name]
    path = tmp_path / "model.py"
    path.write_bytes(written(before).replace("\n", newline).encode())
    fix_all(path, (code,))
    assert path.read_bytes().decode() == written(after).replace("\n", newline)


def test_a_guard_is_indented_as_the_file_is(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(written("assert h.sum() > 0\nreturn h\n").replace("    ", "\t"))
    fix_all(path, ("ONX103",))
    guarded = "if not torch.onnx.is_in_onnx_export():\n    assert h.sum() > 0\nreturn h\n"
    assert path.read_text() == written(guarded).replace("    ", "\t")


def test_a_check_that_shares_its_line_stays(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(written("torch._check(n > 1); h = h + 1\nreturn h\n"))
    assert fix_all(path, ("ONX112",)) == []
