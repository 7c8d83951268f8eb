"""The baseline: what it lets through, what it notices, and that nothing in its file can surprise."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxlint.base.records import Finding, Severity, Span
from onnxlint.run import baseline
from onnxlint.run.baseline import BaselineError, Entry, entries, merged, read, settle, without, write

HERE = Path("/project")


@pytest.fixture(autouse=True)
def _in_a_folder(here: Path) -> None:
    """Before the fixtures of a class."""


def finding(text: str = "x.sum() > 0", line: int = 6, path: str = "gate.py", code: str = "ONX101") -> Finding:
    span = Span(path, line, 9, line, 20)
    return Finding(code, "tensor-branch", Severity.ERROR, "m", span, symbol="gate.Gate.forward", text=text)


def lines(findings: tuple[Finding, ...]) -> list[int]:
    return [one.span.line for one in findings]


def known(*findings: Finding) -> list[Entry]:
    return entries(findings, Path.cwd())


def always(entry: Entry) -> bool:
    return True


def never(entry: Entry) -> bool:
    return False


class TestSettling:
    def test_what_it_knows_is_not_new_wherever_it_moved(self) -> None:
        done = settle(known(finding(line=6)), [finding(line=60)], Path.cwd(), always)
        assert (done.new, done.matched, done.slack) == ((), 1, ())

    @pytest.mark.parametrize(
        "other",
        [finding("x.max() > 0"), finding(path="other.py"), finding(code="ONX102"), replace(finding(), symbol="B.f")],
        ids=["other code at the line", "other file", "other rule", "other function"],
    )
    def test_anything_else_is_new_and_the_entry_is_slack(self, other: Finding) -> None:
        done = settle(known(finding()), [other], Path.cwd(), always)
        assert (done.new, done.matched) == ((other,), 0)
        assert [(entry.text, number) for entry, number in done.slack] == [("x.sum() > 0", 1)]

    def test_of_more_than_it_allows_the_last_are_new(self) -> None:
        done = settle(known(finding(), finding()), [finding(line=n) for n in (30, 10, 20)], Path.cwd(), always)
        assert (lines(done.new), done.matched, done.slack) == ([30], 2, ())

    def test_of_fewer_the_rest_is_slack(self) -> None:
        done = settle(known(*[finding()] * 3), [finding()], Path.cwd(), always)
        assert [(entry.count, number) for entry, number in done.slack] == [(3, 2)]
        assert [entry.count for entry in without(known(*[finding()] * 3), done.slack)] == [1]

    def test_what_a_run_cannot_judge_is_no_slack(self) -> None:
        assert settle(known(finding()), [], Path.cwd(), never).slack == ()

    def test_it_does_not_matter_where_onnxlint_is_started(self, monkeypatch: pytest.MonkeyPatch) -> None:
        Path("src").mkdir()
        folder = Path.cwd()
        entry = entries([finding(path="src/gate.py")], folder)
        monkeypatch.chdir("src")
        assert settle(entry, [finding(path="gate.py")], folder, always).new == ()
        assert entries([finding(path="gate.py")], folder) == entry

    def test_writing_keeps_what_the_run_could_not_see(self) -> None:
        other, gone, here = known(finding(path="other.py"), finding("gone"), finding())
        kept = merged([other, gone, here], known(finding(), finding()), lambda entry: entry.path == "gate.py")
        assert kept == [replace(here, count=2), other]

    @given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abc")))
    def test_counts_are_kept(self, before: list[str], after: list[str]) -> None:
        """New and known make up the findings; what is written from them, pruned or anew, leaves nothing to say."""
        old = entries((finding(text) for text in before), HERE)
        now = [finding(text, line) for line, text in enumerate(after, 1)]
        done = settle(old, now, HERE, always)
        assert len(done.new) + done.matched == len(now)
        assert done.matched + sum(number for _, number in done.slack) == len(before)
        pruned = settle(without(old, done.slack), now, HERE, always)
        assert (pruned.new, pruned.slack) == (done.new, ())
        anew = settle(merged(old, entries(now, HERE), always), now, HERE, always)
        assert (anew.new, anew.slack) == ((), ())


class TestFile:
    def test_it_comes_back_as_it_was_written(self) -> None:
        some = known(finding(), finding(), finding('f("é \ud800", "\\n")', path="ü/a.py"))
        write(Path("deep/down/b.json"), some)
        back = read(Path("deep/down/b.json"))
        assert sorted((e.fingerprint, e.count) for e in back) == sorted((e.fingerprint, e.count) for e in some)
        text = Path("deep/down/b.json").read_text("utf-8").splitlines()
        assert all(entry.fingerprint in text[entry.line - 1] for entry in back)

    def test_one_entry_is_one_line_and_the_order_never_changes(self) -> None:
        some = known(finding(path="b.py"), finding(path="a.py"), finding("y", path="a.py"))
        write(Path("1.json"), some)
        write(Path("2.json"), some[::-1])
        assert Path("1.json").read_bytes() == Path("2.json").read_bytes()
        write(Path("3.json"), some[1:])
        one, three = (Path(name).read_text().splitlines() for name in ("1.json", "3.json"))
        assert len(set(one) - set(three)) <= 2, "one line goes, and the comma of the one before it"
        assert [json.loads(row.strip(", "))["path"] for row in one if "fingerprint" in row] == ["a.py", "a.py", "b.py"]

    def test_an_empty_one_is_fine(self) -> None:
        write(Path("b.json"), [])
        assert read(Path("b.json")) == []

    def test_its_mode_is_kept_and_no_other_file_stays(self) -> None:
        write(Path("b.json"), [])
        os.chmod("b.json", 0o640)
        write(Path("b.json"), known(finding()))
        assert Path("b.json").stat().st_mode & 0o777 == 0o640
        assert os.listdir() == ["b.json"]

    def test_a_formatter_may_have_had_it(self) -> None:
        write(Path("b.json"), known(finding()))
        Path("b.json").write_text("\ufeff" + json.dumps(json.loads(Path("b.json").read_text()), indent=8))
        (entry,) = read(Path("b.json"))
        assert '"fingerprint"' in Path("b.json").read_text("utf-8-sig").splitlines()[entry.line - 1]

    GOOD = {"path": "a.py", "code": "ONX101", "symbol": "", "text": "x", "count": 1, "fingerprint": "0123456789abcdef"}

    @pytest.mark.parametrize(
        ("data", "words"),
        [
            (b"", "not JSON"),
            (b'{"schema": ', "not JSON"),
            (b"\xff\xfe", "not UTF-8"),
            (b"[]", "no baseline"),
            (b'{"schema": "onnxlint-baseline/2", "findings": []}', "onnxlint-baseline/1"),
            (b'{"schema": "onnxlint-baseline/1", "findings": {}}', "no baseline"),
            (b"[" * 100_000, "not JSON"),
            (b"9" * 10_000, "not JSON"),
        ],
    )
    def test_what_is_none_is_one_message(self, data: bytes, words: str) -> None:
        Path("b.json").write_bytes(data)
        with pytest.raises(BaselineError, match=words):
            read(Path("b.json"))

    @pytest.mark.parametrize(
        ("rows", "words"),
        [
            ([3], "entry 1 of the baseline .*Expected `object`"),
            ([{"path": "a.py"}], "required field `code`"),
            ([GOOD, {**GOOD, "fingerprint": "0" * 16, "path": 3}], r"entry 2 of .*`str`, got `int` - at `\$.path`"),
            ([{**GOOD, "count": True}], "Expected `int`"),
            ([{**GOOD, "count": 0}], "`int` >= 1"),
            ([{**GOOD, "fingerprint": "../../etc"}], "matching regex"),
            ([GOOD, GOOD], "twice"),
        ],
    )
    def test_a_broken_entry_is_one_message(self, rows: list[object], words: str) -> None:
        Path("b.json").write_text(json.dumps({"schema": baseline.SCHEMA, "findings": rows}))
        with pytest.raises(BaselineError, match=words):
            read(Path("b.json"))

    def test_a_missing_one_says_how_to_make_it(self) -> None:
        with pytest.raises(BaselineError, match="--write-baseline"):
            read(Path("no.json"))

    def test_a_folder_is_none(self) -> None:
        with pytest.raises(BaselineError, match="cannot be read"):
            read(Path())

    def test_one_without_end_is_not_read(self) -> None:
        with open("b.json", "wb") as file:
            file.truncate(baseline.MAX_BYTES + 1)
        with pytest.raises(BaselineError, match="limit"):
            read(Path("b.json"))
