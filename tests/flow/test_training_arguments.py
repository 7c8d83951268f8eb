"""Arguments that only training passes: an exported model is not given them, and their arms do not run."""

from __future__ import annotations

import textwrap

import pytest
from analysing import findings_of, told

TRAINING = {
    "a name for it": "is_training = {p} is not None\nif is_training:\n    x = x + torch.rand(3)\nreturn x",
    "a name and more": "train_mode = {p} is not None and self.a\nif train_mode:\n    x = x + torch.rand(3)\nreturn x",
    "a loss": "if {p} is not None:\n    n = x.sum().item()\n\n    return F.mse_loss(x, {p}) * n\nreturn x",
    "a loss that is assigned": "if {p} is not None:\n    loss = (x - {p}) * x.max().item()\n    x = x * loss\nreturn x",
}
INFERENCE = {
    "an arm without a loss": "if {p} is not None:\n    x = x + torch.rand(3)\nreturn x",
    "a loss elsewhere": "if {p} is not None:\n    x = x + torch.rand(3)\nloss = x * {p}\nreturn x + loss",
    "another name": "pretrained = {p} is not None\nif pretrained:\n    x = x + torch.rand(3)\nreturn x",
    "no more than training": "if self.training and {p} is None:\n    return x\nreturn x + torch.rand(3)",
}


def _observed(body: str, parameter: str, default: str = " = None") -> list[str]:
    lines = textwrap.indent(body.replace("{p}", parameter.partition(":")[0]), " " * 8)
    return told(f"class M(nn.Module):\n    def forward(self, x: Tensor, {parameter}{default}):\n{lines}\n")


@pytest.mark.parametrize("parameter", ["actions", "actions: Tensor | None", "y"])
@pytest.mark.parametrize("body", TRAINING.values(), ids=TRAINING)
def test_an_arm_that_only_training_takes_is_silent(body: str, parameter: str) -> None:
    """What the forward names after training, or computes a loss of, no export passes."""
    assert _observed(body, parameter) == []


@pytest.mark.parametrize("body", INFERENCE.values(), ids=INFERENCE)
def test_another_argument_may_be_passed(body: str) -> None:
    """An optional input is one of the model too."""
    assert _observed(body, "extra") != []


def test_what_has_no_default_is_passed() -> None:
    """A loss of an input that every call passes is what is exported."""
    assert _observed(TRAINING["a loss"], "actions", "") != []


@pytest.mark.parametrize("name", ["mask", "lengths", "valid_mask"])
def test_a_mask_that_a_loss_takes_too_is_an_input(name: str) -> None:
    """It may be passed without any label."""
    assert _observed(TRAINING["a loss"], name) != []


@pytest.mark.parametrize(
    ("test", "codes"),
    [
        ('batch["mode"] == "training"', set()),
        ('self.phase != "train"', {"ONX401"}),
        ('self.phase == "valid"', {"ONX401"}),
    ],
)
def test_an_exported_model_is_in_no_mode_of_training(test: str, codes: set[str]) -> None:
    source = f"""
class M(nn.Module):
    def __init__(self, phase):
        super().__init__()
        self.phase = phase
    def forward(self, batch):
        x = torch.relu(batch["x"])
        if {test}:
            x = x + x.sum().item()
        return x
"""
    assert {code for code, *_ in findings_of(source)} == codes


EXPORTED = """
class M(nn.Module):
    def forward(self, x, training=True):
        if training:
            return x if x.sum() > 0 else -x
        return x

def export():
    torch.onnx.export(M().eval(), ({arguments}), "m.onnx", dynamic_axes={{"x": {{0: "batch"}}}})
"""


@pytest.mark.parametrize(("arguments", "branches"), [("torch.rand(2, 3),", 1), ("torch.rand(2, 3), False", 0)])
def test_a_flag_of_training_is_what_the_export_leaves_it_at(arguments: str, branches: int) -> None:
    branch = [line for line in told(EXPORTED.format(arguments=arguments)) if line.startswith("Branch")]
    assert branch == ["Branch data: x.sum() > 0"] * branches
