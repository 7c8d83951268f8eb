"""Where each key of a TOML text stands, and how deep it goes."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any

import pytest

from onnxlint.config.toml_positions import DEEPEST, Key, key_lines, too_deep

DOCUMENTS = [
    'a = 1\nb.c = "x # [y"\n[t]\n"q r".s = [1, [2,\n 3], {z = 4}]\n',
    "m = '''\n[no]\n'''\nd = 1979-05-27 07:32:00\nf = 1.5e-3\n[[l]]\nx = 1\n[l.sub]\ny = 2\n[[l]]\n[[l.in]]\nw = 0\n",
    'e = {}\nl = []\n"" = 1\n\'k"\' = {a.b = 1, "c" = [{d = 2}]}\n[a.b.c]\n[a]\nz = """\\""" """\n',
    '[[a.b]]\nc = 1\n[[a.b]]\nc = "\\u00e9"\n[a.d]\n',
]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_key_of_a_document_has_its_line(document: str) -> None:
    def keys(value: Any, at: Key = ()) -> Iterator[Key]:
        children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, child in children:
            yield (*at, key)
            yield from keys(child, (*at, key))

    lines = key_lines(document)
    assert set(lines) == set(keys(tomllib.loads(document)))
    written = document.splitlines()
    assert all(str(key[-1]) in written[line - 1] or isinstance(key[-1], int) for key, line in lines.items())


def test_what_is_written_over_several_lines_is_where_it_begins() -> None:
    text = '# größe\r\nselect = [  # why\r\n  "ONX1",\r\n  "a = [b",\r\n]\r\n\r\n[[models]]\r\nfactory = "a:b"\r\n'
    assert key_lines(text) == {
        ("select",): 2,
        ("select", 0): 3,
        ("select", 1): 4,
        ("models",): 7,
        ("models", 0): 7,
        ("models", 0, "factory"): 8,
    }
    assert key_lines("") == {}


@pytest.mark.parametrize("row", ["a = {}1{}", "a = {}{}"])
def test_a_text_that_goes_deeper_than_allowed_is_told_with_its_line(row: str) -> None:
    nested = "\n" + row.format("[" * DEEPEST, "]" * DEEPEST) + "\n"
    assert too_deep(nested) is None
    assert too_deep("\n" + row.format("[" * (DEEPEST + 1), "")) == 2
    assert too_deep("[" + ".".join("k" * (DEEPEST + 1)) + "]") == 1


def test_brackets_in_strings_and_comments_are_not_depth() -> None:
    brackets = "[" * (DEEPEST + 1)
    assert too_deep(f"a = \"{brackets}\" # {brackets}\nb = '''\n{brackets}'''\n") is None
    assert too_deep("x = [1]\n" * (DEEPEST + 1)) is None
