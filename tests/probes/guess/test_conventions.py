"""What names mean by convention."""

from __future__ import annotations

import pytest

from onnxlint.base.specs import parse_spec
from onnxlint.probes.guess import conventions as say


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("input_ids", "tokens"),
        ("attention_mask", "mask"),
        ("pixel_values", "image"),
        ("clip_frames", "video"),
        ("input_values", "audio"),
        ("src_lengths", "length-of"),
        ("timestep", "time"),
        ("past_key_values", "past"),
        ("k_cache", "past"),
        ("h0", "state"),
        ("position_ids", "position"),
        ("start_positions", "answer"),
    ],
)
def test_usual_names_are_known(name: str, what: str) -> None:
    assert say.named_like(name, what)


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("masked_scale", "length-of"),
        ("valids", "tokens"),
        ("imagery", "image"),
        ("context", "time"),
        ("class_labels", "answer"),
    ],
)
def test_names_that_only_look_like_them_are_not(name: str, what: str) -> None:
    assert not say.named_like(name, what)


@pytest.mark.parametrize(
    ("parameter", "rank", "axis", "feature", "name"),
    [
        ("x", 3, 0, 2, "batch"),
        ("x", 3, 1, 2, "sequence"),
        ("image", 4, 2, 1, "height"),
        ("image", 4, 3, 1, "width"),
        ("video", 5, 1, 2, "frames"),
        ("wav", 2, 1, None, "samples"),
        ("past_key", 4, 2, None, "past"),
        ("attention_mask", 4, 3, None, "sequence"),
        ("scores", 4, 3, None, "scores_3"),
    ],
)
def test_axes_are_called_what_they_usually_are(
    parameter: str, rank: int, axis: int, feature: int | None, name: str
) -> None:
    assert say.axis_name(parameter, rank, axis, feature) == name


@pytest.mark.parametrize(
    ("parameter", "dtype", "rank"),
    [
        ("attention_mask", "bool", 2),
        ("pixel_values", "float32", 4),
        ("input_ids", "int64", 2),
        ("t", "int64", 1),
        ("odd", "float32", 2),
    ],
)
def test_a_spec_is_suggested_that_a_configuration_takes(parameter: str, dtype: str, rank: int) -> None:
    spec = parse_spec(say.suggestion(parameter))
    assert (spec.dtype, len(spec.dims)) == (dtype, rank)


def test_arguments_of_one_constructor_fit_each_other() -> None:
    assert say.ARGUMENTS["dim"] % say.ARGUMENTS["num_heads"] == 0
    assert say.ARGUMENTS["image_size"] % say.ARGUMENTS["patch_size"] == 0
    assert say.TINY["hidden_size"] % say.TINY["num_attention_heads"] == 0
