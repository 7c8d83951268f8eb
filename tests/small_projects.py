"""Small projects on the disk, as a run reads them."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path

from onnxlint.base.cache import Store
from onnxlint.project.classes import ModuleInfo
from onnxlint.project.index import Index
from onnxlint.project.modules import Project


def read(folder: Path, files: Mapping[str, str]) -> Project:
    """The project of some files, all of which are asked for; those that mention torch are of interest."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
    index = Index(Store(None), {})
    index.read(sorted(folder / name for name in files))
    return index.parse()


def module(project: Project, name: str) -> ModuleInfo:
    """A module that is there."""
    info = project.module(name)
    assert info is not None, name
    return info
