"""The proof for a live model that an exporter refuses: the model with its inputs, and a script that exports it."""

from __future__ import annotations

import os
import pickle
import sys
from pathlib import Path

import torch

from onnxlint.base.paths import make_untracked
from onnxlint.base.records import Probe
from onnxlint.probes.exporters import Example
from onnxlint.probes.proof.counterexample import Counterexample, keep_script

MODEL = "model.pt"
_MAIN = "__main__"
_MOST = 2**29  # bytes of weights that are kept
_SCRIPT = '''\
"""{claim}

`{model}` holds {name} and its inputs as they were at the call. Needs torch, onnx and the model's code.
Exits with 1 if the export is refused, else with 0.
"""
import pathlib, sys, tempfile

import torch

sys.path[:0] = {search_path}
HERE = pathlib.Path(__file__).parent
model, example, example_kwargs = torch.load(HERE / "{model}", weights_only=False)
path = str(pathlib.Path(tempfile.mkdtemp()) / "model.onnx")
try:
    torch.onnx.export(
        model, {packed}, path, dynamo={dynamo}, verbose=False, opset_version={opset},
        {options},
    )
except Exception as error:
    while error.__cause__ is not None:
        error = error.__cause__
    sys.exit(f"{exporter} refused: {{type(error).__name__}}: {{' '.join(str(error).split())[:1000]}}")
print("{exporter} exports it")
'''


def write(
    probe: Probe, model: torch.nn.Module, example: Example, case: Counterexample, call: tuple[str, str], folder: Path
) -> str | None:
    """Write model and script; return the script's path as records hold it. `call` is how to pass inputs and options.

    None where the model cannot be kept: it is large, or no data, or its code is in the script that ran or in a cell.
    """
    weight = sum(tensor.nbytes for tensor in (*model.parameters(), *model.buffers()))
    if example.options or weight > _MOST or any(type(part).__module__ == _MAIN for part in model.modules()):
        return None
    make_untracked(folder)
    try:
        torch.save((model, example.args, dict(example.kwargs)), folder / MODEL)
    except (pickle.PicklingError, AttributeError, TypeError, RuntimeError):
        (folder / MODEL).unlink(missing_ok=True)
        return None
    packed, options = call
    text = _SCRIPT.format(
        claim=case.docstring_claim,
        name=probe.name,
        model=MODEL,
        search_path=[p for p in dict.fromkeys(map(os.path.abspath, sys.path)) if _is_users(p)],
        packed=packed,
        dynamo=case.exporter == "dynamo",
        opset=probe.opset,
        options=options,
        exporter=case.exporter,
    )
    return keep_script(probe, folder, text)


def _is_users(folder: str) -> bool:
    """Whether a folder of modules is none of the environment's, which the script has anyway."""
    return os.path.isdir(folder) and not folder.startswith((sys.prefix, sys.base_prefix))
