"""A report as one HTML file that opens from the disk: nothing in it is loaded, and nothing in it is run but its own."""

import hashlib
import shlex
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path

from onnxlint.base.catalogue import Contract
from onnxlint.base.records import Report, Sources

NEEDED = ("jinja2", "markdown_it", "pygments")  # by onnxlint[report]
_FOLDER = Path(__file__).parent / "templates"


def page(report: Report, *, show_all: bool, sources: Sources, catalogue: Mapping[str, Contract], made: str = "") -> str:
    """Render the page. What `--show all` adds is in it always, and without `show_all` it is filtered out at first.
    `sources(path)` is the lines of a file, `made` tells when it was written."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    from onnxlint.base.paths import package_path
    from onnxlint.report.common import words
    from onnxlint.report.html.arrange import overview, place
    from onnxlint.report.html.drawing import drawing
    from onnxlint.report.html.prose import markdown, prose, visibly

    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        finalize=visibly,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"words": words, "place": place, "package_path": package_path, "drawing": drawing}
    environment.filters |= {"prose": prose, "markdown": markdown, "quoted": shlex.quote}
    environment.filters["digest"] = lambda t: f"sha256-{b64encode(hashlib.sha256(t.encode()).digest()).decode()}"
    style, script = ((_FOLDER / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    view = overview(report, show_all=show_all, sources=sources, catalogue=catalogue)
    return environment.get_template("page.html.jinja").render(view=view, made=made, style=style, script=script)
