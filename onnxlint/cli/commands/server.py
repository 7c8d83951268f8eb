"""`onnxlint server`: findings in the editor, by the Language Server Protocol."""

import importlib.util
import os
import sys

import click


@click.command("server")
@click.option("--stdio", is_flag=True, help="Use standard input and output (the only mode).")
def command(stdio: bool) -> int:
    """Serve an editor on standard input and output, by the Language Server Protocol.

    Findings are shown as the code is written: of the static pass, joined with what the last `onnxlint check` in the
    same folder proved. Nothing of the code is imported or run.
    """
    # The folder that is open in the editor is no place to import from: `python -m` has it on the path, and so would the
    # processes have that are started below.
    if not sys.flags.safe_path and sys.path[:1] in ([""], [os.getcwd()]):
        del sys.path[0]
    os.chdir(os.path.abspath(os.sep))
    if importlib.util.find_spec("pygls") is None:
        raise click.UsageError("the server needs pygls; pip install 'onnxlint[server]'")
    if sys.stdin.isatty():
        click.echo("This server is meant to be started by an editor; press Ctrl-C to stop it.", err=True)
    from onnxlint.integrations.server.start import serve

    return serve()
