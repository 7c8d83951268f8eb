"""`onnxlint check`: settings from flags and files, one run of the session, one report, one exit code."""

import os
import sys
from pathlib import Path
from typing import Any

import click

from onnxlint.cli import WATCHED
from onnxlint.cli.options import check_options, config_options
from onnxlint.cli.request import STDIN, Asked
from onnxlint.cli.running import examine, finish


@click.command("check")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path, readable=False))  # the run says what is not
@config_options
@check_options()
@click.pass_context
def command(ctx: click.Context, /, paths: tuple[Path, ...], watch: bool, **flags: Any) -> int:
    """Check the models under PATHS (default: the working directory); `-` reads one file from standard input.

    Exit code: 0 nothing found; 1 findings; 2 something that was asked for could not be done.
    """
    asked = Asked(paths or (Path(),), flags)
    asked.require_sense()
    if watch and WATCHED not in os.environ:
        if any(flags[flag] for flag in ("fix", "diff", "add_noqa", "write_baseline", "prune_baseline")):
            raise click.UsageError("--watch cannot be combined with flags that write files")
        if flags["open_report"]:
            raise click.UsageError("--watch rewrites the page of --report each time: open it yourself, without --open")
        from onnxlint.cli.watch import watch_and_check

        return watch_and_check(ctx.obj, asked.scopes(), stdin=asked.stdin)
    return check(asked)


def check(asked: Asked) -> int:
    """Run once, deliver the report, and return the exit code."""
    scopes = asked.scopes()
    if (asked["write_baseline"] or asked["prune_baseline"]) and not any(s.settings.baseline for s in scopes):
        raise click.UsageError("no baseline to write to: pass --baseline FILE or set `baseline` in the configuration")
    base = asked.base()
    overlay = {(asked["stdin_filename"] or STDIN).resolve(): sys.stdin.buffer.read()} if asked.stdin else {}
    if asked["fix"] or asked["diff"]:
        from onnxlint.cli import apply_fixes

        return apply_fixes.run(asked, scopes, base, overlay)

    done = examine(asked, scopes, base=base, overlay=overlay)
    report = done.report
    if asked["write_baseline"] or asked["prune_baseline"] or asked["add_noqa"]:
        if report.interrupted:
            raise KeyboardInterrupt  # half a run is nothing to write down
        from onnxlint.cli import actions

        if asked["write_baseline"]:
            return actions.write_baselines(report, done.ledgers, asked.show_all)
        if asked["add_noqa"]:
            return actions.add_noqa(report, scopes, asked["reason"] or "", asked.show_all, asked.paths)
        report, code = actions.prune_baselines(report, done.ledgers)
        if code:
            return code
    return finish(report, asked, scopes, overlay)
