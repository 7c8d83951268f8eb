"""`onnxlint rules`: every rule in one line."""

from __future__ import annotations

import json

import click

from onnxlint.base.catalogue import load_catalogue
from onnxlint.cli.output import deliver, wants_color, width


@click.command("rules")
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(output_format: str) -> int:
    """List every rule: code, name, severity, title."""
    rules = load_catalogue()
    if output_format == "json":
        rows = [
            {"code": r.code, "name": r.name, "severity": r.severity.value, "title": r.title} for r in rules.values()
        ]
        return deliver(json.dumps(rows, indent=2), output_format)
    from onnxlint.report import rules_table

    return deliver(rules_table(rules, color=wants_color(), width=width()), "full")
