"""What holds for all tests: results are kept in a folder of this test run, not in the user's."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from onnxlint.cache import FOLDER


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where runs of this session keep results, in this process and in those that it starts."""
    folder = tmp_path_factory.mktemp("cache")
    before = os.environ.get(FOLDER)
    os.environ[FOLDER] = str(folder)
    yield folder
    if before is None:
        del os.environ[FOLDER]
    else:
        os.environ[FOLDER] = before
