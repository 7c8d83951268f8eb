"""`onnxlint check --watch`: check again, in a process of its own, whenever a file of the project changes."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click

from onnxlint.base import interrupts
from onnxlint.base.lifetimes import end_with
from onnxlint.cli import WATCHED
from onnxlint.run.scopes import Scope
from onnxlint.source.discover import DEFAULT_EXCLUDES

SUFFIXES = (".py", ".toml")
NAMES = (".gitignore",)
QUIET = 200  # milliseconds without a further change before a check begins


def watch_and_check(argv: Sequence[str], scopes: Sequence[Scope], *, stdin: bool) -> int:
    """Run `onnxlint` with `argv`, now and after every change, until an interrupt. Return 0 then."""
    if stdin:
        raise click.UsageError("--watch watches files, not standard input")
    try:
        import watchfiles
    except ImportError as error:
        raise click.UsageError("--watch needs watchfiles; pip install 'onnxlint[watch]'") from error

    included = {str(file) for scope in scopes for file in scope.discovery.files}
    baselines = {str(scope.settings.baseline) for scope in scopes}

    def counts(change: watchfiles.Change, path: str) -> bool:
        parts = Path(path).parts
        relevant = path in included or path in baselines or path.endswith(SUFFIXES) or parts[-1] in NAMES
        return relevant and DEFAULT_EXCLUDES.isdisjoint(parts)

    # The fewest folders that hold every project and every file that is checked.
    places = {scope.settings.root.resolve() for scope in scopes}
    places |= {file.resolve().parent for scope in scopes for file in scope.discovery.files}
    folders = sorted(folder for folder in places if places.isdisjoint(folder.parents))
    changes = watchfiles.watch(
        *folders, watch_filter=counts, debounce=10 * QUIET, step=QUIET, rust_timeout=QUIET, yield_on_timeout=True
    )
    with contextlib.suppress(KeyboardInterrupt):
        next(changes)  # from here on a change is noticed, also while the first check runs
        _check(argv)
        for changed in changes:
            if changed:
                _check(argv)
    return 0


def _check(argv: Sequence[str]) -> None:
    """Check once. The process is a new one: it reads the settings afresh, and leaves nothing behind."""
    if sys.stdout.isatty():
        click.clear()
    # -P: the working directory is no place to import from.
    command = [sys.executable, "-P", "-m", "onnxlint", *argv]
    environment = {**os.environ, WATCHED: "1"}
    with subprocess.Popen(command, env=environment, preexec_fn=partial(end_with, os.getpid())) as process:
        try:
            process.wait()
        except KeyboardInterrupt:
            process.send_signal(interrupts.received())  # again, if the terminal has sent it: it does no harm
            process.wait()
            raise
    click.echo("onnxlint: watching for changes; Ctrl-C ends it", err=True)
