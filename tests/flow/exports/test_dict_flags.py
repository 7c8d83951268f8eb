"""What a project keeps flags alone under is no tensor where it is read; what anything else is kept under may be."""

from __future__ import annotations

import pytest
from analysing import told

SOURCE = """\
class Head(nn.Module):
    def forward(self, batch):
        batch["scores"] = batch["features"] * 2
        batch[{kept}] = {value}
        return batch

class Detector(nn.Module):
    def forward(self, batch):
        scores = batch["scores"]
        if not batch["normalized"]:
            scores = torch.sigmoid(scores)
        return scores
"""


@pytest.mark.parametrize(
    ("kept", "value", "flag"),
    [
        ('"normalized"', "False", True),
        ("'normalized'", "True", True),
        ('"normalized"', "1  # of two", True),
        ('"normalized"', "0.5", False),
        ('"other"', "False", False),
        ('"normalized"', 'batch["features"].max() <= 1', False),
        ('"normalized"', "Falsehood()", False),
        ('"normalized"', 'False\n        batch["normalized"] = scores > 0', False),
    ],
)
def test_a_key_that_only_truths_are_kept_under(kept: str, value: str, flag: bool) -> None:
    expected = [] if flag else ['Branch data: not batch["normalized"]']
    assert told(SOURCE.format(kept=kept, value=value)) == expected
