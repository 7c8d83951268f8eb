"""Every decoder of segmentation-models-pytorch over the smallest ResNet."""

from __future__ import annotations

from typing import Any

import operators  # noqa: F401
import segmentation_models_pytorch as smp
from net import Net, finder, image


def of(name: str, side: int = 64, **options: Any) -> Net:
    """A decoder of a name."""
    return Net(lambda: getattr(smp, name)("resnet18", encoder_weights=None, classes=2, **options), image(side))


NETS = {
    "unet": of("Unet", decoder_channels=(32, 24, 16, 8, 8)),
    "unet_plus_plus": of("UnetPlusPlus", decoder_channels=(32, 24, 16, 8, 8)),
    "manet": of("MAnet", decoder_channels=(32, 24, 16, 8, 8)),
    "linknet": of("Linknet"),
    "fpn": of("FPN", decoder_pyramid_channels=32, decoder_segmentation_channels=32),
    "pspnet": of("PSPNet", psp_out_channels=32),
    "deeplabv3": of("DeepLabV3", decoder_channels=32),
    "deeplabv3_plus": of("DeepLabV3Plus", decoder_channels=32),
    "pan": of("PAN", 128),
    "upernet": of("UPerNet", decoder_channels=32),
    "segformer": of("Segformer", decoder_segmentation_channels=32),
}
__getattr__ = finder(NETS)
