"""What every analysis needs, made once: the process that analyses are forked from imports this."""

from __future__ import annotations

from onnxlint.cache import version
from onnxlint.catalogue import load_catalogue
from onnxlint.flow.ops import OpTable
from onnxlint.flow.versions import shipped
from onnxlint.integrations.server import processes
from onnxlint.rules.registry import all_rules

load_catalogue()
all_rules()
for torch in shipped():
    OpTable.load(torch)
version()

__all__ = ["processes"]
