"""Modules without layers beside the model that is exported: what nothing holds is no model either."""

from __future__ import annotations

import pytest
from analysing import PRELUDE, facts_of, project_of

MODEL = (
    PRELUDE
    + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        {held}
    def forward(self, x):
        return self.linear(x)

class Boxes(nn.Module):
    '''What a Net gives, see Boxes, for evaluation.'''
    def forward(self, scores: Tensor):
        return scores if scores.sum() > 0 else -scores

def build(name, criterion):
    model = Net()
    {built}
"""
)
SCRIPT = """
import torch
import model
{imported}

def main(path):
    torch.onnx.export(torch.load(path)["model"].eval(), torch.ones(1, 4), "model.onnx", dynamo=True)
"""
APART = {
    "nothing": {},
    "a function, beside the model": {"built": "return model, Boxes()"},
    "a function, for later": {"built": "boxes = Boxes()\n    return boxes.eval()"},
}
INSIDE = {
    "a model": {"held": "self.boxes = Boxes()"},
    "a function that hands it to a model": {"built": "boxes = Boxes()\n    return Net(boxes)"},
    "a table": {"built": "return {'boxes': Boxes}[name]()"},
    "a function that a script calls": {"built": "return Boxes()", "imported": "boxes = model.build('boxes', 0)"},
    "a function that a model calls": {"built": "return model, Boxes()", "held": "self.boxes = build('', 0)[1]"},
    "a name that is computed": {"imported": "kind = getattr(model, 'Boxes')"},
}


def reasons(held: str = "pass", built: str = "return model", imported: str = "") -> set[str]:
    """Why no export comes to the branch in `Boxes`."""
    script = SCRIPT.format(imported=imported).replace("def main(path):", f"def main(path):\n    {imported}")
    project = project_of({"model.py": MODEL.format(held=held, built=built), "export.py": script})
    return {o.outside for o in facts_of(project) if o.text == "scores.sum() > 0"}


@pytest.mark.parametrize("where", APART.values(), ids=APART.keys())
def test_no_export_comes_to_what_is_built_by(where: dict[str, str]) -> None:
    (why,) = reasons(**where)
    assert why.endswith("export.py:8 names it, and it has no layers")


@pytest.mark.parametrize("where", INSIDE.values(), ids=INSIDE.keys())
def test_an_export_may_come_to_what_is_built_by(where: dict[str, str]) -> None:
    assert reasons(**where) == {""}


def test_a_function_with_a_gradient_of_its_own_that_nothing_applies() -> None:
    source = MODEL.format(held="pass", built="return model").replace(
        "Boxes(nn.Module)", "Boxes(torch.autograd.Function)"
    )
    source = source.replace("forward(self, scores", "forward(ctx, scores")
    project = project_of({"model.py": source, "export.py": SCRIPT.format(imported="")})
    (why,) = {o.outside for o in facts_of(project) if o.text == "scores.sum() > 0"}
    assert why.endswith("names it, and it has no layers")
