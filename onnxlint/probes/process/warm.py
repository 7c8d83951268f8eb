"""What the fork server does once, so that no probe pays for it: imports, and one export through each exporter."""

import functools
import gc
import importlib.util
import io
import os
import tempfile
from typing import Any

_COMPILER_CACHE = "TORCHINDUCTOR_CACHE_DIR"


def warm_up() -> None:
    """Import torch and `rehearse`, without starting a thread that Python knows of: the process is going to fork.

    Raises ImportError when a package of the `dynamic` extra is missing.
    """
    without_monitor()
    ours = _COMPILER_CACHE not in os.environ
    os.environ.setdefault(_COMPILER_CACHE, tempfile.gettempdir())  # else the compiler makes one; probes have theirs
    try:
        import torch

        torch.set_num_threads(1)
        torch.set_num_interop_threads(1)
        rehearse()
    finally:
        if ours:
            del os.environ[_COMPILER_CACHE]
    gc.collect()


def without_monitor() -> None:
    """Keep tqdm from starting its monitor thread with the first progress bar of the exporter."""
    if importlib.util.find_spec("tqdm") is not None:
        import tqdm

        tqdm.tqdm.monitor_interval = 0


@functools.cache
def rehearse() -> None:
    """Import what a probe needs and export one small module through both exporters, once. Raises ImportError."""
    import numpy as np
    import onnx
    import torch
    from torch import nn

    from onnxlint.probes.confirm import engines
    from onnxlint.probes.exporters.dynamo import quiet

    layers = nn.Conv2d(2, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(8, 4), nn.LayerNorm(4)
    model, example = nn.Sequential(*layers).eval(), (torch.ones(2, 2, 4, 4),)
    names: dict[str, Any] = {"input_names": ["x"], "dynamic_axes": {"x": {0: "batch"}}}
    with quiet():  # it warns, and logs which optional operator libraries are missing
        torch.onnx.export(model, example, io.BytesIO(), dynamo=False, **names)
        exported = torch.export.export(model, example, dynamic_shapes=({0: torch.export.Dim("batch", min=2)},))
        program = torch.onnx.export(exported, (), dynamo=True, verbose=False)
    assert program is not None
    proto = program.model_proto
    onnx.checker.check_model(proto)
    engines.ORT.run_model(proto, {proto.graph.input[0].name: np.ones((3, 2, 4, 4), np.float32)}, optimized=True)
    importlib.import_module("onnxlint.probes.process.worker")
