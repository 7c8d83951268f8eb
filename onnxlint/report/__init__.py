"""Report → str: one function per format."""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from onnxlint.base.catalogue import Contract
from onnxlint.base.records import Report, Sources

FORMATS = ("full", "concise", "json", "sarif", "github", "gitlab", "rdjson", "junit")
MACHINE_FORMATS = frozenset({"json", "sarif", "gitlab", "rdjson", "junit"})  # always UTF-8, whatever the terminal is


def render(
    report: Report,
    format: str,
    *,
    color: bool,
    width: int,
    show_all: bool,
    sources: Sources | None,
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
    if format == "full":
        from onnxlint.report.formats.text import text

        page: dict[str, Any] = {"color": color, "width": width, "show_all": show_all, "quiet": quiet, "links": links}
        return text(shown, whole, sources=sources, catalogue=catalogue, **page)
    from onnxlint.report.formats import as_json, concise, github, gitlab, junit, rdjson, sarif

    data: Any
    match format:
        case "concise":
            return printed(concise.concise(shown, whole, show_all=show_all, quiet=quiet))
        case "github":
            return github.github(shown, whole, show_all=show_all)
        case "junit":
            return in_xml(junit.junit(shown, whole))
        case "json":
            data = as_json.as_json(shown, whole)
        case "sarif":
            data = sarif.sarif(shown, whole, catalogue)
        case "gitlab":
            data = gitlab.gitlab(shown, whole)
        case "rdjson":
            data = rdjson.rdjson(shown, whole, sources)
        case _:
            raise ValueError(f"`{format}` is not one of the formats {', '.join(FORMATS)}")
    return in_json(json.dumps(data, indent=2, allow_nan=False) + "\n")
