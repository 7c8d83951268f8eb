"""A run of a command that checks: every scope examined with progress, then its report delivered and its exit code."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from onnxlint.base import interrupts
from onnxlint.base.catalogue import load_catalogue
from onnxlint.base.records import Diagnostic, ModelStatus, Report, Severity, Sources, VerdictKind
from onnxlint.cli import FAILED
from onnxlint.cli.output import deliver, encode, tell, wants_color, wants_links, width, write_file
from onnxlint.report import MACHINE_FORMATS

if TYPE_CHECKING:
    from onnxlint.cli.request import Asked
    from onnxlint.run.scopes import Scope
    from onnxlint.run.session import Session


def examine(asked: Asked, scopes: tuple[Scope, ...], faults: Sequence[Diagnostic] = (), **more: Any) -> Session:
    """Run every scope, with progress on the terminal and a place to keep counterexamples in; `more`: see session.run.

    `faults` are to be reported beside what goes wrong here.
    """
    from onnxlint.report.progress import open_progress
    from onnxlint.run import session  # after the mistakes in the flags, which need not wait for it
    from onnxlint.run.scopes import with_writable_repro_dir

    scopes, unkept = with_writable_repro_dir(scopes)
    with open_progress(quiet=asked["quiet"]) as progress:
        done = session.run(scopes, progress=progress, fresh=bool(asked["write_baseline"]), shown=asked.shows, **more)
    diagnostics = (*unkept, *faults, *done.report.diagnostics)
    return replace(done, report=replace(done.report, diagnostics=diagnostics))


def conclude(
    report: Report, asked: Asked, scopes: Sequence[Scope], overlay: Mapping[Path, bytes], *, aside: bool = False
) -> int:
    """Write the report to where it should go, and return the exit code. `overlay` is what was read for some files.

    It goes to standard error where it is said `aside`, since standard output is for something else.
    """
    fail_on = "suspected" if any(s.settings.fail_on == "suspected" for s in scopes) else "confirmed"
    from onnxlint.report.formats.tally import statistics
    from onnxlint.run.counterexamples import remember
    from onnxlint.run.same_cause import one_per_cause
    from onnxlint.source.parse import source_lines

    sources = partial(source_lines, overlay=overlay)
    try:
        remember(report.findings)
    except OSError as error:
        tell(f"onnxlint: `onnxlint repro` will not know the fingerprints: {error}")
    form = asked["output_format"]
    report = one_per_cause(report, sources)

    def rendered(color: bool) -> str:
        if asked["statistics"]:
            return statistics(report, show_all=asked.show_all, machine=form == "json")
        return rendered_as(form, report, asked, sources, color=color)

    code = exit_code(report, fail_on)
    code = 0 if asked["exit_zero"] and code == 1 else code
    fault = None
    if asked["output_file"] is not None:
        fault = write_file(asked["output_file"], rendered(color=False))
        if fault is not None:
            tell(f"onnxlint: {fault}")
    if aside and (asked["output_file"] is None or fault is not None):
        click.echo(encode(rendered(asked["color"] == "always"), "utf-8"), nl=False, err=True)
    elif asked["output_file"] is None or fault is not None:
        code = max(code, deliver(rendered(wants_color(asked["color"]) and form not in MACHINE_FORMATS), form))
    if asked["report"] is not None:
        code = code if _write_page(report, asked, sources) else FAILED
    return FAILED if fault is not None else code


def finish(report: Report, asked: Asked, scopes: Sequence[Scope], overlay: Mapping[Path, bytes]) -> int:
    """Conclude a run that may have been interrupted, and return the exit code."""
    code = conclude(report, asked, scopes, overlay)
    if not report.interrupted:
        return code
    tell("onnxlint: interrupted; the report says what was known by then")
    return interrupts.exit_code()


def rendered_as(form: str, report: Report, asked: Asked, sources: Sources | None, *, color: bool = False) -> str:
    """Return the report in an output format, as the flags and the terminal want it."""
    from onnxlint.report import render

    look: dict[str, Any] = {"color": color, "width": width(), "links": color and wants_links()}
    look |= {"show_all": asked.show_all, "quiet": asked["quiet"]}
    return render(report, form, sources=sources, catalogue=load_catalogue(), **look)


def _write_page(report: Report, asked: Asked, sources: Sources) -> bool:
    """Write the page of `--report`; return whether that went well, which does not depend on a browser."""
    from onnxlint.report.html import page

    path, made = asked["report"], time.strftime("%Y-%m-%d %H:%M %Z")
    text = page(report, show_all=asked.show_all, sources=sources, catalogue=load_catalogue(), made=made)
    fault = write_file(path, text)
    if fault is not None:
        tell(f"onnxlint: {fault}")
        return False
    if asked["open_report"] and click.launch(str(path)) != 0:
        tell(f"onnxlint: no browser could be started; open {path}")
    return True


def exit_code(report: Report, fail_on: str) -> int:
    """Return 2 if the run could not do what was asked, else 1 if there are findings that count, else 0."""
    unprobed = any(model.declared and model.status is ModelStatus.NOT_PROBED for model in report.models)
    if unprobed or any(diagnostic.level == "error" for diagnostic in report.diagnostics):
        return FAILED
    counted = {VerdictKind.CONFIRMED} if fail_on == "confirmed" else {VerdictKind.CONFIRMED, VerdictKind.SUSPECTED}
    return int(any(f.verdict in counted and f.severity is not Severity.NOTE for f in report.findings))
