"""Paths as reports show them, and links that lead out of what is checked."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from onnxlint.base.paths import (
    display_path,
    keep_inside,
    leads_out,
    led_out,
    make_untracked,
    package_path,
    remove_links,
    unwritable,
)


def test_a_path_is_shown_from_the_working_directory_on(here: Path) -> None:
    assert display_path(here / "two words" / "größe.py") == "two words/größe.py"
    assert display_path(Path("a/../b.py")) == "b.py"
    assert display_path(here) == display_path(Path()) == "."
    assert display_path(here.parent / "m.py") == f"{here.parent}/m.py"
    assert display_path(Path(f"{here}-other/m.py")) == f"{here}-other/m.py", "a folder whose name only begins alike"


def test_a_link_is_shown_by_its_own_name(here: Path) -> None:
    (here / "real.py").touch()
    (here / "link.py").symlink_to("real.py")
    assert display_path(here / "link.py") == "link.py"


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/env/lib/python3.11/site-packages/timm/layers/a b.py", "timm/layers/a b.py"),
        ("/usr/lib/python3/dist-packages/torch/nn/x.py", "torch/nn/x.py"),
        ("C:\\env\\Lib\\site-packages\\timm\\x.py", "timm\\x.py"),
        ("src/my-site-packages/x.py", "src/my-site-packages/x.py"),
        ("", ""),
    ],
)
def test_an_installed_file_is_named_from_its_package_on(path: str, shown: str) -> None:
    assert package_path(path) == shown


def test_git_is_told_once_to_leave_a_folder_alone(tmp_path: Path) -> None:
    make_untracked(tmp_path / ".onnxlint" / "repro")
    ignore = tmp_path / ".onnxlint" / ".gitignore"
    assert ignore.read_text() == "*\n"
    ignore.write_text("mine\n")
    make_untracked(tmp_path / ".onnxlint" / "other")
    make_untracked(tmp_path / ".onnxlint" / "other")
    assert ignore.read_text() == "mine\n"
    assert not (tmp_path / ".gitignore").exists()


def test_links_are_removed_and_what_they_lead_to_stays(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "m.py").write_text("x")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "own.py").write_text("y")
    (folder / "link.py").symlink_to(kept / "m.py")
    (folder / "dangling").symlink_to("gone")
    remove_links(folder)
    assert sorted(path.name for path in folder.iterdir()) == ["own.py"]
    (tmp_path / "way").symlink_to(kept)
    remove_links(tmp_path / "way")
    assert not os.path.lexists(tmp_path / "way")
    assert (kept / "m.py").read_text() == "x"
    remove_links(tmp_path / "gone")


def test_where_nothing_can_be_written_is_said_and_nothing_is_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert unwritable(tmp_path / "a" / "b" / "c") is None
    assert unwritable(tmp_path / "file" / "a") == f"{tmp_path / 'file'} is not a folder"
    (tmp_path / "dangling").symlink_to("gone")
    assert unwritable(tmp_path / "dangling" / "a") == f"{tmp_path / 'dangling'} is not a folder"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dangling", "file"]
    if os.getuid():  # the superuser may write anywhere
        (tmp_path / "locked").mkdir(mode=0o500)
        assert unwritable(tmp_path / "locked" / "a") == f"{tmp_path / 'locked'} may not be written to"


def test_a_link_that_leads_out_is_found_and_one_that_stays_is_not(
    here: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    far = tmp_path_factory.mktemp("far")
    (far / "m.py").touch()
    (here / "m.py").touch()
    (here / "out.py").symlink_to(far / "m.py")
    (here / "stays.py").symlink_to("m.py")
    assert led_out(here / "out.py", [here]) == far / "m.py"
    assert led_out(here / "stays.py", [here]) is None
    told = leads_out(here / "out.py", [here])
    assert told is not None
    assert str(far / "m.py") in told
    assert leads_out(here / "out.py", [far / "m.py"]) is None, "its folder counts, since it was named"
    keep_inside(here / "stays.py")
    keep_inside(far / "m.py")
    with pytest.raises(OSError, match="a link leads out of the working directory"):
        keep_inside(here / "out.py")
    (here / "folder").symlink_to(far)
    with pytest.raises(OSError, match="a link leads out"):
        keep_inside(Path("folder/new.py"))
