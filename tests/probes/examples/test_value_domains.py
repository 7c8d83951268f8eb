"""Samples of the values that an example stands for."""

from __future__ import annotations

import itertools
from typing import get_args

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from onnxlint.probes.examples.value_domains import Mode, sampler

MODES: tuple[Mode, ...] = get_args(Mode)


RANGED = st.tuples(st.floats(-50, 50, width=16), st.floats(0, 40, width=16))


@example((1e-05, 0.0), "scaled", torch.float32)
@given(RANGED, st.sampled_from(MODES), st.sampled_from([torch.float32, torch.float64, torch.int64]))
def test_nothing_is_sampled_outside_a_declared_range(ends: tuple[float, float], mode: Mode, dtype: torch.dtype) -> None:
    low, high = ends[0], ends[0] + ends[1] + 1.0
    made = sampler(torch.zeros(1, dtype=dtype), 4, (low, high))((5, 6), mode)
    assert (made.dtype, tuple(made.shape)) == (dtype, (5, 6))
    assert bool((made >= low).all())  # as PyTorch compares: with the end as the dtype rounds it
    assert bool((made <= high).all())


INTEGERS = st.lists(st.integers(-3, 60), min_size=2, max_size=12)


@given(INTEGERS, st.sampled_from(MODES), st.sampled_from([torch.int64, torch.int32]))
def test_integers_keep_to_the_range_that_was_seen(values: list[int], mode: Mode, dtype: torch.dtype) -> None:
    example = torch.tensor(values, dtype=dtype)
    made = sampler(example, 4)((9,), mode)
    assert (made.dtype, tuple(made.shape)) == (dtype, (9,))
    if len(set(values)) > 1 and not set(values) <= {0, 1} and any(b - a != 1 for a, b in itertools.pairwise(values)):
        assert min(values) <= int(made.min())
        assert int(made.max()) <= max(values)


@given(st.lists(st.integers(0, 60), min_size=2, max_size=12), st.sampled_from(MODES), st.booleans())
def test_sorted_lengths_stay_sorted(values: list[int], mode: Mode, falling: bool) -> None:
    made = sampler(torch.tensor(sorted(values, reverse=falling)), 4)((7,), mode)
    if len(set(values)) > 1 and not set(values) <= {0, 1}:
        assert made.tolist() == sorted(made.tolist(), reverse=falling)


def test_equal_tokens_range_over_the_vocabulary() -> None:
    made = sampler(torch.ones(2, 8, dtype=torch.int64), 50)
    drawn = made((4, 100), "normal")
    assert int(drawn.min()) >= 0
    assert 40 < int(drawn.max()) < 50


def test_positions_stay_positions_at_every_length() -> None:
    made = sampler(torch.arange(6).expand(2, 6), 4)((3, 9), "scaled")
    assert torch.equal(made, torch.arange(9).expand(3, 9))


def test_one_count_moves_a_little_and_never_below_zero() -> None:
    drawn = {int(sampler(torch.tensor(1), 50)((), mode)) for mode in MODES for _ in range(20)}
    assert drawn == {0, 1, 2, 3}


@pytest.mark.parametrize("inverted", [False, True])
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("dtype", [torch.bool, torch.int64, torch.float32])
def test_padding_masks_keep_their_form(inverted: bool, left: bool, dtype: torch.dtype) -> None:
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]], dtype=torch.bool)
    mask = mask.flip(-1) if left else mask
    make = sampler((~mask if inverted else mask).to(dtype), 4)

    def kept(mode: Mode) -> torch.Tensor:
        made = make((5, 6), mode)
        assert made.dtype == dtype
        mask = made.bool() ^ inverted
        return mask.flip(-1) if left else mask

    ragged = kept("normal")
    assert ragged.sort(-1, descending=True).values.equal(ragged)
    assert ragged[:, 0].all()
    assert kept("positive").all()
    assert kept("negative").sum(-1).tolist() == [1] * 5
    assert not kept("zeros").any()


def test_a_causal_mask_stays_causal() -> None:
    made = sampler(torch.ones(4, 4, dtype=torch.bool).tril(), 4)((7, 7), "negative")
    assert torch.equal(made, torch.ones(7, 7, dtype=torch.bool).tril())


def test_an_additive_mask_draws_from_its_own_values() -> None:
    made = sampler(torch.tensor([[0.0, 0.0, float("-inf")]]), 4)((4, 9), "scaled")
    assert set(made.unique().tolist()) == {0.0, float("-inf")}


@given(
    st.sampled_from(
        [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.uint8, torch.bool]
    ),
    st.lists(st.integers(0, 4), max_size=3),
    st.sampled_from(MODES),
)
def test_any_tensor_can_be_sampled_at_any_shape(dtype: torch.dtype, shape: list[int], mode: Mode) -> None:
    example = (torch.randn(shape) * 3).abs().to(dtype)
    made = sampler(example, 4)((*shape[:-1], 5) if shape else (), mode)
    assert made.dtype == dtype
    assert tuple(made.shape) == ((*shape[:-1], 5) if shape else ())
