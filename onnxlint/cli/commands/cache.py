"""`onnxlint cache`: where results are kept for the next run, how much they take, and to delete them."""

from pathlib import Path

import click

from onnxlint.base.cache import clean, default_folder, usage


@click.group("cache", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--cache-dir", type=click.Path(path_type=Path), help="Cache directory [in the user's cache folder].")
@click.pass_context
def command(ctx: click.Context, cache_dir: Path | None) -> None:
    """Show or clear the cache of earlier results."""
    ctx.obj = cache_dir or default_folder()


@command.command("dir")
@click.pass_obj
def show_folder(folder: Path) -> int:
    """Print the cache directory."""
    click.echo(folder)
    return 0


@command.command("usage")
@click.pass_obj
def show_usage(folder: Path) -> int:
    """Print the number of entries and their total size."""
    entries, size = usage(folder)
    click.echo(f"{entries} entries, {size / 1e6:.1f} MB in {folder}")
    return 0


@command.command("clean")
@click.pass_obj
def empty(folder: Path) -> int:
    """Delete all entries, of every onnxlint version."""
    click.echo(f"{clean(folder)} entries deleted from {folder}")
    return 0
