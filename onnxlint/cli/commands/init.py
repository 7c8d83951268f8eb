"""`onnxlint init`: find the models of a project, learn how to feed them, and write that as configuration."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from onnxlint.base.atomic import replace_file
from onnxlint.base.files import read_bytes
from onnxlint.base.paths import display_path, keep_inside
from onnxlint.base.records import grouped
from onnxlint.cli import FAILED
from onnxlint.cli.options import Configuration, config_options
from onnxlint.cli.output import deliver, tell, tell_errors
from onnxlint.cli.request import settings_request
from onnxlint.config.config_files import MAX_BYTES
from onnxlint.report.common.words import count

if TYPE_CHECKING:
    from onnxlint.run.declare import Declared


@click.command("init")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path, readable=False))
@config_options
@click.option("--stdout", is_flag=True, help="Print the result instead of writing it.")
@click.option("--jobs", type=click.IntRange(min=1), help="Number of models to build in parallel.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), help="Time limit for a model, in seconds [60].")
@click.option("-q", "--quiet", is_flag=True, help="Print only errors.")
def command(
    paths: tuple[Path, ...],
    config: Configuration,
    isolated: bool,
    stdout: bool,
    jobs: int | None,
    timeout: float | None,
    quiet: bool,
) -> int:
    """Find the models under PATHS, feed them, and declare them in the configuration file.

    Every model is built and run in a process of its own, on inputs that its source and its errors suggest. The tables
    are added to pyproject.toml or onnxlint.toml; a model that could not be fed becomes a comment that says why.

    Exit code: 0; 2 if nothing could be written, or a missing package kept every model from being fed.
    """
    from onnxlint.config.settings import Settings
    from onnxlint.report.progress import open_progress
    from onnxlint.run.declare import added, declare
    from onnxlint.run.dynamic_pass import missing_packages
    from onnxlint.run.scopes import scopes

    missing = missing_packages(Settings(Path.cwd()))
    if missing:
        raise click.ClickException(f"{', '.join(missing)} not installed; pip install 'onnxlint[dynamic]'")
    overrides = {"timeout": timeout or 60.0} | ({} if jobs is None else {"jobs": jobs})
    code = 0
    for scope in scopes(paths or (Path(),), settings_request(config, isolated, **overrides)):
        with open_progress(quiet=quiet) as progress:
            done = declare(scope, progress)
        code = max(code, tell_errors(done.diagnostics))
        if stdout:
            code = max(code, deliver(done.text, "text"))
        elif done.text:
            fault = _write(done.file, done.text, added)
            if fault is not None:
                tell(f"onnxlint: {fault}")
                code = FAILED
                continue
        if not quiet:
            _summarise(done, stdout)
        if done.lacking and not done.fed:
            code = FAILED
    return code


def _write(file: Path, text: str, added: Callable[[str, str], str]) -> str | None:
    try:
        keep_inside(file)
        before = read_bytes(file, MAX_BYTES) if file.exists() else None
        replace_file(file, added((before or b"").decode(), text).encode(), before)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        return f"{display_path(file)} cannot be written: {reason}; --stdout prints the tables"
    return None


def _summarise(done: Declared, stdout: bool) -> None:
    if not done.fed and not done.unfed and not done.lacking:
        if done.described:
            tell("onnxlint: every model that was found is declared already, or the source says how to feed it")
        else:
            tell("onnxlint: no model was found; name the folder that your nn.Module classes are in")
        return
    place = "printed" if stdout else f"in {display_path(done.file)}"
    if done.fed:
        models = count(len(done.fed), "model")
        tell(f"{models} {place}: look at the inputs, they are assumptions; then `onnxlint check`")
    if done.unfed:
        start = "" if stdout and not done.text else f"; a start for each is {place}, as a comment"
        tell(f"{count(len(done.unfed), 'model')} could not be fed{start}:")
    for model in done.unfed:
        tell(f"  {model.name}: {model.reason}")
    for remedy, lacking in grouped(done.lacking, lambda m: m.remedy or "").items():
        tell(f"{count(len(lacking), 'model')} could not be fed, such as {lacking[0].name}: {lacking[0].reason}")
        tell(f"  {remedy}, and run `onnxlint init` again")
