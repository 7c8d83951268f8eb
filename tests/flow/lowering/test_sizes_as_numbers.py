"""Dynamic sizes where an operator, or Python, takes a number."""

import pytest
from analysing import told

MODEL = "class M(nn.Module):\n    def forward(self, x: Tensor):\n        n = x.shape[0]\n        return {made}\n"
SEEN = {
    "F.adaptive_avg_pool1d(x, 1)": "",
    "F.avg_pool1d(x, n)": "SizeAttribute",
    "x.chunk(n)": "SizeSplit",
    "torch.linspace(0, 1, n) * x": "FactorySize",
    "torch.arange(n) * x": "",
    "{3: x}[n]": "SizeKey",
    "x.squeeze(0)": "Squeeze",
}


@pytest.mark.parametrize(("made", "kind"), SEEN.items())
def test_what_is_observed_of_a_size(made: str, kind: str) -> None:
    kinds = {line.split()[0].rstrip(":") for line in told(MODEL.format(made=made))} & set(SEEN.values())
    assert kinds == ({kind} if kind else set())
