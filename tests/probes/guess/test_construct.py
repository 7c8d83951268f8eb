"""Arguments for constructors of models that nobody described."""

from __future__ import annotations

from typing import Any

import guessed
import pytest

from onnxlint.base.probe_records import TARGET
from onnxlint.probes.examples.factory_arguments import build
from onnxlint.probes.guess.construct import Unbuilt, find_arguments


@pytest.mark.parametrize(
    "kind",
    [
        guessed.ByFirstLayer,
        guessed.NeedsArguments,
        guessed.NeedsConfig,
        guessed.NeedsModule,
        guessed.NeedsSizes,
        guessed.NeedsMoreByName,
    ],
    ids=lambda kind: kind.__name__,
)
def test_what_is_found_builds_the_class(kind: Any) -> None:
    assert isinstance(kind(**build(find_arguments(kind))), kind)


def test_arguments_are_what_a_configuration_can_hold() -> None:
    arguments = find_arguments(guessed.NeedsModule)
    assert arguments == {"encoder": {TARGET: "guessed:ByFirstLayer"}}
    assert find_arguments(guessed.ByFirstLayer) == {}


class NeedsMultiple:
    def __init__(self, width: int) -> None:
        if width % 64:
            raise ValueError("width has to be divisible by 64")


def test_what_the_constructor_raises_mends_the_arguments() -> None:
    assert find_arguments(NeedsMultiple) == {"width": 64}


@pytest.mark.parametrize(
    ("kind", "words", "arguments"),
    [
        (guessed.NeedsUnknown, "nothing says what to give its constructor for `teacher`", {"teacher": None}),
        (guessed.NeedsWidthAndUnknown, "for `teacher`", {"dim": 32, "teacher": None}),
        (guessed.RaisesInConstructor, "no weights on this machine", {"dim": 32}),
    ],
)
def test_where_nothing_fits_the_reason_and_a_start_are_given(kind: Any, words: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(Unbuilt, match=words) as raised:
        find_arguments(kind)
    assert raised.value.arguments == arguments
