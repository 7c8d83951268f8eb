"""ONX303 train-mode-forced. Contract: rules/ONX303-train-mode-forced.md."""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint.checks.registry import Objection, check
from onnxlint.flow.facts import ModeSwitch


@check("ONX303")
def train_mode_forced(switch: ModeSwitch) -> Iterator[Objection]:
    """Object to modules put in train mode where the model is meant to run in eval mode."""
    where = {
        "forward": "forward puts modules in train mode",
        "eval": "the overridden mode switch leaves modules in train mode",
        "build": "modules are put back in train mode after the model is built",
    }
    yield Objection(
        f"{where[switch.where]}: `{switch.text}`",
        "leave modules in eval mode for the export; sample outside of the exported model",
    )
