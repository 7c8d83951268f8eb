"""Indices that an exporter lowers wrong, and their neighbours."""

import pytest
from analysing import told

READS = {
    "x[rows, x.argmax(-1) - 1]": True,
    "x[rows, x.argmax(-1)]": False,
    "x[:, x.argmax(-1) - 1]": False,
    "x[rows, torch.arange(2, 5) - 1]": False,
}
MODEL = "class M(nn.Module):\n    def forward(self, x: Tensor, rows: Tensor):\n        {line}\n        return x\n"


def calls(line: str) -> list[str]:
    return [seen for seen in told(MODEL.format(line=line)) if seen.startswith("Call") and "x[" in seen]


@pytest.mark.parametrize(("read", "wrong"), READS.items())
def test_a_position_below_zero_beside_another_index(read: str, wrong: bool) -> None:
    assert bool(calls(f"x = {read}")) is wrong


WRITES = {"x[x > 0, 2] = 1": 1, "x[x > 0] = 1": 0, "x[..., x[0] > 0] = 1": 1, "x[:, x[0] > 0] = 1": 1}


@pytest.mark.parametrize(("write", "number"), WRITES.items())
def test_a_mask_beside_another_index(write: str, number: int) -> None:
    assert len(calls(f"x = x * 1\n        {write}")) == number
