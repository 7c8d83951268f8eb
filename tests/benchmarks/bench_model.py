"""One model's full check against its bare exports: both exporters at one size, and one ONNX Runtime run of each.

Both are measured in CPU seconds, in one process, interleaved, after everything is warm. Then each is checked through
the pool, as a user's run does, and asked for again, unchanged: `cached` is what that takes of the first.
The models are architectures of `tests/architectures`, of every kind that costs differently.
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
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

HERE = Path(__file__).resolve().parent
ARCHITECTURES = HERE.parent / "architectures"
sys.path[:0] = [str(HERE), str(ARCHITECTURES)]

import measure  # noqa: E402
import onnxruntime  # noqa: E402
import torch  # noqa: E402

from onnxlint.base.cache import Store  # noqa: E402
from onnxlint.base.probe_records import Probe, ProbeResult  # noqa: E402
from onnxlint.base.records import EXPORTERS, Outcome  # noqa: E402
from onnxlint.probes.examples.examples import build_model, example_inputs  # noqa: E402
from onnxlint.probes.exporters import Example  # noqa: E402
from onnxlint.probes.process.warm import warm_up  # noqa: E402
from onnxlint.probes.process.worker import run_probe  # noqa: E402
from onnxlint.probes.schedule.pool import ProbePool, environment  # noqa: E402
from onnxlint.probes.schedule.probe_cache import Answers  # noqa: E402

T = TypeVar("T")

CLEAN = 1.3  # of a model with nothing to find
ANY = 2.5
CACHED = 0.02
REPEATS = 3
TRAINING = "training:"
MODELS = {
    "clean": (
        *("hf_text:t5_encoder", "hf_text:mpnet", "hf_text:llama", "hf_vision:vit", "hf_vision:deit"),
        *("hf_vision:convnext", "hf_vision:resnet", "hf_vision:mobilenet_v2", "hf_vision:clip_vision"),
    ),
    "wrong": ("hf_text:bert", "hf_text:gpt2", "hf_other:chinese_clip", "hf_vision:bit", "hf_other:patchtst"),
    "refused by one": ("hf_text:fnet", "hf_text:xlnet", "hf_vision:swin", "from_x_transformers:relative_bias"),
    "refused by both": ("from_vit_pytorch:ats_vit", "hf_text:mixtral"),
    "in training": (f"{TRAINING}bert", f"{TRAINING}distilbert", f"{TRAINING}vit"),
}


def probe_of(name: str, scratch: Path) -> Probe:
    """Return the probe that a user's configuration of this model would make."""
    declared = name
    if name.startswith(TRAINING):
        own = name.removeprefix(TRAINING)
        declared = next(f"hf_{kind}:{own}" for kind in ("vision", "text") if f"hf_{kind}:{own}" in measure.names())
    (probe,) = measure.probes(scratch, [declared])
    path = (*probe.search_path, str(HERE))
    return replace(probe, name=name, factory=name, search_path=path, repro_dir=str(scratch))


def bare(probe: Probe, scratch: Path) -> None:
    """Build the model, export it with both exporters as a user would, and run each file once."""
    model = build_model(probe)
    example = example_inputs(probe, model)
    for exporter in EXPORTERS:
        with contextlib.suppress(Exception):  # an exporter that refuses has cost what it cost
            path = str(scratch / f"{exporter}.onnx")
            export(model, example, exporter, path, probe.opset)
            session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
            given = [value for value in example.values if isinstance(value, torch.Tensor)]
            names = [wanted.name for wanted in session.get_inputs()]
            session.run(None, {name: value.numpy() for name, value in zip(names, given, strict=False)})


def export(model: torch.nn.Module, example: Example, exporter: str, path: str, opset: int) -> None:
    """Export as a user does who has read the documentation of this exporter."""
    if exporter == "dynamo":
        shapes = {
            name: dict.fromkeys(example.dynamic.get(name, ()), torch.export.Dim.DYNAMIC) for name in example.parameters
        }
        torch.onnx.export(
            model,
            example.args,
            path,
            kwargs=example.kwargs,
            dynamo=True,
            dynamic_shapes=shapes,
            opset_version=opset,
            verbose=False,
        )
        return
    torch.onnx.export(
        model,
        (*example.args, dict(example.kwargs)),
        path,
        dynamo=False,
        input_names=list(example.parameters),
        dynamic_axes={name: dict(axes) for name, axes in example.dynamic.items()},
        opset_version=opset,
    )


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
    """Print full and bare seconds and their ratio by model; 1 if one is above its limit.

    Arguments name architectures of tests/architectures, such as `hf_text:bert`; without any, those of MODELS are run.
    """
    torch.set_num_threads(1)
    with quiet():
        warm_up()
    above = []
    ratios: list[tuple[float, float]] = []
    print(f"{'model':34} {'bare s':>8} {'full s':>8} {'ratio':>6} {'limit':>6} {'cached':>7}  outcomes")
    with ProbePool() as pool, tempfile.TemporaryDirectory() as store:
        for kind, names in ({"named": tuple(sys.argv[1:])} if sys.argv[1:] else MODELS).items():
            print(f"{kind}:")
            for name in names:
                with tempfile.TemporaryDirectory() as folder:
                    plain, full, again, result = costs(pool, name, Path(folder), Path(store))
                ratio = full / plain
                ratios.append((ratio, again))
                cells = result.report.exporters
                clean = bool(cells) and all(cell.outcome is Outcome.OK for cell in cells.values())
                limit = CLEAN if clean else ANY
                if ratio > limit or again > CACHED or not cells:
                    above.append(name)
                told = ", ".join(f"{e} {r.outcome}" for e, r in cells.items()) or result.report.reason
                print(
                    f"  {name:32} {plain:8.2f} {full:8.2f} {ratio:6.2f} {limit:6.1f} {again:7.2%}  {told}", flush=True
                )
    ratio, again = (statistics.median(column) for column in zip(*ratios, strict=True))
    print(f"  {'median':32} {'':8} {'':8} {ratio:6.2f} {'':6} {again:7.2%}  limit of cached: {CACHED:.0%}")
    if above:
        print(f"above a limit: {', '.join(above)}")
    return int(bool(above))


def costs(pool: ProbePool, name: str, scratch: Path, store: Path) -> tuple[float, float, float, ProbeResult]:
    """Return the CPU seconds of the bare exports, those of the full check, the cached run's share, and the result."""
    results: list[ProbeResult] = []
    probe = probe_of(name, scratch)
    exports = functools.partial(bare, probe, scratch)
    check = functools.partial(run_probe, probe, results.append)
    seconds(exports)  # the first export of an architecture fills caches for both
    pairs = [(seconds(exports), seconds(check)) for _ in range(REPEATS)]
    plain, full = (statistics.median(column) for column in zip(*pairs, strict=True))
    return plain, full, cached(pool, probe, store), results[-1]


if __name__ == "__main__":
    sys.exit(main())
