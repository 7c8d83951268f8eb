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


MASKED = """
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2), 1)
        self.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2), 1)
        self.both = nn.Transformer(8, 2)
    def forward(self, x: Tensor, y: Tensor):
        mask = {mask}
        return {call}
"""


@pytest.mark.parametrize(
    ("call", "compared"),
    [
        ("self.encoder(x, mask)", True),
        ("self.encoder(x, mask, is_causal=None)", True),
        ("self.encoder(x, mask, is_causal=False)", False),
        ("self.encoder(x, src_key_padding_mask=mask)", False),
        ("self.encoder.layers[0](x, mask)", False),
        ("self.decoder(x, y, tgt_mask=mask)", True),
        ("self.decoder(x, y, mask, None, None, None, True)", False),
        ("self.decoder(x, y, memory_mask=mask)", False),
        ("self.both(x, y, tgt_mask=mask)", True),
        ("self.both(x, y, src_mask=mask)", True),
        ("self.both(x, y, src_mask=mask, src_is_causal=True)", False),
    ],
)
@pytest.mark.parametrize(
    "mask",
    [
        "torch.ones(6, 6).triu(1)",
        "nn.Transformer.generate_square_subsequent_mask(6)",
        "self.both.generate_square_subsequent_mask(x.shape[0])",
    ],
)
def test_a_stack_compares_a_square_mask_with_the_causal_one_unless_it_is_told(
    mask: str, call: str, compared: bool
) -> None:
    seen = [line for line in told(MASKED.format(mask=mask, call=call)) if line.startswith("Call export-error")]
    assert seen == ([f"Call export-error: {call}"] if compared else [])


def test_a_mask_for_each_head_is_compared_with_nothing() -> None:
    assert not [s for s in told(MASKED.format(mask="torch.ones(4, 6, 6)", call="self.encoder(x, mask)")) if "Call" in s]
