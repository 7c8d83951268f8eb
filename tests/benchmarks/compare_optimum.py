"""Optimum's validation of one model of compare.py: `compare_optimum.py NAME FILE.onnx` prints what it says."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch
from compare import FRAMES, built

try:
    from optimum.exporters.onnx import validate_model_outputs
    from optimum.exporters.onnx.base import OnnxConfig
    from optimum.utils import NormalizedConfig
    from optimum.utils.input_generators import DummyInputGenerator
    from transformers import PretrainedConfig, PreTrainedModel
except ImportError as missing:
    sys.exit(print(f"not installed ({missing.name})"))

NAME = sys.argv[1]


class Signals(DummyInputGenerator):  # type: ignore[misc]
    """Makes signals as the example is: uniform from 0 to 1."""

    SUPPORTED_INPUT_NAMES = ("signal",)

    def __init__(self, task: str, normalized_config: Any, batch_size: int = 2, **_: Any) -> None:
        self.rows = batch_size

    def generate(self, input_name: str, framework: str = "pt", **_: Any) -> Any:
        return self.random_float_tensor([self.rows, FRAMES], 0, 1, framework=framework)


class Described(OnnxConfig):  # type: ignore[misc]
    """The model as Optimum wants it described."""

    NORMALIZED_CONFIG_CLASS = NormalizedConfig
    DUMMY_INPUT_GENERATOR_CLASSES = (Signals,)
    ATOL_FOR_VALIDATION = 1e-5

    @property
    def inputs(self) -> dict[str, dict[int, str]]:
        return {"signal": built(NAME)[2]}

    @property
    def outputs(self) -> dict[str, dict[int, str]]:
        return {"y": {0: "batch"}}


class Wrapped(PreTrainedModel):  # type: ignore[misc]
    """The model as one of transformers."""

    config_class = PretrainedConfig

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.inner = built(NAME)[0]

    def forward(self, signal: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"y": self.inner(signal)}


if __name__ == "__main__":
    told = Described(PretrainedConfig(), task="feature-extraction")
    try:
        validate_model_outputs(told, Wrapped(PretrainedConfig()).eval(), Path(sys.argv[2]), ["y"], atol=1e-5)
        print("outputs agree")
    except Exception as error:  # noqa: BLE001 - that it raises is its answer
        print(f"raises {type(error).__name__}")
