"""Counterexamples that runs have kept: which finding each belongs to, and which is meant by a name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from onnxlint.base.records import Cause, Evidence, Finding, Outcome, Severity, Span
from onnxlint.run.counterexamples import INDEX, SCRIPT, WHOLE, Saved, named, remember, saved


def finding(script: Path | str | None, line: int = 3, path: str = "two words/größe.py") -> Finding:
    evidence = Evidence("m:A", "dynamo", Cause.REFUSED, Outcome.EXPORT_ERROR, (), "x", repro=script and str(script))
    span = Span(path, line, 1, line, 5)
    return Finding("ONX101", "rule", Severity.ERROR, "told", span, evidence=(evidence,), text=f"line {line}")


@pytest.fixture
def folder(here: Path) -> Path:
    """Three counterexamples, one with the input as it was found, one whose script says nothing."""
    made = here / ".onnxlint" / "repro"
    for name, text in {
        "gate-dynamo": '"""Größe differs.\n\nMore."""\n',
        "gate-torchscript": "x = 1\n",
        "odd": "def (:",
    }.items():
        (made / name).mkdir(parents=True)
        (made / name / SCRIPT).write_text(text, encoding="utf-8")
    (made / "gate-dynamo" / WHOLE).touch()
    (made / "no-script").mkdir()
    return made


def test_each_belongs_to_the_findings_that_it_shows(folder: Path) -> None:
    script = folder / "gate-dynamo" / SCRIPT
    one, other = finding(script), finding(Path(".onnxlint/repro/gate-dynamo") / SCRIPT, line=9)
    remember([one, other, finding(None), finding(folder / "odd" / SCRIPT)])
    gate, silent, odd = saved(folder)
    assert (gate.name, gate.script, gate.claim, gate.whole) == ("gate-dynamo", script, "Größe differs.", True)
    assert set(gate.fingerprints) == {one.fingerprint, other.fingerprint}
    assert set(gate.places) == {"two words/größe.py:3", "two words/größe.py:9"}
    assert (silent.claim, silent.fingerprints, silent.whole) == ("", (), False)
    assert (odd.claim, odd.places) == ("", ("two words/größe.py:3",))


def test_what_is_written_down_stays_as_long_as_its_script_does(folder: Path) -> None:
    remember([finding(folder / "gate-dynamo" / SCRIPT)])
    remember([finding(folder / "odd" / SCRIPT)])
    assert [len(k.fingerprints) for k in saved(folder)] == [1, 0, 1]
    (folder / "gate-dynamo" / SCRIPT).unlink()
    remember([finding(folder / "odd" / SCRIPT, line=5)])
    assert list(json.loads((folder / INDEX).read_text())) == ["odd"]
    assert saved(folder)[-1].places == ("two words/größe.py:5",)


def test_no_index_is_written_through_a_link(folder: Path, tmp_path: Path) -> None:
    far = tmp_path / "far.json"
    far.write_text("{}")
    (folder / INDEX).symlink_to(far)
    remember([finding(folder / "odd" / SCRIPT)])
    assert far.read_text() == "{}"
    assert not (folder / INDEX).is_symlink()
    assert saved(folder)[-1].fingerprints


def test_a_folder_that_was_thrown_away_stays_away(here: Path) -> None:
    remember([finding(here / "gone" / "gate" / SCRIPT)])
    assert not (here / "gone").exists()
    assert saved(here / "gone") == []


@pytest.mark.parametrize("text", ["", "[]", '{"gate-dynamo": 3}', "[" * 100_000, "\udcff"])
def test_an_index_that_is_not_ours_is_none(folder: Path, text: str) -> None:
    (folder / INDEX).write_text(text, errors="surrogateescape")
    assert [k.name for k in saved(folder)] == ["gate-dynamo", "gate-torchscript", "odd"]
    assert not any(k.fingerprints for k in saved(folder))


def test_one_is_meant_by_its_name_or_by_the_beginning_of_a_fingerprint_or_of_a_name() -> None:
    gate, other, deed = (
        Saved("gate", Path("gate"), "", ("0123456789abcdef",)),
        Saved("gate-2", Path("gate-2"), "", ("0123ffffffffffff",)),
        Saved("deadbeef", Path("deadbeef"), ""),
    )
    every = [gate, other, deed]
    assert named(every, "gate") == [gate]
    assert named(every, "gat") == named(every, "0123") == [gate, other]
    assert named(every, "01234") == [gate]
    assert named(every, "dead") == [deed]
    assert named(every, "012") == named(every, "") == named(every, "größe") == [], "three characters name no finding"
