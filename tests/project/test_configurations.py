"""The words of configuration files: those of YAML, below a folder that is not hidden, of a moderate size."""

from __future__ import annotations

from pathlib import Path

import pytest

from onnxlint.project import configurations
from onnxlint.project.configurations import Configurations, unchanged


def test_the_words_of_yaml_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "conf" / "a.yaml").write_text("net: models.Tall  # a comment")
    (tmp_path / "b.yml").write_text("- Wide" + " " * 10)
    (tmp_path / ".hidden" / "c.yaml").write_text("Hidden")
    (tmp_path / "d.txt").write_text("Text")
    assert Configurations(tmp_path).words == {"net", "models", "Tall", "a", "comment", "Wide"}
    monkeypatch.setattr(configurations, "LARGEST", 10)
    assert Configurations(tmp_path).words == frozenset()
    monkeypatch.setattr(configurations, "FOLDERS", 0)
    assert Configurations(tmp_path).words == frozenset()
    assert Configurations(None).words == frozenset()


def test_what_nobody_asked_for_holds_whatever_changes(tmp_path: Path) -> None:
    files = Configurations(tmp_path)
    (tmp_path / "a.yaml").write_text("Net")
    assert unchanged(files.state)


@pytest.mark.parametrize(
    ("name", "text", "same"), [("b.yaml", "Net", True), ("b.yaml", "Other", False), ("a.yaml", "", False)]
)
def test_words_that_were_asked_for_hold_until_a_file_has_others(
    name: str, text: str, same: bool, tmp_path: Path
) -> None:
    (tmp_path / "a.yaml").write_text("Net")
    files = Configurations(tmp_path)
    assert files.words == {"Net"}
    (tmp_path / name).write_text(text)
    assert unchanged(files.state) is same


def test_settings_are_what_all_yaml_files_that_set_a_name_say_alike(tmp_path: Path) -> None:
    """A number may be anything, a short name or one without `_` may be of something else."""
    (tmp_path / "a.yaml").write_text("boundary_width: null\nuse_attention: false\nnorm_layer: batch\nwidth: null\n")
    (tmp_path / "b.yaml").write_text(
        "boundary_width: ~  # off\nuse_attention: true\nnorm_layer: 'batch'\nhead_dim: 8\n"
    )
    assert Configurations(tmp_path).settings == {"norm_layer": "batch"}
    (tmp_path / "b.yaml").write_text("boundary_width: null\n")
    assert Configurations(tmp_path).settings == {"boundary_width": None, "use_attention": False, "norm_layer": "batch"}
