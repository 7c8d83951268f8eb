"""Every format on hand-made reports, compared with what a person has looked at and approved."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import report_samples as samples

from onnxlint.base.catalogue import load_catalogue
from onnxlint.base.records import Report
from onnxlint.report import FORMATS, render
from onnxlint.report.formats.rule_pages import explain_rule, rules_table

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


def test_a_rule_explained(golden: Golden) -> None:
    golden("explain.txt", explain_rule(samples.RULE, color=False, width=90))


def test_a_rule_explained_in_colour(golden: Golden) -> None:
    golden("explain.ansi", explain_rule(samples.RULE, color=True, width=90))


def test_a_rule_explained_in_a_narrow_terminal() -> None:
    lines = explain_rule(samples.RULE, color=False, width=40).splitlines()
    assert max(map(len, lines)) <= 40
    assert samples.RULE.code in lines[0]


def test_the_table_of_rules(golden: Golden) -> None:
    golden("rules.txt", rules_table(samples.catalogue(), color=False, width=100))


def test_every_shipped_contract_is_explained_with_its_code_title_and_good_example() -> None:
    for rule in load_catalogue().values():
        page = explain_rule(rule, color=False, width=110)
        assert rule.code in page
        assert rule.title in page
        if rule.good:
            assert rule.good.splitlines()[-1].strip()[:60] in page


def test_an_empty_report_says_what_was_looked_at() -> None:
    page = render(Report(), "full", color=False, width=80, show_all=False, sources=None, catalogue={})
    assert page == "Nothing found in 0 files; no model probed; 0.0 s\n"


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError, match="`xml` is not one of the formats full, concise"):
        render(Report(), "xml", color=False, width=80, show_all=False, sources=None, catalogue={})
