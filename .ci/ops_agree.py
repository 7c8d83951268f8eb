"""Whether what ONNX Runtime gives is what eager gives."""

from __future__ import annotations

from typing import Any

import torch


def outputs(result: Any) -> list[Any]:
    """The tensors of a result, detached."""
    return [r.detach() for r in (result if isinstance(result, tuple) else (result,)) if isinstance(r, torch.Tensor)]


def agree(left: Any, right: Any, lenient: bool = False) -> tuple[bool, str]:
    """Whether two tensors are the same within what float32 allows; `lenient` compares shapes and dtypes only."""
    if left.shape != right.shape:
        return False, f"shape {tuple(left.shape)} became {tuple(right.shape)}"
    if lenient or left.numel() == 0:
        return True, ""
    if not left.is_floating_point() and not left.is_complex():
        return bool((left == right).all()), "integers differ"
    right = right.to(left.dtype)
    finite = left[torch.isfinite(left)].abs() if not left.is_complex() else left.abs()
    scale = float(finite.max()) if finite.numel() else 1.0
    same = torch.isclose(left, right, rtol=1e-3, atol=1e-4 * max(scale, 1e-3), equal_nan=True)
    worst = (left - right).abs().nan_to_num(0, 0, 0).max()
    return bool(same.all()), f"off by {float(worst):.3g} of {scale:.3g}"
