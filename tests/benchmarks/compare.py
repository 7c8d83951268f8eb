"""What other tools say of the same models: the table of the README, made by running them.

`python compare.py` needs torch, onnxruntime, onnxscript and onnxlint; Polygraphy and Optimum (`optimum-onnx`) are run
where they are installed. Each tool gets what its own documentation asks for: the model, the example, the dynamic axes.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

FRAMES = 16
SOURCE = Path(__file__)


class Gate(nn.Module):
    """Keeps the arm that the example took."""

    def forward(self, signal: torch.Tensor) -> torch.Tensor:
        if signal.abs().max() > 3:
            return signal.clamp(-3, 3)
        return signal * 2


class Pooled(nn.Module):
    """Keeps the length of the example."""

    def forward(self, signal: torch.Tensor) -> torch.Tensor:
        return signal.sum(1) / float(signal.shape[1])


class Clean(nn.Module):
    """Has nothing to find."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(FRAMES, 8), nn.ReLU(), nn.Linear(8, 2))

    def forward(self, signal: torch.Tensor) -> torch.Tensor:
        return self.body(signal)


MODELS: dict[str, tuple[type[nn.Module], dict[int, str]]] = {
    "Gate": (Gate, {0: "batch"}),
    "Pooled": (Pooled, {0: "batch", 1: "frames"}),
    "Clean": (Clean, {0: "batch"}),
}


def built(name: str) -> tuple[nn.Module, torch.Tensor, dict[int, str]]:
    """Model, example and dynamic axes, the same for every tool."""
    torch.manual_seed(0)
    make, axes = MODELS[name]
    return make().eval(), torch.rand(2, FRAMES), axes


def exported(name: str, folder: Path) -> Path:
    """The file of the TorchScript exporter, which exports all of them."""
    model, example, axes = built(name)
    path = folder / f"{name}.onnx"
    torch.onnx.export(
        model, (example,), str(path), dynamo=False, input_names=["signal"], output_names=["y"],
        dynamic_axes={"signal": axes, "y": {0: "batch"}},
    )  # fmt: skip
    return path


def torch_verify(name: str, folder: Path) -> str:
    """`torch.onnx.export(verify=True)`."""
    model, example, axes = built(name)
    shapes = ({axis: torch.export.Dim(dim) for axis, dim in axes.items()},)
    torch.onnx.export(model, (example,), str(folder / "v.onnx"), dynamo=True, dynamic_shapes=shapes, verify=True)
    return "verified"


def draft_export(name: str, folder: Path) -> str:
    """`torch.export.draft_export`: its report."""
    model, example, axes = built(name)
    shapes = (dict.fromkeys(axes, torch.export.Dim.DYNAMIC),)
    program = torch.export.draft_export(model, (example,), dynamic_shapes=shapes)
    found = program._report.failures
    return "; ".join(f"{f.failure_type.name}" for f in found) or "no failures"


def polygraphy(name: str, folder: Path) -> str:
    """`Comparator.run` of ONNX Runtime against PyTorch, on Polygraphy's own inputs."""
    from polygraphy.backend.base import BaseRunner
    from polygraphy.backend.onnxrt import OnnxrtRunner, SessionFromOnnx
    from polygraphy.common import TensorMetadata
    from polygraphy.comparator import Comparator, CompareFunc

    model, example, _ = built(name)

    class Eager(BaseRunner):  # type: ignore[misc]
        def get_input_metadata_impl(self) -> Any:
            return TensorMetadata().add("signal", np.dtype(np.float32), tuple(example.shape))

        def infer_impl(self, feed_dict: Any) -> Any:
            began = time.perf_counter()
            answer = model(torch.from_numpy(np.asarray(feed_dict["signal"]))).detach().numpy()
            self.inference_time = time.perf_counter() - began
            return {"y": answer}

    runners = [Eager("pytorch"), OnnxrtRunner(SessionFromOnnx(str(exported(name, folder))))]
    results = Comparator.run(runners)
    same = Comparator.compare_accuracy(results, compare_func=CompareFunc.simple(atol=1e-5, rtol=1e-3))
    return "outputs agree" if bool(same) else "outputs differ"


def optimum(name: str, folder: Path) -> str:
    """`optimum.exporters.onnx.validate_model_outputs`, in a process of its own, since it starts more of them."""
    script = SOURCE.with_name("compare_optimum.py")
    path = exported(name, folder)
    done = subprocess.run([sys.executable, str(script), name, str(path)], capture_output=True, text=True, check=False)
    return done.stdout.strip().splitlines()[-1] if done.stdout.strip() else done.stderr.strip().splitlines()[-1]


def onnxlint(name: str, folder: Path) -> str:
    """`onnxlint check`."""
    config = folder / "onnxlint.toml"
    _, example, axes = built(name)
    dims = ", ".join(f"{axes[i]}={n}" if i in axes else str(n) for i, n in enumerate(example.shape))
    config.write_text(f'[[models]]\nfactory = "models:{name}"\ninputs = {{ signal = "float32[{dims}]" }}\n')
    body = SOURCE.read_text(encoding="utf-8")
    start, end = body.index("class Gate"), body.index("MODELS: dict")
    (folder / "models.py").write_text(f"import torch\nfrom torch import nn\n\nFRAMES = {FRAMES}\n\n\n{body[start:end]}")
    command = [sys.executable, "-m", "onnxlint", "check", "--model", f"models:{name}", "--output-format", "json", "."]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    report = json.loads(done.stdout)
    lines = (folder / "models.py").read_text().splitlines()
    told = [
        f"{f['code']} {f['verdict']} at `{lines[f['line'] - 1].strip()}`"
        for f in report["findings"]
        if any(e["model"] == f"models:{name}" for e in f["evidence"])
    ]
    return "; ".join(told) or "nothing found"


TOOLS: dict[str, Callable[[str, Path], str]] = {
    "torch.onnx.export(verify=True)": torch_verify,
    "torch.export.draft_export": draft_export,
    "Optimum": optimum,
    "Polygraphy": polygraphy,
    "onnxlint": onnxlint,
}


def ask(tool: str, name: str) -> tuple[str, float]:
    """What a tool says of a model, and the seconds that it took."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        try:
            said = TOOLS[tool](name, Path(folder))
        except ImportError as error:
            said = f"not installed ({error.name})"
        except Exception as error:  # noqa: BLE001 - that it raises is its answer
            said = f"raises {type(error).__name__}"
    return said, time.perf_counter() - began


def main() -> None:
    """Print the table."""
    warnings.filterwarnings("ignore")
    logging.disable(logging.ERROR)
    print("| | " + " | ".join(MODELS) + " |\n|---|" + "---|" * len(MODELS))
    for tool in TOOLS:
        cells = []
        for name in MODELS:
            said, seconds = ask(tool, name)
            cells.append(f"{said} ({seconds:.1f} s)".replace("|", "\\|"))
        print(f"| {tool} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
