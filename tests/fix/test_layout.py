"""Fixes over several lines: comments, line breaks and texts in them stay as they are."""

from __future__ import annotations

import textwrap
from pathlib import Path

from applying import fix_all

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
