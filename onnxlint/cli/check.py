"""`onnxlint check`: settings from flags and files, one run of the pipeline, one report, one exit code."""

from __future__ import annotations

import dataclasses
import os
import tempfile
from pathlib import Path
from typing import Any

import click

from onnxlint.catalogue import load_catalogue
from onnxlint.cli import FAILED
from onnxlint.cli.output import MACHINE_FORMATS, deliver, unwritable, wants_color, width, write_file
from onnxlint.config import FAIL_ON, Settings, load_settings, unknown_selector
from onnxlint.config_values import parse_memory
from onnxlint.records import EXPORTERS, Diagnostic, ModelStatus, Report, Severity, VerdictKind

FORMATS = ("full", "concise", "json", "sarif", "github")
_LIST = "CODE[,CODE]"
_SECONDS = click.FloatRange(min=0, min_open=True)


def _codes(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """Split comma-separated selectors; an unknown one ends the run, before anything is probed for nothing."""
    codes = tuple(code for part in value for code in (piece.strip() for piece in part.split(",")) if code)
    rules = {rule.code: rule.name for rule in load_catalogue().values()} if codes else {}
    faults = [fault for code in codes if (fault := unknown_selector(code, rules))]
    if faults:
        raise click.BadParameter("; ".join(faults), ctx, param)
    return codes


def _memory(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    try:
        return None if value is None else parse_memory(value)
    except ValueError as error:
        raise click.BadParameter(str(error), ctx, param) from error


@click.command("check")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--config", type=click.Path(path_type=Path), help="The configuration file; default: that nearest to PATHS."
)
@click.option("--static-only", is_flag=True, help="Read the source only: nothing of it is imported or run.")
@click.option("--select", callback=_codes, help="Run only these rules.", multiple=True, metavar=_LIST)
@click.option("--extend-select", callback=_codes, help="Run these rules as well.", multiple=True, metavar=_LIST)
@click.option("--ignore", callback=_codes, help="Do not run these rules.", multiple=True, metavar=_LIST)
@click.option("--exporter", "exporters", multiple=True, type=click.Choice(EXPORTERS), help="Check this exporter only.")
@click.option("--model", "only_models", multiple=True, metavar="NAME", help="Probe only this model.")
@click.option("--output-format", type=click.Choice(FORMATS), default="full", show_default=True)
@click.option("--output-file", type=click.Path(path_type=Path), help="Write the report to this file.")
@click.option("--fail-on", type=click.Choice(FAIL_ON), help="What makes the exit code 1; default: suspected.")
@click.option("--show", type=click.Choice(["findings", "all"]), default="findings", show_default=True)
@click.option("--jobs", type=click.IntRange(min=1), help="How many models are probed at a time.")
@click.option("--timeout", type=_SECONDS, help="Seconds that one model may take.")
@click.option("--memory", callback=_memory, metavar="SIZE", help="Memory that one model may take, such as 4GiB.")
@click.option("--no-cache", is_flag=True, help="Accepted; this version keeps no cache.")
@click.option("--repro-dir", type=click.Path(path_type=Path), help="Where counterexamples go [.onnxlint/repro].")
@click.option("--debug", is_flag=True, help="Show the traceback of an internal error.")
def command(
    paths: tuple[Path, ...],
    config: Path | None,
    output_format: str,
    output_file: Path | None,
    show: str,
    no_cache: bool,
    **flags: Any,
) -> int:
    """Check the models under PATHS (default: the working directory).

    Exit code: 0 nothing found; 1 findings; 2 the run could not do all that was asked.
    """
    catalogue = load_catalogue()
    rules = {rule.code: rule.name for rule in catalogue.values()}
    overrides = {name: value for name, value in flags.items() if value not in (None, (), False)}
    settings, diagnostics = load_settings(_common_folder(paths), config, overrides, rules)
    if settings.config_file is None:
        settings, diagnostics = load_settings(Path.cwd(), config, overrides, rules)
    settings, unkept = _with_writable_repro_dir(settings)

    from onnxlint.pipeline import run_check  # after the mistakes in the flags, which need not wait for it
    from onnxlint.report import render
    from onnxlint.report.progress import open_progress
    from onnxlint.source.parse import source_lines

    with open_progress() as progress:
        report = run_check(paths or (Path(),), settings, progress=progress)
    report = dataclasses.replace(report, diagnostics=(*diagnostics, *unkept, *report.diagnostics))
    code = exit_code(report, settings.fail_on)

    def rendered(color: bool) -> str:
        return render(
            report,
            output_format,
            color=color,
            width=width(),
            show_all=show == "all",
            sources=source_lines,
            catalogue=catalogue,
        )

    fault = None
    if output_file is not None:
        fault = write_file(output_file, rendered(color=False))
        if fault is not None:
            click.echo(f"onnxlint: {fault}", err=True)
    if output_file is None or fault is not None:
        colored = wants_color() and output_format not in MACHINE_FORMATS
        code = max(code, deliver(rendered(colored), output_format))
    return FAILED if fault is not None else code


def _common_folder(paths: tuple[Path, ...]) -> Path:
    """Return the deepest folder that holds every path: the search for the configuration begins there."""
    places = [path.resolve() for path in paths]
    return Path(os.path.commonpath([p if p.is_dir() else p.parent for p in places])) if places else Path.cwd()


def _with_writable_repro_dir(settings: Settings) -> tuple[Settings, tuple[Diagnostic, ...]]:
    """Make sure that counterexamples can be kept: elsewhere, and said so, if not where they should go."""
    reason = None if settings.static_only else unwritable(settings.repro_dir.absolute())
    if reason is None:
        return settings, ()
    other = Path(tempfile.mkdtemp(prefix="onnxlint-repro-"))
    message = f"counterexamples cannot be kept: {reason}; they are in {other}: give another --repro-dir"
    diagnostic = Diagnostic("error", message, str(settings.repro_dir))
    return dataclasses.replace(settings, repro_dir=other), (diagnostic,)


def exit_code(report: Report, fail_on: str) -> int:
    """Return 2 if the run could not do what was asked, else 1 if there are findings that count, else 0."""
    unfinished = any(diagnostic.level == "error" for diagnostic in report.diagnostics)
    unprobed = any(model.declared and model.status is ModelStatus.NOT_PROBED for model in report.models)
    if unfinished or unprobed:
        return FAILED
    counted = {VerdictKind.CONFIRMED} if fail_on == "confirmed" else {VerdictKind.CONFIRMED, VerdictKind.SUSPECTED}
    return int(any(f.verdict in counted and f.severity is not Severity.NOTE for f in report.findings))
