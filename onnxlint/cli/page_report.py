"""`--report` and `--open`: the report as a page, written and opened in the browser."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import click

from onnxlint.base.catalogue import load_catalogue
from onnxlint.base.records import Report
from onnxlint.cli.output import tell, write_file


def write_page(
    path: Path, report: Report, show_all: bool, sources: Callable[[str], list[str]], *, launch: bool
) -> bool:
    """Write the page and return whether that went well. One that is not opened is no failure of the run."""
    from onnxlint.report.html import page

    made = time.strftime("%Y-%m-%d %H:%M %Z")
    fault = write_file(path, page(report, show_all=show_all, sources=sources, catalogue=load_catalogue(), made=made))
    if fault is not None:
        tell(f"onnxlint: {fault}")
        return False
    if launch and click.launch(str(path)) != 0:
        tell(f"onnxlint: no browser could be started; open {path}")
    return True
