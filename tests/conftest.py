"""What holds for all tests: where results are kept, with which signals processes start, and that no clock is held."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from onnxlint.base.cache import FOLDER

settings.register_profile("clockless", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("clockless")  # how long an example takes is a matter of what else the machine does


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


@pytest.fixture(scope="session", autouse=True)
def signals_as_usual() -> None:
    """Have no process inherit that a signal is ignored (`nohup`, `&` in a script): to this one it is still nothing.

    A process that is started has a signal ignored where its parent ignores it, and as usual where that handles it.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the test's own that is the working directory; no configuration of the user is in force."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    return tmp_path
