"""Ends the processes that a model has started and that have left its session and its parent."""

from __future__ import annotations

import contextlib
import os

MARK = "ONNXLINT_PROBES"  # in the environment of the fork server, and so of all that comes from it


def end(mark: str) -> None:
    """Kill every other process that has this value of MARK in its environment."""
    import psutil  # here, because it comes with the `dynamic` extra

    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.pid != os.getpid() and process.environ().get(MARK) == mark:
                process.kill()
