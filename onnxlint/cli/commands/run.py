"""`onnxlint run`: the user's own export script, and a report on what it exports, as it exports it."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from onnxlint.base import interrupts
from onnxlint.base.records import EXPORTERS, Diagnostic
from onnxlint.cli.options import CHECK_ALONE, check_options, config_options
from onnxlint.cli.output import tell
from onnxlint.cli.request import Asked
from onnxlint.cli.running import examine, finish
from onnxlint.report import MACHINE_FORMATS

if TYPE_CHECKING:
    from onnxlint.config.settings import Settings
    from onnxlint.probes.live.script import Ran
    from onnxlint.run.scopes import Scope

_STDERR = 2


@click.command("run", context_settings={"allow_interspersed_args": False})
@click.option("-m", "module", is_flag=True, help="Treat SCRIPT as a module name, as `python -m` does.")
@click.argument("script")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@config_options
@check_options(CHECK_ALONE)
def command(module: bool, script: str, arguments: tuple[str, ...], **flags: Any) -> int:
    """Run SCRIPT as `python SCRIPT ARGUMENTS` does, and check what it exports, as it exports it.

    Every call of torch.onnx.export and torch.export.export is captured with its model, inputs and options, also where
    a library makes it. The flags of onnxlint stand before SCRIPT. The report follows what the script prints; a report
    for machines that goes to standard output has that to itself, and the script prints to standard error.

    Exit code: 0 nothing found; 1 findings; 2 the script failed or exported nothing, or the run could not do all; 130
    Ctrl-C, in the script or later; 143 SIGTERM, 129 SIGHUP.
    """
    if not module and not os.path.exists(script):
        raise click.UsageError(f"there is no file `{script}`; `-m` runs a module")
    asked = Asked((Path(script),), {**dict.fromkeys(CHECK_ALONE), **flags})
    asked.require_sense()
    from onnxlint.probes.live.script import run_program
    from onnxlint.probes.live.snapshot_client import Captured
    from onnxlint.run.dynamic_pass import missing_packages
    from onnxlint.run.scopes import governing

    settings, mistakes = governing(Path.cwd() if module else Path(script), asked.request())
    missing = missing_packages(settings)
    if missing:
        raise click.UsageError(f"{', '.join(missing)} not installed; pip install 'onnxlint[dynamic]'")
    alone = asked["output_format"] in MACHINE_FORMATS and asked["output_file"] is None
    ran = run_program([*(["-m"] if module else []), script, *arguments], _STDERR if alone else None)
    captured = Captured(ran.snapshots)
    if ran.interrupted:
        captured.close()
        tell(f"onnxlint: interrupted{_untold(ran)}")
        return interrupts.exit_code()
    try:
        scopes = (_scope(settings, mistakes, None if module else Path(script), ran),)
        done = examine(asked, scopes, _faults(script, ran), captured=captured)
    finally:
        captured.close()
    return finish(done.report, asked, scopes, {})


def _untold(ran: Ran) -> str:
    if not ran.snapshots:
        return " before the script exported anything"
    calls = dict.fromkeys(f"{s.capture.name} at {s.capture.path}:{s.capture.line}" for s in ran.snapshots)
    return f"; the script had exported {', '.join(calls)} by then, and nothing of it was checked"


def _scope(settings: Settings, mistakes: tuple[Diagnostic, ...], script: Path | None, ran: Ran) -> Scope:
    from onnxlint.run.scopes import Scope
    from onnxlint.source.discover import Discovery

    captured = [path for snapshot in ran.snapshots for path in snapshot.capture.files]
    files = dict.fromkeys(Path(path) for path in (*ran.files, *captured) if os.path.isfile(path))
    if script is not None and script.is_file():
        files.setdefault(Path(os.path.abspath(script)))
    used = {name for snapshot in ran.snapshots for name in snapshot.capture.exporters}
    exporters = tuple(name for name in EXPORTERS if name in used and name in settings.exporters)
    if exporters:
        settings = replace(settings, exporters=exporters)
    return Scope(settings, Discovery(tuple(sorted(files))), mistakes)


def _faults(script: str, ran: Ran) -> list[Diagnostic]:
    faults = [Diagnostic("error", fault) for fault in ran.faults]
    if ran.ending is not None:
        until = "; what it had exported until then was checked" if ran.snapshots else " before it exported anything"
        faults.append(Diagnostic("error", f"the script {ran.ending}{until}", script))
    elif not ran.snapshots:
        message = "the script made no call of torch.onnx.export or torch.export.export that could be captured"
        faults.append(Diagnostic("error", message, script))
    return faults
