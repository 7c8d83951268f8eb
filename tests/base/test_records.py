"""Errors as text, whatever their class does when it is asked."""

from __future__ import annotations

import pytest

from onnxlint.base.records import described, text_of


class Silent(Exception):
    def __str__(self) -> str:
        return 5  # type: ignore[return-value]


class Failing(Exception):
    def __str__(self) -> str:
        raise ZeroDivisionError


@pytest.mark.parametrize(("error", "why"), [(Silent(), "TypeError"), (Failing(), "ZeroDivisionError")])
def test_an_error_whose_text_cannot_be_had_is_still_named(error: Exception, why: str) -> None:
    assert text_of(error) == f"(its message cannot be read: __str__ raises {why})"
    assert described(error).startswith(f"{type(error).__name__}: (its message")


def test_the_text_of_an_ordinary_error_is_its_own() -> None:
    assert text_of(ValueError("no\nsuch")) == "no\nsuch"
    assert text_of(ValueError("\x1b[96mstep 1\x1b[0m of 3")) == "step 1 of 3"
    guard = "Could not guard on data-dependent expression Eq(u0, 1)"
    error = ValueError(f"{guard} (unhinted: Eq(u0, 1)).  (Size-like symbols: none)\n\nmore")
    assert text_of(error) == f"{guard}\n\nmore"
    assert described(ValueError("no\nsuch")) == "ValueError: no such"
