"""Denoisers and autoencoders of diffusers, a block or two of width 32 each."""

from __future__ import annotations

from typing import Any

import diffusers as d
from net import Denoiser, Net, One, finder, image

TIME = {"timestep": (0, 999)}
CROSS = {"cross_attention_dim": 32}


def denoiser(name: str, sample: str, context: str | None = None, timestep: str = "int64[batch]", **options: Any) -> Net:
    """A model of a noisy sample and its time step."""
    inputs = {"sample": f"float32[{sample}]", "timestep": timestep}
    if context is not None:
        inputs["context"] = f"float32[{context}]"
    return Net(lambda: Denoiser(getattr(d, name)(**options)), inputs, TIME if timestep.startswith("int") else None)


def direct(name: str, inputs: dict[str, str], ranges: dict[str, tuple[float, float]], **options: Any) -> Net:
    """A model by the parameters of its own forward."""
    return Net(lambda: getattr(d, name)(**options), inputs, ranges)


def autoencoder(name: str, inputs: dict[str, str], **options: Any) -> Net:
    """A model of a sample alone."""
    return Net(lambda: One(getattr(d, name)(**options), return_dict=False), inputs)


PLAIN = {"block_out_channels": (32, 64), "layers_per_block": 1, "norm_num_groups": 8}
NETS = {
    "unet_2d": denoiser(
        "UNet2DModel",
        "batch, 3, 16, 16",
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
        **PLAIN,
    ),
    "unet_2d_condition": denoiser(
        "UNet2DConditionModel",
        "batch, 4, 16, 16",
        "batch, words=7, 32",
        attention_head_dim=8,
        down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
        **CROSS,
        **PLAIN,
    ),
    "unet_3d_condition": denoiser(
        "UNet3DConditionModel",
        "batch, 4, 4, 16, 16",
        "batch, words=7, 32",
        attention_head_dim=8,
        down_block_types=("CrossAttnDownBlock3D", "DownBlock3D"),
        up_block_types=("UpBlock3D", "CrossAttnUpBlock3D"),
        **CROSS,
        **PLAIN,
    ),
    "unet_1d": denoiser(
        "UNet1DModel",
        "batch, 14, 16",
        in_channels=14,
        out_channels=14,
        time_embedding_type="positional",
        down_block_types=("DownResnetBlock1D", "DownResnetBlock1D"),
        up_block_types=("UpResnetBlock1D",),
        mid_block_type="MidResTemporalBlock1D",
        out_block_type="OutConv1DBlock",
        act_fn="swish",
        use_timestep_embedding=True,
        block_out_channels=(32, 64),
        layers_per_block=1,
        norm_num_groups=8,
    ),
    "dit": direct(
        "DiTTransformer2DModel",
        {"hidden_states": "float32[batch, 4, 16, 16]", "timestep": "int64[batch]", "class_labels": "int64[batch]"},
        {"timestep": (0, 999), "class_labels": (0, 9)},
        num_attention_heads=2,
        attention_head_dim=16,
        num_layers=2,
        sample_size=16,
        num_embeds_ada_norm=10,
        norm_num_groups=8,
    ),
    "pixart": direct(
        "PixArtTransformer2DModel",
        {
            "hidden_states": "float32[batch, 4, 16, 16]",
            "encoder_hidden_states": "float32[batch, words=7, 24]",
            "timestep": "int64[batch]",
        },
        TIME,
        num_attention_heads=2,
        attention_head_dim=16,
        num_layers=2,
        sample_size=16,
        cross_attention_dim=32,
        caption_channels=24,
        norm_num_groups=8,
        use_additional_conditions=False,
    ),
    "sd3": direct(
        "SD3Transformer2DModel",
        {
            "hidden_states": "float32[batch, 4, 16, 16]",
            "encoder_hidden_states": "float32[batch, words=7, 24]",
            "pooled_projections": "float32[batch, 20]",
            "timestep": "int64[batch]",
        },
        TIME,
        sample_size=16,
        patch_size=2,
        in_channels=4,
        num_layers=2,
        attention_head_dim=16,
        num_attention_heads=2,
        joint_attention_dim=24,
        caption_projection_dim=32,
        pooled_projection_dim=20,
        out_channels=4,
        pos_embed_max_size=16,
    ),
    "flux": direct(
        "FluxTransformer2DModel",
        {
            "hidden_states": "float32[batch, patches=12, 16]",
            "encoder_hidden_states": "float32[batch, words=7, 24]",
            "pooled_projections": "float32[batch, 20]",
            "timestep": "float32[batch]",
            "img_ids": "float32[patches=12, 3]",
            "txt_ids": "float32[words=7, 3]",
        },
        {"img_ids": (0, 8), "txt_ids": (0, 8)},
        in_channels=16,
        num_layers=1,
        num_single_layers=1,
        attention_head_dim=16,
        num_attention_heads=2,
        joint_attention_dim=24,
        pooled_projection_dim=20,
        axes_dims_rope=(4, 4, 8),
    ),
    "auraflow": direct(
        "AuraFlowTransformer2DModel",
        {
            "hidden_states": "float32[batch, 4, 16, 16]",
            "encoder_hidden_states": "float32[batch, words=7, 24]",
            "timestep": "float32[batch]",
        },
        {},
        sample_size=16,
        num_mmdit_layers=1,
        num_single_dit_layers=1,
        attention_head_dim=16,
        num_attention_heads=2,
        joint_attention_dim=24,
        caption_projection_dim=32,
        pos_embed_max_size=64,
    ),
    "sana": direct(
        "SanaTransformer2DModel",
        {
            "hidden_states": "float32[batch, 4, 16, 16]",
            "encoder_hidden_states": "float32[batch, words=7, 24]",
            "timestep": "int64[batch]",
        },
        TIME,
        in_channels=4,
        out_channels=4,
        num_attention_heads=2,
        attention_head_dim=16,
        num_layers=1,
        num_cross_attention_heads=2,
        cross_attention_head_dim=16,
        cross_attention_dim=32,
        caption_channels=24,
        sample_size=16,
    ),
    "prior": direct(
        "PriorTransformer",
        {
            "hidden_states": "float32[batch, 24]",
            "timestep": "int64[batch]",
            "proj_embedding": "float32[batch, 24]",
            "encoder_hidden_states": "float32[batch, 7, 24]",
            "attention_mask": "bool[batch, 7]",
        },
        TIME,
        num_attention_heads=2,
        attention_head_dim=16,
        num_layers=2,
        embedding_dim=24,
        num_embeddings=7,
    ),
    "wan": direct(
        "WanTransformer3DModel",
        {
            "hidden_states": "float32[batch, 4, 3, 8, 8]",
            "timestep": "int64[batch]",
            "encoder_hidden_states": "float32[batch, words=7, 24]",
        },
        TIME,
        num_attention_heads=2,
        attention_head_dim=12,
        in_channels=4,
        out_channels=4,
        text_dim=24,
        freq_dim=16,
        ffn_dim=48,
        num_layers=1,
    ),
    "cogvideox": direct(
        "CogVideoXTransformer3DModel",
        {
            "hidden_states": "float32[batch, 1, 4, 8, 8]",
            "encoder_hidden_states": "float32[batch, 7, 24]",
            "timestep": "int64[batch]",
        },
        TIME,
        num_attention_heads=2,
        attention_head_dim=16,
        in_channels=4,
        out_channels=4,
        time_embed_dim=8,
        text_embed_dim=24,
        num_layers=1,
        sample_width=8,
        sample_height=8,
        sample_frames=1,
        max_text_seq_length=7,
    ),
    "mochi": direct(
        "MochiTransformer3DModel",
        {
            "hidden_states": "float32[batch, 4, 2, 8, 8]",
            "encoder_hidden_states": "float32[batch, 7, 24]",
            "timestep": "int64[batch]",
            "encoder_attention_mask": "bool[batch, 7]",
        },
        TIME,
        num_attention_heads=2,
        attention_head_dim=16,
        num_layers=2,
        pooled_projection_dim=16,
        in_channels=4,
        text_embed_dim=24,
        time_embed_dim=16,
        max_sequence_length=7,
    ),
    "autoencoder_kl": autoencoder(
        "AutoencoderKL",
        image(32),
        block_out_channels=(16, 32),
        norm_num_groups=8,
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
    ),
    "autoencoder_tiny": autoencoder(
        "AutoencoderTiny",
        image(32),
        encoder_block_out_channels=(16, 16),
        decoder_block_out_channels=(16, 16),
        num_encoder_blocks=(1, 1),
        num_decoder_blocks=(1, 1),
    ),
    "autoencoder_dc": autoencoder(
        "AutoencoderDC",
        image(32),
        latent_channels=8,
        attention_head_dim=8,
        encoder_block_types=("ResBlock", "EfficientViTBlock"),
        decoder_block_types=("ResBlock", "EfficientViTBlock"),
        encoder_block_out_channels=(16, 32),
        decoder_block_out_channels=(16, 32),
        encoder_layers_per_block=(1, 1),
        decoder_layers_per_block=(1, 1),
        encoder_qkv_multiscales=((), (5,)),
        decoder_qkv_multiscales=((), (5,)),
    ),
    "autoencoder_oobleck": autoencoder(
        "AutoencoderOobleck",
        {"x": "float32[batch, 2, 256]"},
        encoder_hidden_size=8,
        downsampling_ratios=[2, 4],
        channel_multiples=[1, 2],
        decoder_channels=8,
        decoder_input_channels=4,
    ),
    "vq": autoencoder(
        "VQModel",
        image(32),
        block_out_channels=(16, 32),
        norm_num_groups=8,
        num_vq_embeddings=32,
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
    ),
}
__getattr__ = finder(NETS)
