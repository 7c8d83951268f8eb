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


PARTED = {
    "x[rows, :, rows] = 1": 1,
    "x[rows, ..., rows] = 1": 1,
    "x[:, rows, rows] = 1": 0,
    "x[rows, 0] = 1": 0,
    "x[rows] = 1": 0,
}
WRITES = PARTED | {"x[x > 0, 2] = 1": 1, "x[x > 0] = 1": 0, "x[..., x[0] > 0] = 1": 1, "x[:, x[0] > 0] = 1": 1}


ROWS = {
    "y[rows] = 0": True,
    "y[~rows] = -1e9": True,
    "y[rows] = y.sum()": True,
    "y[rows] = torch.ones(5)": True,
    "y[rows, ...] = 0": True,
    "y[rows] = y[rows] * 2": False,
    "y[rows] += 1": False,
    "y[y > 0] = 0": False,
    "y[:, 0] = 0": False,
}


@pytest.mark.parametrize(("write", "wrong"), ROWS.items())
def test_a_mask_of_rows_holds_them_against_the_last_axis(write: str, wrong: bool) -> None:
    body = f"b, n, c = x.shape\n        y = x.reshape(b * n, 5) * 2\n        rows = y[:, 0] > 0\n        {write}"
    seen = [line for line in told(MODEL.format(line=body)) if line.startswith("Call")]
    assert seen == ([f"Call wrong-values: {write.partition(' = ')[0]}"] if wrong else [])


def test_a_mask_of_a_tensor_of_nobody_knows_how_many_axes() -> None:
    assert calls("x = x * 1\n        x[rows > 0] = 0") == []


@pytest.mark.parametrize(("write", "number"), WRITES.items())
def test_a_mask_beside_another_index_and_positions_apart(write: str, number: int) -> None:
    assert len(calls(f"x = x * 1\n        {write}")) == number
