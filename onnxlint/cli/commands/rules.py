"""`onnxlint rules`: every rule there is."""

import json

import click

from onnxlint.base.catalogue import load_catalogue, plugin_faults
from onnxlint.cli import FAILED
from onnxlint.cli.output import deliver, tell, wants_color, width


@click.command("rules")
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(output_format: str) -> int:
    """List all rules, those of installed packages included: code, name, severity and title."""
    rules = load_catalogue()
    for fault in plugin_faults().values():
        tell(f"onnxlint: {fault}")
    missing = FAILED if plugin_faults() else 0
    if output_format == "json":
        rows = [{"code": r.code, "name": r.name, "severity": r.severity, "title": r.title} for r in rules.values()]
        return max(missing, deliver(json.dumps(rows, indent=2), output_format))
    from onnxlint.report.formats.rule_pages import rules_table

    return max(missing, deliver(rules_table(rules, color=wants_color(), width=width()), "full"))
