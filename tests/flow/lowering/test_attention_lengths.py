"""The attention of torch.nn over a dynamic length."""

import pytest
from analysing import told

MODEL = """
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = {layer}
    def forward(self, x: Tensor, y: Tensor):
        return self.layer({args})[0]
"""


@pytest.mark.parametrize(
    ("layer", "args", "reads"),
    [
        ("nn.MultiheadAttention(8, 2, batch_first=True)", "x, x, x", True),
        ("nn.MultiheadAttention(8, 2, batch_first=True)", "x, x, y", False),
        ("nn.MultiheadAttention(8, 2, kdim=8, vdim=8, batch_first=True)", "x, x, x", False),
        ("nn.TransformerEncoderLayer(8, 2, batch_first=True)", "x", True),
        ("nn.Linear(8, 8)", "x", False),
    ],
)
def test_the_length_is_read_where_key_and_value_are_projected_at_once(layer: str, args: str, reads: bool) -> None:
    seen = told(MODEL.format(layer=layer, args=args))
    assert any(line.startswith("AttentionSize") for line in seen) is reads
