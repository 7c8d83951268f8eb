"""Applies every fix that is offered for a file, round after round, as `--fix --unsafe-fixes --show all` does."""

from __future__ import annotations

from pathlib import Path

from onnxlint.base.edits import apply_edits, choose
from onnxlint.base.records import Finding, Safety
from onnxlint.config.declared_models import ModelConfig
from onnxlint.config.settings import Settings
from onnxlint.run.pipeline import run_check

ROUNDS = 10


def lint(folder: Path, codes: tuple[str, ...] = (), models: tuple[ModelConfig, ...] = ()) -> tuple[Finding, ...]:
    """The findings of a folder, statically, in source order; of some rules only, where `codes` names them."""
    report = run_check([folder], Settings(root=folder, static_only=True, cache=False, models=models))
    assert report.diagnostics == ()
    return tuple(f for f in report.findings if not codes or f.code in codes)


def fix_all(
    path: Path, codes: tuple[str, ...] = (), *, safe: bool = False, models: tuple[ModelConfig, ...] = ()
) -> list[Finding]:
    """Fix a file in place until nothing is left that can be; return what was fixed."""
    fixed: list[Finding] = []
    for _ in range(ROUNDS):
        wanted = [f for f in lint(path.parent, codes, models) if f.fix is not None and f.fix.edits]
        wanted = [f for f in wanted if f.fix is not None and (not safe or f.fix.safety is Safety.SAFE)]
        text = path.read_bytes().decode()
        here = wanted[0].span.path if wanted else ""
        taken = choose([f for f in wanted if f.span.path == here], {here: text})
        if not taken:
            break
        edits = [edit for f in taken if f.fix is not None for edit in f.fix.edits]
        path.write_bytes(apply_edits(text, edits).encode())
        fixed += taken
    return fixed
