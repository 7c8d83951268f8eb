"""What a fix writes of torch is imported: at the right place, once, and with the rest of the file as it was."""

from __future__ import annotations

import libcst as cst
import pytest

from onnxlint.base.edits import apply_edits
from onnxlint.base.records import Finding, Safety, Severity, Span
from onnxlint.rules.engine.site import Site
from onnxlint.rules.engine.source_page import Page

HEADS = {
    "nothing": ("", "\nimport torch\n"),
    "a comment": ("#!/usr/bin/env python\n# About it.\n", "#!/usr/bin/env python\n# About it.\n\nimport torch\n"),
    "a docstring": ('"""About it."""\n', '"""About it."""\nimport torch\n'),
    "the future": ("from __future__ import annotations\n", "from __future__ import annotations\nimport torch\n"),
    "names of torch": ("from torch import nn\n", "from torch import nn\nimport torch\n"),
    "torch already": ("import torch  # here\n", "import torch  # here\n"),
    "windows": ('"""About it."""\r\n\r\nimport math\r\n', '"""About it."""\r\n\r\nimport math\r\nimport torch\r\n'),
}
NEWLINES = {"windows": "\r\n"}


def fixed(text: str, line: int) -> str:
    """The text once its line is replaced by one that needs torch."""
    finding = Finding("ONX101", "tensor-branch", Severity.ERROR, "", Span("a.py", line, 1, line, 6))
    site = Site(finding, Page("a.py", text))
    number = next(site.inside(cst.Integer))
    fix = site.fix("try", Safety.SAFE, site.replace(number, site.expression("torch.where(a, b, c)")))
    return apply_edits(text, fix.edits)


@pytest.mark.parametrize("name", HEADS)
def test_torch_is_imported_at_the_head(name: str) -> None:
    before, after = HEADS[name]
    newline = NEWLINES.get(name, "\n")
    body = f"{newline}y = 1{newline}"
    text = before + body
    got = fixed(text, text[: text.index("y = 1")].count("\n") + 1)
    assert got == after + f"{newline}y = torch.where(a, b, c){newline}"
    compile(got, "a.py", "exec")
