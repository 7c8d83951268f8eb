"""What is taken down of files, and which of their trees stay."""

from __future__ import annotations

from pathlib import Path

from onnxlint.base.cache import Store
from onnxlint.project.index import FILES, Index


def test_no_more_files_have_their_functions_in_trees_than_trees_are_kept(tmp_path: Path) -> None:
    """Files that import others are taken down first: each wave may be small, and all of them together too many."""
    for wave in range(3):
        for number in range(FILES - 1):
            lines = ["import torch"] if wave == 0 else []
            lines += [f"import wave{wave + 1}_{number}"] if wave < 2 else []
            (tmp_path / f"wave{wave}_{number}.py").write_text("\n".join([*lines, "def f(x):\n    return x\n"]))
    index = Index(Store(None), {})
    index.read(sorted(tmp_path.glob("*.py")))
    modules = index.parse().modules.values()
    assert len(modules) == 3 * (FILES - 1)
    assert 0 < sum(info.parsed for info in modules) <= FILES
