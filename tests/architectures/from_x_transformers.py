"""Transformers of x-transformers, two layers of width 32, one for each way to attend or to place."""

from __future__ import annotations

from typing import Any

import torch
import x_transformers as x
from net import Net, finder, image
from torch import nn

TOKENS = {"x": "int64[batch, tokens=9]"}
MASKED = {**TOKENS, "mask": "bool[batch, tokens=9]"}


def words(layers: str = "Decoder", inputs: dict[str, str] | None = None, bare: bool = False, **options: Any) -> Net:
    """A model of tokens over layers with these options; `bare` without a wrapper of ours."""

    def build() -> nn.Module:
        inner = getattr(x, layers)(dim=32, depth=2, heads=4, attn_dim_head=8, **options)
        model = x.TransformerWrapper(num_tokens=100, max_seq_len=64, attn_layers=inner)
        return model if bare else Words(model)

    return Net(build, inputs or TOKENS)


class Words(nn.Module):
    """Tokens and their mask in, and none of the many options that the wrapper's own forward has."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        return self.model(x, mask=mask)


class Continuous(nn.Module):
    """Vectors in, vectors out."""

    def __init__(self) -> None:
        super().__init__()
        layers = x.Encoder(dim=32, depth=2, heads=4, attn_dim_head=8)
        self.model = x.ContinuousTransformerWrapper(dim_in=16, dim_out=8, max_seq_len=64, attn_layers=layers)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return self.model(x, mask=mask)


def _images() -> nn.Module:
    layers = x.Encoder(dim=32, depth=2, heads=4, attn_dim_head=8)
    return x.ViTransformerWrapper(image_size=32, patch_size=8, num_classes=10, attn_layers=layers)


NETS = {
    "decoder": words(),
    "decoder_bare": words(bare=True),
    "encoder_masked": words("Encoder", MASKED),
    "prefix_decoder": words("PrefixDecoder"),
    "rotary": words(rotary_pos_emb=True),
    "rotary_xpos": words(rotary_xpos=True),
    "alibi": words(alibi_pos_bias=True, alibi_num_heads=2),
    "relative_bias": words(rel_pos_bias=True),
    "dynamic_bias": words(dynamic_pos_bias=True, dynamic_pos_bias_log_distance=False),
    "flash": words(attn_flash=True),
    "one_head_of_keys": words(attn_one_kv_head=True),
    "talking_heads": words(attn_pre_talking_heads=True),
    "qk_norm": words(attn_qk_norm=True),
    "sparse_topk": words(attn_sparse_topk=4),
    "glu": words(ff_glu=True, ff_swish=True),
    "macaron": words(macaron=True),
    "shift_tokens": words(shift_tokens=1),
    "gated_residual": words(gate_residual=True),
    "hyper_connections": words(num_residual_streams=2),
    "memory_key_values": words(attn_num_mem_kv=4),
    "polar": words(polar_pos_emb=True),
    "continuous": Net(Continuous, {"x": "float32[batch, steps=9, 16]", "mask": "bool[batch, steps=9]"}),
    "images": Net(_images, {"img": image(32)["x"]}),
}
__getattr__ = finder(NETS)
