"""`onnxlint repro`: run a counterexample that a check has kept, or list them."""

import os
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click

from onnxlint.base.lifetimes import end_with
from onnxlint.base.paths import display_path
from onnxlint.cli.options import Configuration, config_options
from onnxlint.cli.output import deliver, tell
from onnxlint.cli.request import settings_request
from onnxlint.config.typed_values import did_you_mean
from onnxlint.report.common.printed import printed
from onnxlint.report.common.words import visible
from onnxlint.run.counterexamples import WHOLE, Saved, named, saved


@click.command("repro")
@click.argument("name", metavar="[ID]", required=False)
@click.option("--found", "unreduced", is_flag=True, help="Use the input as it was found, not the reduced one.")
@click.option("--repro-dir", type=click.Path(path_type=Path), help="Directory they are kept in [.onnxlint/repro].")
@config_options
def command(name: str | None, unreduced: bool, repro_dir: Path | None, config: Configuration, isolated: bool) -> int:
    """Run the counterexample ID, with this interpreter, and exit as it does: with 1 if the disagreement shows.

    ID is the name of a folder, or the beginning of a finding's fingerprint. Without ID: list what there is.
    """
    folder = (repro_dir or configured(config, isolated)).absolute()
    if name is None:
        return _listed(saved(folder), folder)
    meant = chosen(name, folder, "counterexample", "ID")
    missing = [k.name for k in meant if unreduced and not k.whole]
    if missing:
        raise click.UsageError(f"--found: the input of `{missing[0]}` was kept as it was found: leave the flag out")
    return max(_run(k, unreduced, several=len(meant) > 1) for k in meant)


def configured(config: Configuration, isolated: bool) -> Path:
    """Return where counterexamples are kept, as the configuration of the working directory says."""
    from onnxlint.run.scopes import governing

    return governing(Path(), settings_request(config, isolated))[0].repro_dir


def chosen(name: str, folder: Path, what: str, parameter: str) -> list[Saved]:
    """Return the counterexamples in a folder that a name means; one that means none is a mistake in a parameter."""
    there = saved(folder)
    meant = named(there, name)
    if not meant:
        hint = did_you_mean(name, [k.name for k in there]) if there else ""
        raise click.BadParameter(f"there is no {what} `{name}` in {display_path(folder)}{hint}", param_hint=parameter)
    return meant


def _listed(there: Sequence[Saved], folder: Path) -> int:
    if not there:
        tell(f"onnxlint: no counterexamples in {display_path(folder)}; `onnxlint check` keeps them there")
        return 0
    column = max(len(k.name) for k in there)
    rows = (f"{k.name:<{column}}  {' '.join(p[:8] for p in k.fingerprints) or '-':<8}  {k.claim}" for k in there)
    return deliver("".join(f"{visible(row.rstrip())}\n" for row in rows), "text")


def _run(one: Saved, unreduced: bool, *, several: bool) -> int:
    """Run one script; it writes where we do. A script that a signal ended counts as failed."""
    if several:
        click.echo(printed(visible(f"{one.name}: {one.claim}")))
    sys.stdout.flush()
    # -P: a script of ours imports nothing of what may lie beside it; it names the folders of the model itself.
    command = [sys.executable, "-P", str(one.script), *([WHOLE] if unreduced else [])]
    done = subprocess.run(command, check=False, preexec_fn=partial(end_with, os.getpid()))
    return done.returncode if done.returncode >= 0 else 128 - done.returncode
