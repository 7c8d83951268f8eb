"""A report in a notebook: complete, short, and all that was read is text in it."""

from __future__ import annotations

import dataclasses
from html.parser import HTMLParser

import report_samples as samples

from onnxlint.base.records import Diagnostic, Finding, Report
from onnxlint.report.formats.notebook import html

EVIL = "<script>alert(1)</script> & \"q\" 'a' &lt; größer 画像 </div>"


class Parsed(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.depth = 0
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.depth += tag != "br"

    def handle_endtag(self, tag: str) -> None:
        self.depth -= 1

    def handle_data(self, data: str) -> None:
        self.text += data


def shown(report: Report, findings: tuple[Finding, ...] | None = None, sentence: str = "1 finding") -> Parsed:
    return Parsed(html(report, report.findings if findings is None else findings, False, sentence))


def test_it_holds_the_sentence_the_models_the_findings_and_what_went_wrong() -> None:
    report = dataclasses.replace(
        samples.REPORTS["whole"], diagnostics=(Diagnostic("warning", "torch is not installed"),)
    )
    seen = shown(report)
    assert seen.text.startswith("onnxlint: ✗ 1 finding")
    assert "TorchScript✗ wrong values" in seen.text
    assert "src.models.wide:Wide was not probed: no example input is known for it" in seen.text
    assert "src/models/gate.py:10  n > 0" in seen.text
    assert "max abs error 0.43" in seen.text
    assert "help: write `torch.where`" in seen.text
    assert "re-run: python .onnxlint/repro/gate-torchscript/repro.py" in seen.text
    assert seen.text.endswith("warning: torch is not installed")
    assert seen.depth == 0


def test_what_was_read_is_text() -> None:
    evidence = dataclasses.replace(samples.CONFIRMED.evidence[0], detail=EVIL, repro=EVIL)
    finding = dataclasses.replace(
        samples.CONFIRMED,
        message=EVIL,
        text=EVIL,
        evidence=(evidence,),
        fix=dataclasses.replace(samples.CONFIRMED.fix, title=EVIL),
        span=dataclasses.replace(samples.CONFIRMED.span, path=f"{EVIL}.py"),
    )
    models = (
        dataclasses.replace(samples.PROBED, name=EVIL),
        dataclasses.replace(samples.UNPROBED, name=EVIL, reason=EVIL),
    )
    seen = shown(Report((finding,), models, (Diagnostic("error", EVIL),)), sentence=EVIL)
    assert set(seen.tags) <= {"div", "p", "b", "i", "pre", "br", "code", "table", "tr", "td"}
    assert seen.text.count(EVIL) == 11
    assert seen.depth == 0


def test_of_very_many_findings_the_rest_is_counted() -> None:
    findings = tuple(dataclasses.replace(samples.SUSPECTED, message=f"number {n}") for n in range(103))
    text = shown(Report(), findings).text
    assert text.count("number ") == 100
    assert text.endswith("and 3 more")
    assert "more" not in shown(Report(), findings[:100]).text


def test_a_report_without_anything_is_its_sentence() -> None:
    assert Parsed(html(Report(), (), True, "nothing found")).text == "onnxlint: ✓ nothing found"
