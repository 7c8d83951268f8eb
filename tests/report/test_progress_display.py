"""The lines that a terminal sees while a run is at work."""

from __future__ import annotations

import io
import re

from onnxlint.base.records import ExporterResult, Location, ModelReport, ModelStatus, Outcome
from onnxlint.report.progress import Progress, Silent, open_progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def work(progress: Progress) -> None:
    progress.stage("reading", total=2)
    progress.advance("a.py")
    progress.advance("b.py")
    progress.stage("probing", total=1)
    for number in range(5):
        progress.model(f"models.net:[red]Net{number}", "exporting with dynamo")
    progress.model("models.net:[red]Net0", "")
    progress.advance()


def test_a_terminal_sees_the_stage_and_the_models() -> None:
    stream = Terminal()
    with open_progress(stream) as progress:
        work(progress)
        last = progress
    assert not isinstance(last, Silent)
    seen = stream.getvalue()
    assert "probing" in seen
    assert "models.net:[red]Net1: exporting" in seen
    assert "\x1b[2K" in seen, "the lines are erased at the end"


def test_a_finished_model_is_told_at_once_where_others_are_still_to_come() -> None:
    exporters = {"dynamo": ExporterResult(Outcome.WRONG_VALUES, location=Location("src/net.py", 7))}
    done = ModelReport("net:[red]Net", "net.py", 1, ModelStatus.PROBED, exporters=exporters)
    failed = ModelReport("net:Other", "net.py", 9, ModelStatus.NOT_PROBED, "no weights")
    seen = {}
    for total in (1, 2):
        stream = Terminal()
        with open_progress(stream) as progress:
            progress.stage("probing", total=total)
            progress.probed(done)
            progress.probed(failed)
        seen[total] = re.sub(r"\x1b\[[0-9;]*m", "", stream.getvalue())
    assert "net:[red]Net  dynamo ✗ wrong values · net.py:7" in seen[2]
    assert "net:Other  – not probed: no weights" in seen[2]
    assert "net:Other" not in seen[1], "the report says it in a moment"


def test_a_failure_inside_still_clears_the_display() -> None:
    stream = Terminal()
    try:
        with open_progress(stream) as progress:
            progress.stage("reading")
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        pass
    assert stream.getvalue().rstrip().endswith(("\x1b[2K", "\x1b[?25h"))
