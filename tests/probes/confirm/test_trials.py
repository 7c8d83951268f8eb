"""What a choice among equal values decides is nobody's fault; what it has no part in is."""

from __future__ import annotations

from pathlib import Path

import pytest
from probing import BATCH, hazard, outcomes

from onnxlint.probes.process.worker import run_probe


@pytest.mark.slow
@pytest.mark.parametrize(("factory", "torchscript"), [("ChosenAmongEqual", "ok"), ("ChosenAndWrong", "wrong-values")])
def test_what_is_chosen_among_equal_values_is_no_error(factory: str, torchscript: str, tmp_path: Path) -> None:
    probe = hazard(factory, tmp_path, "many_rows", BATCH, exporters=("torchscript",))
    assert outcomes(run_probe(probe)) == {"torchscript": torchscript}
