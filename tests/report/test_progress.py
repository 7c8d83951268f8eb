"""Progress is told on a terminal, and nowhere else."""

from __future__ import annotations

import io
import subprocess
import sys

from onnxlint.report.progress import Silent, open_progress


def test_nothing_is_written_where_nobody_watches() -> None:
    stream = io.StringIO()
    with open_progress(stream) as progress:
        assert isinstance(progress, Silent)
        progress.stage("reading", total=2)
        progress.advance("a.py")
        progress.model("models.net:Net", "exporting with dynamo")
    assert stream.getvalue() == ""


def test_formats_for_machines_need_no_terminal_library() -> None:
    script = (
        "import sys\n"
        "from onnxlint.base.records import Report\n"
        "from onnxlint.report import render\n"
        "for format in ('json', 'sarif', 'github', 'concise'):\n"
        "    render(Report(), format, color=False, width=80, show_all=True, sources=None, catalogue={})\n"
        "from onnxlint.report.progress import open_progress\n"
        "open_progress(sys.stderr).__enter__()\n"
        "print('rich' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
