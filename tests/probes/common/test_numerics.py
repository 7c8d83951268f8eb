"""What counts as the same answer: noise passes, errors do not, and the things that naive comparisons miss."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from onnxlint.base.probe_records import Tolerance
from onnxlint.probes.common.numerics import (
    Bounds,
    closely,
    difference,
    differences,
    largest,
    reference,
    spread,
    tensors,
    values,
    widened,
    worst,
)
from onnxlint.probes.common.numerics import precision as model_precision

PLAIN = Bounds()


def gap(ours, theirs, wide=None, tolerance=Tolerance(), moves=(), precision=0.0):  # noqa: B008
    bounds = Bounds(tolerance, moves, precision)
    return difference([np.asarray(ours)], [torch.as_tensor(theirs)], None if wide is None else [wide], bounds)


def test_rounding_is_no_difference() -> None:
    exact = torch.linspace(-3, 3, 101, dtype=torch.float64)
    eager = exact.float()
    assert gap((exact * (1 + 2e-7)).float().numpy(), eager, exact) is None


def test_an_error_of_a_thousandth_is_a_difference() -> None:
    exact = torch.linspace(-3, 3, 101, dtype=torch.float64)
    worst_gap = gap((exact * 1.001).float().numpy(), exact.float(), exact)
    assert worst_gap is not None
    assert worst_gap.max_abs == pytest.approx(3e-3, rel=1e-3)
    assert worst_gap.max_rel == pytest.approx(1e-3, rel=1e-3)
    assert 0 < worst_gap.allowed < worst_gap.max_abs


def test_where_eager_itself_is_off_by_as_much_it_is_noise() -> None:
    exact = torch.linspace(-3, 3, 101, dtype=torch.float64)
    eager = (exact * 1.0003).float()
    assert gap((exact * 0.9995).float().numpy(), eager, exact) is None
    assert gap((exact * 0.9995).float().numpy(), eager, None) is not None


def test_a_reference_on_another_path_forgives_nothing() -> None:
    eager = torch.ones(4)
    assert gap(np.full(4, 1.01, np.float32), eager, torch.full((4,), 7.0, dtype=torch.float64)) is not None


def test_a_subnormal_number_is_as_good_as_zero_and_a_small_normal_one_is_not() -> None:
    for size, differs in ((2e-43, False), (2e-36, True)):
        eager = torch.full((4,), size)
        assert (gap(np.zeros(4, np.float32), eager, eager.double()) is not None) is differs


def test_a_dropped_epsilon_is_slight_unless_the_output_hardly_moves() -> None:
    exact = torch.linspace(-3, 3, 101, dtype=torch.float64)
    ours = (exact + 3e-4).float().numpy()
    assert gap(ours, exact.float(), exact, moves=[2.0]) is None
    assert gap(ours, exact.float(), exact, moves=[1e-5]) is not None


@pytest.mark.parametrize(
    ("ours", "theirs", "detail"),
    [
        ([[1.0], [2.0]], [1.0, 2.0], "shape (2, 1) instead of (2,)"),
        ([1.0, float("nan")], [1.0, 2.0], "NaN"),
        ([1.0, 2.0], [1.0, float("nan")], "NaN"),
        ([1.0, float("inf")], [1.0, float("-inf")], "infinity"),
        ([1, 2, 4], [1, 2, 3], "1 of 3 integers differ"),
        ([True, False], [True, True], "1 of 2 booleans differ"),
    ],
)
def test_exact_things_are_compared_exactly(ours, theirs, detail) -> None:
    worst_gap = gap(np.asarray(ours), torch.tensor(theirs))
    assert worst_gap is not None
    assert detail in worst_gap.detail


@pytest.mark.parametrize(
    "value",
    [[float("nan"), 1.0], [float("inf"), float("-inf"), 0.0], [0.0, 0.0], []],
    ids=["NaN equals NaN", "infinities equal themselves", "all zero", "nothing at all"],
)
def test_the_same_is_the_same(value) -> None:
    assert gap(np.asarray(value, np.float32), torch.tensor(value, dtype=torch.float32)) is None


def test_unsigned_integers_do_not_wrap() -> None:
    worst_gap = gap(np.array([2], np.uint8), torch.tensor([1], dtype=torch.uint8))
    assert worst_gap is not None
    assert worst_gap.max_abs == 1.0


def test_an_integer_on_which_float64_disagrees_is_a_tie() -> None:
    assert gap(np.array([3]), torch.tensor([4]), torch.tensor([3])) is None
    assert gap(np.array([3]), torch.tensor([4]), torch.tensor([4])) is not None


def test_another_number_of_outputs_is_a_difference() -> None:
    worst_gap = difference([np.ones(1)], [torch.ones(1), torch.ones(1)], None, PLAIN)
    assert worst_gap is not None
    assert worst_gap.shape


def test_a_configured_tolerance_replaces_ours() -> None:
    ours, theirs = np.array([1.0, 2.1], np.float32), torch.tensor([1.0, 2.0])
    assert gap(ours, theirs, tolerance=Tolerance(absolute=0.2)) is None
    assert gap(ours, theirs, tolerance=Tolerance(relative=0.1)) is None
    assert gap(ours, theirs, tolerance=Tolerance(absolute=1e-3, relative=1e-3)) is not None


def test_the_quick_check_never_passes_what_the_full_one_would_not() -> None:
    generator = torch.Generator().manual_seed(0)
    for size in (1e-8, 1e-7, 3e-7, 1e-6, 1e-5, 1e-4):
        exact = torch.randn(64, generator=generator, dtype=torch.float64)
        ours = (exact + size * torch.randn(64, generator=generator, dtype=torch.float64)).float().numpy()
        eager = exact.float()
        if worst(closely([ours], [eager], PLAIN)) is None:
            assert difference([ours], [eager], [exact], PLAIN) is None


def test_low_precision_is_measured_by_its_own_eps() -> None:
    exact = torch.linspace(-3, 3, 101, dtype=torch.float64)
    assert gap((exact * 1.002).half().numpy(), exact.half(), exact) is None
    assert gap((exact * 1.5).half().numpy(), exact.half(), exact) is not None


def test_a_model_of_low_precision_is_not_measured_by_its_output() -> None:
    exact = torch.linspace(-3, 3, 101, dtype=torch.float64)
    ours = (exact * 1.001).float().numpy()
    assert gap(ours, exact.float()) is not None
    assert gap(ours, exact.float(), precision=torch.finfo(torch.float16).eps) is None
    assert gap((exact * 1.2).float().numpy(), exact.float(), precision=torch.finfo(torch.float16).eps) is not None
    assert model_precision(torch.nn.Linear(2, 2).half()) == torch.finfo(torch.float16).eps
    assert model_precision(torch.nn.Flatten()) == 0.0


def test_complex_outputs_are_compared_as_pairs() -> None:
    value = torch.tensor([1 + 2j, 3 - 1j])
    assert gap(torch.view_as_real(value).numpy(), value) is None
    assert gap(-torch.view_as_real(value).numpy(), value) is not None


def test_the_reference_runs_in_float64_and_leaves_the_model_alone() -> None:
    model = torch.nn.Linear(3, 2)
    wide = reference(model, (torch.ones(1, 3),), {})
    assert wide is not None
    assert wide[0].dtype == torch.float64
    assert model.weight.dtype == torch.float32


def test_a_model_that_insists_on_float32_has_no_reference() -> None:
    class Insists(torch.nn.Module):
        def forward(self, x):
            return x @ torch.ones(3, 2)

    assert reference(Insists(), (torch.ones(1, 3),), {}) is None


def test_widening_moves_floats_to_float64_and_nothing_else() -> None:
    assert widened(torch.ones(2)).dtype == torch.float64
    assert widened(torch.arange(3)).dtype == torch.int64
    assert widened(True) is True


def test_spread_is_how_far_the_output_moves() -> None:
    base = [torch.zeros(2), torch.zeros(3)]
    assert spread(base, [[torch.tensor([1.0, -2.0]), torch.zeros(3)], [torch.zeros(5), torch.ones(3)]]) == [2.0, 1.0]


def test_outputs_are_flattened_as_the_exporters_do() -> None:
    outputs = {"a": torch.ones(1), "none": None, "b": (torch.zeros(2), 3)}
    assert [t.shape for t in tensors(outputs)] == [(1,), (2,)]
    assert [t.tolist() for t in values(outputs)] == [[1.0], [0.0, 0.0], 3]


def half(values):
    return torch.tensor(values, dtype=torch.float16)


def test_an_overflow_of_eager_alone_is_no_error_of_the_export() -> None:
    """ONNX Runtime computes in float32 what it has no float16 kernels for, and comes to where float64 is."""
    exact = torch.tensor([1200.0, 3.0], dtype=torch.float64)
    assert gap(half([1200.0, 3.0]), half([float("inf"), 3.0]), exact) is None
    assert gap(half([1200.0, 3.0]), half([float("nan"), 3.0]), exact) is None


def test_a_number_in_the_place_of_an_overflow_must_be_the_right_one() -> None:
    exact = torch.tensor([1200.0, 3.0], dtype=torch.float64)
    worst_gap = gap(half([600.0, 3.0]), half([float("inf"), 3.0]), exact)
    assert worst_gap is not None
    assert worst_gap.detail == "infinity in PyTorch's answer and not in the export's, at 1 of 2 places"


def test_an_overflow_of_the_export_is_an_error() -> None:
    exact = torch.tensor([1200.0, 3.0], dtype=torch.float64)
    worst_gap = gap(half([float("inf"), 3.0]), half([1200.0, 3.0]), exact)
    assert worst_gap is not None
    assert worst_gap.detail == "infinity in the export's answer and not in PyTorch's, at 1 of 2 places"


def test_a_nan_that_float64_has_too_is_the_model_s_own_answer() -> None:
    nan = float("nan")
    worst_gap = gap([0.0, 1.0, nan], [nan, 1.0, 2.0], torch.tensor([nan, 1.0, 2.0], dtype=torch.float64))
    assert worst_gap is not None
    assert worst_gap.detail == "NaN stands in other places: 1 in PyTorch's answer alone, 1 in the export's alone"


def test_what_agrees_has_an_error_too_and_what_has_no_number_has_none() -> None:
    ours = [torch.tensor([1.0, 2.0 + 1e-6]), torch.tensor([1, 2]), torch.ones(0), torch.tensor([float("nan")])]
    theirs = [torch.tensor([1.0, 2.0]), torch.tensor([1, 2]), torch.ones(0), torch.tensor([float("nan")])]
    compared = differences(ours, theirs, None, Bounds())
    assert worst(compared) is None
    assert [(d.output, d.passes) for d in compared] == [(0, True), (1, True)]
    most = largest(compared)
    assert most is not None
    assert most.output == 0
    assert most.max_abs == pytest.approx(1e-6, rel=0.1)
    assert most.max_abs < most.allowed
    assert compared[1].max_abs == 0.0
