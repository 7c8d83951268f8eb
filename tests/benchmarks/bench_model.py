"""One model's full check against its bare exports: both exporters at one size, and one ONNX Runtime run of each.

Both are measured in CPU seconds, in one process, interleaved, after everything is warm. Then each is checked through
the pool, as a user's run does, and asked for again, unchanged: `cached` is what that takes of the first.
Usage: python tests/benchmarks/bench_model.py [MODEL...]
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
from typing import TypeVar

import onnxruntime
import tiny_models
import torch

from onnxlint.cache import Store
from onnxlint.probes.kept import Answers
from onnxlint.probes.pool import ProbePool, environment
from onnxlint.probes.warm import warm_up
from onnxlint.probes.worker import run_probe
from onnxlint.records import EXPORTERS, Outcome, Probe, ProbeResult

T = TypeVar("T")

CLEAN = 1.3  # of a model with nothing to find
ANY = 2.5
CACHED = 0.02
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
        with contextlib.suppress(Exception):  # an exporter that refuses has cost what it cost
            path = str(scratch / f"{exporter}.onnx")
            if exporter == "dynamo":
                shapes = {name: dict.fromkeys(axes, torch.export.Dim.DYNAMIC) for name, axes in case.dynamic.items()}
                torch.onnx.export(
                    model, args, path, dynamo=True, dynamic_shapes=shapes, opset_version=18, verbose=False
                )
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
    """Return the CPU time of a call, which runs in one thread: what else the machine does must not count."""
    started = time.process_time()
    with quiet():
        work()
    return time.process_time() - started


def cached(pool: ProbePool, probe: Probe, folder: Path) -> float:
    """Return the time that a kept result takes to be found and read, as a share of the probe that made it."""
    (result,), cold = timed(lambda: list(pool.run([probe], jobs=1)))
    if not Answers(Store(folder), environment()).put(probe, result):
        return 1.0
    answer, warm = timed(lambda: Answers(Store(folder), environment()).get(probe))
    assert answer is not None
    assert answer.report == result.report
    return warm / cold


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """Return what a call returns, and its wall time."""
    started = time.perf_counter()
    return work(), time.perf_counter() - started


def main() -> int:
    """Print full and bare seconds and their ratio by model; 1 if one is above its limit. Arguments name models."""
    torch.set_num_threads(1)
    with quiet():
        warm_up()
    results: list[ProbeResult] = []
    above = []
    ratios: list[tuple[float, float]] = []
    print(f"{'model':12} {'bare s':>8} {'full s':>8} {'ratio':>6} {'cached':>7}  outcomes")
    with ProbePool() as pool, tempfile.TemporaryDirectory() as store:
        for name, case in tiny_models.CASES.items():
            if sys.argv[1:] and name not in sys.argv[1:]:
                continue
            with tempfile.TemporaryDirectory() as folder:
                scratch = Path(folder)
                probe = probe_of(case, scratch)
                export = functools.partial(bare, case, scratch)
                check = functools.partial(run_probe, probe, results.append)
                seconds(export)  # the first export of an architecture fills caches for both
                pairs = [(seconds(export), seconds(check)) for _ in range(REPEATS)]
                again = cached(pool, probe, Path(store))
            plain, full = (statistics.median(column) for column in zip(*pairs, strict=True))
            ratio = full / plain
            ratios.append((ratio, again))
            cells = results[-1].report.exporters
            clean = bool(cells) and all(cell.outcome is Outcome.OK for cell in cells.values())
            if ratio > (CLEAN if clean else ANY) or again > CACHED or not cells:
                above.append(name)
            told = ", ".join(f"{e} {r.outcome}" for e, r in cells.items()) or results[-1].report.reason
            print(f"{name:12} {plain:8.2f} {full:8.2f} {ratio:6.2f} {again:7.2%}  {told}", flush=True)
    ratio, again = (statistics.median(column) for column in zip(*ratios, strict=True))
    limits = f"limits: clean {CLEAN}, any {ANY}, cached {CACHED:.0%}"
    print(f"{'median':12} {'':8} {'':8} {ratio:6.2f} {again:7.2%}  {limits}")
    if above:
        print(f"above a limit: {', '.join(above)}")
    return int(bool(above))


if __name__ == "__main__":
    sys.exit(main())
