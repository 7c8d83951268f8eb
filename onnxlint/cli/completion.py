"""`onnxlint completion`: what makes a shell complete the command line; and what it completes for rules."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem, ShellComplete, get_completion_class

from onnxlint.catalogue import load_catalogue

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


def rules(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Codes and names of rules for one that is begun, each with what it is called."""
    found = []
    for rule in load_catalogue().values():
        if rule.code.startswith(incomplete.upper()):
            found.append(CompletionItem(rule.code, help=f"{rule.name}: {rule.title}"))
        elif incomplete and rule.name.startswith(incomplete.lower()):
            found.append(CompletionItem(rule.name, help=f"{rule.code}: {rule.title}"))
    return found


def rule_list(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The same for the last of several, with commas between them."""
    head, comma, last = incomplete.rpartition(",")
    return [CompletionItem(f"{head}{comma}{item.value}", help=item.help) for item in rules(ctx, param, last)]
