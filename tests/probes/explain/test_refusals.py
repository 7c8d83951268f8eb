"""What is told of a refused export: what the exporter names, what it would have met next, and what is no cause."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from probing import hazard, lines

from onnxlint.base.probe_records import Probe
from onnxlint.base.records import Cause
from onnxlint.probes.confirm.trials import Confirmation
from onnxlint.probes.explain.causes import Explanation
from onnxlint.probes.explain.refusals import refused
from onnxlint.probes.exporters import dynamo, torchscript
from onnxlint.probes.observe.eager import Eager, explore, prepare

pytestmark = pytest.mark.slow
MODULE = "many_causes"


def eagerly(probe: Probe) -> Eager:
    eager = prepare(probe)
    explore(probe, eager)
    return eager


def explained(probe: Probe, eager: Eager, folder: Path) -> list[Explanation]:
    """The explanations of the one exporter of a probe, which has to refuse the model."""
    export = {"dynamo": dynamo.export, "torchscript": torchscript.export}[probe.exporters[0]]
    made = export(eager.fresh(), eager.example, probe.opset, folder, probe.root)
    assert made.error
    return refused(probe, eager, Confirmation(made))


def places(explanations: Sequence[Explanation]) -> dict[int, set[Cause]]:
    found: dict[int, set[Cause]] = {}
    for e in explanations:
        found.setdefault(e.frames[0].line, set()).add(e.cause)
    return found


def many(factory: str, exporter: str, folder: Path, inputs: str = "x26") -> tuple[Probe, list[Explanation]]:
    probe = hazard(factory, folder, inputs, exporters=(exporter,), module=MODULE)
    return probe, explained(probe, eagerly(probe), folder)


def test_dynamo_is_asked_what_it_would_have_met_next(tmp_path: Path) -> None:
    _, explanations = many("Reads", "dynamo", tmp_path)
    found = places(explanations)
    assert set(found) == set(lines("Reads", module=MODULE))
    assert all(Cause.REFUSED in causes for causes in found.values())
    refusals = [e.frames[0].line for e in explanations if e.cause is Cause.REFUSED]
    assert len(refusals) == len(set(refusals)), "each line once, in the exporter's words"
    branch = next(e for e in explanations if e.cause is Cause.BRANCH)
    assert branch.label in branch.labels, "an input that shows it"


def test_a_size_that_the_capture_took_for_granted_is_told_where_an_accepted_input_breaks_it(tmp_path: Path) -> None:
    _, explanations = many("Sizes", "dynamo", tmp_path)
    read, branch, loop = lines("Sizes", module=MODULE)
    guards = {e.frames[0].line: e for e in explanations if e.cause is Cause.GUARD}
    assert set(guards) == {branch, loop}
    assert "the export assumes `x.shape[0] <= 4`" in guards[branch].detail
    assert (guards[branch].label, guards[loop].label) == ("batch=5", "batch=3")
    assert Cause.REFUSED in places(explanations)[read]


def test_torchscript_is_carried_past_operators_to_what_it_froze_of_values_and_sizes(tmp_path: Path) -> None:
    _, explanations = many("Mixed", "torchscript", tmp_path)
    both, scripted = lines("Mixed", "# both", MODULE), lines("Mixed", "# torchscript", MODULE)
    causes = [Cause.BRANCH, *[Cause.REFUSED] * 3, *[Cause.ESCAPE] * 2]
    assert places(explanations) == {line: {cause} for line, cause in zip([*both, *scripted], causes, strict=True)}
    frozen = next(e for e in explanations if e.frames[0].line == scripted[-1])
    assert frozen.label == "batch=5"


def test_where_there_is_no_time_the_exporters_own_words_are_all_and_that_is_told(tmp_path: Path) -> None:
    probe = replace(hazard("Reads", tmp_path, "x26", exporters=("dynamo",), module=MODULE), timeout=0.001)
    eager = eagerly(probe)
    refusals = [e for e in explained(probe, eager, tmp_path) if e.cause is Cause.REFUSED]
    assert [e.frames[0].line for e in refusals] == lines("Reads", module=MODULE)[:1]
    assert any("what else stops the dynamo export" in told for told in eager.costs.cut)


@pytest.mark.parametrize("factory", ["Registering", "Guarded"])
def test_what_hides_state_is_a_cause_and_what_was_come_by_is_none(factory: str, tmp_path: Path) -> None:
    _, explanations = many(factory, "dynamo", tmp_path)
    assert set(places(explanations)) == set(lines(factory, module=MODULE))


OWN = """
import torch

class Chance(torch.nn.Module):
    def forward(self, x):
        x = x + torch.rand_like(x)
        return x + torch.special.bessel_j0(x)

class Around(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            x = x * 2
        if not torch.compiler.is_exporting() and x.mean() > 0.5:
            x = x * 1.0
        return x

def x23():
    return (torch.ones(2, 3),)
"""


def own(factory: str, exporter: str, folder: Path) -> list[Explanation]:
    (folder / "refused_models.py").write_text(OWN)
    probe = hazard(factory, folder, exporters=(exporter,), module="refused_models")
    probe = replace(probe, search_path=(str(folder),), root=str(folder))
    return explained(probe, eagerly(probe), folder)


def test_a_branch_that_the_export_is_led_around_is_no_cause_where_the_capture_can_be_carried_on(tmp_path: Path) -> None:
    assert set(places(own("Around", "dynamo", tmp_path))) == {11}


def test_a_line_that_draws_is_told_beside_the_one_that_stops_the_export(tmp_path: Path) -> None:
    first, second = own("Chance", "torchscript", tmp_path)
    assert (first.cause, first.frames[0].line) == (Cause.REFUSED, 7)
    assert (second.cause, second.frames[0].line) == (Cause.RANDOM, 6)
    assert second.detail.endswith("another line stops the export before that")
