"""Every rule by its code."""

from __future__ import annotations

import pytest

from onnxlint.base import workers
from onnxlint.base.catalogue import load_catalogue
from onnxlint.base.records import Safety
from onnxlint.rules.engine.registry import all_rules, ends_run, rules_of, titled


def test_every_contract_has_a_rule_that_promises_what_it_says() -> None:
    rules = all_rules()
    static = {
        code: contract for code, contract in load_catalogue().items() if contract.plugin is None and code in rules
    }
    assert len(static) == len(rules) > 80
    assert {code: rule.safety for code, rule in rules.items()} == {c: r.fix or Safety.MANUAL for c, r in static.items()}


def test_rules_are_given_by_code_and_what_has_none_is_passed_over() -> None:
    rules, broken = rules_of(["ONX101", "ONX999"])
    assert (list(rules), broken) == (["ONX101"], [])
    assert type(rules["ONX101"]).__name__ == "TensorBranch"
    assert titled("ONX101") == "ONX101"


@pytest.mark.parametrize(
    ("error", "ends"),
    [
        (KeyboardInterrupt(), True),
        (type("End", (BaseException,), {"__module__": workers.__name__})(), True),
        (SystemExit(0), False),
        (ValueError(), False),
    ],
    ids=["Ctrl-C", "the end of a worker", "a rule that exits", "an error of a rule"],
)
def test_an_interrupt_is_told_from_an_error_of_a_rule(error: BaseException, ends: bool) -> None:
    assert ends_run(error) is ends
