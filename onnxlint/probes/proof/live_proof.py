"""The proof for a live model, which no script can make again: its exported file with inputs and PyTorch's answers.

Of one that an exporter refuses: the model with its inputs.
"""

import filecmp
import os
import pickle
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch

from onnxlint.base.paths import make_untracked
from onnxlint.base.probe_records import Probe
from onnxlint.probes.exporters import Example
from onnxlint.probes.proof.counterexample import WHOLE, Answered, Counterexample, keep_script, session, template

FILE = "model.onnx"
_MODEL = "model.pt"
_MOST = 2**29  # bytes of weights that are kept
_EXPORT = template("refused_export_script")
_COMPARE = template("exported_file_script")


def write_export(probe: Probe, case: Counterexample, small: Answered, folder: Path) -> str | None:
    """Write file, inputs and script; return the script's path, or None where numpy or one file cannot hold it all."""
    whole = case.whole.answered if case.whole is not None else None
    cases = [small] if whole is None else [small, whole]
    files = [file for file in small.file.parent.iterdir() if file.name.startswith(small.file.name)]
    fed = all(isinstance(value, np.ndarray) for one in cases for value in one.feeds.values())
    if len(files) > 1 or not fed or any(value.dtype == torch.bfloat16 for one in cases for value in one.answers):
        return None
    make_untracked(folder)
    (folder / WHOLE).unlink(missing_ok=True)
    for one, name in zip(cases, ("inputs.npz", WHOLE), strict=False):
        arrays = {f"input_{k}": value for k, value in enumerate(one.feeds.values())}
        arrays |= {f"output_{k}": _array(value) for k, value in enumerate(one.answers)}
        np.savez(folder / name, **arrays)
    _copy(small.file, folder / FILE)
    parts = {"place": f", captured at {probe.path}:{probe.line}," if probe.path else ""}
    parts["versions"] = ", ".join(f"{module.__name__} {module.__version__}" for module in (torch, onnx, onnxruntime))
    parts["whole"] = f" With `{WHOLE}`: on the input before it was made small." if whole is not None else ""
    parts["inputs"] = repr({name: f"input_{k}" for k, name in enumerate(small.feeds)})
    parts["session"] = session(case.setup, template("file_onnxruntime"), template("file_openvino"), model=FILE)
    text = _COMPARE.format(case=case, probe=probe, model=FILE, outputs=len(small.answers), **parts)
    return keep_script(probe, folder, text)


def _array(value: torch.Tensor) -> np.ndarray[Any, Any]:
    plain = value.detach().cpu()
    if plain.is_complex():  # ONNX keeps complex numbers as pairs
        plain = torch.view_as_real(plain.resolve_conj())
    array: np.ndarray[Any, Any] = plain.resolve_neg().contiguous().numpy()
    return array


def _copy(file: Path, place: Path) -> None:
    """Copy the exported file; where a counterexample of the same export has it already, share it."""
    place.unlink(missing_ok=True)
    alike = (other for other in sorted(place.parent.parent.glob(f"*/{FILE}")) if filecmp.cmp(other, file, False))
    try:
        os.link(next(alike), place)
    except (StopIteration, OSError):  # there is none, or the file system has no links
        shutil.copyfile(file, place)


def write_model(
    probe: Probe, model: torch.nn.Module, example: Example, case: Counterexample, call: tuple[str, str], folder: Path
) -> str | None:
    """Write model and script; return the script's path, None where the model cannot be kept."""
    weight = sum(tensor.nbytes for tensor in (*model.parameters(), *model.buffers()))
    if example.options or weight > _MOST or any(type(part).__module__ == "__main__" for part in model.modules()):
        return None
    make_untracked(folder)
    try:
        torch.save((model, example.args, dict(example.kwargs)), folder / _MODEL)
    except (pickle.PicklingError, AttributeError, TypeError, RuntimeError):
        (folder / _MODEL).unlink(missing_ok=True)
        return None
    folders = dict.fromkeys(map(os.path.abspath, sys.path))  # but for the environment's, which the script has anyway
    places = [p for p in folders if os.path.isdir(p) and not p.startswith((sys.prefix, sys.base_prefix))]
    parts = {"packed": call[0], "options": call[1], "search_path": places, "dynamo": case.exporter == "dynamo"}
    return keep_script(probe, folder, _EXPORT.format(case=case, probe=probe, model=_MODEL, **parts))
