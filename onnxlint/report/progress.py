"""Progress on standard error, only where somebody watches: the stage, and the models that are being probed."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, TextIO

from onnxlint.base.records import ModelReport


class Progress(Protocol):
    """What the pipeline reports while it works."""

    def stage(self, name: str, total: int | None = None) -> None:
        """A stage begins; `total` is the number of steps in it, where that is known."""

    def advance(self, done: str = "") -> None:
        """One step of the stage is done; `done` names it."""

    def model(self, name: str, stage: str) -> None:
        """A model is at a stage of its probe; an empty stage means that it is finished."""

    def probed(self, report: ModelReport) -> None:
        """What the exporters made of a model is known."""


class Silent:
    """Tells nobody."""

    def _nothing(self, *_: object, **__: object) -> None: ...

    stage = advance = model = probed = _nothing


SILENT = Silent()


@contextmanager
def open_progress(stream: TextIO | None = None, *, quiet: bool = False) -> Iterator[Progress]:
    """Progress on the stream (standard error by default) if it is a terminal, else silence; gone afterwards."""
    stream = stream or sys.stderr
    if quiet or stream is None or not stream.isatty():  # Python has none where it was closed
        yield SILENT
        return
    from onnxlint.report.progress_display import Live

    live = Live(stream)
    with live.bars:
        yield live
