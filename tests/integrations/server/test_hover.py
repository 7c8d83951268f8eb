"""What stands under the pointer: a rule in short, as Markdown that no other text can steer."""

from __future__ import annotations

import pytest

from onnxlint.base.catalogue import load_catalogue
from onnxlint.base.records import Cause, Evidence, Finding, Outcome, Severity, Span
from onnxlint.integrations.server.hover import code_at, of_findings, of_rule

RULES = load_catalogue()
SEEN = Evidence(
    "M",
    "dynamo",
    Cause.REFUSED,
    Outcome.EXPORT_ERROR,
    (),
    "<b>u0 > 0</b> | `x` *y*",
    "batch=3",
    max_abs=0.5,
    repro="a b/r.py",
)


def finding(code: str, *evidence: Evidence) -> Finding:
    return Finding(code, "rule", Severity.ERROR, "told", Span("m.py", 1, 1, 1, 2), evidence=evidence)


def test_a_rule_says_what_why_and_what_to_do() -> None:
    rule = RULES["ONX101"]
    text = of_rule(rule)
    assert text.startswith(f"**ONX101** {rule.name}: {rule.title}\n\n")
    for part in (rule.what, rule.why, f"**Fix.** {rule.advice.strip()}"):
        assert part.strip().split("\n\n")[0] in text
    assert text.endswith("`onnxlint explain ONX101` tells more.")
    assert "\n\n\n" not in text


def test_what_was_observed_is_text_with_the_command_to_see_it_again() -> None:
    text = of_rule(RULES["ONX101"], [finding("ONX101", SEEN)])
    assert "*dynamo* on batch=3 – max abs error 0.5: \\<b\\>u0 \\> 0\\</b\\> \\| \\`x\\` \\*y\\*" in text
    assert "Re-run: `python a b/r.py`" in text
    assert of_rule(RULES["ONX101"], [finding("ONX101", *[SEEN] * 5)]).count("max abs error") == 2


def test_each_rule_stands_once_and_an_unknown_one_not_at_all() -> None:
    findings = [finding("ONX101"), finding("ONX201"), finding("ONX101", SEEN), finding("ONX999")]
    first, second = of_findings(findings, RULES).split("\n\n---\n\n")
    assert first.startswith("**ONX101**")
    assert "max abs error" in first
    assert second.startswith("**ONX201**")
    assert of_findings([], RULES) == of_findings([finding("ONX999")], RULES) == ""


@pytest.mark.parametrize(
    ("line", "column", "code"),
    [
        ("x = 1  # noqa: ONX101, ONX202", 16, ("ONX101", 16, 22)),
        ("x = 1  # noqa: ONX101, ONX202", 22, ("ONX101", 16, 22)),
        ("x = 1  # noqa: ONX101, ONX202", 24, ("ONX202", 24, 30)),
        ("x = 1  # noqa: ONX101, ONX202", 15, None),
        ("ONX101 = 'größe'", 2, None),
        ("# ONXACME001", 4, ("ONXACME001", 3, 13)),
        ("# ONX1011", 4, None),
        ("", 1, None),
    ],
)
def test_a_code_in_a_comment_is_under_the_pointer(line: str, column: int, code: tuple[str, int, int] | None) -> None:
    assert code_at(line, column) == code
