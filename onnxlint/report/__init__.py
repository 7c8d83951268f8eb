"""Report → str: one function per format. Only `render`, the rules' pages and the progress display are public."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from onnxlint.base.catalogue import Contract
from onnxlint.base.records import Report

FORMATS = ("full", "concise", "json", "sarif", "github", "gitlab", "rdjson", "junit")
MACHINE_FORMATS = frozenset({"json", "sarif", "gitlab", "rdjson", "junit"})  # always UTF-8, whatever the terminal is


def render(
    report: Report,
    format: str,
    *,
    color: bool,
    width: int,
    show_all: bool,
    sources: Callable[[str], list[str]] | None,
    catalogue: Mapping[str, Contract],
    quiet: bool = False,
    links: bool = False,
) -> str:
    """Render the report in one of FORMATS, findings by path and line, ending in a newline.

    The full text has the files with the most certain and the worst findings first.

    `sources(path)` is the lines of a file, empty where it has none; None leaves out the code. `width` is in cells.
    Without `show_all`, notes and findings that were not reproduced are left out, and counted in the summary.
    With `links` the codes in the full text are links to the contracts, where it is coloured.
    With `quiet` the formats for people hold findings and errors alone: no models, warnings or summary.
    Raises ValueError for an unknown format.
    """
    from onnxlint.report.common import words
    from onnxlint.report.common.printed import in_json, in_xml, printed

    ordered = sorted(report.findings, key=lambda f: (f.span.path, f.span.line, f.span.column, f.code))
    whole = dataclasses.replace(report, findings=tuple(ordered))
    shown = dataclasses.replace(whole, findings=tuple(f for f in ordered if show_all or not words.hidden(f)))
    if quiet and format in ("full", "concise"):
        errors = tuple(d for d in report.diagnostics if d.level == "error")
        whole, shown = (dataclasses.replace(r, diagnostics=errors) for r in (whole, shown))
    match format:
        case "full":
            from onnxlint.report.formats.text import text

            page: dict[str, Any] = {
                "color": color,
                "width": width,
                "show_all": show_all,
                "quiet": quiet,
                "links": links,
            }
            return text(shown, whole, sources=sources, catalogue=catalogue, **page)
        case "concise":
            from onnxlint.report.formats.concise import concise

            return printed(concise(shown, whole, show_all=show_all, quiet=quiet))
        case "json":
            from onnxlint.report.formats.as_json import as_json

            return in_json(as_json(shown, whole))
        case "sarif":
            from onnxlint.report.formats.sarif import sarif

            return in_json(sarif(shown, whole, catalogue))
        case "github":
            from onnxlint.report.formats.github import github

            return github(shown, whole, show_all=show_all)
        case "gitlab":
            from onnxlint.report.formats.gitlab import gitlab

            return in_json(gitlab(shown, whole))
        case "rdjson":
            from onnxlint.report.formats.rdjson import rdjson

            return in_json(rdjson(shown, whole, sources))
        case "junit":
            from onnxlint.report.formats.junit import junit

            return in_xml(junit(shown, whole))
    raise ValueError(f"`{format}` is not one of the formats {', '.join(FORMATS)}")


def statistics(report: Report, *, show_all: bool, machine: bool) -> str:
    """How often each rule was found, with which severities and verdicts: a table, or JSON for a machine."""
    from onnxlint.report.common.printed import printed
    from onnxlint.report.formats.tally import as_json, table

    return as_json(report, show_all=show_all) if machine else printed(table(report, show_all=show_all))


def explain_rule(rule: Contract, *, color: bool, width: int) -> str:
    """The rule's contract, rendered for a terminal."""
    from onnxlint.report.formats.rule_pages import explain

    return explain(rule, color=color, width=width)


def rules_table(catalogue: Mapping[str, Contract], *, color: bool, width: int) -> str:
    """Every rule of the catalogue in one table per family."""
    from onnxlint.report.formats.rule_pages import list_rules

    return list_rules(catalogue, color=color, width=width)
