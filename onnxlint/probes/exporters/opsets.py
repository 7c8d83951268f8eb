"""Which opset came out of an export, and what to say where it is not the one that was asked for."""

from __future__ import annotations

import onnx
import torch
from torch.onnx import _constants

from onnxlint.probes.exporters import Export

_ADVICE = "nothing was checked with it; ask for another one with --opset, or leave it out: --exporter {other}"


def other_opset(export: Export, asked: int) -> str:
    """Why this exporter cannot give that opset, in one sentence without the model's name; empty where it can."""
    version = torch.__version__.partition("+")[0]
    if export.exporter == "torchscript":
        least, most = _constants.ONNX_MIN_OPSET, _constants.ONNX_MAX_OPSET
        if export.path is not None or least <= asked <= most:
            return ""
        message = f"the TorchScript exporter of torch {version} writes opsets {least} to {most}, not {asked}"
        return f"{message}: {_ADVICE.format(other='dynamo')}"
    written = opset_of(export)
    if written in (None, asked):
        return ""
    message = f"the dynamo exporter of torch {version} was asked for opset {asked} and wrote {written}"
    if asked < 18:
        message += ", since it could not convert the graph down"
    return f"{message}: {_ADVICE.format(other='torchscript')}"


def opset_of(export: Export) -> int | None:
    """The version of the standard operators that the file imports; None where there is no file."""
    if export.path is None:
        return None
    model = onnx.load(str(export.path), load_external_data=False)
    return next((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), None)
