"""How much memory a probe may use, and how much it does."""

import contextlib
from pathlib import Path

import psutil

_CGROUP_V2 = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current"))
_SHARE = 0.8  # of what is available; the rest is for the static pass, the fork server and the user's editor


def available() -> int:
    """Return the bytes that this machine, or the container that we are in, still has."""
    free = int(psutil.virtual_memory().available)
    try:
        limit, used = (path.read_text().strip() for path in _CGROUP_V2)
    except OSError:
        return free
    return free if limit == "max" else min(free, max(int(limit) - int(used), 0))


def default_limit(jobs: int) -> int:
    """Return the bytes that each of `jobs` probes at a time may use when the user has not said."""
    return int(available() * _SHARE) // max(jobs, 1)


class Gauge:
    """Reads the memory of a process and its descendants, in bytes. Orphans of it are adopted by `supervisor`."""

    def __init__(self, pid: int, supervisor: int | None = None) -> None:
        self._leader = self._root = None
        with contextlib.suppress(psutil.NoSuchProcess):  # it has ended already, and uses nothing
            self._leader = psutil.Process(pid)
            self._root = self._leader if supervisor is None else psutil.Process(supervisor)
        self._others: list[psutil.Process] = []

    @property
    def stopped(self) -> bool:
        """Whether a signal has stopped the process, which goes on when another one says so."""
        with contextlib.suppress(psutil.NoSuchProcess):
            return self._leader is not None and bool(self._leader.status() == psutil.STATUS_STOPPED)
        return False

    def find_descendants(self) -> None:
        """Look for processes that the leader has started since; costs milliseconds."""
        with contextlib.suppress(psutil.NoSuchProcess):
            if self._root is not None:
                self._others = [p for p in self._root.children(recursive=True) if p != self._leader]

    def read(self) -> int:
        """Return the resident memory of the leader, and of the others, which are forks, what they share with nobody."""
        total = 0
        with contextlib.suppress(psutil.Error):
            total += int(self._leader.memory_info().rss) if self._leader is not None else 0
        for process in self._others:
            with contextlib.suppress(psutil.Error):
                total += int(process.memory_full_info().uss)
        return total


def human(size: int) -> str:
    """Return a size as people write it: `512 MiB`, `2.0 GiB`."""
    return f"{max(size // 1024**2, 1)} MiB" if size < 1024**3 else f"{size / 1024**3:.1f} GiB"
