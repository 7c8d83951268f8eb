"""Vision transformers of vit-pytorch, two layers of width 32 where they may be chosen."""

from __future__ import annotations

import importlib
from typing import Any

import operators  # noqa: F401
from net import Net, finder, image

PATCHES = {"image_size": 32, "patch_size": 8, "num_classes": 10, "dim": 32, "depth": 2, "heads": 4, "mlp_dim": 64}


def of(file: str, name: str, inputs: dict[str, str] | None = None, **options: Any) -> Net:
    """A class of a file; on images of 32 pixels where it says nothing else."""
    return Net(lambda: getattr(importlib.import_module(f"vit_pytorch.{file}"), name)(**options), inputs or image_of(32))


def image_of(side: int) -> dict[str, str]:
    """The input under the name that most of these have."""
    return {"img": image(side)["x"]}


def plain(file: str, name: str = "ViT", **options: Any) -> Net:
    """A class that takes what most of them take."""
    return of(file, name, **{**PATCHES, **options})


NETS = {
    "vit": plain("vit"),
    "simple_vit": plain("simple_vit", "SimpleViT"),
    "simple_vit_with_register_tokens": plain("simple_vit_with_register_tokens", "SimpleViT"),
    "simple_vit_with_qk_norm": plain("simple_vit_with_qk_norm", "SimpleViT"),
    "simple_vit_with_fft": plain("simple_vit_with_fft", "SimpleViT", freq_patch_size=8),
    "simple_uvit": plain("simple_uvit", "SimpleUViT"),
    "cait": plain("cait", "CaiT", cls_depth=1),
    "deepvit": plain("deepvit", "DeepViT"),
    "parallel_vit": plain("parallel_vit"),
    "learnable_memory_vit": plain("learnable_memory_vit"),
    "vit_for_small_dataset": plain("vit_for_small_dataset"),
    "vit_with_patch_merger": plain("vit_with_patch_merger"),
    "vit_5": plain("vit_5"),
    "ats_vit": plain("ats_vit", max_tokens_per_depth=(8, 4)),
    "jumbo_vit": plain("jumbo_vit", "JumboViT"),
    "xcit": plain("xcit", "XCiT", cls_depth=1),
    "pit": plain("pit", "PiT", depth=(1, 1)),
    "normalized_vit": Net(plain("normalized_vit", "nViT").build, {"images": "float32[batch, 3, 32, 32]"}),
    "cct": of(
        "cct", "CCT", image(32), img_size=32, embedding_dim=32, num_layers=2, num_heads=4, mlp_ratio=2, num_classes=10
    ),
    "cross_vit": of(
        "cross_vit",
        "CrossViT",
        image_of(48),
        image_size=48,
        num_classes=10,
        sm_dim=16,
        lg_dim=32,
        sm_enc_mlp_dim=32,
        lg_enc_mlp_dim=32,
        lg_enc_depth=1,
        depth=1,
    ),
    "crossformer": of(
        "crossformer", "CrossFormer", image(224), dim=(32, 64, 96, 128), depth=(1, 1, 1, 1), num_classes=10
    ),
    "cvt": of(
        "cvt", "CvT", image(64), num_classes=10, s1_emb_dim=16, s2_emb_dim=24, s3_emb_dim=32, s2_depth=1, s3_depth=1
    ),
    "levit": of(
        "levit",
        "LeViT",
        image_of(64),
        image_size=64,
        num_classes=10,
        dim=(16, 24, 32),
        depth=1,
        heads=(2, 2, 4),
        mlp_mult=2,
    ),
    "max_vit": of("max_vit", "MaxViT", image(64), num_classes=10, dim=16, depth=(1, 1), dim_head=8, window_size=4),
    "mobile_vit": of(
        "mobile_vit",
        "MobileViT",
        image(64),
        image_size=(64, 64),
        dims=[16, 24, 32],
        channels=[8, 8, 16, 16, 24, 24, 32, 32, 40, 40, 48],
        num_classes=10,
    ),
    "nest": of(
        "nest",
        "NesT",
        image_of(32),
        image_size=32,
        patch_size=4,
        num_classes=10,
        dim=16,
        heads=2,
        num_hierarchies=2,
        block_repeats=(1, 1),
    ),
    "region_vit": of("regionvit", "RegionViT", image(224), dim=(16, 24, 32, 40), depth=(1, 1, 1, 1), num_classes=10),
    "scalable_vit": of(
        "scalable_vit",
        "ScalableViT",
        image_of(64),
        num_classes=10,
        dim=16,
        depth=(1, 1),
        heads=(2, 2),
        reduction_factor=(2, 2),
        window_size=(4, None),
    ),
    "sep_vit": of(
        "sep_vit", "SepViT", image(56), num_classes=10, dim=16, depth=(1, 1), heads=(2, 2), window_size=7, dim_head=8
    ),
    "t2t": of("t2t", "T2TViT", image_of(64), image_size=64, num_classes=10, dim=32, depth=2, heads=4, mlp_dim=64),
    "twins_svt": of(
        "twins_svt",
        "TwinsSVT",
        image(64),
        num_classes=10,
        s1_emb_dim=16,
        s1_local_patch_size=4,
        s2_emb_dim=24,
        s2_local_patch_size=4,
        s3_emb_dim=32,
        s3_local_patch_size=2,
        s3_depth=1,
        s4_emb_dim=40,
        s4_local_patch_size=1,
        s4_global_k=1,
        s3_global_k=2,
        s2_global_k=4,
    ),
    "look_vit": of(
        "look_vit",
        "LookViT",
        image_of(48),
        dim=32,
        image_size=48,
        num_classes=10,
        depth=1,
        patch_size=16,
        heads=2,
        highres_patch_size=12,
        cross_attn_heads=2,
    ),
    "vit_1d": of(
        "vit_1d",
        "ViT",
        {"series": "float32[batch, 3, 64]"},
        seq_len=64,
        patch_size=8,
        num_classes=10,
        dim=32,
        depth=2,
        heads=4,
        mlp_dim=64,
    ),
    "vit_3d": of(
        "vit_3d",
        "ViT",
        {"video": "float32[batch, 3, 4, 32, 32]"},
        image_size=32,
        frames=4,
        image_patch_size=8,
        frame_patch_size=2,
        num_classes=10,
        dim=32,
        depth=2,
        heads=4,
        mlp_dim=64,
    ),
    "vivit": of(
        "vivit",
        "ViViT",
        {"video": "float32[batch, 3, 4, 32, 32]"},
        image_size=32,
        frames=4,
        image_patch_size=8,
        frame_patch_size=2,
        num_classes=10,
        dim=32,
        spatial_depth=1,
        temporal_depth=1,
        heads=4,
        mlp_dim=64,
        use_flash_attn=False,
    ),
}
__getattr__ = finder(NETS)
