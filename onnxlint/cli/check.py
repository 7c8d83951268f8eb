"""`onnxlint check`: settings from flags and files, one run of the session, one report, one exit code."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from onnxlint.catalogue import load_catalogue
from onnxlint.cli import FAILED, INTERRUPTED
from onnxlint.cli.options import PLAIN, SETTINGS, check_options, config_options
from onnxlint.cli.output import deliver, encode, tell, wants_color, wants_links, width, write_file
from onnxlint.config import INLINE
from onnxlint.records import ModelStatus, Report, Severity, VerdictKind
from onnxlint.report import MACHINE_FORMATS

if TYPE_CHECKING:
    from onnxlint.changed import Changed
    from onnxlint.scopes import Request, Scope
    from onnxlint.session import Session

STDIN = Path("-")


@click.command("check")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path, readable=False))  # the run says what is not
@config_options
@check_options
@click.pass_context
def command(ctx: click.Context, /, paths: tuple[Path, ...], watch: bool, **flags: Any) -> int:
    """Check the models under PATHS (default: the working directory); `-` reads one file from standard input.

    Exit code: 0 nothing found; 1 findings; 2 the run could not do all that was asked.
    """
    asked = Asked(paths or (Path(),), flags)
    fault = asked.fault()
    if fault is not None:
        raise click.UsageError(fault)
    if watch:
        if any(flags[flag] for flag in ("fix", "diff", "add_noqa", "write_baseline", "prune_baseline")):
            raise click.UsageError("--watch only looks: it goes without flags that write")
        if flags["open_report"]:
            raise click.UsageError("--watch writes the page of --report anew each time: open it once, without --open")
        from onnxlint.cli.watch import watch_and_check

        return watch_and_check(ctx.obj, asked.scopes(), stdin=asked.stdin)
    return check(asked)


@dataclass(frozen=True)
class Asked:
    """What the command line asks for: paths and flags, by the names that click gives them."""

    paths: tuple[Path, ...]
    flags: Mapping[str, Any]

    def __getitem__(self, flag: str) -> Any:
        return self.flags[flag]

    @property
    def stdin(self) -> bool:
        """Whether the file to check comes from standard input."""
        return STDIN in self.paths

    @property
    def show_all(self) -> bool:
        """Whether notes and findings that were not reproduced are shown as well."""
        return bool(self["show"] == "all")

    def fault(self) -> str | None:
        """Return what is wrong with the flags together, or None."""
        baseline = self["write_baseline"] or self["prune_baseline"]
        if self["write_baseline"] and self["prune_baseline"]:
            return "--write-baseline and --prune-baseline are one or the other"
        if self["reason"] is not None and not self["add_noqa"]:
            return "--reason needs --add-noqa"
        if self["stdin_filename"] is not None and not self.stdin:
            return "--stdin-filename needs `-` as the path"
        if self.stdin and (len(self.paths) > 1 or baseline or self["add_noqa"] or self["changed_since"]):
            return "`-` stands alone: without other paths, a baseline to write, --add-noqa or --changed-since"
        if self["add_noqa"] and baseline:
            return "--add-noqa and a baseline to write are one or the other"
        if (self["fix"] or self["diff"]) and (baseline or self["add_noqa"]):
            return "--fix and --diff go without --add-noqa and a baseline to write"
        if self["open_report"] and self["report"] is None:
            return "--open needs --report FILE"
        if self["report"] is not None and (baseline or self["add_noqa"] or self["diff"]):
            return "--report goes without --diff, --add-noqa and a baseline to write"
        if self["statistics"] and self["output_format"] not in ("full", "concise", "json"):
            return "--statistics has the output formats full and json"
        if self["reason"] is not None:
            from onnxlint.source.annotate import fault_in_reason

            fault = fault_in_reason(self["reason"])
            return None if fault is None else f"--reason: {fault}"
        return None

    def request(self) -> Request:
        """Return how settings are found: with the flags that were given on top."""
        from onnxlint.scopes import Request

        explicit, inline = self["config"]
        given = {name: self[name] for name in SETTINGS if self[name] not in (None, ())}
        overrides = {name: value for name, value in given.items() if value is not False or name not in PLAIN}
        if self.stdin:
            overrides["static_only"] = True
        rules = {rule.code: rule.name for rule in load_catalogue().values()}
        return Request(explicit, self["isolated"], inline, overrides, rules)

    def scopes(self) -> tuple[Scope, ...]:
        """Return the files to check with their settings; a wrong `--config KEY=VALUE` ends the run."""
        from onnxlint.scopes import scopes, single

        if self.stdin:
            found = single(self["stdin_filename"] or STDIN, self.request())
        else:
            found = scopes(self.paths, self.request())
        faults = [d.message for scope in found for d in scope.diagnostics if d.path == INLINE]
        if faults:
            raise click.UsageError(f"{INLINE}: {'; '.join(dict.fromkeys(faults))}")
        return found

    def changed(self, scope: Scope) -> Changed | None:
        """Return what changed, if that is asked for; a revision that git does not know ends the run."""
        if self["changed_since"] is None:
            return None
        from onnxlint.changed import ChangedError, changed_since
        from onnxlint.scopes import common_folder

        try:
            return changed_since(self["changed_since"], common_folder(scope))
        except ChangedError as error:
            raise click.UsageError(f"--changed-since: {error}") from error


def check(asked: Asked) -> int:
    """Run once, deliver the report, and return the exit code."""
    from onnxlint.scopes import with_writable_repro_dir

    scopes, unkept = with_writable_repro_dir(asked.scopes())
    if (asked["write_baseline"] or asked["prune_baseline"]) and not any(s.settings.baseline for s in scopes):
        raise click.UsageError("name the baseline to write: with --baseline FILE, or `baseline` in the configuration")
    changed = asked.changed(scopes[0])
    overlay = {(asked["stdin_filename"] or STDIN).resolve(): sys.stdin.buffer.read()} if asked.stdin else {}
    if asked["fix"] or asked["diff"]:
        from onnxlint.cli import fixes

        return fixes.run(asked, scopes, changed, unkept, overlay)

    done = examine(asked, scopes, changed, overlay)
    report = dataclasses.replace(done.report, diagnostics=(*unkept, *done.report.diagnostics))
    if asked["write_baseline"] or asked["prune_baseline"] or asked["add_noqa"]:
        if report.interrupted:
            raise KeyboardInterrupt  # half a run is nothing to write down
        from onnxlint.cli import actions

        if asked["write_baseline"]:
            return actions.write_baselines(report, done.ledgers, asked.show_all)
        if asked["add_noqa"]:
            return actions.add_noqa(report, scopes, asked["reason"] or "", asked.show_all)
        report, code = actions.prune_baselines(report, done.ledgers)
        if code:
            return code
    code = conclude(report, asked, scopes, overlay)
    if report.interrupted:
        tell("onnxlint: interrupted; the report says what was known by then")
    return INTERRUPTED if report.interrupted else code


def examine(asked: Asked, scopes: Sequence[Scope], changed: Changed | None, overlay: Mapping[Path, bytes]) -> Session:
    """Run every scope, with progress on the terminal. `overlay` is what is read for some files."""
    from onnxlint import session  # after the mistakes in the flags, which need not wait for it
    from onnxlint.report.progress import open_progress
    from onnxlint.report.words import hidden

    with open_progress(quiet=asked["quiet"]) as progress:
        return session.run(
            scopes,
            progress=progress,
            changed=changed,
            overlay=overlay,
            fresh=asked["write_baseline"],
            shown=lambda finding: asked.show_all or not hidden(finding),
        )


def conclude(
    report: Report, asked: Asked, scopes: Sequence[Scope], overlay: Mapping[Path, bytes], *, aside: bool = False
) -> int:
    """Write the report to where it should go, and return the exit code. `overlay` is what was read for some files.

    It goes to standard error where it is said `aside`, since standard output is for something else.
    """
    fail_on = "suspected" if any(s.settings.fail_on == "suspected" for s in scopes) else "confirmed"
    sources = lines_of(overlay)
    from onnxlint.report import render, statistics
    from onnxlint.repros import remember

    try:
        remember(report.findings)
    except OSError as error:
        tell(f"onnxlint: `onnxlint repro` will not know the fingerprints: {error}")
    form = asked["output_format"]

    def rendered(color: bool) -> str:
        if asked["statistics"]:
            return statistics(report, show_all=asked.show_all, machine=form == "json")
        return render(
            report,
            form,
            color=color,
            width=width(),
            show_all=asked.show_all,
            sources=sources,
            catalogue=load_catalogue(),
            quiet=asked["quiet"],
            links=color and wants_links(),
        )

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
        from onnxlint.cli.page import write_page

        written = write_page(asked["report"], report, asked.show_all, sources, launch=asked["open_report"])
        code = code if written else FAILED
    return FAILED if fault is not None else code


def lines_of(overlay: Mapping[Path, bytes]) -> Callable[[str], list[str]]:
    """Return what knows the lines of a file: as they were checked, not as they are on the disk."""
    from onnxlint.source.parse import given_lines, source_lines

    def lines(path: str) -> list[str]:
        data = overlay.get(Path(path).resolve()) if overlay else None
        return source_lines(path) if data is None else given_lines(data)

    return lines


def exit_code(report: Report, fail_on: str) -> int:
    """Return 2 if the run could not do what was asked, else 1 if there are findings that count, else 0."""
    unfinished = any(diagnostic.level == "error" for diagnostic in report.diagnostics)
    unprobed = any(model.declared and model.status is ModelStatus.NOT_PROBED for model in report.models)
    if unfinished or unprobed:
        return FAILED
    counted = {VerdictKind.CONFIRMED} if fail_on == "confirmed" else {VerdictKind.CONFIRMED, VerdictKind.SUSPECTED}
    return int(any(f.verdict in counted and f.severity is not Severity.NOTE for f in report.findings))
