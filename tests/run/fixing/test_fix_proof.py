"""With a model at hand: a fix that changes eager's output is undone and said to be, the others stay."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

MODELS = """\
import torch
import torch.nn as nn


class Good(nn.Module):
    def forward(self, x):
        total = x.sum()
        if total > 0:
            y = torch.exp(total / 10) * x
        else:
            y = x
        return y + 1


class Wider(nn.Module):
    def forward(self, x):
        first = x[:1]
        y = x
        if x.mean() > 0.1:
            y = first
        return y * 2


def inputs():
    return (torch.randn(2, 4, generator=torch.Generator().manual_seed(0)),)
"""
CONFIG = "".join(
    f'[[models]]\nfactory = "models:{name}"\ninputs = "models:inputs"\ndynamic = {{ x = {{ 0 = "batch" }} }}\n'
    for name in ("Good", "Wider")
)


@pytest.mark.slow
def test_a_fix_that_changes_the_output_is_undone(tmp_path: Path) -> None:
    (tmp_path / "models.py").write_text(MODELS)
    (tmp_path / "onnxlint.toml").write_text(CONFIG)
    done = subprocess.run(
        [sys.executable, "-m", "onnxlint", "check", "--no-cache", "--fix", "--unsafe-fixes"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    fixed = (tmp_path / "models.py").read_text()
    assert "y = torch.where(total > 0, torch.exp(total / 10) * x, x)" in fixed
    assert "if x.mean() > 0.1:" in fixed
    assert "the fix of ONX101 was undone: eager's output changes (models:Wider" in " ".join(done.stdout.split())
    assert done.stdout.rstrip().endswith("Fixed 1 (1 ONX101)")
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".tmp"] == []
