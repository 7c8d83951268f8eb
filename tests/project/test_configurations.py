"""The words of configuration files: those of YAML, below a folder that is not hidden, of a moderate size."""

from __future__ import annotations

from pathlib import Path

import pytest

from onnxlint.project import configurations
from onnxlint.project.configurations import words_of_configurations


def test_the_words_of_yaml_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "conf" / "a.yaml").write_text("net: models.Tall  # a comment")
    (tmp_path / "b.yml").write_text("- Wide" + " " * 10)
    (tmp_path / ".hidden" / "c.yaml").write_text("Hidden")
    (tmp_path / "d.txt").write_text("Text")
    assert words_of_configurations(tmp_path) == {"net", "models", "Tall", "a", "comment", "Wide"}
    monkeypatch.setattr(configurations, "LARGEST", 10)
    assert words_of_configurations(tmp_path) == frozenset()
    monkeypatch.setattr(configurations, "FOLDERS", 0)
    assert words_of_configurations(tmp_path) == frozenset()
    assert words_of_configurations(None) == frozenset()
