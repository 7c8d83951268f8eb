"""Whether an export failed for want of room on the disk: then neither the model nor the exporter is to blame."""

from __future__ import annotations

import errno
import os
from pathlib import Path

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_WORDS = tuple(os.strerror(number) for number in _NO_ROOM)
_ROOM = 1 << 20  # bytes that have to fit where a file failed that was not written by Python


def no_room(folder: Path, said: str) -> str | None:
    """What to say if `said`, the message of a failure, or the disk of `folder` itself tells that nothing fits there."""
    full = any(words in said for words in _WORDS) or not _fits(folder)
    return f"there is no room on the disk for the exported file, in {folder.parent}" if full else None


def _fits(folder: Path) -> bool:
    try:
        with (folder / "room").open("wb") as file:
            file.write(bytes(_ROOM))
    except OSError as error:
        return error.errno not in _NO_ROOM
    finally:
        (folder / "room").unlink(missing_ok=True)
    return True
