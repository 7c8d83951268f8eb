"""What the message about a model in training mode names."""

from __future__ import annotations

import pytest

from onnxlint.flow.state.observations import ModeReader
from onnxlint.rules.onx301_export_without_eval import _difference


@pytest.mark.parametrize(
    ("classes", "layers", "message"),
    [
        (["A"], [], "`A` reads `self.training`"),
        ([], ["GRU", "Dropout"], "`GRU` and dropout stay in training mode"),
        ([], ["Dropout", "Dropout2d"], "dropout stays in training mode"),
        (["A", "B"], ["Dropout", "Dropout2d"], "`A` and `B` read `self.training`, and dropout stays in training mode"),
        (["A", "B", "C"], [], "`A`, `B` and others read `self.training`"),
        ([], ["Dropout1d", "LazyInstanceNorm2d", "GRU"], "dropout, instance norm and others stay in training mode"),
    ],
)
def test_a_few_classes_and_kinds_of_layers_are_named(classes: list[str], layers: list[str], message: str) -> None:
    parts = [*(ModeReader(name, layer=True) for name in layers), *map(ModeReader, classes)]
    assert _difference(parts) == message
