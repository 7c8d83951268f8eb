"""One model's full check against its bare exports: both exporters at one size, and one ONNX Runtime run of each.

Both are measured in one process, interleaved, after everything is warm. Usage: python tests/benchmarks/bench_model.py
"""

import contextlib
import functools
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import onnxruntime
import tiny_models
import torch

from onnxlint.probes.warm import warm_up
from onnxlint.probes.worker import run_probe
from onnxlint.records import EXPORTERS, Probe, ProbeResult

LIMIT = 2.0
HERE = Path(__file__).resolve().parent
REPEATS = 3


def probe_of(case: tiny_models.Case, scratch: Path) -> Probe:
    """Return the probe that a user's configuration of this model would make."""
    return Probe(
        name=case.factory,
        factory=case.factory,
        path="tiny_models.py",
        line=1,
        source="config",
        inputs=case.inputs,
        dynamic=case.dynamic,
        sizes={},
        vary=None,
        exporters=EXPORTERS,
        opset=18,
        search_path=(str(HERE),),
        root=str(HERE),
        repro_dir=str(scratch),
    )


def bare(case: tiny_models.Case, scratch: Path) -> None:
    """Build the model, export it with both exporters as a user would, and run each file once."""
    model = getattr(tiny_models, case.factory.partition(":")[2])()
    inputs = getattr(tiny_models, case.inputs.partition(":")[2])()
    args = tuple(inputs.values())
    for exporter in EXPORTERS:
        path = str(scratch / f"{exporter}.onnx")
        if exporter == "dynamo":
            shapes = {name: dict.fromkeys(axes, torch.export.Dim.DYNAMIC) for name, axes in case.dynamic.items()}
            torch.onnx.export(model, args, path, dynamo=True, dynamic_shapes=shapes, opset_version=18, verbose=False)
        else:
            names = list(inputs)
            torch.onnx.export(
                model,
                args,
                path,
                dynamo=False,
                input_names=names,
                dynamic_axes=case.dynamic,
                opset_version=18,
            )
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        session.run(None, {name: value.numpy() for name, value in inputs.items()})


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Throw away what is printed, also by C++ past Python's streams."""
    kept = {fd: os.dup(fd) for fd in (1, 2)}
    with open(os.devnull, "w") as nothing:
        for stream, fd in ((sys.stdout, 1), (sys.stderr, 2)):
            stream.flush()
            os.dup2(nothing.fileno(), fd)
        try:
            yield
        finally:
            for stream, fd in ((sys.stdout, 1), (sys.stderr, 2)):
                stream.flush()
                os.dup2(kept[fd], fd)
                os.close(kept[fd])


def seconds(work: Callable[[], object]) -> float:
    """Return the wall time of a call."""
    started = time.perf_counter()
    with quiet():
        work()
    return time.perf_counter() - started


def main() -> int:
    """Print full and bare seconds and their ratio by model, and the median ratio; 1 if that is above the limit."""
    torch.set_num_threads(1)
    with quiet():
        warm_up()
    results: list[ProbeResult] = []
    ratios = []
    print(f"{'model':10} {'bare s':>8} {'full s':>8} {'ratio':>6}  outcomes")
    for name, case in tiny_models.CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            scratch = Path(folder)
            probe = probe_of(case, scratch)
            export = functools.partial(bare, case, scratch)
            check = functools.partial(run_probe, probe, results.append)
            seconds(export)  # the first export of an architecture fills caches for both
            pairs = [(seconds(export), seconds(check)) for _ in range(REPEATS)]
        plain, full = (statistics.median(column) for column in zip(*pairs, strict=True))
        ratios.append(full / plain)
        outcomes = ", ".join(f"{e} {r.outcome}" for e, r in results[-1].report.exporters.items())
        print(
            f"{name:10} {plain:8.2f} {full:8.2f} {ratios[-1]:6.2f}  {outcomes or results[-1].report.reason}", flush=True
        )
    median = statistics.median(ratios)
    print(f"{'median':10} {'':8} {'':8} {median:6.2f}  limit {LIMIT}")
    return int(median > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
