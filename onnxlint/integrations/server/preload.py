"""What every analysis needs, imported and made once: the process that analyses are forked from imports this."""

import gc
import os

from onnxlint.base.cache import version
from onnxlint.base.files import own_text
from onnxlint.flow.tables.operator_table import OpTable
from onnxlint.flow.tables.torch_versions import choose, shipped
from onnxlint.integrations.server import processes
from onnxlint.integrations.server.editor_analysis import Job, answer_of
from onnxlint.probes.guess.conventions import suggestion

# Code whose analysis, under a name on no disk, comes by all that is imported late, down to the writing of a fix.
_SAMPLE = own_text(__file__, "sample.txt")
_FILE = os.path.join(os.sep, "onnxlint sample.py")

for torch in shipped():
    OpTable.load(torch)
version()
choose(None, "", None)  # it looks through all that is installed
suggestion("")  # its patterns are compiled when they are first looked for
rehearsed = answer_of(Job(os.sep, (_FILE,), {_FILE: _SAMPLE}), cache=False, torch=shipped()[-1])
gc.freeze()  # the collector of a child must not touch, and so copy, what it shares with us

__all__ = ["processes", "rehearsed"]
