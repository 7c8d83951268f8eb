"""Ends every process that descends from this one: those of a model, also where they have left its session."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psutil

_PATIENCE = 5.0  # seconds for processes that fork faster than they are killed
_STOPS = 3  # looks that find new processes and only stop them, before all are killed


def end_descendants(spared: Collection[int] = ()) -> tuple[int, set[int], int]:
    """End all descendants but the children `spared` and theirs; return how many ran, all ids and how many stay."""
    seen: set[psutil.Process] = set()
    gone, looks, deadline = set[int](), 0, time.monotonic() + _PATIENCE
    while (family := descendants(os.getpid(), spared)) or (ended := reap(spared)):  # who may have left another
        gone |= {process.pid for process in family} or ended  # by itself, and nobody had taken note of it
        if time.monotonic() > deadline:
            break
        new = not seen.issuperset(family)
        seen.update(family)
        looks += 1
        number = signal.SIGSTOP if new and looks % (_STOPS + 1) else signal.SIGKILL
        for process in family:
            _send(process, number)
        if number == signal.SIGKILL:
            time.sleep(0.001)
            gone |= reap(spared)
    return len(seen), gone, len(family)


def descendants(pid: int, spared: Collection[int] = ()) -> list[psutil.Process]:
    """The processes that descend from `pid` and run, but for its children `spared` and theirs."""
    import psutil  # here, because it comes with the `dynamic` extra

    running = []
    with contextlib.suppress(psutil.NoSuchProcess):
        family = psutil.Process(pid).children(recursive=not spared)
        for child in [process for process in family if process.pid not in spared] if spared else ():
            with contextlib.suppress(psutil.NoSuchProcess):
                family += child.children(recursive=True)
        family = [process for process in family if process.pid not in spared]
        for process in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                if process.status() != psutil.STATUS_ZOMBIE:
                    running.append(process)
    return running


def descends(target: int, pid: int) -> bool:
    """Whether a process, or a group as os.kill has it, descends from `pid`; one that is not there may have."""
    import psutil

    if target in (0, -1):
        return target == 0
    try:
        return any(parent.pid == pid for parent in psutil.Process(abs(target)).parents())
    except (psutil.Error, ValueError, OverflowError):
        return True


def reap(spared: Collection[int]) -> set[int]:
    """Take note of the children that have ended, but for those `spared`, whose ends others wait for; return which."""
    gone = set()
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) and ended.si_pid not in spared:
            gone.add(os.waitpid(ended.si_pid, 0)[0])
    return gone


def _send(process: psutil.Process, number: int) -> None:
    """Send a signal to a process, and to its group at once: no member of that can fork in between."""
    import psutil

    with contextlib.suppress(psutil.Error, OSError):
        process.send_signal(number)  # which sees to it that the number is still that of the process
    with contextlib.suppress(OSError):
        group = os.getpgid(process.pid)
        if group not in (os.getpgrp(), 0):
            os.killpg(group, number)
