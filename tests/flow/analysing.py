"""Small sources as a project in memory: observations, findings, and the abstract values of their functions."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

from onnxlint.base.catalogue import load_catalogue
from onnxlint.base.records import EXPORTERS, Finding, Outcome, Severity
from onnxlint.flow.entry_points import run_part
from onnxlint.flow.exports.reach import with_reach
from onnxlint.flow.interpreter.interpret import Interpreter
from onnxlint.flow.part_results import Analysis
from onnxlint.flow.state.candidates import candidates
from onnxlint.flow.state.observations import Call, FrozenArgument, Observation, Output
from onnxlint.flow.state.partitions import Declared, Part, common_folder, in_order, name_of
from onnxlint.flow.state.problems import Guard
from onnxlint.flow.state.variable_kinds import describe
from onnxlint.flow.tables.operator_table import OpTable
from onnxlint.flow.values import shapes
from onnxlint.flow.values.domain import Const, Dim, Function, Seq, Tuple, Value
from onnxlint.project.classes import ModuleInfo
from onnxlint.project.configurations import Configurations
from onnxlint.project.modules import Project
from onnxlint.rules.engine.findings import run_rules
from onnxlint.source.parse import SourceFile, parse_source

PRELUDE = """\
import math
import random
from functools import partial

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor
"""

BATCH, LENGTH = Dim(frozenset({"batch"}), 2), Dim(frozenset({"length"}), 6)  # dynamic axes, and their sizes for once


def parsed(path: Path, source: str) -> SourceFile:
    """A source as the pipeline would read it from `path`."""
    file = parse_source(path, source.encode(), path.as_posix())
    assert isinstance(file, SourceFile), file
    return file


def project_of(files: Mapping[str, str] | str, folder: Path = Path("/nowhere")) -> Project:
    """A project of sources by path under `folder`; one source alone is `model.py`. Packages need files on disk."""
    texts = {"model.py": files} if isinstance(files, str) else files
    project = Project(lambda path: None)
    for name, text in texts.items():
        project.add(parsed(folder / name, textwrap.dedent(text)))
    return project


def written(files: Mapping[str, str], folder: Path) -> Project:
    """The same with every file on disk, so that packages are packages and imports are read on demand."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")

    def read(path: Path) -> SourceFile | None:
        return parsed(path, path.read_text(encoding="utf-8"))

    project = Project(read)
    for name in files:
        project.add(parsed(folder / name, (folder / name).read_text(encoding="utf-8")))
    return project


def analyse(
    project: Project,
    declared: Sequence[Declared] = (),
    opset: int = 18,
    exporters: tuple[str, ...] = EXPORTERS,
    debug: bool = False,
    probing: bool = True,
    torch: str = "",
) -> Analysis:
    """Run every entry point of a project and return the observations, and with `probing` the models found."""
    engine = Interpreter(project, OpTable.load(torch), opset, exporters, debug)
    modules = tuple(in_order(project.modules.values()))
    top = common_folder(m.source.path for m in modules) if modules else None
    run = run_part(engine, with_reach([Part(modules, tuple(declared))], modules, Configurations(top))[0])
    seen = tuple(engine.observations.values())
    if not probing:
        return Analysis(seen, run.problems)
    built = frozenset(name_of(c) for c in engine.created)
    guard = Guard(list(run.problems), debug)
    models = candidates(modules, built, engine.exported, guard)
    return Analysis(seen, tuple(dict.fromkeys(guard.problems)), models)


def analysed(
    source: str | Project, declared: Sequence[Declared] = (), exporters: tuple[str, ...] = EXPORTERS
) -> Analysis:
    """The analysis of a source (with the usual imports in front) or of a project; no exception is swallowed."""
    project = source if isinstance(source, Project) else project_of(PRELUDE + textwrap.dedent(source))
    found = analyse(project, declared, exporters=exporters, debug=True, torch="2.13")
    assert found.problems == ()
    return found


