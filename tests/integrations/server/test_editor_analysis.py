"""One analysis for the editor: the text that is open counts, whatever is on the disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from onnxlint.base.records import Finding, Severity, Span
from onnxlint.integrations.server.editor_analysis import Job, answer_of, encoded, relevant

GATE = """\
import torch


class Gate(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return x
"""
CALM = GATE.replace("x.sum() > 0", "x.dim() > 2")


def codes(job: Job) -> list[tuple[str, str, int]]:
    answer = answer_of(job, cache=False, torch="2.13")
    assert answer.fault == ""
    return [(finding.code, finding.span.path, finding.span.line) for finding in answer.findings]


@pytest.fixture
def folder(here: Path) -> Path:
    """A folder whose name is not plain."""
    made = here / "two words" / "größe"
    made.mkdir(parents=True)
    return made


def test_the_text_that_is_open_counts_and_not_the_one_on_the_disk(folder: Path) -> None:
    file = str(folder / "gate.py")
    (folder / "gate.py").write_text(CALM)
    (folder / "other.py").write_text(GATE)
    assert codes(Job(str(folder), (file,))) == []
    assert codes(Job(str(folder), (file,), {file: GATE})) == [("ONX101", "gate.py", 6)]
    assert codes(Job(str(folder))) == [("ONX101", "other.py", 6)]
    assert (folder / "gate.py").read_text() == CALM


def test_a_file_that_is_on_no_disk_yet_is_analysed(folder: Path) -> None:
    file = str(folder / "new.py")
    assert codes(Job(str(folder), (file,), {file: GATE.replace("\n", "\r\n")})) == [("ONX101", "new.py", 6)]


def test_what_the_settings_leave_out_and_what_is_installed_is_not_analysed(folder: Path) -> None:
    (folder / "onnxlint.toml").write_text('exclude = ["gen"]\n')
    for name in ("gen/gate.py", "site-packages/gate.py"):
        (folder / name).parent.mkdir()
        (folder / name).write_text(GATE)
        answer = answer_of(Job(str(folder), (str(folder / name),)), cache=False)
        assert (answer.findings, answer.files, answer.fault) == ((), (), "")


def test_a_text_that_does_not_parse_is_a_diagnostic_at_its_line(folder: Path) -> None:
    file = str(folder / "gate.py")
    answer = answer_of(Job(str(folder), (file,), {file: "import torch\ndef f(:\n"}), cache=False)
    assert [(d.level, d.path, d.line) for d in answer.diagnostics] == [("error", "gate.py", 2)]
    assert answer.fault == ""


def test_a_folder_that_is_gone_is_told_in_a_line(folder: Path) -> None:
    answer = answer_of(Job(str(folder / "gone")))
    assert answer.fault == f"there is no folder {folder / 'gone'} any more"
    assert answer.findings == ()


def test_a_text_has_the_bytes_that_it_would_be_saved_as() -> None:
    assert encoded("x = 'größe'\r\n") == "x = 'größe'\r\n".encode()
    assert encoded("# coding: latin-1\nx = 'größe'\n") == "# coding: latin-1\nx = 'größe'\n".encode("latin-1")
    for odd in ("# coding: latin-1\nx = '画像'\n", "# coding: no-such\n", "x = '\ud800'\n"):
        assert encoded(odd) == odd.encode("utf-8", "surrogatepass")
    assert encoded("") == b""


def test_findings_of_a_file_are_those_whose_path_leads_to_it() -> None:
    def at(path: str) -> Finding:
        return Finding("ONX101", "rule", Severity.ERROR, "told", Span(path, 1, 1, 1, 2))

    findings = [at("a b/m.py"), at("m.py"), at("/opt/m.py")]
    assert relevant(findings, "/w", "/w/a b/m.py") == (findings[0],)
    assert relevant(findings, "/w", "/opt/m.py") == (findings[2],)
    assert relevant(findings, "/w", "/w/gone.py") == ()
