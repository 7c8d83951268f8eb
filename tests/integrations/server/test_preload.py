"""What analyses are forked from."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from onnxlint.integrations.server import start


def test_what_analyses_are_forked_from_imports_what_they_need(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)  # to be there again afterwards
    for module in start.PRELOADED:  # one that is missing is passed over in silence there
        rehearsed = importlib.import_module(module).rehearsed
        assert not rehearsed.fault
        assert [finding.code for finding in rehearsed.findings if finding.fix] == ["ONX101"]
