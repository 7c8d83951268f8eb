"""Run the export call of an ONX5xx contract and print, as JSON, what came of it; a script, run in a process of its own.

usage: callsites.py FOLDER MODULE PROBE. The answer: {"shows": bool, "as-written": outcome, "torchscript": outcome,
"dynamo": outcome}. For the last two the call is made again with the exporter forced.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
import torch

from onnxlint.base.records import Outcome

_STATE = ort.capi.onnxruntime_pybind11_state
LOADING = (_STATE.Fail, _STATE.InvalidArgument, _STATE.InvalidGraph, _STATE.NotImplemented)


def main(folder: Path, module: str, probe: str) -> dict[str, Any]:
    """Measure one contract's call."""
    sys.path.insert(0, str(folder))
    case, asked = importlib.import_module(module), importlib.import_module(probe)
    answer: dict[str, Any] = {"as-written": measure(case, asked, None, folder / "as-written.onnx")}
    for exporter in ("torchscript", "dynamo"):
        answer[exporter] = measure(case, asked, exporter, folder / f"{exporter}.onnx")
    answer["shows"] = asked.shows(case, str(folder / "shows.onnx"))
    return answer


def measure(case: Any, asked: Any, exporter: str | None, path: Path) -> Outcome:
    """Make the call, forced to `exporter` if one is named, and compare the file with the model in eval mode."""
    torch.manual_seed(0)
    calls: list[tuple[torch.nn.Module, dict[str, Any]]] = []
    export = torch.onnx.export

    def recorded(model: torch.nn.Module, *args: Any, **options: Any) -> Any:
        if exporter is not None:
            options["dynamo"] = exporter == "dynamo"
        if exporter == "torchscript" and "dynamic_shapes" in options:  # the same wish, in its own words
            options["dynamic_axes"] = _flat(options.pop("dynamic_shapes"))
        calls.append((model, options))
        return export(model, *args, **options)

    torch.onnx.export = recorded
    try:
        case.main(str(path))
    except (RuntimeError, TypeError, ValueError):  # what exporters raise; TorchExportError is a RuntimeError
        return Outcome.EXPORT_ERROR
    finally:
        torch.onnx.export = export
    model, options = calls[-1]
    names = options.get("input_names") or list(inspect.signature(model.forward).parameters)
    return compare(path, model.eval(), names, (asked.example, asked.witness))


def _flat(shapes: dict[str, Any] | tuple[Any, ...]) -> dict[str, Any]:
    """`dynamic_shapes` as `dynamic_axes`: nested dicts by their leaves' names, inputs without dynamic axes left out."""
    axes: dict[str, Any] = {}
    if isinstance(shapes, tuple):
        return axes
    for name, value in shapes.items():
        if value and all(isinstance(key, str) for key in value):
            axes |= _flat(value)
        elif value:
            axes[name] = {axis: getattr(dim, "__name__", dim) for axis, dim in value.items()}  # a Dim by its name
    return axes


def compare(path: Path, model: torch.nn.Module, names: list[str], inputs: tuple[Any, ...]) -> Outcome:
    """The first fault, in the order: random, wrong values, refused size."""
    plain = ort.SessionOptions()
    plain.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = ort.InferenceSession(str(path), plain, providers=["CPUExecutionProvider"])
    except LOADING:
        return Outcome.RUNTIME_ERROR
    if {i.name for i in session.get_inputs()} - set(names):
        return Outcome.RUNTIME_ERROR  # it wants to be fed more than the model's inputs
    outcomes = [_one(session, model, names, args) for args in inputs]
    order = (Outcome.NONDETERMINISTIC, Outcome.WRONG_VALUES, Outcome.SHAPE_ERROR, Outcome.OK)
    return min(outcomes, key=order.index)


def _one(session: ort.InferenceSession, model: torch.nn.Module, names: list[str], args: tuple[Any, ...]) -> Outcome:
    with torch.no_grad():
        wanted = model(*args).numpy()
    leaves = [leaf for value in args for leaf in _leaves(value)]
    feed = {name: leaf.numpy() for name, leaf in zip(names, leaves, strict=True)}
    try:
        first, second = (session.run(None, feed)[0] for _ in range(2))
    except (ort.capi.onnxruntime_pybind11_state.InvalidArgument, ort.capi.onnxruntime_pybind11_state.Fail):
        return Outcome.SHAPE_ERROR
    if not np.array_equal(first, second):
        return Outcome.NONDETERMINISTIC
    if first.shape != wanted.shape:
        return Outcome.SHAPE_ERROR
    return Outcome.OK if np.allclose(first, wanted, rtol=1e-4, atol=1e-5) else Outcome.WRONG_VALUES


def _leaves(value: Any) -> tuple[torch.Tensor, ...]:
    """The tensors of one argument, which may be a dict or a tuple of them."""
    if isinstance(value, dict):
        return tuple(value.values())
    return value if isinstance(value, tuple) else (value,)


if __name__ == "__main__":
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # the exporters talk on standard output
    with contextlib.redirect_stdout(sys.stderr):
        result = main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
    channel.write(json.dumps(result))
    channel.close()
