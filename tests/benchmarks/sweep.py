"""Run the analysis over every Python file of an installation: no source may make it raise, or keep it for long.

Each file is analysed as a project of its own, from its entry points and then from every function and method in it, each
taken for a forward with a small budget of steps.
Usage: python tests/benchmarks/sweep.py [--every N] [FOLDER ...]     (default: the standard library and site-packages)
"""

import argparse
import sys
import sysconfig
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from onnxlint.flow import entry_points
from onnxlint.flow.interpreter.interpret import Interpreter
from onnxlint.flow.python import entry_parameters
from onnxlint.flow.state.budget import Exhausted
from onnxlint.flow.state.partitions import Part
from onnxlint.flow.tables.operator_table import OpTable
from onnxlint.flow.values.domain import Function
from onnxlint.project.classes import FunctionUnit, ModuleInfo
from onnxlint.project.modules import Project
from onnxlint.source.parse import SourceFile, read_source

STEPS = 300
SLOW = 20.0


@dataclass
class Tally:
    """What a sweep saw."""

    files: int = 0
    lines: int = 0
    functions: int = 0
    exhausted: int = 0
    unread: int = 0
    seconds: float = 0.0
    slow: list[tuple[float, str]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def row(self) -> str:
        """One line of figures."""
        return (
            f"{self.files:,} files, {self.lines:,} lines, {self.functions:,} functions, {self.exhausted:,} ended by "
            f"their budget, {self.unread} not Python here, {len(self.slow)} files above {SLOW:g} s, "
            f"{len(self.errors)} errors, {self.seconds:.0f} s of CPU time"
        )


def units(info: ModuleInfo) -> Iterator[FunctionUnit]:
    """Functions and methods of a module."""
    yield from info.functions.values()
    for cls in info.classes.values():
        yield from cls.methods.values()


def run_functions(project: Project, info: ModuleInfo, tally: Tally) -> None:
    """Run each function of a file as a forward. Raises what the analysis raises."""
    engine = Interpreter(project, OpTable.load("2.13"))
    for unit in units(info):
        engine.budget.left = STEPS
        before = engine.context
        tally.functions += 1
        try:
            with engine.within(tracing=True):
                args = [entry_parameters.entry_value(engine, unit, p, None) for p in unit.args.args]
                engine.call_function(Function(unit), args, {}, None)
        except Exhausted:
            tally.exhausted += 1
        if engine.frames or engine.context is not before:
            raise AssertionError(f"{unit.qualname} left its frame behind")


def sweep(path: Path, tally: Tally) -> None:
    """Analyse one file; what is raised is written down."""
    began = time.process_time()
    source = read_source(path)
    if not isinstance(source, SourceFile):
        tally.unread += 1
        return
    tally.files += 1
    tally.lines += len(source.lines)
    try:
        project = Project(lambda _: None)
        info = project.add(source)
        part = Part(tuple(project.modules.values()))
        entry_points.run_part(Interpreter(project, OpTable.load()), part)
        run_functions(project, info, tally)
    except Exception as error:  # noqa: BLE001 - a sweep ends with every file, and then says what went wrong
        tally.errors.append(f"{path}: {type(error).__name__}: {error}\n{traceback.format_exc(limit=-3)}")
    taken = time.process_time() - began
    if taken > SLOW:
        tally.slow.append((taken, str(path)))


def main(argv: Sequence[str] | None = None) -> int:
    """Sweep, and print what was seen; 1 where anything was raised or a file took too long."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--every", type=int, default=1, help="take one file in so many")
    options = parser.parse_args(argv)
    folders = options.folders or [Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib")]
    files = sorted({p.resolve() for folder in folders for p in folder.rglob("*.py")})[:: options.every]
    tally = Tally()
    began = time.process_time()
    for i, path in enumerate(files):
        with suppress(OSError):
            sweep(path, tally)
        if i % 1000 == 999:
            tally.seconds = time.process_time() - began
            print(tally.row(), flush=True)
    tally.seconds = time.process_time() - began
    print(tally.row())
    for line in (*tally.errors[:20], *(f"{seconds:.0f} s: {path}" for seconds, path in sorted(tally.slow)[-10:])):
        print(line)
    return int(bool(tally.errors or tally.slow))


if __name__ == "__main__":
    sys.exit(main())
