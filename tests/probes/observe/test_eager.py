"""The runs in eager PyTorch: which inputs a model accepts, what of it is chance or state, and what it reaches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from probing import hazard, lines

from onnxlint.probes.examples.vary import Variation
from onnxlint.probes.observe.eager import EXAMPLE, Eager, execute, explore, goes_its_own_way, prepare, same, with_leaf

NAN = float("nan")


def prepared(factory: str, inputs: str = "x23", **options: Any) -> Eager:
    return prepare(hazard(factory, Path("kept"), inputs, **options))


def explored(factory: str, inputs: str = "x23", **options: Any) -> Eager:
    probe = hazard(factory, Path("kept"), inputs, **options)
    eager = prepare(probe)
    explore(probe, eager)
    return eager


def run(eager: Eager, x: torch.Tensor, sizes: Mapping[str, int] | None = None) -> Any:
    return execute(eager.model, eager.example, Variation("mine", (x,), {}, dict(sizes or {})), "/")


def test_the_example_is_run_in_eval_mode_and_its_tensors_are_collected() -> None:
    eager = prepared("left_in_training")
    assert not eager.model.training
    assert eager.fresh().training, "as the factory left it"
    assert not eager.inference().training
    (output,) = eager.base.outputs
    assert (eager.base.label, output.shape) == (EXAMPLE, (2, 3))
    assert eager.base.sizes == {"batch": 2}
    assert list(eager.base.leaves) == ["x"]


def test_what_forward_raises_is_in_the_observation() -> None:
    eager = prepared("Raises")
    assert isinstance(eager.base.observation.error, ValueError)
    assert eager.base.outputs == ()
    assert [frame.line for frame in eager.base.observation.error_frames] == lines("Raises")


def test_a_dim_of_which_no_other_size_is_accepted_is_fixed_and_one_that_moves_is_not() -> None:
    stuck = explored("EagerFixed")
    assert {run.label.split("=")[0] for run in stuck.fixed} == {"batch"}
    assert all(run.observation.error is not None for run in stuck.fixed)
    assert {run.kind for run in stuck.runs} == {"values"}
    free = explored("Linear")
    assert (free.fixed, free.rejected) == ([], [])
    assert {"batch=1", "batch=3", "batch=5"} <= {run.label for run in free.accepted}


EVEN = """
import torch

class Even(torch.nn.Module):
    def forward(self, x):
        return x.unflatten(0, (2, -1))

def x43():
    return (torch.ones(4, 3),)
"""


def test_multiples_of_the_example_are_tried_where_the_usual_sizes_are_refused(tmp_path: Path) -> None:
    (tmp_path / "even_models.py").write_text(EVEN)
    probe = replace(hazard("Even", tmp_path, "x43", module="even_models"), search_path=(str(tmp_path),))
    eager = prepare(probe)
    explore(probe, eager)
    assert eager.fixed == []
    assert {run.sizes["batch"] for run in eager.rejected} == {1, 3, 5}
    assert {run.sizes["batch"] for run in eager.runs} == {4, 8, 12}


@pytest.mark.parametrize(("factory", "random"), [("Noise", True), ("PythonNoise", True), ("Linear", False)])
def test_two_runs_of_one_input_that_differ_are_chance(factory: str, random: bool) -> None:
    eager = explored(factory)
    assert (eager.random, eager.stateful) == (random, False)


def test_a_model_that_changes_itself_is_made_anew_for_every_run() -> None:
    eager = explored("Counter")
    assert (eager.mutated, eager.stateful, eager.random) == (["calls"], True, False)
    torch.testing.assert_close(eager.second[0], eager.base.outputs[0] * 2)
    assert all(torch.equal(run.outputs[0], run.leaves["x"]) for run in eager.runs), "every one is a first call"


def test_lines_that_any_input_reaches_are_known() -> None:
    (branch,) = lines("Branch")
    eager = explored("Branch")
    assert eager.reached == {"hazards.py": (branch, branch + 1, branch + 2)}
    eager.runs.clear()
    assert eager.reached == {"hazards.py": (branch, branch + 1)}


def test_an_input_goes_its_own_way_until_another_has_gone_it() -> None:
    eager = prepared("Branch")
    other = run(eager, -torch.ones(2, 3))
    assert goes_its_own_way(eager, other)
    assert not goes_its_own_way(eager, run(eager, torch.ones(2, 3)))
    assert not goes_its_own_way(eager, run(eager, "no tensor"))  # type: ignore[arg-type]
    eager.runs.append(other)
    assert not goes_its_own_way(eager, run(eager, -torch.ones(2, 3) * 2))


def test_the_calls_of_an_input_are_copies() -> None:
    eager = prepared("Nested", "nested", dynamic={})
    args, _ = with_leaf(eager, "batch.a", torch.zeros(2, 3))
    assert args[0]["a"].sum() == 0
    assert torch.equal(args[0]["b"][0], torch.ones(2, 3))
    args[0]["b"][0].zero_()
    called = eager.call(replace(eager.base, args=args))
    called.args[0]["a"].add_(1)
    assert args[0]["a"].sum() == 0
    assert eager.example.args[0]["b"][0].sum() == 6


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ([[1.0, NAN]], [[1.0, NAN]], True),
        ([[1.0]], [[1.0 + 1e-6]], True),
        ([[1.0]], [[1.001]], False),
        ([[1.0]], [[1.0, 1.0]], False),
        ([[1.0]], [[1.0], [1.0]], False),
        ([[True]], [[False]], False),
    ],
)
def test_two_answers_are_the_same_up_to_the_order_of_a_sum(one: list[Any], other: list[Any], alike: bool) -> None:
    assert same([torch.tensor(v) for v in one], [torch.tensor(v) for v in other]) is alike
