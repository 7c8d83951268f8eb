"""How the processes that analyse are started; it imports nothing of the analysis."""

import multiprocessing
from multiprocessing.context import BaseContext


def context() -> BaseContext:
    """Fork from a process that has imported everything, where the system can; else start from nothing."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    chosen = multiprocessing.get_context("forkserver")
    chosen.set_forkserver_preload([f"{__package__}.preload"])
    return chosen
