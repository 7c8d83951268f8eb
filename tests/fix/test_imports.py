"""What a fix writes of torch is imported: at the right place, once, and with the rest of the file as it was."""

from __future__ import annotations

from pathlib import Path

import libcst as cst
import pytest
from applying import fix_all

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


CHOICE = """
class A(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleDict({{"torch.relu": nn.ReLU()}})

    def forward(self, x{more}):
        {first}
        return {before}
"""
BEFORE = 'x * 2 if x.sum() > 0 else self.layers["torch.relu"](x)'
AFTER = '{torch}.where(x.sum() > 0, x * 2, self.layers["torch.relu"](x))'
NAMES = {
    "an alias": ("import torch as T", "", "", "T"),
    "the other alias, where one is a parameter": ("import torch\nimport torch as T", ", torch=1", "", "T"),
    "of an import under try": ("try:\n    import torch as T\nexcept ImportError:\n    T = None", "", "", "T"),
    "a docstring that speaks of an alias": ('"""Doc.\n\nimport torch as T\n"""\nimport torch', "", "", "torch"),
    "a default before it is imported": ("torch = None\nif nn:\n    import torch", "", "", "torch"),
    "a parameter of another function": (
        "import torch\n\n\ndef f(torch):\n    pass",
        "",
        "# torch",
        "torch",
    ),
    "a submodule": ("import torch.nn.functional", "", "", "torch"),
}


def choosing(head: str, more: str, first: str, before: str) -> str:
    return f"from torch import nn\n{head}\n{CHOICE.format(more=more, first=first, before=before)}"


@pytest.mark.parametrize("name", NAMES)
def test_torch_is_said_by_the_name_that_it_has_there(name: str, tmp_path: Path) -> None:
    head, more, first, torch = NAMES[name]
    model = tmp_path / "model.py"
    model.write_text(choosing(head, more, first, BEFORE))
    assert fix_all(model, ("ONX101",))
    assert model.read_text() == choosing(head, more, first, AFTER.format(torch=torch))


IMPORTED = {
    "a string that speaks of an import": 'HELP = """\nimport torch\n"""',
    "an import that only type checkers see": "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    import torch",
}


@pytest.mark.parametrize("name", IMPORTED)
def test_torch_is_imported_where_nothing_binds_it(name: str, tmp_path: Path) -> None:
    model = tmp_path / "model.py"
    model.write_text(choosing(IMPORTED[name], "", "", BEFORE))
    assert fix_all(model, ("ONX101",))
    text = model.read_text()
    assert AFTER.format(torch="torch") in text
    assert [line for line in text.splitlines() if line == "import torch"] == ["import torch"] * (1 + ("HELP" in text))


TAKEN = {
    "a function of the file": ("def torch(x):\n    return x", "", ""),
    "a function after the import": ("import torch\n\n\ndef torch(x):\n    return x", "", ""),
    "something else that is imported": ("from tools import torch", "", ""),
    "a parameter": ("import torch", ", torch=None", ""),
    "a parameter, without an import": ("", ", torch=None", ""),
    "a variable": ("import torch as torch", "", "torch = 3"),
    "a function in the function": ("import torch", "", "def torch(): pass"),
}


@pytest.mark.parametrize("name", TAKEN)
def test_no_fix_where_the_name_of_torch_is_something_else_s(name: str, tmp_path: Path) -> None:
    model = tmp_path / "model.py"
    model.write_text(choosing(*TAKEN[name], BEFORE))
    assert not fix_all(model, ("ONX101",))
