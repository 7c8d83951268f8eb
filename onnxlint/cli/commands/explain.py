"""`onnxlint explain`: one rule, as its contract has it."""

import click

from onnxlint.base.catalogue import load_catalogue, plugin_faults
from onnxlint.cli.options import rule_items
from onnxlint.cli.output import deliver, wants_color, width
from onnxlint.config.rule_selectors import unknown_selector


@click.command("explain")
@click.argument("rule", shell_complete=rule_items)
def command(rule: str) -> int:
    """Explain RULE, a code such as ONX101 or a name such as tensor-branch."""
    rules = load_catalogue()
    contract = next((r for r in rules.values() if rule.upper() == r.code or rule.lower() == r.name), None)
    if contract is None:
        names = {r.code: r.name for r in rules.values()}
        if rule.upper() in plugin_faults():
            raise click.ClickException(plugin_faults()[rule.upper()])
        meant = [f"{code} ({name})" for code, name in names.items() if code.startswith(rule.upper())]
        several = f"`{rule}` means {len(meant)} rules; choose one: {', '.join(meant)}"
        raise click.BadParameter(unknown_selector(rule, names) or several, param_hint="RULE")
    from onnxlint.report.formats.rule_pages import explain_rule

    return deliver(explain_rule(contract, color=wants_color(), width=min(width(), 100)), "full")
