"""What changes on the disk, for an editor that does not tell: the files that an analysis read are looked at."""

import asyncio
import os
import time
from collections.abc import Iterable
from pathlib import Path

from onnxlint.config.config_files import FILE_NAMES
from onnxlint.integrations.server.projects import Projects
from onnxlint.run.counterexamples import INDEX

NAMES = (*FILE_NAMES, ".gitignore", "onnxlint-baseline.json", f".onnxlint/repro/{INDEX}")
_PAUSE = 1.0  # seconds between two looks
_MOST = 0.02  # of the time that is spent looking

Stamps = dict[str, tuple[int, int]]


async def look(projects: Projects) -> None:
    """Look until the server ends."""
    stamps: Stamps = {}
    while True:
        begun = time.monotonic()
        stamps, changed = await asyncio.to_thread(_seen, projects.read(), stamps)
        if changed:
            projects.changed_outside(changed)
        await asyncio.sleep(max(_PAUSE, (time.monotonic() - begun) / _MOST))


def _seen(read: Iterable[tuple[str, frozenset[str], int]], before: Stamps) -> tuple[Stamps, list[str]]:
    """The stamps of all files now, and those that changed since they were `known`, or since they were read."""
    stamps: Stamps = {}
    changed = []
    for root, members, begun in read:
        above = (os.path.join(folder, name) for folder in Path(root).parents for name in FILE_NAMES)
        here = (os.path.join(root, name) for name in NAMES)
        for path in (*here, *above, *members):  # what the analysis read, or would read if it were there
            stamp = stamps[path] = _stamp(path)
            if (stamp != before[path]) if path in before else (stamp[0] > begun):
                changed.append(path)
    return stamps, changed


def _stamp(path: str) -> tuple[int, int]:
    """What changes when a file does: when it was written, and its size. One that is missing has a stamp as well."""
    try:
        status = os.stat(path)
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_size
