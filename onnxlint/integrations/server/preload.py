"""What every analysis needs, imported and made once: the process that analyses are forked from imports this."""

import gc
import os

from onnxlint.base.cache import version
from onnxlint.flow.tables.operator_table import OpTable
from onnxlint.flow.tables.torch_versions import choose, shipped
from onnxlint.integrations.server import processes
from onnxlint.integrations.server.editor_analysis import Job, answer_of
from onnxlint.probes.guess.conventions import suggestion

# Code on no disk whose analysis comes by all that is imported late, down to the writing of a fix.
_SAMPLE = """
from torch import nn


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))

    def forward(self, x, mask=None):
        for layer in self.layers:
            x = layer(x)
        if x.sum() > 0:
            x = x[:, :1].clamp(min=0)
        return x.view(x.shape[0], -1)
"""
_FILE = os.path.join(os.sep, "onnxlint sample.py")

for torch in shipped():
    OpTable.load(torch)
version()
choose(None, "", None)  # it looks through all that is installed
suggestion("")  # its patterns are compiled when they are first looked for
rehearsed = answer_of(Job(os.sep, (_FILE,), {_FILE: _SAMPLE}), cache=False, torch=shipped()[-1])
gc.freeze()  # the collector of a child must not touch, and so copy, what it shares with us

__all__ = ["processes", "rehearsed"]
