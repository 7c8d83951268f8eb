"""Image classifiers of timm, the smallest of each family."""

from __future__ import annotations

from typing import Any

import operators  # noqa: F401
import timm
from net import Net, finder, image


def of(name: str, side: int = 64, **options: Any) -> Net:
    """The model of a name, without its weights."""
    return Net(lambda: timm.create_model(name, pretrained=False, num_classes=10, **options), image(side))


NETS = {
    "resnet10t": of("resnet10t"),
    "mobilenetv3_small_050": of("mobilenetv3_small_050"),
    "mobilenetv4_conv_small_035": of("mobilenetv4_conv_small_035"),
    "lcnet_050": of("lcnet_050"),
    "tinynet_e": of("tinynet_e"),
    "mnasnet_small": of("mnasnet_small"),
    "semnasnet_075": of("semnasnet_075"),
    "convnext_atto": of("convnext_atto"),
    "convnextv2_atto": of("convnextv2_atto"),
    "vit_tiny_patch16": of("vit_tiny_patch16_224", img_size=64, embed_dim=24, depth=2, num_heads=2),
    "deit_tiny_distilled": of("deit_tiny_distilled_patch16_224", img_size=64, embed_dim=24, depth=2, num_heads=2),
    "beit_base_patch16": of("beit_base_patch16_224", img_size=64, embed_dim=24, depth=2, num_heads=2),
    "eva02_tiny_patch14": of("eva02_tiny_patch14_224", 56, img_size=56, embed_dim=24, depth=2, num_heads=2),
    "swin_tiny": of(
        "swin_tiny_patch4_window7_224", img_size=64, window_size=4, embed_dim=24, depths=(2, 2), num_heads=(2, 4)
    ),
    "swinv2_tiny": of(
        "swinv2_tiny_window8_256", img_size=64, window_size=4, embed_dim=24, depths=(2, 2), num_heads=(2, 4)
    ),
    "cait_xxs24": of("cait_xxs24_224", img_size=64, embed_dim=24, depth=2, num_heads=2),
    "convit_tiny": of("convit_tiny", img_size=64, embed_dim=8, depth=2, num_heads=4, local_up_to_layer=1),
    "crossvit_9": of("crossvit_9_240", 240),
    "mixer_s32": of("mixer_s32_224", 224),
    "gmlp_ti16": of("gmlp_ti16_224", 224),
    "resmlp_12": of("resmlp_12_224", 224),
    "pit_ti": of("pit_ti_224", 224),
    "xcit_nano": of("xcit_nano_12_p16_224", depth=2),
    "tnt_s_legacy": of(
        "tnt_s_legacy_patch16_224",
        img_size=64,
        embed_dim=24,
        inner_dim=12,
        depth=2,
        num_heads_inner=2,
        num_heads_outer=2,
    ),
    "twins_svt_small": of(
        "twins_svt_small", img_size=64, depths=(1, 1, 1, 1), embed_dims=(16, 24, 32, 40), num_heads=(1, 1, 2, 2)
    ),
    "inception_next_atto": of("inception_next_atto"),
    "poolformer_s12": of("poolformer_s12"),
    "efficientformer_l1": of("efficientformer_l1", 224),
    "edgenext_xx_small": of("edgenext_xx_small"),
    "ghostnet_050": of("ghostnet_050"),
    "repvgg_a0": of("repvgg_a0"),
    "mobileone_s0": of("mobileone_s0"),
    "fastvit_t8": of("fastvit_t8"),
    "maxvit_pico_rw": of("maxvit_pico_rw_256", 256),
    "coatnet_pico_rw": of("coatnet_pico_rw_224", 224),
    "levit_128s": of("levit_128s", 224),
    "nest_tiny_jx": of("nest_tiny_jx", 224),
    "regnetx_002": of("regnetx_002"),
    "regnety_002": of("regnety_002"),
    "rexnet_100": of("rexnet_100"),
    "hardcorenas_a": of("hardcorenas_a"),
    "selecsls42": of("selecsls42"),
    "dla46_c": of("dla46_c"),
    "gernet_s": of("gernet_s"),
    "davit_tiny": of("davit_tiny", depths=(1, 1, 1, 1), embed_dims=(16, 24, 32, 40), num_heads=(2, 2, 2, 2)),
}
__getattr__ = finder(NETS)
