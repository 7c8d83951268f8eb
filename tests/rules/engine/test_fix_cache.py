"""Fixes that are taken from the run before: those of definitions that are as they were, and no others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from onnxlint.base.cache import digest
from onnxlint.base.records import Finding
from onnxlint.config.settings import Settings
from onnxlint.rules.engine import fixes, source_page
from onnxlint.run.pipeline import run_check

HEAD = '"""Gates."""\nimport torch\nfrom torch import nn\n\n\n'
GATE = """class Gate{n}(nn.Module):
    def forward(self, x):
        if x.sum() > {n}:
            return x * 2
        return x


"""
TEXT = HEAD + "".join(GATE.format(n=n) for n in range(3))
STRING = '''class Gate{n}(nn.Module):
    def forward(self, x):
        note = """
def inner"""
        if x.sum() > {n}:
            return x * 2
        return x


'''
STRINGS = HEAD + "".join(STRING.format(n=n) for n in range(2))
CHANGES = {
    "a file that does not parse by its margins": (STRINGS, STRINGS.replace("> 1", "> 10"), ["Gate0", "Gate1"]),
    "nothing": (TEXT, TEXT, []),
    "one definition": (TEXT, TEXT.replace("> 1", "> 10"), ["Gate1"]),
    "what is behind all": (TEXT, TEXT + "LAST = 1\n", []),
    "the name of torch": (TEXT, TEXT.replace("import torch\n", "import torch as t\n"), ["Gate0", "Gate1", "Gate2"]),
    "no import of torch": (TEXT, TEXT.replace("import torch\n", "import math\n"), ["Gate0", "Gate1", "Gate2"]),
    "an import in a function": (TEXT, TEXT + "def f():\n    import torch\n", ["Gate0", "Gate1", "Gate2"]),
    "one line more": (TEXT, TEXT.replace("> 1:", "> 1:\n            x = -x"), ["Gate1", "Gate2"]),
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


def test_a_definition_is_hashed_once_for_all_findings_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[tuple[bytes | str, ...]] = []

    def watched(*parts: bytes | str) -> bytes:
        hashed.append(parts)
        return digest(*parts)

    monkeypatch.setattr(source_page, "digest", watched)
    page = source_page.Page("model.py", HEAD + GATE.format(n=0) + GATE.format(n=1))
    excerpts = {page.excerpt(line) for line in range(6, 17)}
    assert (len(excerpts), len(hashed)) == (2, 3)  # the beginning, and each definition
