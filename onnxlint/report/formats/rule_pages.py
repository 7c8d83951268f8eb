"""The pages about rules: one contract rendered for a terminal, and the table of all of them."""

import re
from collections.abc import Mapping
from itertools import groupby

from rich import box
from rich.markdown import Markdown
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

from onnxlint.base.catalogue import Contract
from onnxlint.base.records import EXPORTER_NAMES, Outcome, Severity
from onnxlint.report.common.console import Page
from onnxlint.report.common.words import FAMILIES, OUTCOME_LABELS, OUTCOME_SENTENCES

_CODE = re.compile(r"^```.*?^```|(?<!`)`([^`]+)`(?!`)", re.MULTILINE | re.DOTALL)  # a block, or code in a line
_NARROWEST, _NARROWEST_TABLE = 30, 60
_THEME = Theme({"markdown.h2": "bold underline", "markdown.code": "cyan", "markdown.item.bullet": "dim"})
_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}


def explain_rule(rule: Contract, *, color: bool, width: int) -> str:
    """The contract of one rule: what becomes of it in each exporter, then its sections."""
    console = Page(color=color, width=max(_NARROWEST, min(width, 110)), theme=_THEME)
    head = Text.styled(rule.code, f"bold {_COLOURS[rule.severity]}")
    head.append(f"  {rule.name}", style="bold")
    console.print(head.append(f"  {rule.severity}", style=_COLOURS[rule.severity]))
    console.print(Text(rule.title))
    console.print()
    for exporter, outcome in rule.effects.items():
        line = Text.styled(f"  {EXPORTER_NAMES[exporter]:<12} ", "bold")
        console.print(line.append_text(_effect(outcome, OUTCOME_SENTENCES[outcome])))
    console.print()
    body = sections(rule)
    if not color:  # nothing else tells code from prose then
        body = _CODE.sub(lambda match: f"`` {match[0]} ``" if match[1] else match[0], body)
    console.print(Markdown(body, code_theme="ansi_dark", hyperlinks=False, justify="left"))
    return _text(console)


def sections(rule: Contract) -> str:
    """The sections of a contract as people read them: the line at fault has the code, other marks are for the tests."""
    body = rule.text.partition(f"# {rule.title}")[2].strip()
    return re.sub(r"# expect: (?=ONX)", "# ", re.sub(r"  # dynamic: ONX[A-Z]*\d+$", "", body, flags=re.MULTILINE))


def rules_table(catalogue: Mapping[str, Contract], *, color: bool, width: int) -> str:
    """All rules by family: code, name, severity, what becomes of it in each exporter, what the fix promises."""
    console = Page(color=color, width=max(_NARROWEST_TABLE, width), theme=_THEME)
    rules = sorted(catalogue.values(), key=lambda rule: rule.code)
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.header_style, table.border_style = "bold", "dim"
    for column in ("code", "name", "severity"):
        table.add_column(column, no_wrap=True)
    for column in ("TorchScript", "dynamo"):
        table.add_column(column, overflow="fold", min_width=10)
    table.add_column("fix", no_wrap=True)
    for family, members in groupby(rules, key=lambda rule: rule.code[:-2]):
        first, *others = members
        title = first.plugin.distribution if first.plugin is not None else FAMILIES.get(family, "")
        table.add_row(Text.styled(f"{family}xx", "cyan"), Text.styled(title, "bold cyan"))
        for rule in (first, *others):
            severity = Text.styled(rule.severity.value, _COLOURS[rule.severity])
            effects = (_effect(outcome, OUTCOME_LABELS[outcome]) for outcome in rule.effects.values())
            fix = Text.styled(rule.fix.value if rule.fix else "–", "dim")
            table.add_row(Text.styled(rule.code, "bold"), Text(rule.name), severity, *effects, fix)
        table.add_section()
    console.print(table)
    console.print()
    console.print(Text.styled(f"{len(rules)} rules; `onnxlint explain CODE` tells all about one.", "dim"))
    return _text(console)


def _effect(outcome: Outcome, effect: str) -> Text:
    if outcome is Outcome.OK:
        return Text.styled("✓ ", "green").append("not affected", style="dim")
    return Text.styled("✗ ", "bold red").append(effect, style="none")


def _text(console: Page) -> str:
    return re.sub(r"\n{3,}", "\n\n", console.drawn)
