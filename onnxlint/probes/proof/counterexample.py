"""An input on which an export and PyTorch disagree, as the scripts that show it need it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import torch

from onnxlint.base.paths import make_untracked
from onnxlint.base.probe_records import Probe
from onnxlint.probes.common.userspace import relative
from onnxlint.probes.confirm.engines import DEFAULT, OnnxRuntime, Setup

WHOLE = "found.npz"  # the input as it was found, beside what is left of it


@dataclass(frozen=True, slots=True)
class Answered:
    """An exported file, the values of its inputs, and what eager PyTorch answered, as ONNX Runtime would give it."""

    file: Path
    feeds: Mapping[str, Any]
    answers: Sequence[torch.Tensor]


@dataclass(frozen=True, slots=True)
class Counterexample:
    """An input on which an export and PyTorch disagree.

    `inputs` maps graph inputs to leaves; `limit` is the largest absolute difference that still is agreement; `calls` is
    how often eager runs before it is compared. `whole` is the one that was found, where this is what is left of it.
    `answered` stands for a live model, None where nothing was exported. `preamble` runs before the model is built.
    `held` has the numbers that conversions of tensors gave on the example, by path, line and method, for the proof that
    these lines are at fault.
    """

    exporter: str  # `eager` where PyTorch itself refuses the input
    variation: str
    claim: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    inputs: Mapping[str, str] = field(default_factory=dict)
    limit: float = 0.0
    setup: Setup = DEFAULT
    calls: int = 1
    whole: Self | None = None
    answered: Answered | None = None
    preamble: str = ""
    held: Mapping[tuple[str, int, str], Sequence[float]] = field(default_factory=dict)

    @property
    def needs(self) -> str:
        """The package that a script runs the exported file with."""
        return "onnxruntime" if isinstance(self.setup.engine, OnnxRuntime) else "openvino"

    @property
    def docstring_claim(self) -> str:
        """The claim as it may stand in a docstring."""
        return self.claim.replace("\\", "/").replace('"""', "'''")


def template(name: str) -> str:
    """A text of the folder `templates`, to be formatted: a script, or a part of one."""
    return (Path(__file__).with_name("templates") / f"{name}.txt").read_text(encoding="utf-8")


def session(setup: Setup, onnx_runtime: str, openvino: str, **names: str) -> str:
    """The lines that run a file in a runtime, from the template for this runtime."""
    if not isinstance(setup.engine, OnnxRuntime):
        return openvino.format(**names)
    level = "ORT_ENABLE_ALL" if setup.optimized else "ORT_DISABLE_ALL"
    return onnx_runtime.format(level=level, providers=setup.engine.providers, **names)


def keep_script(probe: Probe, folder: Path, text: str) -> str:
    """Write a script, and return its path as records hold it."""
    make_untracked(folder)
    script = folder / "repro.py"
    script.write_text(text, encoding="utf-8")
    return relative(str(script), probe.root)
