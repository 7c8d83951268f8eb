"""The pages about rules: one contract rendered for a terminal, and the table of all of them."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from itertools import groupby

from rich import box
from rich.console import Console
from rich.markdown import Markdown
from rich.table import Table
from rich.text import Text

from onnxlint.catalogue import Rule
from onnxlint.records import Outcome, Severity
from onnxlint.report.words import EXPORTER_NAMES, OUTCOME_LABELS, OUTCOME_SENTENCES

FAMILIES: Mapping[str, str] = {
    "ONX1": "control flow",
    "ONX2": "shapes",
    "ONX3": "mode and state",
    "ONX4": "escapes and operators",
    "ONX5": "export call sites",
    "ONX7": "found by running",
    "ONX9": "about the run",
}
_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
_FIXES = {"safe": "fixable", "unsafe": "fixable (unsafe)", "manual": "advice"}


def explain(rule: Rule, *, color: bool, width: int) -> str:
    """The contract of one rule: what becomes of it in each exporter, then its sections."""
    console = _console(color=color, width=min(width, 110))
    head = Text(rule.code, style=f"bold {_COLOURS[rule.severity]}")
    console.print(
        head.append(f"  {rule.name}", style="bold").append(f"  {rule.severity}", style=_COLOURS[rule.severity])
    )
    console.print(Text(rule.title))
    console.print()
    for exporter, outcome in rule.effects.items():
        line = Text(f"  {EXPORTER_NAMES[exporter]:<12} ", style="bold")
        console.print(line.append_text(_effect(outcome, OUTCOME_SENTENCES[outcome])))
    console.print()
    body = rule.text.partition(f"# {rule.title}")[2].strip()
    console.print(Markdown(body, code_theme="ansi_dark", hyperlinks=False, justify="left"))
    return _text(console)


def list_rules(catalogue: Mapping[str, Rule], *, color: bool, width: int) -> str:
    """One table per family: code, name, severity, what becomes of it in each exporter, whether there is a fix."""
    console = _console(color=color, width=width)
    rules = sorted(catalogue.values(), key=lambda rule: rule.code)
    for family, members in groupby(rules, key=lambda rule: rule.code[:4]):
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold", title_justify="left")
        title = Text(f"{family}xx ", style="bold").append(FAMILIES.get(family, ""), style="bold cyan")
        console.print(title)
        table.add_column("code", no_wrap=True, width=6)
        table.add_column("name", overflow="fold", min_width=18, width=26)
        table.add_column("severity", no_wrap=True, width=8)
        table.add_column("TorchScript", overflow="fold", min_width=12, width=20)
        table.add_column("dynamo", overflow="fold", min_width=12, width=20)
        table.add_column("fix", overflow="fold", min_width=7, width=16)
        for rule in members:
            table.add_row(
                Text(rule.code, style="bold"),
                rule.name,
                Text(rule.severity.value, style=_COLOURS[rule.severity]),
                *(_effect(outcome, OUTCOME_LABELS[outcome]) for outcome in rule.effects.values()),
                Text(_FIXES[rule.fix] if rule.fix else "–", style="dim"),
            )
        console.print(table)
        console.print()
    console.print(Text(f"{len(rules)} rules; `onnxlint explain CODE` tells all about one.", style="dim"))
    return _text(console)


def _effect(outcome: Outcome, told: str) -> Text:
    if outcome is Outcome.OK:
        return Text("✓ ", style="green").append("not affected", style="dim")
    return Text("✗ ", style="bold red").append(told, style="none")


def _console(*, color: bool, width: int) -> Console:
    return Console(
        file=io.StringIO(),
        width=max(60, width),
        force_terminal=color,
        color_system="standard" if color else None,
        no_color=not color,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )


def _text(console: Console) -> str:
    stream = console.file
    assert isinstance(stream, io.StringIO)
    return re.sub(r"[ ]+$", "", stream.getvalue(), flags=re.MULTILINE)
