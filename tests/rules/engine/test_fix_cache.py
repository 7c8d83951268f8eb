"""Fixes that are taken from the run before: those of files that are as they were, and no others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from onnxlint.base.records import Finding
from onnxlint.config.settings import Settings
from onnxlint.rules.engine import fixes
from onnxlint.run.pipeline import run_check

HEAD = '"""Gates."""\nimport torch\nfrom torch import nn\n\n\n'
GATE = """class Gate{n}(nn.Module):
    def forward(self, x):
        if x.sum() > {n}:
            return x * 2
        return x


"""
TEXT = HEAD + "".join(GATE.format(n=n) for n in range(3))
ALL = ["Gate0", "Gate1", "Gate2"]
CHANGES = {
    "nothing": (TEXT, TEXT, []),
    "one definition": (TEXT, TEXT.replace("> 1", "> 10"), ALL),
    "the name of torch": (TEXT, TEXT.replace("import torch\n", "import torch as t\n"), ALL),
    "an import in a function": (TEXT, TEXT + "def f():\n    import torch\n", ALL),
}


def found(folder: Path, cache: Path | None) -> Sequence[Finding]:
    settings = Settings(root=folder, static_only=True, cache=cache is not None, cache_dir=cache)
    return [f for f in run_check([folder], settings).findings if f.code == "ONX101"]


@pytest.mark.parametrize("name", CHANGES)
def test_a_fix_is_written_anew_where_what_it_hangs_on_has_changed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model, cache = tmp_path / "model.py", tmp_path / "cache"
    before, after, classes = CHANGES[name]
    model.write_text(before)
    assert all(finding.fix is not None for finding in found(tmp_path, cache))
    model.write_text(after)
    written: list[str] = []
    write = fixes._written

    def watched(rule: object, finding: Finding, page: object) -> object:
        written.append(finding.symbol.split(".")[1])
        return write(rule, finding, page)  # type: ignore[arg-type]

    monkeypatch.setattr(fixes, "_written", watched)
    kept = found(tmp_path, cache)
    assert written == classes
    assert kept == found(tmp_path, None)
