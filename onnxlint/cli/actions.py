"""What `onnxlint check` does with findings instead of showing them: a baseline, or `# noqa` comments."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from onnxlint.base import interrupts
from onnxlint.base.atomic import FileChanged, replace_file
from onnxlint.base.paths import display_path, leads_out
from onnxlint.base.records import Diagnostic, Finding, Report, grouped
from onnxlint.cli import FAILED
from onnxlint.cli.output import tell, tell_errors
from onnxlint.report.common.printed import printed
from onnxlint.report.common.words import count, hidden, visible
from onnxlint.run import baseline
from onnxlint.run.scopes import Scope
from onnxlint.run.session import Ledger
from onnxlint.source.annotate import AnnotateError, annotate
from onnxlint.source.parse import read_source
from onnxlint.source.suppress import UNUSED


def write_baselines(report: Report, ledgers: Sequence[Ledger], show_all: bool) -> int:
    """Make every finding that would be shown a known one, and return the exit code."""
    code = tell_errors(report.diagnostics)
    for ledger in ledgers:
        shown = [finding for finding in ledger.findings if show_all or not hidden(finding)]
        entries = baseline.merged(ledger.allowed, baseline.entries(shown, ledger.file.parent), ledger.judged)
        fault = _write(ledger.file, entries)
        code = FAILED if fault else code
        if not fault:
            total = sum(entry.count for entry in entries)
            click.echo(printed(visible(f"Wrote {count(total, 'finding')} to {display_path(ledger.file)}")))
    return code


def prune_baselines(report: Report, ledgers: Sequence[Ledger]) -> tuple[Report, int]:
    """Take the slack out of the baselines; return the report without it, and 2 if a file could not be written."""
    code = 0
    for ledger in ledgers:
        slack = ledger.settled.slack
        if slack and _write(ledger.file, baseline.without(ledger.allowed, slack)):
            code = FAILED
        elif slack:
            tell(f"Removed {count(sum(number for _, number in slack), 'finding')} from {display_path(ledger.file)}")
    files = {display_path(ledger.file) for ledger in ledgers}
    return replace(report, findings=tuple(f for f in report.findings if f.span.path not in files)), code


def add_noqa(report: Report, scopes: Sequence[Scope], reason: str, show_all: bool, roots: Sequence[Path] = ()) -> int:
    """Write a comment for every finding that would be shown in the files at `roots`, and return the exit code."""
    code = tell_errors(report.diagnostics)
    ours = {os.path.realpath(file) for scope in scopes for file in scope.discovery.files}
    wanted = (f for f in report.findings if f.code != UNUSED and (show_all or not hidden(f)))
    written = files = 0
    with interrupts.noted() as signals:
        for path, findings in grouped(wanted, lambda f: f.span.path).items():
            fault = None if os.path.realpath(path) in ours else "this file is not among those that were to be checked"
            fault = fault or (interrupts.UNWRITTEN if signals else None) or leads_out(Path(path), roots)
            fault = fault or _annotate(Path(path), findings, reason)
            if fault is None:
                written, files = written + len({f.span.line for f in findings}), files + 1
            else:
                tell(f"onnxlint: {path}: no comment is written: {fault}")
                code = FAILED
    click.echo(f"Silenced the findings of {count(written, 'line')} in {count(files, 'file')} with `# noqa`")
    return interrupts.exit_code() if signals else code


def _annotate(path: Path, findings: Sequence[Finding], reason: str) -> str | None:
    source = read_source(path)
    if isinstance(source, Diagnostic):
        return source.message
    wanted = {line: [f.code for f in here] for line, here in grouped(findings, lambda f: f.span.line).items()}
    try:
        replace_file(path, annotate(source, wanted, reason), source.text.encode(source.encoding))
    except AnnotateError as error:
        return str(error)
    except FileChanged as error:
        return str(error.strerror)
    except OSError as error:
        return f"the file cannot be written: {error.strerror}"
    return None


def _write(file: Path, entries: Sequence[baseline.Entry]) -> bool:
    try:
        baseline.write(file, entries)
    except OSError as error:
        tell(f"onnxlint: {display_path(file)}: the baseline cannot be written: {error.strerror}; name another file")
        return True
    return False
