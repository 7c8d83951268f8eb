"""Programs by a grammar, and fixtures with other expressions in them: each is analysed, in bounded time and memory."""

from __future__ import annotations

import os
from pathlib import Path

import fuzz_programs
from limited import child

COUNT = int(os.environ.get("ONNXLINT_FUZZ", "80"))  # programs of each kind; they are always the same ones
SCRIPT = Path(fuzz_programs.__file__)


def test_programs_by_a_grammar_are_analysed_within_the_limits() -> None:
    done = child(SCRIPT, str(COUNT))
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{COUNT} programs\n{COUNT} mutations\n"


def test_most_programs_of_the_grammar_parse_and_have_facts() -> None:
    parsed, seen = fuzz_programs.survey(30)
    assert parsed >= 20
    assert seen >= 10
