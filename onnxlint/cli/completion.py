"""What a shell completes where a rule is asked for."""

import click
from click.shell_completion import CompletionItem

from onnxlint.base.catalogue import load_catalogue


def rules(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Codes and names of rules for one that is begun, each with what it is called."""
    items = []
    for rule in load_catalogue().values():
        if rule.code.startswith(incomplete.upper()):
            items.append(CompletionItem(rule.code, help=f"{rule.name}: {rule.title}"))
        elif incomplete and rule.name.startswith(incomplete.lower()):
            items.append(CompletionItem(rule.name, help=f"{rule.code}: {rule.title}"))
    return items


def rule_list(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The same for the last of several, with commas between them."""
    head, comma, last = incomplete.rpartition(",")
    return [CompletionItem(f"{head}{comma}{item.value}", help=item.help) for item in rules(ctx, param, last)]
