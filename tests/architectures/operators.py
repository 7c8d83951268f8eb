"""Import this before torchvision where its compiled operators do not load, as in its CUDA build without CUDA.

Its Python code only registers shapes for two of these operators when it is imported; none of the models runs them.
"""

from __future__ import annotations

import importlib.util

import torch

MISSING = importlib.util.find_spec("torchvision") is not None and not hasattr(torch.ops.torchvision, "nms")
LIBRARY = torch.library.Library("torchvision", "FRAGMENT")  # what it defines is gone when it is collected


def define() -> None:
    """Declare the operators, unless torchvision's own library did."""
    try:
        import torchvision  # noqa: F401
    except RuntimeError:
        for name in ("nms", "qnms"):
            LIBRARY.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")


define()
