"""Outlines are found again by path and hash, those of a folder in one entry, and what is broken counts as nothing."""

from __future__ import annotations

import os
from pathlib import Path

from onnxlint.base.cache import Store
from onnxlint.project.outline_cache import KIND, OutlineCache


def entries(folder: Path) -> list[Path]:
    return [path for path in folder.glob(f"*/{KIND}/*/*") if path.is_file()]


def test_outlines_of_a_folder_are_one_entry(tmp_path: Path) -> None:
    cache = OutlineCache(Store(tmp_path))
    for name, hashed in (("a.py", b"1"), ("b.py", b"2")):
        cache.put(Path("/project", name), hashed, b"outline of " + hashed)
    cache.write()
    later = OutlineCache(Store(tmp_path))
    assert len(entries(tmp_path)) == 1
    assert later.get(Path("/project/a.py"), b"1") == b"outline of 1"
    assert later.get(Path("/project/b.py"), b"2") == b"outline of 2"


def test_a_file_that_has_changed_has_none_and_its_neighbours_keep_theirs(tmp_path: Path) -> None:
    first = OutlineCache(Store(tmp_path))
    first.put(Path("/project/a.py"), b"1", b"old")
    first.put(Path("/project/b.py"), b"2", b"other")
    first.write()
    second = OutlineCache(Store(tmp_path))
    assert second.get(Path("/project/a.py"), b"9") is None
    second.put(Path("/project/a.py"), b"9", b"new")
    second.write()
    third = OutlineCache(Store(tmp_path))
    assert (third.get(Path("/project/a.py"), b"9"), third.get(Path("/project/b.py"), b"2")) == (b"new", b"other")


def test_an_entry_that_is_no_outline_and_a_name_that_is_no_text(tmp_path: Path) -> None:
    odd = Path("/project", os.fsdecode(b"\xff.py"))
    cache = OutlineCache(Store(tmp_path))
    cache.put(odd, b"1", b"odd")
    cache.write()
    assert OutlineCache(Store(tmp_path)).get(odd, b"1") == b"odd"
    (entry,) = entries(tmp_path)
    entry.write_bytes(entry.read_bytes()[:-1])
    assert OutlineCache(Store(tmp_path)).get(odd, b"1") is None


def test_without_a_folder_nothing_is_kept() -> None:
    cache = OutlineCache(Store(None))
    cache.put(Path("/project/a.py"), b"1", b"one")
    cache.write()
    assert cache.get(Path("/project/a.py"), b"1") is None
