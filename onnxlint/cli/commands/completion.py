"""`onnxlint completion`: what makes a shell complete the command line."""

from __future__ import annotations

import click
from click.shell_completion import ShellComplete, get_completion_class

SHELLS = ("bash", "zsh", "fish")
_VARIABLE = "_ONNXLINT_COMPLETE"


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> int:
    """Print the script that makes SHELL complete commands, flags, rules and files.

    \b
    bash:  eval "$(onnxlint completion bash)"        in ~/.bashrc
    zsh:   eval "$(onnxlint completion zsh)"         in ~/.zshrc, after compinit
    fish:  onnxlint completion fish | source         in ~/.config/fish/config.fish
    """
    from onnxlint.cli import main
    from onnxlint.cli.output import deliver

    found = get_completion_class(shell)
    assert found is not None
    return deliver(_source(found(main, {}, "onnxlint", _VARIABLE)), "text")


def _source(completer: ShellComplete) -> str:
    """The script of click. That for fish takes a comma in a value for its end; a list of rules has commas."""
    return completer.source().replace('(string split "," $completion)', '(string split -m 1 "," $completion)')
