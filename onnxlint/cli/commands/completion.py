"""`onnxlint completion`: the script that makes a shell complete the command line."""

import click
from click.shell_completion import get_completion_class

from onnxlint.cli.output import deliver


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> int:
    """Print the script that makes SHELL complete commands, flags, rules and files.

    \b
    bash:  eval "$(onnxlint completion bash)"        in ~/.bashrc
    zsh:   eval "$(onnxlint completion zsh)"         in ~/.zshrc, after compinit
    fish:  onnxlint completion fish | source         in ~/.config/fish/config.fish
    """
    from onnxlint.cli import COMPLETE, main

    completer = get_completion_class(shell)
    assert completer is not None
    script = completer(main, {}, "onnxlint", COMPLETE).source()
    # That for fish takes a comma in a value for its end; a list of rules has commas.
    return deliver(script.replace('(string split "," $completion)', '(string split -m 1 "," $completion)'), "text")
