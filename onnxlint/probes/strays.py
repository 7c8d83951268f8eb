"""Ends the processes that a model has started and that have left its session and its parent."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psutil

MARK = "ONNXLINT_PROBES"  # in the environment of the fork server, and so of all that comes from it


def orphans(mark: str) -> list[psutil.Process]:
    """The processes younger than this one that have this value of MARK in their environment, and parents without it."""
    import psutil  # here, because it comes with the `dynamic` extra

    since = psutil.Process().create_time()  # by the same clock: the system's own is told in whole seconds
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.create_time() >= since and process.environ().get(MARK) == mark:
                parent = process.parent()
                if parent is None or not _has(parent, mark):
                    found.append(process)
    return found


def _has(process: psutil.Process, mark: str) -> bool:
    import psutil

    try:
        return bool(process.environ().get(MARK) == mark)
    except psutil.Error:  # it has ended, or is someone else's
        return False


def end(mark: str) -> None:
    """Kill every other process that has this value of MARK in its environment."""
    import psutil  # here, because it comes with the `dynamic` extra

    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.pid != os.getpid() and process.environ().get(MARK) == mark:
                process.kill()
