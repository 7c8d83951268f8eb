"""ONX303 train-mode-forced. Contract: rules/ONX303-train-mode-forced.md."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxlint.flow.facts import ModeSwitch
from onnxlint.rules.rule import Objection, Rule


class TrainModeForced(Rule):
    """Object to modules put in train mode where the model is meant to run in eval mode."""

    code = "ONX303"

    def on_mode_switch(self, node: cst.CSTNode, switch: ModeSwitch) -> Iterator[Objection]:
        where = {
            "forward": "forward puts modules in train mode",
            "eval": "the overridden mode switch leaves modules in train mode",
            "build": "modules are put back in train mode after the model is built",
        }
        yield Objection(
            f"{where[switch.where]}: `{switch.text}`",
            "leave modules in eval mode for the export; sample outside of the exported model",
        )
