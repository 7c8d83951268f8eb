"""All probes of a run: what an earlier run knows of them, the others through the pool, in the order of the plan."""

import json
import os
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path

from onnxlint.base.cache import Store, digest
from onnxlint.base.probe_records import SYNTHESISED, Probe, ProbeResult
from onnxlint.base.records import to_json
from onnxlint.config.settings import Settings
from onnxlint.probes.process.process_ends import not_probed
from onnxlint.probes.schedule.cluster import Cluster
from onnxlint.probes.schedule.plan import further
from onnxlint.probes.schedule.pool import ProbePool, environment
from onnxlint.probes.schedule.probe_cache import Answers
from onnxlint.report.progress import Progress


def recalled(
    store: Store, settings: Settings, probes: Sequence[Probe], overlay: Mapping[Path, bytes]
) -> list[ProbeResult]:
    """What earlier runs know of some probes, and of the further ways to call their models; nothing is probed.

    What hangs on a file that is not on the disk as it is to be read (see `overlay`) is not known.
    """
    answers = Answers(store, environment(), settings.scheduler or "")
    results: list[ProbeResult] = []
    for probe in probes:
        result = answers.get(probe)
        if result is not None:
            ways = (answers.get(further(probe, way)) for way in result.ways)
            results += [result, *(way for way in ways if way is not None)]
    read = [(result, result.depends.files if overlay and result.depends is not None else ()) for result in results]
    return [result for result, paths in read if not any(Path(os.path.realpath(path)) in overlay for path in paths)]


class Probing:
    """Runs probes. `unchanged` counts those that an earlier run knew, `interrupted` tells that Ctrl-C ended it.

    `over` names the further ways to call models that are more than `max_models`.
    """

    def __init__(self, pool: ProbePool | Cluster, settings: Settings, store: Store, progress: Progress) -> None:
        self.pool = pool
        self._settings = settings
        self._progress = progress
        self._answers = Answers(Store(None) if settings.debug else store, environment(), settings.scheduler or "")
        self.unchanged = 0
        self.interrupted = False
        self.over: tuple[str, ...] = ()

    def warm(self) -> None:
        """Start what takes seconds before the probes are known, unless it looks as if none of them has to run."""
        if not self._answers.all_there(self._plan()):
            self.pool.warm()

    def run(self, probes: Sequence[Probe]) -> list[ProbeResult]:
        """Return the results in the order of the probes, each before the further ways to call its model.

        On Ctrl-C it returns what is known by then.
        """
        if not probes:
            return []
        first = self._run("probing", probes)
        ways = self._further(probes, first)
        later = iter(self._run("probing further ways to call models", [way for group in ways for way in group]))
        return [result for one, group in zip(first, ways, strict=True) for result in (one, *islice(later, len(group)))]

    def _further(self, probes: Sequence[Probe], results: Sequence[ProbeResult]) -> list[list[Probe]]:
        """The probes of further ways, by the probe that found them; as many on assumed inputs as there is room for."""
        room = self._settings.max_models - sum(probe.source == SYNTHESISED for probe in probes)
        groups: list[list[Probe]] = []
        over: list[str] = []
        for probe, result in zip(probes, results, strict=True):
            ways = [] if self.interrupted else [further(probe, way) for way in result.ways]
            if probe.source == SYNTHESISED:
                count = max(min(room, len(ways)), 0)
                over += [way.name for way in ways[count:]]
                room -= count
                ways = ways[:count]
            groups.append(ways)
        self.over = tuple(over)
        return groups

    def _run(self, stage: str, probes: Sequence[Probe]) -> list[ProbeResult]:
        if not probes:
            return []
        self._progress.stage(stage, len(probes))
        results: dict[int, ProbeResult] = {}
        for number, probe in enumerate(probes):
            result = self._answers.get(probe)
            if result is not None:
                results[number] = result
                self._done(result)
        self.unchanged += len(results)
        numbers = {id(probe): n for n, probe in enumerate(probes) if n not in results}  # two models may share a factory
        cached = True
        try:
            todo = [probe for probe in probes if id(probe) in numbers]
            jobs = self._settings.jobs or min(2, os.cpu_count() or 1)
            for probe, result in self.pool.run_each(todo, jobs=jobs, on_stage=self._progress.model):
                results[numbers[id(probe)]] = result
                cached &= self._answers.put(probe, result)
                self._done(result)
        except KeyboardInterrupt:
            self.interrupted = True
        if cached and not self.interrupted and not any(probe.way for probe in probes):
            self._answers.remember(self._plan(), probes)
        unreached = "the run was interrupted before its turn"
        return [results.get(number) or not_probed(probe, unreached) for number, probe in enumerate(probes)]

    def _plan(self) -> bytes:
        """What the probes of the declared models follow from, as far as it is known before anything is read."""
        s = self._settings
        asked = s.models, s.exporters, s.opset, s.runtimes, s.latency, s.only_models
        return digest(json.dumps(to_json(asked)), str(s.root))

    def _done(self, result: ProbeResult) -> None:
        self._progress.model(result.report.name, "")
        self._progress.probed(result.report)
        self._progress.advance(result.report.name)
