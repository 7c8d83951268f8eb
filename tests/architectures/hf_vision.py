"""Vision models from transformers, on images of 32 or 64 pixels."""

from __future__ import annotations

from typing import Any

import transformers as t
from net import Net, One, finder, image

SMALL: dict[str, Any] = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
PATCHES: dict[str, Any] = {"image_size": 32, "patch_size": 8, **SMALL}


def of(name: str, side: int = 32, **options: Any) -> Net:
    """The model of a configuration's name."""
    return Net(lambda: One(getattr(t, name + "Model")(getattr(t, name + "Config")(**options))), image(side))


NETS = {
    "vit": of("ViT", **PATCHES),
    "deit": of("DeiT", **PATCHES),
    "beit": of("Beit", **PATCHES),
    "data2vec_vision": of("Data2VecVision", **PATCHES),
    "dinov2": of("Dinov2", **PATCHES),
    "dinov3_vit": of("DINOv3ViT", **PATCHES),
    "dinov3_convnext": of("DINOv3ConvNext", hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 2, 1]),
    "ijepa": of("IJepa", **PATCHES),
    "vit_msn": of("ViTMSN", **PATCHES),
    "vit_mae": of("ViTMAE", mask_ratio=0.5, **PATCHES),
    "yolos": of("Yolos", **{**PATCHES, "image_size": [32, 32], "num_detection_tokens": 4}),
    "clip_vision": of("CLIPVision", **PATCHES),
    "siglip_vision": of("SiglipVision", **PATCHES),
    "blip_vision": of("BlipVision", **PATCHES),
    "swin": of("Swin", image_size=32, patch_size=4, embed_dim=16, depths=[2, 1], num_heads=[2, 2], window_size=4),
    "swinv2": of("Swinv2", image_size=32, patch_size=4, embed_dim=16, depths=[2], num_heads=[2]),
    "swin2sr": of("Swin2SR", image_size=32, patch_size=1, embed_dim=16, depths=[2], num_heads=[2], window_size=4),
    "donut_swin": of("DonutSwin", image_size=32, patch_size=4, embed_dim=16, depths=[2], num_heads=[2], window_size=4),
    "focalnet": of(
        "FocalNet",
        image_size=32,
        embed_dim=8,
        hidden_sizes=[8, 16],
        depths=[1, 1],
        focal_levels=[1, 1],
        focal_windows=[3, 3],
    ),
    "convnext": of("ConvNext", hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 2, 1]),
    "convnextv2": of("ConvNextV2", hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 2, 1]),
    "resnet": of("ResNet", embedding_size=8, hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 2, 1], layer_type="basic"),
    "regnet": of("RegNet", embedding_size=8, hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 2, 1], groups_width=8),
    "bit": of("Bit", embedding_size=8, hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 2, 1], num_groups=4),
    "mobilenet_v1": of("MobileNetV1", image_size=32, depth_multiplier=0.25),
    "mobilenet_v2": of("MobileNetV2", image_size=32, depth_multiplier=0.35),
    "mobilevit": of(
        "MobileViT",
        64,
        image_size=64,
        hidden_sizes=[16, 24, 32],
        neck_hidden_sizes=[8, 8, 16, 16, 24, 24, 32],
        num_attention_heads=4,
        patch_size=2,
    ),
    "mobilevitv2": of("MobileViTV2", 64, image_size=64, width_multiplier=0.25),
    "efficientnet": of("EfficientNet", image_size=32, width_coefficient=0.25, depth_coefficient=0.3, hidden_dim=320),
    "poolformer": of("PoolFormer", hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1], num_encoder_blocks=4),
    "pvt": of(
        "Pvt", image_size=32, hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 2, 4]
    ),
    "pvt_v2": of(
        "PvtV2", image_size=32, hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 2, 4]
    ),
    "segformer": of(
        "Segformer", 64, hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 2, 4]
    ),
    "glpn": of("GLPN", 64, hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 2, 4]),
    "levit": of(
        "Levit",
        64,
        image_size=64,
        hidden_sizes=[16, 24, 32],
        num_attention_heads=[2, 3, 4],
        depths=[1, 1, 1],
        key_dim=[8, 8, 8],
    ),
    "swiftformer": of("SwiftFormer", 64, depths=[1, 1, 1, 1], embed_dims=[8, 16, 24, 32]),
    "hiera": of(
        "Hiera",
        image_size=[32, 32],
        patch_size=[7, 7],
        patch_stride=[4, 4],
        patch_padding=[3, 3],
        embed_dim=8,
        depths=[1, 1],
        num_heads=[1, 2],
        query_stride=[2, 2],
        num_query_pool=1,
        masked_unit_size=[4, 4],
    ),
    "textnet": of("TextNet", 64),
}
__getattr__ = finder(NETS)
