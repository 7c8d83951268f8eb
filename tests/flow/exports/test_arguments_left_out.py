"""What no export passes to a part of its model is what it is by default: an arm for anything else is a note."""

from __future__ import annotations

import pytest

from tests.flow.analysing import told

SOURCE = """
class Net(nn.Module):
    def forward(self, x, scale=1.0, packing=None, *, lengths=None):
        if packing is not None:
            x = x + x.sum().item()
        if lengths is not None and x.max() > 0:
            x = x * 2
        return x * scale

class Wrapper(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net
    def forward(self, a, b: Tensor):
        return self.net({passed})

def export(net):
    torch.onnx.export(Wrapper({net}).eval(), (torch.zeros(1, 3), torch.zeros(1)), "m.onnx", dynamo=False)
"""
PACKING, LENGTHS = "Escape .item() data: x.sum().item()", "Branch data: lengths is not None and x.max() > 0"


def _sure(passed: str, net: str = "Net()", more: str = "") -> set[str]:
    return {PACKING, LENGTHS} & set(told(SOURCE.format(passed=passed, net=net) + more))


@pytest.mark.parametrize("passed", ["a, b", "a", "x=a", "a, scale=b"])
def test_what_a_wrapper_leaves_out_is_left_out(passed: str) -> None:
    """The wrapped model is run for other inputs too, but no others come with the export."""
    assert _sure(passed) == set()


@pytest.mark.parametrize(
    ("passed", "sure"),
    [
        ("a, 1.0, b", {PACKING}),
        ("a, packing=b", {PACKING}),
        ("a, lengths=b", {LENGTHS}),
        ("*(a, 1.0, b)", {PACKING}),
        ("*torch.unbind(a), **vars(b)", {PACKING, LENGTHS}),
    ],
)
def test_what_a_wrapper_passes_is_there(passed: str, sure: set[str]) -> None:
    """By position, by name, or as any of an unknown number."""
    assert _sure(passed) == sure


def test_a_function_that_exports_what_it_is_given_is_known_by_its_callers() -> None:
    """All that call it say what that is."""
    more = "\ndef other(net):\n    torch.onnx.export(net, (torch.zeros(1, 3),), 'm.onnx', dynamo=False)\n"
    more += "\ndef main():\n    other(Wrapper(Net()).eval())\n"
    assert _sure("a, b", more=more) == set()


def test_where_a_model_is_not_known_any_argument_may_be_passed() -> None:
    """Another call may export the wrapped model by itself."""
    more = "\ndef other(net):\n    torch.onnx.export(net, (torch.zeros(1, 3),), 'm.onnx', dynamo=False)\n"
    assert _sure("a, b", more=more) == _sure("a, b", net="net") == {PACKING, LENGTHS}
