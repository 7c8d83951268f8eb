"""Text that others wrote cannot steer the terminal; amounts and durations read well."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxlint.base.records import Cause, Evidence, Outcome, Sides
from onnxlint.report.common import words


@given(st.text())
def test_clean_text_is_one_line_without_control_characters(text: str) -> None:
    cleaned = words.clean(text)
    assert "\n" not in cleaned
    assert all(unicodedata.category(c) not in {"Cc", "Cs", "Zl", "Zp"} for c in cleaned)
    assert words.clean(cleaned) == cleaned


def test_ordinary_text_is_untouched() -> None:
    assert words.clean("`x[0]` größer als 画像 – ok") == "`x[0]` größer als 画像 – ok"


def test_colours_of_other_programs_are_dropped_not_shown() -> None:
    assert words.plain("\x1b[1;31mfailed\x1b[0m at [0, 3]") == "failed at [0, 3]"


@pytest.mark.parametrize(
    ("value", "told"),
    [(0.04, "0.0 s"), (2.13, "2.1 s"), (9.96, "10 s"), (41.2, "41 s"), (59.7, "1 min 0 s"), (125, "2 min 5 s")],
)
def test_durations(value: float, told: str) -> None:
    assert words.seconds(value) == told


@pytest.mark.parametrize(
    ("detail", "shown"),
    [
        (
            "`numpy` gives array of shape (2, 3), sha1 0a1b2c3d4e5f on the example and array of shape (2, 3), "
            "sha1 5f4e3d2c1b0a on this input",
            "`numpy` gives array of shape (2, 3) on the example and other values on this input",
        ),
        (
            "`tolist` gives [1, 2… (-5ab) on the example and [1, 3… (77c) on this input",
            "`tolist` gives [1, 2… on the example and [1, 3… on this input",
        ),
        ("`item` gives 2 on the example and 3 on this input", "`item` gives 2 on the example and 3 on this input"),
    ],
)
def test_digests_of_long_values_are_not_shown(detail: str, shown: str) -> None:
    assert words.observed(Evidence("m", "torchscript", Cause.ESCAPE, Outcome.WRONG_VALUES, (), detail)) == shown


@pytest.mark.parametrize(
    ("label", "told"),
    [
        ("values[small#5]", "small values"),
        ("example, second call", "the example, second call"),
        ("example with `mask` of values[normal#1]", "the example with `mask` of other random values"),
        ("batch=3", "batch=3"),
        ("all-sizes", "other sizes of every dim"),
    ],
)
def test_variations_are_told_in_words(label: str, told: str) -> None:
    assert words.variation(seen(label, "")) == told


def test_long_numbers_are_rounded_where_a_person_reads_them() -> None:
    told = "`item` gives 4.1014933586120605 on the example and -1.25e-07 on torch 2.13.0"
    assert words.observed(seen("", told)) == "`item` gives 4.1015 on the example and -1.25e-07 on torch 2.13.0"


def seen(variation: str, detail: str) -> Evidence:
    return Evidence("m:A", "dynamo", Cause.ESCAPE, Outcome.WRONG_VALUES, (), detail, variation)


def test_sides_are_told_in_groups_and_both_ways_to_run_a_runtime_as_one() -> None:
    plain = "ONNX Runtime without optimizations"
    told = Sides((("PyTorch", "traced graph"), ("ONNX Runtime", plain, "ONNX reference")), {"OpenVINO": "no"})
    both = "ONNX Runtime with and without optimizations"
    assert words.sides(told) == f"PyTorch, traced graph | {both}, ONNX reference | OpenVINO refuses"
    assert words.sides(Sides((("PyTorch", plain), ("ONNX Runtime",)))) == f"PyTorch, {plain} | ONNX Runtime"
    assert words.unknown_sides(Sides((), unknown={"ONNX reference": "too\nslow"})) == "ONNX reference (too slow)"
