"""The truth table of findings and evidence, row by row, then as laws."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxlint.base.catalogue import Contract, load_catalogue
from onnxlint.base.probe_records import ProbeResult
from onnxlint.base.records import (
    Cause,
    Evidence,
    ExporterResult,
    Finding,
    Location,
    ModelReport,
    ModelStatus,
    Outcome,
    Severity,
    Span,
    VerdictKind,
)
from onnxlint.verdicts import CONSEQUENCES, LARGE, failing, join, place

PATH = "models/net.py"
OWN_CODES = [f"ONX7{n:02}" for n in range(1, 14)]
CATALOGUE = {
    **load_catalogue(),
    **{code: Contract(code, f"rule-{code}", Severity.ERROR, None, {}, "", "", 1) for code in OWN_CODES},
}


def statement_lines(path: str, line: int) -> tuple[int, int]:
    """Statements of three lines: 10-12, 13-15, …; below 10 every line is its own."""
    if line < 10:
        return line, line
    first = 10 + (line - 10) // 3 * 3
    return first, first + 2


def finding(code: str = "ONX101", line: int = 10, path: str = PATH, **more: object) -> Finding:
    effects = {"torchscript": Outcome.WRONG_VALUES, "dynamo": Outcome.EXPORT_ERROR}
    base = Finding(code, "a-rule", Severity.WARNING, "a fault", Span(path, line, 5, line, 9), effects=effects)
    return dataclasses.replace(base, **more)  # type: ignore[arg-type]


def evidence(
    cause: Cause = Cause.BRANCH,
    *lines: int,
    exporter: str = "torchscript",
    symptom: Outcome = Outcome.WRONG_VALUES,
    model: str = "m:M",
    path: str = PATH,
) -> Evidence:
    frames = tuple(Location(path, line, "forward") for line in lines)
    return Evidence(model, exporter, cause, symptom, frames, "detail")


def result(
    *observed: Evidence,
    torchscript: Outcome = Outcome.WRONG_VALUES,
    dynamo: Outcome = Outcome.OK,
    reached: Sequence[int] = range(1, 40),
    status: ModelStatus = ModelStatus.PROBED,
    name: str = "m:M",
) -> ProbeResult:
    exporters = {"torchscript": ExporterResult(torchscript), "dynamo": ExporterResult(dynamo)}
    report = ModelReport(name, PATH, 3, status, exporters=exporters)
    return ProbeResult(report, observed, {PATH: tuple(reached)})


def joined(findings: Sequence[Finding], *results: ProbeResult) -> tuple[Finding, ...]:
    return join(findings, results, statement_lines, CATALOGUE)


def only(findings: Sequence[Finding], *results: ProbeResult) -> Finding:
    (found,) = joined(findings, *results)
    return found


@pytest.mark.parametrize(
    ("results", "verdict", "severity"),
    [
        pytest.param((), "suspected", "warning", id="nothing probed"),
        pytest.param((result(reached=(1, 13)),), "suspected", "warning", id="probed, but not reached"),
        pytest.param(
            (result(reached=(12,)),), "suspected", "warning", id="reached, the model fails for another reason"
        ),
        pytest.param(
            (result(torchscript=Outcome.OK, reached=(12,)),), "not-reproduced", "note", id="reached, and all is right"
        ),
        pytest.param(
            (result(torchscript=Outcome.OK), result(torchscript=Outcome.TIMEOUT)),
            "suspected",
            "warning",
            id="right in one model, not in another",
        ),
        pytest.param(
            (result(torchscript=Outcome.OK), result(torchscript=Outcome.CRASH, reached=())),
            "not-reproduced",
            "note",
            id="wrong only in a model that does not reach it",
        ),
        pytest.param(
            (result(torchscript=Outcome.OK, dynamo=Outcome.SKIPPED),),
            "suspected",
            "warning",
            id="an exporter that the rule speaks of did not run",
        ),
        pytest.param(
            (
                result(torchscript=Outcome.OK, dynamo=Outcome.SKIPPED),
                result(torchscript=Outcome.SKIPPED, dynamo=Outcome.OK),
            ),
            "not-reproduced",
            "note",
            id="each exporter ran for another model",
        ),
        pytest.param(
            (result(torchscript=Outcome.OK, status=ModelStatus.NOT_PROBED),), "suspected", "warning", id="not probed"
        ),
        pytest.param((result(evidence(Cause.BRANCH, 10)),), "confirmed", "error", id="failed at this line"),
        pytest.param((result(evidence(Cause.BRANCH, 12)),), "confirmed", "error", id="failed in this statement"),
        pytest.param(
            (result(evidence(Cause.MISMATCH, 30, 10)),), "confirmed", "error", id="a consequence in something called"
        ),
        pytest.param(
            (result(evidence(Cause.BRANCH, 10, symptom=Outcome.OK), torchscript=Outcome.OK),),
            "not-reproduced",
            "note",
            id="observed here, without harm",
        ),
        pytest.param((result(evidence(Cause.MISMATCH, 10)),), "confirmed", "error", id="only a consequence, here"),
    ],
)
def test_the_truth_table_of_one_finding(results: tuple[ProbeResult, ...], verdict: str, severity: str) -> None:
    found = only([finding()], *results)
    assert (found.verdict, found.severity) == (verdict, severity)
    assert bool(found.evidence) == (verdict == "confirmed" or any(r.evidence for r in results))


def test_the_call_site_is_not_the_cause() -> None:
    inner, outer = finding(line=30), finding(line=10)
    found = joined([inner, outer], result(evidence(Cause.BRANCH, 30, 10)))
    assert [(f.span.line, f.verdict) for f in found] == [(10, "suspected"), (30, "confirmed")]


def test_a_cause_in_the_users_own_code_is_not_put_on_its_caller() -> None:
    found = joined([finding(line=10)], result(evidence(Cause.BRANCH, 30, 10)))
    assert [(f.code, f.span.line, f.verdict) for f in found] == [
        ("ONX101", 10, "suspected"),
        ("ONX703", 30, "confirmed"),
    ]


def test_a_cause_in_a_library_is_put_on_its_caller() -> None:
    frames = (Location("/usr/lib/site-packages/timm/layers.py", 7), Location(PATH, 10))
    found = only([finding()], result(dataclasses.replace(evidence(Cause.REFUSED), frames=frames)))
    assert (found.code, found.verdict) == ("ONX101", "confirmed")


def test_an_inner_finding_of_an_unrelated_rule_does_not_take_the_evidence() -> None:
    inner, outer = finding("ONX304", line=30), finding("ONX205", line=10)
    found = joined([inner, outer], result(evidence(Cause.RUNTIME, 30, 10, symptom=Outcome.RUNTIME_ERROR)))
    assert [(f.code, f.verdict) for f in found] == [("ONX205", "confirmed"), ("ONX304", "suspected")]


def test_two_rules_on_one_statement_are_confirmed_by_the_same_evidence() -> None:
    found = joined([finding("ONX101"), finding("ONX401")], result(evidence(Cause.ESCAPE, 11)))
    assert [f.verdict for f in found] == ["confirmed", "confirmed"]


def test_confirmed_findings_keep_the_failures_only() -> None:
    harmless = evidence(Cause.BRANCH, 10, exporter="dynamo", symptom=Outcome.OK)
    bad = evidence(Cause.BRANCH, 10)
    assert only([finding()], result(harmless, bad)).evidence == (bad,)


@pytest.mark.parametrize(
    ("cause", "exporter", "code"),
    [
        (Cause.REFUSED, "torchscript", "ONX701"),
        (Cause.REFUSED, "dynamo", "ONX702"),
        (Cause.BRANCH, "torchscript", "ONX703"),
        (Cause.ESCAPE, "torchscript", "ONX704"),
        (Cause.GUARD, "dynamo", "ONX704"),
        (Cause.CONSTANT, "torchscript", "ONX704"),
        (Cause.MISMATCH, "dynamo", "ONX705"),
        (Cause.RUNTIME, "dynamo", "ONX706"),
        (Cause.RANDOM, "eager", "ONX707"),
        (Cause.INPUT_VANISHED, "torchscript", "ONX708"),
        (Cause.MUTATION, "eager", "ONX709"),
        (Cause.EAGER, "eager", "ONX710"),
    ],
)
def test_evidence_that_no_finding_explains_becomes_one(cause: Cause, exporter: str, code: str) -> None:
    found = only([], result(evidence(cause, 21, exporter=exporter)))
    assert (found.code, found.rule, found.verdict, found.severity) == (code, f"rule-{code}", "confirmed", "error")
    assert (found.span.path, found.span.line, found.symbol) == (PATH, 21, "forward")
    assert len(found.evidence) == 1


def test_what_makes_a_graph_large_is_one_warning_and_confirms_nothing() -> None:
    seen = [evidence(Cause.UNROLLED, 10, exporter=e, symptom=Outcome.OK) for e in ("torchscript", "dynamo")]
    large, static = joined([finding(line=10)], result(*seen, torchscript=Outcome.OK))
    assert (static.code, static.verdict, static.evidence) == ("ONX101", "not-reproduced", ())
    assert (large.code, large.severity, large.verdict) == ("ONX711", "warning", "suspected")
    assert large.evidence == tuple(seen)
    both = joined([], result(evidence(Cause.BRANCH, 21), *seen))
    assert [(f.code, f.verdict) for f in both] == [("ONX711", "suspected"), ("ONX703", "confirmed")]


def test_every_cause_of_a_failure_confirms_a_rule_and_only_consequences_show_at_its_line() -> None:
    rules = load_catalogue().values()
    assert frozenset().union(*(rule.confirmed_by for rule in rules)) == set(Cause) - (LARGE - {Cause.INPUT_VANISHED})
    assert frozenset().union(*(rule.shows_here for rule in rules)) <= CONSEQUENCES


def test_an_arm_that_no_input_took_keeps_a_finding_suspected_if_it_would_change_the_outputs() -> None:
    untried = evidence(Cause.BRANCH, 10, exporter="eager", symptom=Outcome.SKIPPED)
    alike = evidence(Cause.BRANCH, 10, exporter="eager", symptom=Outcome.OK)
    open_one = only([finding()], result(untried, torchscript=Outcome.OK))
    settled = only([finding()], result(alike, torchscript=Outcome.OK))
    assert (open_one.verdict, open_one.evidence) == (VerdictKind.SUSPECTED, (untried,))
    assert (settled.verdict, settled.evidence) == (VerdictKind.NOT_REPRODUCED, (alike,))


def test_harmless_evidence_becomes_no_finding() -> None:
    assert joined([], result(evidence(Cause.ESCAPE, 21, symptom=Outcome.OK))) == ()


def test_one_finding_per_statement_and_code() -> None:
    seen = [
        evidence(Cause.ESCAPE, 21),
        evidence(Cause.GUARD, 21, exporter="dynamo", symptom=Outcome.STATIC_DIM),
        evidence(Cause.ESCAPE, 20, model="n:N"),
        evidence(Cause.ESCAPE, 24),
    ]
    found = joined([], result(*seen))
    assert [f.span.line for f in found] == [21, 24]
    assert found[0].evidence == tuple(seen[:3])
    assert found[0].effects == {"torchscript": Outcome.WRONG_VALUES, "dynamo": Outcome.STATIC_DIM}
    assert found[1].evidence == (seen[3],)


def test_the_plainest_of_several_views_of_one_statement_takes_the_others() -> None:
    seen = [
        evidence(Cause.REFUSED, 21, exporter="dynamo", symptom=Outcome.EXPORT_ERROR),
        evidence(Cause.ESCAPE, 20),
        evidence(Cause.BRANCH, 21),
    ]
    found = only([], result(*seen))
    assert found.code == "ONX703"
    assert set(found.evidence) == set(seen)
    assert set(found.effects) == {"torchscript", "dynamo"}


def test_both_refusals_of_one_line_are_told_apart() -> None:
    seen = [evidence(Cause.REFUSED, 21, exporter=exporter) for exporter in ("torchscript", "dynamo")]
    assert [f.code for f in joined([], result(*seen))] == ["ONX701", "ONX702"]


def test_its_place_is_the_innermost_frame_in_a_file_that_is_checked() -> None:
    frames = (Location("/usr/lib/site-packages/timm/layers.py", 7), Location("../sibling.py", 3), Location(PATH, 21))
    seen = dataclasses.replace(evidence(Cause.REFUSED), frames=frames)
    assert only([], result(seen)).span.line == 21


LIBRARY = "/usr/lib/site-packages/timm/layers.py"


def in_library(line: int, function: str, cause: Cause = Cause.BRANCH) -> Evidence:
    frames = (
        Location(LIBRARY, line, function),
        Location(LIBRARY, 99, "Net.forward"),
        Location(PATH, 21, "Mine.forward"),
    )
    return dataclasses.replace(evidence(cause), frames=frames)


def test_what_goes_wrong_in_a_library_is_told_at_the_call_with_the_way_there() -> None:
    found = only([], result(in_library(7, "Norm.forward")))
    assert (found.span.path, found.span.line, found.symbol) == (PATH, 21, "Mine.forward")
    assert "depends on the input in `Norm.forward` (timm/layers.py:7), and" in found.message
    assert [(step.path, step.line) for step in found.trace] == [(PATH, 21), (LIBRARY, 99), (LIBRARY, 7)]


def test_two_functions_of_a_library_are_two_findings_and_two_lines_of_one_are_not() -> None:
    seen = [in_library(7, "Norm.forward"), in_library(9, "Norm.forward", Cause.ESCAPE), in_library(40, "Pool.forward")]
    found = joined([], result(*seen))
    assert [(f.code, f.span.line, len(f.evidence)) for f in found] == [("ONX703", 21, 2), ("ONX703", 21, 1)]
    assert len({f.fingerprint for f in found}) == 2


def test_without_such_a_frame_its_place_is_the_model() -> None:
    found = only([], result(evidence(Cause.RUNTIME)))
    assert (found.span.path, found.span.line) == (PATH, 3)


def test_the_columns_come_from_the_source() -> None:
    (found,) = join(
        [],
        [result(evidence(Cause.REFUSED, 21))],
        statement_lines,
        CATALOGUE,
        source_line=lambda path, line: "  y = x \n",
    )
    assert (found.span.column, found.span.end_column, found.text) == (3, 8, "y = x")


@pytest.mark.parametrize("cause", sorted(CONSEQUENCES))
def test_consequences_are_silent_where_a_cause_is_known(cause: Cause) -> None:
    found = only([finding()], result(evidence(Cause.BRANCH, 10), evidence(cause, 33)))
    assert (found.span.line, len(found.evidence)) == (10, 1)


@pytest.mark.parametrize("cause", sorted(CONSEQUENCES))
def test_consequences_are_silent_where_a_cause_became_a_finding(cause: Cause) -> None:
    found = only([], result(evidence(Cause.BRANCH, 21), evidence(cause, 33)))
    assert found.code == "ONX703"


def test_wrong_values_on_the_example_itself_are_a_cause_of_their_own() -> None:
    wrong = dataclasses.replace(evidence(Cause.MISMATCH, 33), variation="example")
    found = joined([finding()], result(evidence(Cause.BRANCH, 10), wrong))
    assert [(f.code, f.verdict) for f in found] == [("ONX101", "confirmed"), ("ONX705", "confirmed")]


def test_an_input_that_vanished_confirms_the_rule_that_foretold_it_in_that_function() -> None:
    frozen = finding("ONX108", line=21, symbol="models.net.Net.forward")
    seen = dataclasses.replace(evidence(Cause.INPUT_VANISHED), frames=(Location(PATH, 7, "Net.forward"),))
    found = only([frozen], result(seen))
    assert (found.code, found.verdict) == ("ONX108", "confirmed")


def test_consequences_speak_for_another_exporter() -> None:
    seen = (evidence(Cause.BRANCH, 10), evidence(Cause.MISMATCH, 33, exporter="dynamo"))
    assert [f.code for f in joined([finding()], result(*seen))] == ["ONX101", "ONX705"]


def test_consequences_do_not_confirm_a_second_finding_beside_the_cause() -> None:
    seen = (evidence(Cause.BRANCH, 10), evidence(Cause.MISMATCH, 33))
    found = joined([finding(), finding("ONX202", line=33)], result(*seen))
    assert [f.verdict for f in found] == ["confirmed", "suspected"]


def test_a_consequence_at_its_own_line_is_the_fault_of_some_rules() -> None:
    seen = (evidence(Cause.BRANCH, 10), evidence(Cause.CONSTANT, 33))
    found = joined([finding(), finding("ONX203", line=33)], result(*seen))
    assert [f.verdict for f in found] == ["confirmed", "confirmed"]


def test_a_second_refusal_at_another_line_is_a_second_finding() -> None:
    seen = (evidence(Cause.REFUSED, 10, exporter="dynamo"), evidence(Cause.REFUSED, 21, exporter="dynamo"))
    assert [f.code for f in joined([finding()], result(*seen))] == ["ONX101", "ONX702"]


def test_the_refusal_of_what_comes_back_from_numpy_is_told_where_it_left_torch() -> None:
    escape = evidence(Cause.ESCAPE, 10, 30, symptom=Outcome.EXPORT_ERROR)
    refused = evidence(Cause.REFUSED, 13, 30, symptom=Outcome.EXPORT_ERROR)
    refused = dataclasses.replace(refused, detail="Couldn't export operator aten::lift_fresh")
    numpy = finding("ONX402")
    assert only([numpy], result(escape, refused)).evidence == (escape, refused)
    other = dataclasses.replace(refused, detail="Couldn't export operator aten::erfinv")
    elsewhere = dataclasses.replace(refused, frames=(Location(PATH, 13, "forward"), Location(PATH, 33, "forward")))
    for apart in (other, elsewhere):
        assert [f.code for f in joined([numpy], result(escape, apart))] == ["ONX402", "ONX701"]


def test_a_failure_explained_at_its_own_line_is_not_told_twice() -> None:
    seen = (evidence(Cause.BRANCH, 10), evidence(Cause.RANDOM, 11))
    assert [f.code for f in joined([finding()], result(*seen))] == ["ONX101"]


def test_what_eager_does_explains_the_exporters() -> None:
    seen = (
        evidence(Cause.RANDOM, 21, exporter="eager", symptom=Outcome.NONDETERMINISTIC),
        evidence(Cause.MISMATCH, 33, exporter="dynamo"),
    )
    assert [f.code for f in joined([], result(*seen))] == ["ONX707"]


def test_eager_failing_below_a_literal_size_confirms_the_literal() -> None:
    effects = {"torchscript": Outcome.EAGER_ERROR, "dynamo": Outcome.EAGER_ERROR}
    literal = finding("ONX201", line=10, symbol="models.net.Net.forward", effects=effects)
    other = finding("ONX201", line=10, symbol="models.net.Other.forward", effects=effects)
    seen = evidence(Cause.EAGER, exporter="eager", symptom=Outcome.EAGER_ERROR)
    seen = dataclasses.replace(seen, frames=(Location(PATH, 21, "Net.forward"),))
    found = joined([literal, other], result(seen, torchscript=Outcome.EAGER_ERROR, dynamo=Outcome.EAGER_ERROR))
    assert [(f.symbol, f.verdict) for f in found] == [
        ("models.net.Net.forward", "confirmed"),
        ("models.net.Other.forward", "suspected"),
    ]


@pytest.mark.parametrize(
    ("line", "symptom", "confirmed"),
    [(10, Outcome.WRONG_VALUES, True), (10, Outcome.SHAPE_ERROR, False), (30, Outcome.WRONG_VALUES, False)],
)
def test_a_consequence_confirms_upstream_only_what_was_foretold(line: int, symptom: Outcome, confirmed: bool) -> None:
    above = finding("ONX406", line=line, symbol="models.net.Net.forward")
    seen = dataclasses.replace(evidence(Cause.MISMATCH, symptom=symptom), frames=(Location(PATH, 21, "Net.forward"),))
    found = joined([above], result(seen))
    assert any(f.code == "ONX406" and f.verdict == "confirmed" for f in found) is confirmed
    assert any(f.code == "ONX705" for f in found) is not confirmed


def test_a_declaration_is_confirmed_by_what_shows_elsewhere_in_its_file() -> None:
    declared = finding("ONX306", line=5)
    found = only([declared], result(evidence(Cause.RANDOM, 21, symptom=Outcome.NONDETERMINISTIC)))
    assert (found.code, found.verdict) == ("ONX306", "confirmed")


def test_a_declaration_in_a_file_that_the_model_does_not_reach_is_not_confirmed() -> None:
    declared = finding("ONX306", line=5, path="models/other.py")
    found = joined([declared], result(evidence(Cause.RANDOM, 21, symptom=Outcome.NONDETERMINISTIC)))
    assert [(f.code, f.verdict) for f in found] == [("ONX707", "confirmed"), ("ONX306", "suspected")]


CODES = ("ONX101", "ONX106", "ONX201", "ONX203", "ONX304", "ONX305", "ONX306", "ONX405", "ONX501")
lines = st.integers(1, 30)
findings_of = st.lists(st.builds(finding, st.sampled_from(CODES), lines), max_size=6)
evidence_of = st.builds(
    lambda cause, where, exporter, symptom, model: evidence(
        cause, *where, exporter=exporter, symptom=symptom, model=model
    ),
    st.sampled_from(Cause),
    st.lists(lines, max_size=3),
    st.sampled_from(("torchscript", "dynamo", "eager")),
    st.sampled_from(Outcome),
    st.sampled_from(("m:M", "n:N")),
)
results_of = st.lists(
    st.builds(
        lambda seen, torchscript, dynamo, reached, name: result(
            *seen, torchscript=torchscript, dynamo=dynamo, reached=reached, name=name
        ),
        st.lists(evidence_of, max_size=5),
        st.sampled_from(Outcome),
        st.sampled_from(Outcome),
        st.lists(lines, max_size=10),
        st.sampled_from(("m:M", "n:N")),
    ),
    max_size=3,
)


@given(findings_of, results_of)
def test_no_finding_is_lost_and_only_onx7_are_added(findings: list[Finding], results: list[ProbeResult]) -> None:
    found = joined(findings, *results)
    kept = [f for f in found if not f.code.startswith("ONX7")]
    assert sorted((f.code, f.span.line) for f in kept) == sorted((f.code, f.span.line) for f in findings)
    assert list(found) == sorted(found, key=place)


@given(findings_of, results_of)
def test_verdict_severity_and_evidence_agree(findings: list[Finding], results: list[ProbeResult]) -> None:
    for found in joined(findings, *results):
        if found.verdict is VerdictKind.CONFIRMED:
            assert found.severity is Severity.ERROR
            assert found.evidence
            assert all(failing(e) for e in found.evidence)
        else:
            assert not any(failing(e) for e in found.evidence)
            assert (found.severity is Severity.NOTE) == (found.verdict is VerdictKind.NOT_REPRODUCED)


@given(findings_of, results_of)
def test_a_failure_with_a_cause_is_never_swallowed(findings: list[Finding], results: list[ProbeResult]) -> None:
    """Each failing (model, exporter) with evidence of a cause is in some finding, itself or through eager."""
    found = joined(findings, *results)
    told = {(e.model, e.exporter) for f in found for e in f.evidence}
    models = {r.report.name for r in results}
    for r in results:
        for e in r.evidence:
            if failing(e) and e.model in models:
                assert (e.model, e.exporter) in told or (e.model, "eager") in told


@given(findings_of, results_of)
def test_joining_again_changes_nothing(findings: list[Finding], results: list[ProbeResult]) -> None:
    once = joined(findings, *results)
    again = joined([f for f in once if not f.code.startswith("ONX7")], *results)
    assert [(f.code, f.span, f.evidence) for f in again] == [(f.code, f.span, f.evidence) for f in once]


@given(findings_of)
def test_without_probes_nothing_changes_but_the_order(findings: list[Finding]) -> None:
    assert list(joined(findings)) == sorted(findings, key=place)


def whole(text: str, **more: object) -> list[tuple[str, VerdictKind]]:
    """What becomes of a finding about forward's outputs and of evidence that points at line 5, which reads `text`."""
    effects = {"torchscript": Outcome.OK, "dynamo": Outcome.RUNTIME_ERROR}
    returned = finding("ONX415", 13, symbol="models.net.M.forward", effects=effects)
    base = {"exporter": "dynamo", "symptom": Outcome.RUNTIME_ERROR, **more}
    seen = evidence(Cause.RUNTIME, 5, **base)  # type: ignore[arg-type]
    joined = join([returned], [result(seen)], statement_lines, CATALOGUE, source_line=lambda path, line: text)
    return [(f.code, f.verdict) for f in joined]


def test_what_shows_at_the_head_of_forward_confirms_a_finding_about_its_outputs() -> None:
    assert whole("    def forward(self, x):") == [("ONX415", VerdictKind.CONFIRMED)]


def test_what_shows_at_a_line_of_its_own_is_no_fault_of_the_outputs() -> None:
    codes = [code for code, _ in whole("        x = x + 1")]
    assert codes == ["ONX706", "ONX415"]


def test_what_the_rule_does_not_foretell_is_no_fault_of_the_outputs() -> None:
    found = whole("    def forward(self, x):", symptom=Outcome.SHAPE_ERROR)
    assert ("ONX415", VerdictKind.CONFIRMED) not in found