def facts_of(source: str | Project, declared: Sequence[Declared] = ()) -> tuple[Observation, ...]:
    """The observations of a source or a project, but for what forward returns: many sources give their input back."""
    return tuple(
        observation for observation in analysed(source, declared).observations if not isinstance(observation, Output)
    )


def told(source: str | Project, declared: Sequence[Declared] = ()) -> list[str]:
    """The observations in short, sorted: `Branch data: x.sum() > 0`; a `?` at the end marks one that is not sure."""
    return sorted(_short(observation) for observation in facts_of(source, declared))


def _short(observation: Observation) -> str:
    words = [type(observation).__name__]
    words += sorted(observation.results) if type(observation) is Call else []
    words += [
        str(getattr(observation, name))
        for name in ("builtin", "how", "hazard", "call", "over", "kind", "where", "container")
        if getattr(observation, name, "")
    ]
    words += [observation.name] if isinstance(observation, FrozenArgument) else []
    words += [str(getattr(observation, name)) for name in ("reads", "source") if getattr(observation, name, "")]
    return f"{' '.join(words)}: {observation.text}" + ("" if observation.sure else "?")


def running(source: str | Project, axes: shapes.Axes | None = None) -> tuple[Interpreter, ModuleInfo]:
    """An interpreter in the state of a forward that runs, and the first module of the source."""
    project = source if isinstance(source, Project) else project_of(PRELUDE + textwrap.dedent(source))
    engine = Interpreter(project, OpTable.load("2.13"))
    engine.narrow(tracing=True, axes=axes if axes is not None else shapes.Axes())
    return engine, next(iter(project.modules.values()))


def result_of(source: str, *args: Value, name: str = "f", axes: shapes.Axes | None = None) -> Value:
    """What the function `name` of a source returns for abstract arguments."""
    engine, info = running(source, axes)
    function = engine.global_value(info, name)
    assert isinstance(function, Function)
    return engine.call_function(function, list(args), {}, None)


def words_of(expression: str, *args: Value) -> str:
    """What an expression in `x`, `y` and `z` gives, as `variable_kinds` has it; of a tuple all items, of a list any."""
    head = "def f(x, y=None, z=None):\n    return "
    return _words(result_of(f"{PRELUDE}{head}{expression}\n", *args))


def _words(v: Value) -> str:
    if isinstance(v, Tuple):
        return " & ".join(map(_words, v.items))
    if isinstance(v, Seq):
        return f"many {_words(v.item)}"
    if isinstance(v, Const):
        return repr(v.literal)
    return describe(v) or type(v).__name__.lower()


def reported(source: str) -> tuple[Finding, ...]:
    """The findings of a source with the usual imports in front."""
    text = PRELUDE + textwrap.dedent(source)
    found, broken = run_rules(facts_of(project_of(text)), load_catalogue(), EXPORTERS, lambda *_: True, lambda _: text)
    assert broken == ()
    return found


def findings_of(source: str) -> set[tuple[str, int, tuple[str, ...]]]:
    """The findings of a source but for notes: code, line in the source, exporters that suffer."""
    head = PRELUDE.count("\n")
    return {
        (f.code, f.span.line - head, tuple(e for e in EXPORTERS if f.effects.get(e, Outcome.OK) is not Outcome.OK))
        for f in reported(source)
        if f.severity is not Severity.NOTE
    }


def expected_of(source: str) -> set[tuple[str, int]]:
    """What the comments `# expect: ONX101` of a source promise: code and line."""
    lines = enumerate(textwrap.dedent(source).splitlines(), start=1)
    marks = ((number, line.partition("# expect: ")[2]) for number, line in lines)
    return {(code.strip(), number) for number, codes in marks if codes for code in codes.split(",")}


def found_and_expected(source: str) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
    """Code and line of the findings, and of the marks, for a comparison that shows both."""
    return sorted({(code, line) for code, line, _ in findings_of(source)}), sorted(expected_of(source))
