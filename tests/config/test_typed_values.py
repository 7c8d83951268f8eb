"""Values out of a configuration file, and one message for each that is none."""

from __future__ import annotations

from typing import Any

import pytest

from onnxlint.config import typed_values as typed
from onnxlint.config.typed_values import MOST, Node, Problems, did_you_mean, nearest, parse_memory, read_table


@pytest.mark.parametrize(
    ("text", "size"),
    [("4GiB", 4 * 1024**3), ("4 gb", 4 * 1000**3), ("512M", 512 * 1024**2), ("1.5KiB", 1536), ("1024", 1024)],
)
def test_memory_is_read_with_its_unit(text: str, size: int) -> None:
    assert parse_memory(text) == size


@pytest.mark.parametrize("text", ["", "GiB", "-1", "0", "4 Gi B", "4XB"])
def test_memory_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="size"):
        parse_memory(text)


def read(converter: typed.Converter[Any], value: object) -> tuple[Any, list[str]]:
    """What a reader makes of a value, and what it says."""
    problems = Problems("two words.toml", {("key",): 3})
    return converter(Node(value, ("key",), problems)), [d.message for d in problems.diagnostics]


@pytest.mark.parametrize(
    ("converter", "value", "result"),
    [
        (typed.whole_number(7), 7, 7),
        (typed.text, "größe", "größe"),
        (typed.truth, False, False),
        (typed.seconds, 3, 3.0),
        (typed.allowance, 0, 0.0),
        (typed.interval, [-1, 0.5], (-1.0, 0.5)),
        (typed.release, "2.14.1", "2.14.1"),
        (typed.memory, 1024, 1024),
        (typed.some_of("a", "b"), ["b", "a", "b"], ("b", "a")),
        (typed.runtimes, ["OpenVINO", "cpuexecutionprovider"], ("openvino", "onnxruntime")),
        (typed.reference, "pkg.größe:A.b", "pkg.größe:A.b"),
        (typed.plain, {"a": [1, "x", {"b": True}]}, {"a": [1, "x", {"b": True}]}),
        (typed.axis_names, {"0": "batch", "-1": "width"}, {0: "batch", -1: "width"}),
        (typed.sizes, [1, 5], (1, 5)),
    ],
)
def test_a_value_that_fits_is_taken_in_silence(converter: typed.Converter[Any], value: object, result: object) -> None:
    assert read(converter, value) == (result, [])


@pytest.mark.parametrize(
    ("converter", "value", "told"),
    [
        (typed.whole_number(7), 6, "a whole number from 7 is expected, not `6`"),
        (typed.whole_number(0), True, "a whole number from 0 is expected, not `true`"),
        (typed.text, "", "a string is expected, not an empty string"),
        (typed.truth, "true", '`true` or `false` is expected, not `"true"`'),
        (typed.seconds, float("nan"), "a positive number of seconds is expected, not `nan`"),
        (typed.interval, [1, 0], "the least and the greatest value, such as `[0, 1]`, is expected, not a list"),
        (typed.release, "2", "a version such as `2.14` is expected, not `2`"),
        (typed.release, "٢.١٤", "a version such as `2.14` is expected, not `٢.١٤`"),
        (typed.memory, -1, "a size such as `4GiB` or a number of bytes is expected, not `-1`"),
        (typed.one_of("torchscript", "dynamo"), "dynmo", "`dynmo` is unknown; did you mean `dynamo`?"),
        (typed.some_of("a"), [], "the list is empty; valid: a"),
        (typed.sizes, [], "the list of sizes is empty"),
        (typed.reference, "./models/vit.py:Net", "did you mean `models.vit:Net`?"),
        (typed.axis_names, {"0": "the batch"}, "`the batch` is no name for a dim"),
        (typed.plain, None, "text, a number, true, false, or a list or table of these, is expected"),
        (typed.table_of(typed.text), [], "a table is expected, not a list"),
    ],
)
def test_a_value_that_does_not_fit_is_one_message(converter: typed.Converter[Any], value: object, told: str) -> None:
    result, messages = read(converter, value)
    assert result is None
    assert len(messages) == 1
    assert told in messages[0]


def test_an_element_that_is_mistaken_is_left_out_of_a_list_but_not_of_a_table() -> None:
    assert read(typed.texts, ["a", 1, "b"])[0] == ("a", "b")
    assert read(typed.table_of(typed.text), {"a": "x", "b": 1})[0] is None


def test_a_table_keeps_what_can_be_read_and_names_the_line_of_the_rest() -> None:
    problems = Problems("two words.toml", {("a",): 1, ("fail-on",): 2})
    node = Node({"a": "1", "fail-on": "x", "fail_on": "y", "b": 2}, (), problems)
    assert read_table(node, {"a": typed.whole_number(0), "fail-on": typed.text, "b": typed.truth}) == {"fail_on": "x"}
    assert [(d.line, d.message) for d in problems.diagnostics] == [
        (1, 'a: a whole number from 0 is expected, not `"1"`'),
        (None, "fail_on: unknown key; did you mean `fail-on`?"),
        (None, "b: `true` or `false` is expected, not `2`"),
    ]


def test_of_very_many_mistakes_the_rest_is_not_looked_at() -> None:
    problems = Problems("m.toml")
    assert read_table(Node({f"k{n}": 1 for n in range(5000)}, (), problems), {"a": typed.text}) == {}
    assert len(problems.diagnostics) == MOST + 1
    assert "there are more mistakes" in problems.diagnostics[-1].message


def test_the_nearest_spelling_is_one_that_is_near() -> None:
    options = ("fail-on", "exporters", "Größe")
    assert [nearest(word, options) for word in ("fail_on", "EXPORTER", "grösse", "xyz", "e" * 900_000)] == [
        "fail-on",
        "exporters",
        "Größe",
        None,
        None,
    ]
    assert did_you_mean("xyz", ["a", "b"]) == "; valid: a, b"
