"""How fast an export is: the runtime's median latency over eager's on the example, one thread each, in a few runs."""

import json
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnxruntime
import torch

from onnxlint.base.records import ONNX_RUNTIME, OPENVINO, Latency, Location, SlowNodes
from onnxlint.probes.confirm.engines import OnnxRuntime, RuntimeRefused, session_options
from onnxlint.probes.confirm.runtime import Runtime
from onnxlint.probes.confirm.trials import Confirmation
from onnxlint.probes.exporters.graph import onnx_frames
from onnxlint.probes.observe.eager import Eager

_SECONDS = 0.05  # for all runs of both, but for the first pair
_MOST = 15  # pairs of runs
_SHORTEST = 5e-4  # seconds: below, the call is all there is to measure
_SLOWER = 1.2  # from which ratio on the nodes that take the time are looked for; below, it may be chance
_PROFILED = 3  # runs
_NAMED = 3  # places
_KERNEL = "_kernel_time"


def latency(eager: Eager, confirmation: Confirmation, root: str) -> Latency | None:
    """The ratio, and what dominates where the runtime is slower; None where there is nothing to compare."""
    runtime = confirmation.runtime
    if runtime is None or not runtime.engines or not confirmation.trials:
        return None
    feeds, setup = confirmation.feeds(eager.base), runtime.setups[0]
    run = setup.engine.bare_run(runtime.session(setup), feeds)
    base, model = eager.base, eager.untouched()
    pairs: list[tuple[float, float]] = []
    # On the CPU both take one thread, and what else the machine does must not count.
    clock = time.process_time if setup.engine.name in (ONNX_RUNTIME, OPENVINO) else time.perf_counter
    began = time.perf_counter()
    with torch.no_grad():
        while not pairs or (len(pairs) < _MOST and time.perf_counter() - began < _SECONDS):
            pairs.append((_timed(clock, lambda: model(*base.args, **base.kwargs)), _timed(clock, run)))
    ours, its = map(statistics.median, zip(*pairs, strict=True))
    if max(ours, its) < _SHORTEST:
        return None
    ratio = its / max(ours, 1e-9)
    profiled = ratio >= _SLOWER and isinstance(setup.engine, OnnxRuntime)
    return Latency(round(ratio, 3), len(pairs), _dominating(runtime, setup.engine, feeds, root) if profiled else ())


def _timed(clock: Callable[[], float], work: Callable[[], object]) -> float:
    began = clock()
    work()
    return clock() - began


def _dominating(runtime: Runtime, engine: Any, feeds: dict[str, Any], root: str) -> tuple[SlowNodes, ...]:
    """The operators that take the most time, those of one line together."""
    places = {node.name: onnx_frames(node, root)[:1] for node in runtime.model.graph.node if node.name}
    with tempfile.TemporaryDirectory(prefix="onnxlint-") as folder:
        options = session_options(optimized=True)
        options.enable_profiling = True
        options.profile_file_prefix = str(Path(folder, "profile"))
        try:
            session = onnxruntime.InferenceSession(str(runtime.path), options, providers=engine.providers)
            for _ in range(_PROFILED):
                engine.run(session, feeds)
        except RuntimeRefused:
            return ()
        events = json.loads(Path(session.end_profiling()).read_bytes())
    return slowest(events, places)


def slowest(events: list[dict[str, Any]], places: dict[str, tuple[Location, ...]]) -> tuple[SlowNodes, ...]:
    """What ONNX Runtime's profile says; the name of a node that it fused often begins with that of a part."""
    spent: dict[tuple[str, Location | None], float] = defaultdict(float)
    for event in events:
        name = str(event.get("name", ""))
        if event.get("cat") == "Node" and name.endswith(_KERNEL):
            node = name.removesuffix(_KERNEL)
            frames = places.get(node) or next((f for n, f in places.items() if node.startswith(f"{n}/")), ())
            spent[str(event["args"]["op_name"]), next(iter(frames), None)] += float(event["dur"])
    total = sum(spent.values())
    ranked = sorted(spent.items(), key=lambda item: -item[1])[:_NAMED] if total else []
    return tuple(SlowNodes(operator, round(time / total, 3), place) for (operator, place), time in ranked)
