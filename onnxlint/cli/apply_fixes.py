"""`--fix` and `--diff`: fixed files in the place of those that were read, or the difference on standard output."""

from __future__ import annotations

import dataclasses
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from onnxlint.base import interrupts
from onnxlint.base.atomic import remove_leftovers
from onnxlint.base.records import Diagnostic, Report
from onnxlint.cli import FAILED
from onnxlint.cli.output import deliver, tell, tell_errors, write_bytes
from onnxlint.cli.running import conclude, finish
from onnxlint.report.common.printed import steering
from onnxlint.report.common.run_summary import fixes
from onnxlint.run.fixing.fix_writing import Change, unified_diff, write
from onnxlint.run.fixing.repair import Repaired, repair

if TYPE_CHECKING:
    from onnxlint.cli.request import Asked
    from onnxlint.run.changed_lines import Base
    from onnxlint.run.scopes import Scope


def run(asked: Asked, scopes: tuple[Scope, ...], base: Base | None, stdin: Mapping[Path, bytes]) -> int:
    """Fix in memory, then write the files and the report, or show the difference. Return the exit code. `stdin` is what
    came by standard input: the fixed source goes to standard output, and the report aside."""
    from onnxlint.report.progress import open_progress
    from onnxlint.run.scopes import with_writable_repro_dir

    scopes, unkept = with_writable_repro_dir(scopes)
    with open_progress(quiet=asked["quiet"]) as progress:
        unsafe = asked["unsafe_fixes"]
        roots = None if asked["diff"] else asked.paths
        done = repair(
            scopes, unsafe=unsafe, shown=asked.shows, progress=progress, base=base, roots=roots, buffers=stdin
        )
        if asked["diff"] or stdin:
            faults, interrupted = dict[str, str](), False
        else:
            remove_leftovers({file.parent for scope in scopes for file in scope.discovery.files})
            faults, interrupted = _write(done.changes)
        if faults:
            fixed = tuple(f for f in done.fixed if f.fix is None or not {e.path for e in f.fix.edits} & faults.keys())
            written = tuple(change for change in done.changes if change.path not in faults)
            session, changes = (done.session, written) if interrupted else (done.look(), ())
            done = dataclasses.replace(done, session=session, fixed=fixed, changes=changes)
    report = done.session.report
    fixed_codes = dict(Counter(f.code for f in done.fixed))
    report = dataclasses.replace(report, fixed=fixed_codes, interrupted=report.interrupted or interrupted)
    if asked["diff"]:
        return _show(done, report, asked.show_all)
    if stdin:
        (source,) = stdin.values()
        fault = write_bytes(next((change.after for change in done.changes), source))
        if fault is not None:
            tell(f"onnxlint: the source cannot be written to standard output: {fault}")
        code = conclude(report, asked, scopes, {**stdin, **done.overlay}, aside=True)
        return code if fault is None else FAILED
    unfixed = (Diagnostic("error", f"{fault}; its findings are not fixed", path) for path, fault in faults.items())
    report = dataclasses.replace(report, diagnostics=(*unkept, *report.diagnostics, *unfixed))
    return finish(report, asked, scopes, done.overlay)


def _write(changes: Sequence[Change]) -> tuple[dict[str, str], bool]:
    """Put files in place until a signal ends the run. Return why others stay as they are, by path, and if one came."""
    faults = {}
    with interrupts.noted() as signals:
        for change in changes:
            fault = interrupts.UNWRITTEN if signals else write(change)
            if fault is not None:
                faults[change.path] = fault
        return faults, bool(signals)


def _show(done: Repaired, report: Report, show_all: bool) -> int:
    """Print the difference, without what would steer a terminal, which a patch cannot write in another way."""
    shown: list[str] = []
    withheld: list[Diagnostic] = []
    for change in done.changes:
        rows = list(unified_diff(change))
        fault = next(filter(None, map(_steering, rows)), None)
        if fault is None:
            shown += rows
        else:
            message = f"the difference is not shown, since it holds {fault}; --fix writes the file"
            withheld.append(Diagnostic("error", message, change.path))
    code = deliver("".join(shown), "diff")
    errors = [*(d for d in report.diagnostics if d.level == "error"), *withheld]
    undone = [d for d in report.diagnostics if d.level != "error" and "undone" in d.message]
    tell_errors([*errors, *undone], level=None)
    sentence = fixes(report, show_all=show_all)
    if done.changes:
        sentence = f"Would fix{sentence.removeprefix('Fixed')}"
    if sentence:
        tell(sentence)
    return FAILED if errors else max(code, int(bool(done.changes)))


def _steering(row: str) -> str | None:
    """What of a row of a difference must not be printed; a return at the end of a line is part of that."""
    logged = any(os.environ.get(name) for name in ("CI", "GITHUB_ACTIONS", "TF_BUILD"))
    return next(filter(None, (steering(line.removesuffix("\r"), logged=logged) for line in row.split("\n"))), None)
