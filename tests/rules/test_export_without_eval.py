"""What the message about a model in training mode names."""

from __future__ import annotations

import pytest

from onnxlint.rules.onx301_export_without_eval import _difference

ASKS, STAYS = "{} reads `self.training`", "{} stays in training mode"


@pytest.mark.parametrize(
    ("classes", "layers", "message"),
    [
        (["`A`"], [], "`A` reads `self.training`"),
        ([], ["dropout"], "dropout stays in training mode"),
        (["`A`", "`B`"], ["dropout"], "`A` and `B` read `self.training`, and dropout stays in training mode"),
        (["`A`", "`B`", "`C`"], [], "`A`, `B` and others read `self.training`"),
        ([], ["dropout", "batch norm", "`GRU`"], "dropout, batch norm and others stay in training mode"),
    ],
)
def test_a_few_classes_and_kinds_of_layers_are_named(classes: list[str], layers: list[str], message: str) -> None:
    assert _difference([*map(STAYS.format, layers), *map(ASKS.format, classes)]) == message
