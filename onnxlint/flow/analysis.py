"""The whole static analysis of a run: what an earlier run found is taken over as far as it still holds.

Three questions, each answered from the cache if it can be: is everything as it was? Which parts read nothing that has
changed since? What do the files define that are as they were?
"""

import contextlib
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from onnxlint.base.cache import Store, digest
from onnxlint.base.records import EXPORTERS, Diagnostic
from onnxlint.base.workers import ALONE, Workers
from onnxlint.flow import part_results
from onnxlint.flow.part_results import Analysis, Outcome
from onnxlint.flow.state.candidates import Candidate, candidates
from onnxlint.flow.state.observations import Observation
from onnxlint.flow.state.partitions import Declared, Part, common_folder, in_order, mentioned, name_of, partition
from onnxlint.flow.state.problems import Guard, Problem
from onnxlint.project import configurations
from onnxlint.project.classes import Reads
from onnxlint.project.fingerprints import Fingerprints
from onnxlint.project.index import Index

HEAD = 2000  # characters in which a file says that it was generated
_GENERATED = re.compile(r"^#.*\bfile (?:was|is) (?:auto\w*[ -]?)?generated from (\S+\.py)\b", re.MULTILINE)
WORTH_PROCESSES = 1_500_000  # characters to analyse before other processes are worth their start


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of an analysis: declared models, opset, exporters, torch; with `probing` also models to probe."""

    declared: tuple[Declared, ...] = ()
    opset: int = 18
    exporters: tuple[str, ...] = EXPORTERS
    torch: str = ""  # the version of the operator table; the newest if it is empty
    probing: bool = False
    debug: bool = False
    watched: frozenset[str] = frozenset()  # operators whose every call is observed: see the contracts' `operators`

    def digest(self) -> bytes:
        """A hash of what observations depend on. Paths are told relative to the working directory."""
        where, declared = os.fsencode(Path.cwd()), repr(self.declared)
        return digest(where, declared, str(self.opset), self.torch, *self.exporters, *sorted(self.watched))


class _Whole(msgspec.Struct, frozen=True, array_like=True):
    """What a whole run gave, with the state of the configuration files. `models` is None if nobody asked for them."""

    observations: list[tuple[str, dict[str, Any]]]
    problems: tuple[Problem, ...]
    models: tuple[Candidate, ...] | None
    faulty: dict[str, Diagnostic]
    probed: dict[str, bytes]
    configured: tuple[str, bytes]


_whole = msgspec.msgpack.Decoder(_Whole)


def analyse_files(index: Index, request: Request, store: Store, workers: Workers = ALONE) -> Analysis:
    """Analyse the files that an index has read, from the cache as far as that is possible."""
    key = _run_key(index, request)
    cached = None if request.debug else _recalled(index, request, store.get("run", key))
    if cached is not None:
        return cached
    run = _Run(index, request, store, workers)
    outcomes = run.outcomes()
    seen = part_results.merged(observations for observations, _ in outcomes)
    guard = Guard([p for _, o in outcomes for p in o.problems], request.debug)
    for _, outcome in outcomes:
        index.faulty.update((Path(path), diagnostic) for path, diagnostic in outcome.faulty.items())
    models: tuple[Candidate, ...] | None = None
    if request.probing:
        built = frozenset(name for _, o in outcomes for name in o.built)
        models = candidates(run.modules, built, [c for _, o in outcomes for c in o.exported], guard)
    problems = tuple(dict.fromkeys(guard.problems))
    probed = {path: hashed for _, o in outcomes for path, hashed in o.probed.items()}
    faulty = {str(path): index.faulty[path] for path in index.faulty if path in index.digests}
    run.keep("run", key, _Whole(part_results.plain(seen), problems, models, faulty, probed, run.configurations.state))
    return Analysis(seen, problems, models or ())


def _run_key(index: Index, request: Request) -> bytes:
    parts: list[bytes | str] = [request.digest()]
    for path in index.asked:
        name = index.name_of(path)[0] if path in index.sources else ""
        parts += [os.fsencode(path), name, index.digests.get(path, b"")]
    return digest(*parts)


def _recalled(index: Index, request: Request, data: bytes | None) -> Analysis | None:
    """What an equal run gave, if the files that it looked at past those of the run are as they were."""
    if data is None:
        return None
    try:
        whole = _whole.decode(data)
        seen = tuple(part_results.restored(whole.observations))
    except (msgspec.MsgspecError, RecursionError, OverflowError):
        return None
    if request.probing and whole.models is None:
        return None
    if not all(index.hash_of(path) == hashed for path, hashed in whole.probed.items()):
        return None
    if not configurations.unchanged(whole.configured):
        return None
    index.faulty.update((Path(path), diagnostic) for path, diagnostic in whole.faulty.items())
    return Analysis(seen, whole.problems, whole.models or ())


class _Run:
    """The parts of one run."""

    def __init__(self, index: Index, request: Request, store: Store, workers: Workers) -> None:
        from onnxlint.flow.entry_points import run_part  # who knows all need not wait for the interpreter
        from onnxlint.flow.interpreter.interpret import Interpreter
        from onnxlint.flow.tables.operator_table import OpTable

        self._index = index
        self._request = request
        self._store = store
        self._workers = ALONE if request.debug else workers
        self._project = index.parse()
        self._fingerprints = Fingerprints(self._project, index.digest_of, index.hash_of)
        asked, table = request, OpTable.load(request.torch)
        how = asked.opset, asked.exporters, asked.debug, asked.watched
        self._engine = partial(Interpreter, self._project, table, *how)
        self._run_part = run_part
        modules = self._project.modules
        own = {path: modules[path] for path in index.own if path in modules}
        heads = ((path, _GENERATED.search(info.source.text, 0, HEAD)) for path, info in own.items())
        made = {path: path.parent / Path(head[1]).name for path, head in heads if head is not None}
        templates = set(made.values()) - made.keys()  # these never run
        self.modules = in_order(info for path, info in own.items() if path not in templates)
        top = common_folder(m.source.path for m in self.modules) if self.modules else None
        self.configurations = configurations.Configurations(top)

    def outcomes(self) -> list[tuple[list[Observation], Outcome]]:
        """What every part gave, in an order that depends on the files alone."""
        from onnxlint.flow.exports.reach import with_reach  # who knows all need not wait for it

        declared = self._request.declared
        groups = list(partition(self.modules)) if self.modules else [()]
        if len(groups) == 1:
            return self._all(with_reach([Part(groups[0], declared)], self.modules, self.configurations))
        first = self._all([Part((), declared)]) if declared else []
        built = frozenset(name for _, o in first for name in o.built)
        ran = frozenset(name for _, o in first for name in o.ran)
        parts = [Part(g, (), foreign, built, ran) for g, foreign in zip(groups, mentioned(groups), strict=True)]
        parts = with_reach(parts, self.modules, self.configurations)
        second = self._all(parts)
        everywhere = ran.union(*(o.ran for _, o in second))
        third = []
        for part, (_, outcome) in zip(parts, second, strict=True):
            only = tuple(c for unit, classes in outcome.left.items() if unit not in everywhere for c in classes)
            if only:
                third.append(replace(part, only=only))
        return [*first, *second, *self._all(third)]

    def keep(self, kind: str, key: bytes, record: msgspec.Struct) -> None:
        """Keep a record for the next run; one that names a file by bytes that are no text is not kept."""
        if self._store.usable and not self._request.debug:
            with contextlib.suppress(UnicodeEncodeError):
                self._store.put(kind, key, part_results.encode(record))

    def _all(self, parts: Sequence[Part]) -> list[tuple[list[Observation], Outcome]]:
        keys = [self._key(part) for part in parts]
        results = {n: cached for n, key in enumerate(keys) if (cached := self._cached(key)) is not None}
        left = [n for n in range(len(parts)) if n not in results]
        weights = {n: sum(len(m.source.text) for m in parts[n].modules) for n in left}
        left.sort(key=lambda n: -weights[n])
        worth = sum(weights.values()) >= WORTH_PROCESSES
        self._project.naming("")  # the words of all texts are taken down before processes share them

        def work(number: int) -> Outcome:
            return self._analysed(parts[number])

        def take(number: int, outcome: Outcome) -> None:
            results[number] = part_results.restored(outcome.observations), outcome
            self.keep("part", keys[number], outcome)

        self._workers.run(work, left, take, worth)
        return [results[number] for number in range(len(parts))]

    def _key(self, part: Part) -> bytes:
        """A hash of what a part is given; what it reads besides is told by its record."""
        parts: list[bytes | str] = [self._request.digest()]
        modules = part.modules if part.modules else self.modules  # declared models are looked for among all
        for info in modules:
            parts += [os.fsencode(info.source.path), info.name, info.path, self._index.digests[info.source.path]]
        paths = tuple(f"{info.source.path}:" for info in part.modules)
        parts.append("declared" if part.declared else "")
        for names in (part.foreign, part.built, part.run, part.only or (), part.set_length, part.configured):
            parts += ["|", *sorted(n for n in names if n.startswith(paths))]
        parts += ["|", *(f"{name}\0{why}" for name, why in sorted(part.outside.items())), *part.callers, *part.exports]
        parts += ["|", *part.called, "|", *part.inferring, "|", *sorted(part.flags)]
        parts += ["|", *(f"{name}={said}" for name, said in sorted(part.settings.items()))]
        parts.append("" if part.only is None else "only")
        return digest(*parts)

    def _cached(self, key: bytes) -> tuple[list[Observation], Outcome] | None:
        """What a part gave in an earlier run, at the places of today; None if something it read has changed."""
        data = self._store.get("part", key)
        outcome = part_results.decode(data) if data is not None and not self._request.debug else None
        if outcome is None:
            return None
        moves = self._fingerprints.moves(outcome.record)
        if moves is None or not all(self._index.hash_of(path) == hashed for path, hashed in outcome.probed.items()):
            return None
        seen = part_results.moved(part_results.restored(outcome.observations), moves)
        exported = part_results.moved(outcome.exported, moves)
        if seen is None or exported is None:
            return None
        return seen, msgspec.structs.replace(outcome, exported=tuple(exported))

    def _analysed(self, part: Part) -> Outcome:
        project = self._project
        reads = Reads()
        project.record(reads)
        engine = self._engine()
        try:
            run = self._run_part(engine, part)
        finally:
            project.record(None)
        own = set(part.modules)
        ran = (u for u in engine.reached.values() if u.name == "forward" and u.module not in own)
        reads.keys = {(info, key) for info, key in reads.keys if info not in own}  # its key names the part's own files
        outcome = Outcome(
            part_results.plain(engine.observations.values()),
            run.problems,
            tuple(engine.exported),
            _names(name_of(c) for c in engine.created),
            _names(name_of(u) for u in ran),
            {unit: list(classes) for unit, classes in run.left.items()},
            {str(p): diagnostic for p, diagnostic in self._index.faulty.items() if str(p) in reads.probed},
            {path: self._index.hash_of(path) for path in sorted(reads.probed)},
            self._fingerprints.record(reads),
        )
        engine.release()
        return outcome


def _names(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(names)))
