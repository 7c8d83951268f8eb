"""What a fix takes over of an expression is whole: its parentheses, its comments, its lines."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from applying import fix_all

HEAD = """\
import torch
from torch import nn


class M(nn.Module):
    def forward(self, x, y):
"""
OPERANDS = {
    "a ternary in an arm": (
        "return x * 2 if x.sum() > 0 else (y if self.training else x)",
        "return torch.where(x.sum() > 0, x * 2, y if self.training else x)",
    ),
    "a test that is a ternary's": (
        "return x if (x.sum() if self.training else y.sum()) > 0 else y",
        "return torch.where((x.sum() if self.training else y.sum()) > 0, x, y)",
    ),
    "a lambda and a generator in an arm": (
        "return x.apply_(lambda v: v + 1) if x.sum() > 0 else x.mul(v for v in (1, 2))",
        "return torch.where(x.sum() > 0, x.apply_(lambda v: v + 1), x.mul(v for v in (1, 2)))",
    ),
    "a name that an arm binds": (
        "return x.add((m := y)) if x.sum() > 0 else x",
        "return torch.where(x.sum() > 0, x.add((m := y)), x)",
    ),
    "a comment in an arm's own parentheses": (
        """
        return (x  # as it is
                + y) if x.sum() > 0 else x
        """,
        """
        return torch.where(x.sum() > 0, (x  # as it is
                + y), x)
        """,
    ),
    "a comment between the parts stays, and so they do": (
        """
        return (x * 2  # doubled
                if x.sum() > 0 else x)
        """,
        """
        return (x * 2  # doubled
                if x.sum() > 0 else x)
        """,
    ),
    "a comment at the opening": (
        """
        return (  # either
            x * 2 if x.sum() > 0 else x
        )
        """,
        """
        return (  # either
            torch.where(x.sum() > 0, x * 2, x)
        )
        """,
    ),
    "a string of several lines": (
        """
        return x * len(\'\'\'a
          b  # no comment\'\'\') if x.sum() > 0 else x
        """,
        """
        return torch.where(x.sum() > 0, x * len(\'\'\'a
          b  # no comment\'\'\'), x)
        """,
    ),
    "a comment in the test of statements": (
        """
        if (x.sum()  # of all
                > 0):
            x = x * 2  # doubled
        return x
        """,
        """
        x = torch.where(x.sum()  # of all
                > 0, x * 2, x)  # doubled
        return x
        """,
    ),
    "a string with a hash": (
        """
        if x.sum() > 0:
            x = x * len("#")
        return x
        """,
        """
        x = torch.where(x.sum() > 0, x * len("#"), x)
        return x
        """,
    ),
    "a sum of lines that is added": (
        """
        if x.sum() > 0:
            x *= (x -
                  y)
        return x
        """,
        """
        x = torch.where(x.sum() > 0, x * (x -
              y), x)
        return x
        """,
    ),
    "operands of `and`": (
        "return (x > 0).all() and (lambda v: v > 0)(y).all()",
        "return torch.logical_and((x > 0).all(), (lambda v: v > 0)(y).all())",
    ),
    "a ternary under the guard": (
        """
        if x.sum() > 0 if self.training else y.sum() > 0:
            raise ValueError("negative")
        return x
        """,
        """
        if not torch.onnx.is_in_onnx_export() and (x.sum() > 0 if self.training else y.sum() > 0):
            raise ValueError("negative")
        return x
        """,
    ),
    "a name and a comment under the guard": (
        """
        if (
            m := x.sum() > 0  # of all
        ):
            raise ValueError("negative")
        return x
        """,
        """
        if (
            not torch.onnx.is_in_onnx_export() and (m := x.sum() > 0)  # of all
        ):
            raise ValueError("negative")
        return x
        """,
    ),
}


@pytest.mark.parametrize("name", OPERANDS)
def test_operands_are_taken_over_as_they_are(name: str, tmp_path: Path) -> None:
    before, after = (HEAD + textwrap.indent(textwrap.dedent(text), " " * 8) + "\n" for text in OPERANDS[name])
    model = tmp_path / "model.py"
    model.write_text(before)
    fix_all(model, ("ONX101", "ONX102", "ONX103"))
    assert model.read_text() == after
    compile(after, "model.py", "exec")
