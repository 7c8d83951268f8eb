"""Every format on hand-made reports, compared with what a person has looked at and approved."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import report_samples as samples

from onnxlint.base.records import Report
from onnxlint.report import FORMATS, render

Golden = Callable[[str, str], None]
SUFFIX = {
    "full": "txt",
    "concise": "concise.txt",
    "json": "json",
    "sarif": "sarif",
    "github": "github.txt",
    "gitlab": "gitlab.json",
    "rdjson": "rdjson.json",
    "junit": "junit.xml",
}


def rendered(name: str, format: str, *, width: int = 100, color: bool = False, show_all: bool = False) -> str:
    return render(
        samples.REPORTS[name],
        format,
        color=color,
        width=width,
        show_all=show_all,
        sources=samples.sources,
        catalogue=samples.catalogue(),
    )


@pytest.mark.parametrize("name", sorted(samples.REPORTS))
@pytest.mark.parametrize("format", FORMATS)
def test_every_format_renders_every_report(golden: Golden, name: str, format: str) -> None:
    golden(f"{name}.{SUFFIX[format]}", rendered(name, format))


def test_full_text_in_colour(golden: Golden) -> None:
    golden("whole-colour.ansi", rendered("whole", "full", color=True, show_all=True))


@pytest.mark.parametrize("width", [60, 200])
def test_full_text_at_the_extremes_of_width(golden: Golden, width: int) -> None:
    golden(f"spans-{width}.txt", rendered("spans", "full", width=width))
    golden(f"whole-{width}.txt", rendered("whole", "full", width=width))


def test_an_empty_report_says_what_was_looked_at() -> None:
    page = render(Report(), "full", color=False, width=80, show_all=False, sources=None, catalogue={})
    assert page == "Nothing found in 0 files; no model probed; 0.0 s\n"


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError, match="`xml` is not one of the formats full, concise"):
        render(Report(), "xml", color=False, width=80, show_all=False, sources=None, catalogue={})
