"""`torch.tensor` of tensors becomes `torch.stack`, or a copy of the tensor."""

from __future__ import annotations

import libcst as cst
import pytest
from sites import site_at

from onnxlint.base.edits import apply_edits
from onnxlint.base.records import Safety
from onnxlint.rules.helpers.stacked_tensors import stacked

SAFE, UNSAFE = Safety.SAFE, Safety.UNSAFE


@pytest.mark.parametrize(
    ("source", "written", "safety"),
    [
        ("torch.tensor([x.sum(), y.mean()])", "torch.stack([x.sum(), y.mean()])", SAFE),
        ("torch.tensor((x.sum(), s))", "torch.stack([x.sum(), s])", SAFE),
        ("torch.tensor([x.sum().item(), s])", "torch.stack([x.sum(), s])", UNSAFE),
        ("torch.tensor([x, y])", "torch.stack([x, y])", UNSAFE),
        ("torch.tensor([s, s], dtype=d)", "torch.stack([s, s]).to(d)", SAFE),
        ("torch.FloatTensor([s, s])", "torch.stack([s, s]).float()", SAFE),
        ("torch.tensor(s)", "s.detach().clone()", SAFE),
        ("torch.as_tensor(x.sum(), dtype=d)", "x.sum().to(d)", SAFE),
        ("torch.tensor([s, 1])", None, None),
        ("torch.tensor([])", None, None),
        ("torch.tensor(*s)", None, None),
        ("torch.tensor([s], requires_grad=True)", None, None),
        ("torch.zeros([s])", None, None),
    ],
)
def test_tensors_do_not_go_through_python(source: str, written: str | None, safety: Safety | None) -> None:
    text = f"import torch\nclass M:\n    def forward(self, x, y, s, d):\n        return {source}\n"
    site = site_at(text, source, x="tensor", y="tensor", s="tensor:")
    call = site.at_span(cst.Call)
    assert call is not None
    fix = stacked(site, call)
    assert (fix and fix.safety) == safety
    assert (fix and apply_edits(text, list(fix.edits))) == (written and text.replace(source, written))


def test_a_variable_that_a_list_is_assigned_to_is_no_tensor() -> None:
    text = "import torch\ndef f(x):\n    rows = []\n    rows += [x]\n    return torch.tensor(rows)\n"
    site = site_at(text, "torch.tensor(rows)", rows="tensor:", x="tensor")
    call = site.at_span(cst.Call)
    assert call is not None
    assert stacked(site, call) is None
