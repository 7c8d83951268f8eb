"""A rule explained in a terminal, and the table of all rules."""

from __future__ import annotations

from collections.abc import Callable

import report_samples as samples

from onnxlint.base.catalogue import load_catalogue
from onnxlint.report.formats.rule_pages import explain_rule, rules_table

Golden = Callable[[str, str], None]


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
