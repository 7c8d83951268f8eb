"""Whether an export failed because the disk is full: then neither the model nor the exporter is to blame."""

import errno
import os
from pathlib import Path

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_WORDS = tuple(os.strerror(number) for number in _NO_ROOM)
_ROOM = 1 << 20  # bytes that have to fit where a file failed that was not written by Python


def no_room(folder: Path, said: str) -> str | None:
    """The message for a full disk, if the error text `said` or a test write to `folder` shows one; else None."""
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
