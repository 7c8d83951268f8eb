"""What every analysis needs, made once: the process that analyses are forked from imports this."""

from __future__ import annotations

from onnxlint.base.cache import version
from onnxlint.base.catalogue import load_catalogue
from onnxlint.flow.tables.operator_table import OpTable
from onnxlint.flow.tables.torch_versions import shipped
from onnxlint.integrations.server import processes
from onnxlint.rules.engine.registry import all_rules

load_catalogue()
all_rules()
for torch in shipped():
    OpTable.load(torch)
version()

__all__ = ["processes"]
