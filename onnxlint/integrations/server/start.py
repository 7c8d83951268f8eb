"""Starts the server: the process that analyses are forked from gets ready while this one imports the rest."""

import logging
import multiprocessing
import os
import sys
from multiprocessing import forkserver
from typing import BinaryIO

from onnxlint.base import interrupts
from onnxlint.base.lifetimes import temporary_folder

PRELOADED = ["onnxlint.integrations.server.preload"]


def serve() -> int:
    """Serve on standard input and output until the editor ends it; return the exit code that the protocol asks for.

    Nothing but the protocol is written there.
    """
    logging.basicConfig(stream=sys.stderr, level=logging.CRITICAL)
    interrupts.forget()  # what waits for input ends for no exception
    reading, writing = _own_channels()
    with temporary_folder() as folder:
        # The socket of the processes that analyse lies there: multiprocessing's own folder would outlive a kill.
        multiprocessing.current_process()._config["tempdir"] = folder  # type: ignore[attr-defined]
        multiprocessing.set_forkserver_preload(PRELOADED)
        forkserver.ensure_running()
        from onnxlint.integrations.server.app import build

        server = build()
        server.start_io(reading, writing)
        return server.code


def _own_channels() -> tuple[BinaryIO, BinaryIO]:
    """Standard input and output for the protocol alone: others, and processes that are started, get none of it."""
    reading, writing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return reading, writing
