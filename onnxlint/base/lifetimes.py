"""What ends with this process, however it ends: the processes that it starts, and its temporary folders."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator

_PARENT_DEATH, _ADOPT = 1, 36  # PR_SET_PDEATHSIG and PR_SET_CHILD_SUBREAPER, linux/prctl.h

# Run by a Python of its own, which outlives this process: a process that is killed cannot tidy up after itself.
_REMOVER = """
import shutil, signal, sys, tempfile
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
folder = tempfile.mkdtemp(prefix=sys.argv[1], dir=sys.argv[2])
print(folder, flush=True)
sys.stdin.read()
shutil.rmtree(folder, ignore_errors=True)
"""


def prctl(option: int, value: int, *more: int) -> None:
    """Call Linux's prctl; does nothing elsewhere."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, *(*more, 0, 0, 0)[:3])


def end_with(parent: int) -> None:
    """Have this process killed when `parent` ends, which has forked it (`preexec_fn=partial(end_with, os.getpid())`).
    Linux looks at the thread of the parent that has forked: that has to be one that stays."""
    prctl(_PARENT_DEATH, signal.SIGKILL)
    if os.getppid() != parent:  # it has ended before the system knew
        os._exit(1)


def adopt_orphans() -> None:
    """Become the parent of all descendants whose own parents end, on Linux: none can leave this process's tree."""
    prctl(_ADOPT, 1)


@contextlib.contextmanager
def temporary_folder(prefix: str = "onnxlint-", parent: str | None = None) -> Iterator[str]:
    """Make a folder that is removed at the end, or when this process has ended. Raises OSError where none can be."""
    parent = parent or tempfile.gettempdir()
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _REMOVER, prefix, parent],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as remover:
        assert remover.stdout is not None
        folder = os.fsdecode(remover.stdout.readline()).removesuffix("\n")
        if not folder:
            raise OSError(f"no temporary folder can be made in {parent}; set TMPDIR to one that you may write to")
        yield folder
