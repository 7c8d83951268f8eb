"""Fixes over several lines: comments, line breaks and texts in them stay as they are."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from applying import fix_all, lint

from onnxlint.base.edits import apply_edits

HEAD = "import numpy as np\nimport torch\nfrom torch import nn\n\n\nclass M(nn.Module):\n    def forward(self, x):\n"


def fixed(code: str, body: str, folder: Path) -> str:
    """A forward with this body after all fixes of a rule."""
    path = folder / "model.py"
    path.write_text(HEAD + textwrap.indent(body, " " * 8))
    fix_all(path, (code,))
    return textwrap.dedent(path.read_text().removeprefix(HEAD))


def test_a_comment_behind_the_array_that_was_wrapped_stays(tmp_path: Path) -> None:
    before = "return torch.from_numpy(\n    np.exp(x.numpy())  # why\n) * 2\n"
    assert fixed("ONX402", before, tmp_path) == "return (\n    torch.exp(x)  # why\n) * 2\n"


def test_a_draw_over_several_lines_is_guarded_with_the_text_in_it_as_it_is(tmp_path: Path) -> None:
    before = 'x += torch.rand(\n    3,  # three\n) * len("""a\nb""")\nreturn x\n'
    after = 'if self.training:\n    x += torch.rand(\n        3,  # three\n    ) * len("""a\nb""")\nreturn x\n'
    assert fixed("ONX305", before, tmp_path) == after


FED = """import torch
from torch import nn


class A(nn.Module):
    def forward(self, x):
        return x * 2 if x.sum() > 0 else x


@class B(nn.Module):
    NAME = "a@b"

    def forward(self, x): return x * 3 if x.sum() > 0 else x


@

def last(x): return x * 4 if x.sum() > 0 else x


torch.onnx.export(A(), torch.ones(2))
torch.onnx.export(B(), torch.ones(2))
"""
PLAIN = FED.replace("@", "")
FORMS = {
    "form feeds": (FED.replace("@", "\f"), "utf-8"),
    "newlines of Windows": (PLAIN.replace("\n", "\r\n"), "utf-8"),
    "tabs": (PLAIN.replace("    ", "\t"), "utf-8"),
    "a byte order mark": (PLAIN, "utf-8-sig"),
    "an old encoding": (f"# -*- coding: latin-1 -*-\n# \u00e9\n{PLAIN}", "latin-1"),
}


@pytest.mark.parametrize("name", FORMS)
def test_the_same_fixes_are_made_in_any_form_of_file(name: str, tmp_path: Path) -> None:
    before, encoding = FORMS[name]
    path = tmp_path / "model.py"
    path.write_bytes(before.encode(encoding))
    findings = lint(tmp_path, ("ONX101",))
    edits = [edit for f in findings if f.fix is not None for edit in f.fix.edits]
    assert len(findings) == len(edits) == 2
    after = apply_edits(before, edits)
    for factor in (2, 3):
        old = f"x * {factor} if x.sum() > 0 else x"
        before = before.replace(old, f"torch.where(x.sum() > 0, x * {factor}, x)")
    assert after == before
