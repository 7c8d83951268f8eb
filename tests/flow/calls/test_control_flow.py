"""`torch.cond` and its like: the functions that they are given are analysed, and what comes out are tensors."""

from __future__ import annotations

import textwrap

import pytest
from analysing import BATCH, LENGTH, facts_of, words_of

from onnxlint.flow.state.observations import Branch
from onnxlint.flow.values.domain import Const, Tensor

X = Tensor((BATCH, LENGTH, Const(4)), kind="float")
WEIGHT = Tensor((BATCH, Const(4)), source="weight", kind="float")


def branches(call: str) -> list[tuple[str, tuple[str, ...]]]:
    """The branches that a forward with this call runs into, and in which exporters."""
    source = f"""
    from torch._higher_order_ops import while_loop, scan, associative_scan, map
    def keep(x):
        return x * 2
    def choose(x, *rest):
        return x if x.sum() > 0 else -x
    def both(c, x):
        return choose(c), x
    class M(nn.Module):
        def forward(self, x: Tensor):
            return {call}
    """
    found = facts_of(textwrap.dedent(source))
    return [(b.text, b.exporters) for b in found if isinstance(b, Branch)]


@pytest.mark.parametrize(
    "call",
    [
        "torch.cond(x.mean() > 0, choose, keep, (x,))",
        "torch.cond(x.mean() > 0, keep, choose, [x])",
        "torch.cond(pred=x.mean() > 0, true_fn=keep, false_fn=choose, operands=(x,))",
        "torch.cond(True, choose, keep, (x,))",
        "while_loop(lambda v: v.sum() > 0, choose, (x,))",
        "scan(both, x[0], x)",
    ],
)
def test_a_branch_is_seen_in(call: str) -> None:
    assert [text for text, _ in branches(call)] == ["x.sum() > 0"]


def test_the_arm_that_a_constant_leaves_out_does_not_run() -> None:
    assert branches("torch.cond(False, choose, keep, (x,))") == []


def test_an_exporter_that_refuses_the_call_never_comes_to_what_stands_in_it() -> None:
    assert branches("torch.cond(x.mean() > 0, choose, keep, (x,))") == [("x.sum() > 0", ("dynamo",))]
    assert branches("torch.cond(True, choose, keep, (x,))") == [("x.sum() > 0", ("torchscript", "dynamo"))]


def test_the_sizes_of_what_comes_out() -> None:
    twice = "lambda v: v * 2"
    assert words_of(f"torch.cond(x.sum() > 0, {twice}, {twice}, (x,))", X) == "tensor/float:batch,length,4"
    map_ = "torch._higher_order_ops.map"
    assert words_of(f"{map_}(lambda row: row.sum(0), x)", X) == "tensor:batch,4"
