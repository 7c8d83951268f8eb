"""The progress display of a terminal: one line with the stage, one with the models in work."""

from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from onnxlint.base.records import ModelReport
from onnxlint.report.common.model_table import model_line
from onnxlint.report.common.words import clean, cut

_MOST_MODELS = 3  # named at once


class Live:
    """Draws while its `bars` are open, and leaves nothing behind."""

    def __init__(self, stream: TextIO) -> None:
        stage = TextColumn("{task.description}", markup=False)
        note = TextColumn("{task.fields[note]}", style="dim", markup=False)
        columns = SpinnerColumn(), stage, BarColumn(bar_width=24), MofNCompleteColumn(), TimeElapsedColumn(), note
        console = Console(file=stream, stderr=True, markup=False, highlight=False, emoji=False)
        self.bars = Bars(*columns, console=console, transient=True)
        self._task = self.bars.add_task("", total=None, note="", visible=False)
        self._working: dict[str, str] = {}

    def stage(self, name: str, total: int | None = None) -> None:
        """Start a bar for the stage; one that only pulses if the total is not known."""
        self._working.clear()
        self.bars.reset(self._task, description=clean(name), total=total, visible=True, note="")

    def advance(self, done: str = "") -> None:
        """Move the bar on."""
        self.bars.update(self._task, advance=1, note=self._note() or cut(clean(done), 40))

    def model(self, name: str, stage: str) -> None:
        """Name the model and what is being done with it."""
        if stage:
            self._working[name] = stage
        else:
            self._working.pop(name, None)
        self.bars.update(self._task, note=self._note())

    def probed(self, report: ModelReport) -> None:
        """Say at once, and for good, what became of a model, where the report has to wait for others."""
        if (self.bars.tasks[0].total or 0) > 1:
            self.bars.console.print(model_line(report), soft_wrap=True)

    def _note(self) -> str:
        models = [f"{cut(clean(name), 40)}: {clean(stage)}" for name, stage in self._working.items()]
        more = f" and {len(models) - _MOST_MODELS} more" if len(models) > _MOST_MODELS else ""
        return ", ".join(models[:_MOST_MODELS]) + more
