"""Audio, time series and pairs of modalities from transformers."""

from __future__ import annotations

from typing import Any

import torch
import transformers as t
from net import Net, One, finder
from torch import nn

SMALL: dict[str, Any] = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
SPEECH: dict[str, Any] = {
    "conv_dim": (16, 16),
    "conv_stride": (4, 4),
    "conv_kernel": (8, 8),
    "num_feat_extract_layers": 2,
    "num_conv_pos_embeddings": 4,
    "num_conv_pos_embedding_groups": 2,
    **SMALL,
}
WAVE = {"x": "float32[batch, samples=400]"}


def of(name: str, inputs: dict[str, str], **options: Any) -> Net:
    """The model of a configuration's name."""
    return Net(lambda: One(getattr(t, name + "Model")(getattr(t, name + "Config")(**options))), inputs)


class Towers(nn.Module):
    """Text and an image in, how much they are alike out."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor, pixel_values: torch.Tensor
    ) -> torch.Tensor:
        found = self.model(input_ids=input_ids, attention_mask=attention_mask, pixel_values=pixel_values)
        return found.logits_per_image


def _towers(name: str) -> Net:
    text = {"vocab_size": 100, "max_position_embeddings": 64, **SMALL}
    text |= {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    vision = {"image_size": 32, "patch_size": 8, **SMALL}
    inputs = {
        "input_ids": "int64[texts, tokens=9]",
        "attention_mask": "int64[texts, tokens=9]",
        "pixel_values": "float32[images, 3, 32, 32]",
    }

    def build() -> nn.Module:
        config = getattr(t, name + "Config")(text_config=text, vision_config=vision)
        return Towers(getattr(t, name + "Model")(config))

    return Net(build, inputs)


NETS = {
    "wav2vec2": of("Wav2Vec2", WAVE, **SPEECH),
    "hubert": of("Hubert", WAVE, **SPEECH),
    "wavlm": of("WavLM", WAVE, **SPEECH),
    "unispeech": of("UniSpeech", WAVE, **SPEECH),
    "data2vec_audio": of("Data2VecAudio", WAVE, **SPEECH),
    "sew": of("SEW", WAVE, squeeze_factor=2, **SPEECH),
    "whisper_encoder": Net(
        lambda: One(
            t.WhisperModel(
                t.WhisperConfig(
                    vocab_size=100,
                    d_model=32,
                    encoder_layers=2,
                    encoder_attention_heads=4,
                    encoder_ffn_dim=64,
                    decoder_layers=1,
                    decoder_attention_heads=4,
                    decoder_ffn_dim=64,
                    num_mel_bins=8,
                    max_source_positions=20,
                    pad_token_id=0,
                    bos_token_id=1,
                    eos_token_id=2,
                    decoder_start_token_id=1,
                )
            ).get_encoder()
        ),
        {"x": "float32[batch, 8, 40]"},
    ),
    "ast": of(
        "AST",
        {"x": "float32[batch, 32, 16]"},
        max_length=32,
        num_mel_bins=16,
        patch_size=8,
        frequency_stride=8,
        time_stride=8,
        **SMALL,
    ),
    "encodec": of(
        "Encodec",
        {"x": "float32[batch, 1, samples=640]"},
        num_filters=4,
        hidden_size=16,
        codebook_size=16,
        codebook_dim=16,
    ),
    "dac": of(
        "Dac",
        {"x": "float32[batch, 1, samples=512]"},
        encoder_hidden_size=8,
        downsampling_ratios=[2, 4],
        decoder_hidden_size=16,
        codebook_size=16,
        codebook_dim=4,
        n_codebooks=2,
        upsampling_ratios=[4, 2],
    ),
    "patchtst": of(
        "PatchTST",
        {"x": "float32[batch, 32, 2]"},
        num_input_channels=2,
        context_length=32,
        patch_length=8,
        patch_stride=8,
        d_model=16,
        num_attention_heads=2,
    ),
    "patchtsmixer": of(
        "PatchTSMixer",
        {"x": "float32[batch, 32, 2]"},
        num_input_channels=2,
        context_length=32,
        patch_length=8,
        d_model=16,
    ),
    "clip": _towers("CLIP"),
    "siglip": _towers("Siglip"),
    "chinese_clip": _towers("ChineseCLIP"),
    "vivit": of(
        "Vivit", {"x": "float32[batch, 4, 3, 32, 32]"}, image_size=32, num_frames=4, tubelet_size=[2, 8, 8], **SMALL
    ),
    "videomae": of(
        "VideoMAE", {"x": "float32[batch, 4, 3, 32, 32]"}, image_size=32, patch_size=8, num_frames=4, **SMALL
    ),
    "timesformer": of(
        "Timesformer", {"x": "float32[batch, 4, 3, 32, 32]"}, image_size=32, patch_size=8, num_frames=4, **SMALL
    ),
}
__getattr__ = finder(NETS)
