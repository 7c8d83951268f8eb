"""Inputs that hold tensors in lists and dicts, by labels."""

from __future__ import annotations

import pytest

from onnxlint.probes.common.nested import nested, root, word


@pytest.mark.parametrize(
    ("label", "parameter", "what"),
    [("x", "x", "x"), ("batch.mask", "batch", "mask"), ("states.0", "states", "states"), ("0.1", "0", "0.1")],
)
def test_a_label_says_where_a_tensor_goes_and_what_it_is(label: str, parameter: str, what: str) -> None:
    assert (root(label), word(label)) == (parameter, what)


def test_labels_become_lists_and_dicts_in_the_order_of_the_parameters() -> None:
    labelled = {"a.k": 1, "x": 2, "s.1": 4, "s.0": 3, "a.rows.0": 5}
    made = nested(labelled)
    assert made == {"a": {"k": 1, "rows": [5]}, "x": 2, "s": [3, 4]}
    assert list(made) == ["a", "x", "s"]


def test_more_than_ten_items_are_in_the_order_of_their_numbers() -> None:
    assert nested({f"s.{number}": number for number in (10, 2, *range(2), *range(3, 10))}) == {"s": list(range(11))}


def test_keys_that_are_not_all_numbers_make_a_dict() -> None:
    assert nested({"a.0": 1, "a.mask": 2}) == {"a": {"0": 1, "mask": 2}}
