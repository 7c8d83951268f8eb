"""Lengths of rows go up to the axis that they tell of, on the example and at every other size."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import onnxlint
from onnxlint.base.probe_records import Probe
from onnxlint.base.records import Outcome
from onnxlint.base.specs import parse_spec
from onnxlint.probes.examples.synthesis import measured, tensors_for
from onnxlint.probes.examples.value_domains import Mode, length_sampler
from onnxlint.probes.examples.vary import variations
from onnxlint.probes.exporters import Example


def made(**specs: str) -> dict[str, torch.Tensor]:
    return tensors_for({name: parse_spec(spec) for name, spec in specs.items()}, {}, torch.nn.Identity())


class Frozen(torch.nn.Module):
    """A mask as wide as the longest row: the trace keeps the example's."""

    def forward(self, features, lengths):
        mask = torch.arange(lengths.max().item())[None] < lengths[:, None]
        kept = features[:, : mask.shape[1]] * mask[..., None]
        return kept.sum(1)


class Free(torch.nn.Module):
    """The same with a mask as wide as the features."""

    def forward(self, features, lengths):
        mask = torch.arange(features.shape[1])[None] < lengths[:, None]
        return (features * mask[..., None]).sum(1)


def test_the_longest_row_of_the_example_is_full_and_the_rest_falls() -> None:
    drawn = made(features="float32[batch=5, time=9, 3]", lengths="int64[batch]")["lengths"].tolist()
    assert drawn[0] == 9
    assert drawn == sorted(drawn, reverse=True)
    assert min(drawn) >= 1


def test_lengths_tell_of_the_input_that_shares_their_name() -> None:
    shapes = {"audio": (2, 50), "text": (2, 7), "text_lengths": (2,), "length": (2,), "count": (2,)}
    assert measured("text_lengths", "int32", shapes) == 7
    assert measured("length", "int64", shapes) == 50
    assert measured("count", "int64", shapes) is None
    assert measured("length", "float32", shapes) is None
    assert measured("length", "int64", {"length": (2,), "audio": (3, 50)}) is None


@pytest.mark.parametrize("mode", ["normal", "scaled", "negative", "small", "zeros", "equal", "edges", "constant"])
def test_no_mode_leaves_the_rows(mode: Mode) -> None:
    for longest in (1, 2, 9):
        drawn = length_sampler(torch.tensor([4, 2]), longest)((6,), mode)
        assert 1 <= int(drawn.min()) <= int(drawn.max()) <= longest


def tensors(lengths: list[int], **more: Any) -> dict[str, torch.Tensor]:
    example = Example(
        (torch.rand(2, 8, 3), torch.tensor(lengths)),
        {},
        ("features", "lengths"),
        {"features": {0: "batch", 1: "time"}, "lengths": {0: "batch"}},
    )
    probe = Probe(
        name="m:M",
        factory="m:M",
        path="m.py",
        line=1,
        source="declared",
        inputs=None,
        dynamic={},
        sizes={"time": (5, 13)},
        vary=None,
        exporters=("torchscript",),
        opset=20,
        search_path=(),
        root=".",
        repro_dir="repro",
        **more,
    )
    return {v.label: v.args[1] for v in variations(probe, torch.nn.Identity(), example)}


def test_lengths_move_with_their_axis() -> None:
    longest = {label: int(value.max()) for label, value in tensors([8, 3]).items()}
    assert (longest["time=5"], longest["time=13"], longest["values[scaled#2]"]) == (5, 13, 8)
    assert longest["values[negative#3]"] < 8


def test_lengths_behind_a_stride_stay_behind_it() -> None:
    longest = {label: int(value.max()) for label, value in tensors([4, 3]).items()}
    assert (longest["time=5"], longest["time=13"]) == (2, 6)


def test_declared_ranges_are_kept() -> None:
    assert max(int(value.max()) for value in tensors([8, 3], ranges={"lengths": (1, 8)}).values()) == 8


@pytest.mark.slow
@pytest.mark.parametrize(("model", "outcome"), [(Frozen, Outcome.WRONG_VALUES), (Free, Outcome.OK)])
def test_a_mask_as_wide_as_the_longest_row_is_found_out(model: type[torch.nn.Module], outcome: Outcome) -> None:
    result = onnxlint.check_model(
        model(),
        (torch.rand(2, 8, 3), torch.tensor([8, 3])),
        dynamic={"features": {0: "batch", 1: "time"}, "lengths": {0: "batch"}},
        exporters="torchscript",
    )
    assert result.exporters["torchscript"].outcome in (outcome, *([Outcome.SHAPE_ERROR] if outcome != "ok" else []))
