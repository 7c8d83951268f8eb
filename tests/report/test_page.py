"""The report as a page: what it holds, what it escapes, and how it behaves in a real browser."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import report_samples as samples
from node_packages import node_modules

from onnxlint.base.records import (
    Diagnostic,
    Edit,
    ExporterResult,
    Finding,
    Fix,
    Outcome,
    Report,
    Safety,
    Span,
    Step,
    Tried,
    VerdictKind,
)
from onnxlint.cli.output import write_file
from onnxlint.report.html import page

HOSTILE = (
    "</script></style><script>window.hacked=1</script><img src=x onerror=window.hacked=2>"
    "\" onfocus=window.hacked=3 autofocus x=\"' onclick='window.hacked=4 {{7*7}}{% raw %} `<b>code</b>`"
    " \u202etxet\u2066\u2028"
    "\x1b[31m\x00 javascript:alert(1) &lt;i&gt; ]]> --> \ud800"
)
MADE = "2026-11-22 06:50 UTC"
SCRIPT = Path(__file__).with_name("page_in_chromium.cjs")
REPORTS = pytest.mark.parametrize("name", sorted(samples.REPORTS))


def rendered(report: Report, *, show_all: bool = False, hostile: bool = False, lines: list[str] | None = None) -> str:
    def read(path: str) -> list[str]:
        return lines or ([f"{HOSTILE}\n"] * 9 if hostile else samples.sources(path))

    return page(report, show_all=show_all, sources=read, catalogue=samples.catalogue(), made=MADE)


def long_report() -> Report:
    """Every text of the drawn sample is long, in one word where a name may be."""
    report, path = samples.REPORTS["drawn"], "folder_of_it/" * 60 + "model.py"
    (finding,), (model,) = report.findings, report.models
    shown = dataclasses.replace(
        finding.evidence[0],
        model="m" * 300,
        detail="detail " * 200,
        repro=path,
        inputs={"parameter" * 40: "value", "x": "0.12345, " * 900, "y": "9" * 3000},
    )
    long = dataclasses.replace(
        finding,
        message="word " * 300 + "w" * 300,
        symbol="s" * 900,
        span=Span(path, 1, 1, 1, 9),
        trace=(Step(path, 1, "m" * 900),),
        evidence=(shown,),
    )
    return dataclasses.replace(
        report, findings=(long,), models=(dataclasses.replace(model, name="m" * 300, path=path),)
    )


def poisoned(value: Any) -> Any:
    """The same records with every text of them replaced; what is one of a few words stays."""
    if type(value) is str:
        return HOSTILE
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        changed = {f.name: poisoned(getattr(value, f.name)) for f in dataclasses.fields(value)}
        changed |= {"end_line": 2, "line": 2, "column": 1, "end_column": 9} if "end_column" in changed else {}
        return dataclasses.replace(value, **changed)
    if isinstance(value, dict):
        return {k: poisoned(v) for k, v in value.items()}
    return tuple(map(poisoned, value)) if isinstance(value, tuple) else value


def hostile_report() -> Report:
    """Every text of the whole sample is hostile, and there is a fix that fits the hostile source."""
    whole, drawn = samples.REPORTS["whole"], samples.REPORTS["drawn"]
    report = dataclasses.replace(
        whole, findings=(*whole.findings, *drawn.findings), models=(*whole.models, *drawn.models)
    )
    findings = [poisoned(dataclasses.replace(f, code="", rule="")) for f in report.findings]
    fix = Fix(HOSTILE, Safety.SAFE, (Edit(HOSTILE, (2, 1), (2, 3), HOSTILE.replace("\u2028", " ")),))
    return dataclasses.replace(
        poisoned(report), findings=tuple(dataclasses.replace(f, fix=fix) for f in findings), tool={HOSTILE: HOSTILE}
    )


class _Elements(HTMLParser):
    """Tags and attributes as a parser of HTML sees them, and the text beside script and style."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        if self.tags[-1:] not in (["script"], ["style"]):
            self.text += data


@REPORTS
def test_every_sample_becomes_one_page_without_a_link_out_of_it(name: str) -> None:
    seen = _Elements(rendered(samples.REPORTS[name]))
    assert seen.tags.count("html") == seen.tags.count("script") == seen.tags.count("style") == 1
    assert not {"link", "img", "iframe"} & set(seen.tags)
    assert all(value.startswith("#") for key, value in seen.attributes if key in ("href", "src") and value is not None)


def test_hostile_text_is_text_in_every_place() -> None:
    plain, seen = _Elements(rendered(samples.REPORTS["drawn"])), _Elements(rendered(hostile_report(), hostile=True))
    assert seen.tags.count("script") == seen.tags.count("style") == 1
    assert set(seen.tags) <= {*plain.tags, "mark", "span"}
    assert not [key for key, _ in seen.attributes if key.startswith("on") or key == "autofocus"]
    assert seen.text.count("window.hacked=1") > 20
    assert not set("\u202e\u2066\u2028\x1b\x00\ud800") & set(seen.text), "it is drawn, not obeyed"
    assert "{{7*7}}" in seen.text


def test_a_page_holds_what_the_text_report_leaves_out_and_hides_it_at_first() -> None:
    cards = {
        show_all: rendered(samples.REPORTS["whole"], show_all=show_all).split("<article")[1:]
        for show_all in (True, False)
    }
    assert [len(both) for both in cards.values()] == [4, 4]
    assert [" hidden>" in card.split("<header>")[0] for card in cards[False]] == [False, False, True, True]
    assert not any(" hidden>" in card.split("<header>")[0] for card in cards[True])


@pytest.mark.parametrize(
    ("report", "state", "told"),
    [
        (samples.REPORTS["nothing"], "fine", "✓ Nothing was found."),
        (samples.REPORTS["static-nothing"], "open", "Nothing was found in the source; no model was probed."),
        (Report(models=(samples.UNPROBED,)), "open", "Nothing was found in the source; no model was probed."),
        (Report(models=(samples.GOOD, samples.UNPROBED)), "open", "Nothing was found; 1 model was not probed."),
        (Report(models=(samples.GOOD,), interrupted=True), "open", "Nothing was found as far as the run got."),
        (samples.REPORTS["diagnostics"], "confirmed", "Nothing was found as far as the run got."),
        (samples.REPORTS["failures"], "confirmed", "No finding explains what failed."),
    ],
)
def test_a_page_without_a_finding_is_green_only_where_every_model_was_probed(
    report: Report, state: str, told: str
) -> None:
    text = rendered(report)
    assert f'<h1 class="{state}">' in text
    assert told in " ".join(_Elements(text).text.split())
    assert ("✓ Nothing" in text.replace('<span aria-hidden="true">✓</span>', "✓")) is (state == "fine")
    assert ("the run was interrupted" in text) is report.interrupted
    assert "next and previous finding" not in text


def test_a_model_that_is_called_in_two_ways_has_two_rows_and_two_plots() -> None:
    (model,) = samples.REPORTS["drawn"].models
    other = dataclasses.replace(
        model,
        way="with mask",
        exporters={"torchscript": ExporterResult(Outcome.OK, tried=(Tried("example", "agrees", 0.0),) * 2)},
    )
    both = dataclasses.replace(samples.REPORTS["drawn"], models=(model, other))
    text = rendered(both)
    assert f'<span class="name">{model.name} (with mask)</span>' in text
    assert text.count("Largest error on each input, src.models.gate:Gate") == 1, "the one that fails, not the last one"


def test_of_many_notices_the_worst_stand_first_and_the_rest_is_folded() -> None:
    (model,) = samples.REPORTS["failures"].models
    report = Report(
        models=tuple(dataclasses.replace(model, name=f"m:M{k}") for k in range(20)),
        diagnostics=(Diagnostic("warning", "look at this"), Diagnostic("error", "it is broken")),
    )
    shown, _, rest = rendered(report).partition('<h2 id="models-title"')[0].partition("<details>")
    assert shown.count("<li ") == 8
    assert rest.count("<li ") == 42 - 8
    assert "<summary>34 more</summary>" in rest
    assert shown.index("it is broken") < shown.index("m:M0")
    assert rest.index("m:M19") < rest.index("look at this")


def test_the_diff_of_a_fix_has_no_empty_line_at_its_edge() -> None:
    diff = rendered(samples.REPORTS["drawn"]).partition('<pre class="diff"')[2].partition("</pre>")[0]
    signs = [line.partition('<span class="src">')[2][:1] for line in diff.splitlines() if 'class="src"' in line]
    assert signs == ["-", "-", "-", "+"], "line 9, before it, is empty"


def test_one_command_is_shown_once_for_each_exporter() -> None:
    twice = dataclasses.replace(samples.CONFIRMED, evidence=(samples.CONFIRMED.evidence[0],) * 2)
    text = rendered(dataclasses.replace(samples.REPORTS["whole"], findings=(twice,)))
    assert text.count("eager 1.2, ONNX Runtime 0.77") == 2
    assert text.count('class="command"') == 1


def test_equal_findings_have_names_of_their_own() -> None:
    report = dataclasses.replace(samples.REPORTS["whole"], findings=(samples.CONFIRMED,) * 3)
    ids = [value for key, value in _Elements(rendered(report)).attributes if key == "id"]
    assert len(ids) == len(set(ids))


def test_the_page_is_the_same_every_time() -> None:
    assert rendered(samples.REPORTS["whole"]) == rendered(samples.REPORTS["whole"])


def run(tmp_path: Path, *flags: str, **environment: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "gate.py").write_text(
        "import torch\n\n\nclass Gate(torch.nn.Module):\n    def forward(self, x):\n"
        "        if x.sum() > 0:\n            return x\n        return -x\n"
    )
    command = [sys.executable, "-m", "onnxlint", "check", "--static-only", "--isolated", *flags, "gate.py"]
    return subprocess.run(
        command,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
        timeout=60,
    )


def test_report_writes_the_page_beside_the_report_in_the_terminal(tmp_path: Path) -> None:
    done = run(tmp_path, "--report", "out.html")
    assert done.returncode == 1, done.stderr
    assert "ONX101" in done.stdout
    assert "ONX101" in _Elements((tmp_path / "out.html").read_text(encoding="utf-8")).text


def test_open_hands_the_page_to_the_browser(tmp_path: Path) -> None:
    opener = tmp_path / "bin" / "xdg-open"
    opener.parent.mkdir()
    opener.write_text('#!/bin/sh\necho "$1" > opened\n')
    opener.chmod(0o755)
    done = run(tmp_path, "--report", "out.html", "--open", PATH=f"{opener.parent}:{os.environ['PATH']}")
    for _ in range(100):
        if (tmp_path / "opened").exists() and (tmp_path / "opened").read_text():
            break
        subprocess.run(["sleep", "0.05"], check=True)
    assert (tmp_path / "opened").read_text().strip() == str(tmp_path / "out.html"), done.stderr


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--open"], "--open needs --report"),
        (["--report", "no/such/folder/out.html"], "is no file in a folder that exists"),
        (["--report", "."], "is no file in a folder that exists"),
        (["--report", "out.html", "--diff"], "--report goes without --diff"),
    ],
)
def test_what_cannot_be_done_is_said_before_the_run(tmp_path: Path, flags: list[str], told: str) -> None:
    done = run(tmp_path, *flags)
    assert done.returncode == 2
    assert told in done.stderr


def test_without_the_packages_one_line_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util as u\nfind = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name == 'jinja2' else find(name, *rest)\n"
    )
    done = run(tmp_path, "--report", "out.html", PYTHONPATH=f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}")
    assert done.returncode == 2
    assert "pip install 'onnxlint[report]'" in done.stderr
    assert not (tmp_path / "out.html").exists()


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What Chromium made of the pages."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("there is no Chromium")
    modules = node_modules(tmp_path_factory, "playwright-core@1.65.1", "axe-core@4.14.1")
    folder = tmp_path_factory.mktemp("pages")
    pages = {"whole": rendered(samples.REPORTS["whole"]), "hostile": rendered(hostile_report(), hostile=True)}
    pages["long"] = rendered(long_report(), lines=["x = '" + "a" * 30_000 + "'\n"])
    pages |= {
        name: rendered(samples.REPORTS[name]) for name in ("diagnostics", "drawn", "nothing", "spans", "unexplained")
    }
    for name, text in pages.items():
        assert write_file(folder / f"{name}.html", text) is None
    command = ["node", str(SCRIPT), str(modules), chromium, *(str(folder / f"{name}.html") for name in pages)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


@pytest.mark.slow
def test_no_page_says_anything_to_the_console_or_leaves_its_file(seen: dict[str, Any]) -> None:
    for name, one in seen.items():
        assert one["messages"] == [], name
        assert {url.rpartition("/")[2].partition("#")[0] for url in one["requests"]} == {f"{name}.html"}
        assert all(url.startswith("file:///") for url in one["requests"])
        assert one["wide"] == [], f"{name} scrolls sideways, or hides what became of a model"


@pytest.mark.slow
def test_everyone_can_read_it_in_light_and_dark(seen: dict[str, Any]) -> None:
    for name, one in seen.items():
        assert one["light"] == [], name
        assert one["dark"] == [], name
        assert one["phone"] == [], name


@pytest.mark.slow
def test_the_theme_follows_the_system_until_the_switch_says_otherwise(seen: dict[str, Any]) -> None:
    light, dark, switched, reloaded = seen["whole"]["tones"]
    assert light != dark
    assert light == switched == reloaded


@pytest.mark.slow
def test_hostile_content_stays_text_in_the_browser(seen: dict[str, Any]) -> None:
    one = seen["hostile"]
    assert (one["hacked"], one["scripts"], one["foreign"], one["handlers"]) == (None, 1, 0, [])
    assert "<script>window.hacked=1</script>" in one["text"]


@pytest.mark.slow
def test_the_buttons_copy_the_fix_and_the_command(seen: dict[str, Any]) -> None:
    command, code, patch = seen["whole"]["copied"]
    assert command == "python .onnxlint/repro/gate-torchscript/repro.py"
    assert code == "        return torch.where(n > 0, h * 2, h * 3)\n"
    assert patch.startswith("--- a/src/models/gate.py\n+++ b/src/models/gate.py\n@@ ")
    assert "+        return torch.where(n > 0, h * 2, h * 3)\n" in patch
    assert seen["whole"]["copiedOldWay"] == [True, patch], "nothing moves, and the focus stays on the button"


@pytest.mark.slow
def test_the_filters_and_the_keys_work(seen: dict[str, Any]) -> None:
    one = seen["whole"]
    assert one["first"] == ["ONX101", "ONX201"]
    assert one["filtered"] == {
        "text": ["ONX101"],
        "cleared": ["ONX101", "ONX201"],
        "all": ["ONX101", "ONX201", "ONX205", "ONX106"],
        "rule": ["ONX101"],
        "dynamo": ["ONX101", "ONX201", "ONX205", "ONX106"],
        "none": [[], True],
        "reset": ["ONX101", "ONX201", "ONX205", "ONX106"],
    }
    assert one["walked"] == ["ONX101", "ONX201", "ONX101"]
    assert one["linked"] == f"f-{samples.CONFIRMED.fingerprint}"


@pytest.mark.slow
def test_the_tab_key_stops_at_what_scrolls_and_not_at_what_fits(seen: dict[str, Any]) -> None:
    wide, fitting = ([stop for one in seen.values() for stop in one["stops"][k]] for k in (0, 1))
    assert set(wide) == {0}
    assert set(fitting) == {-1}


@pytest.mark.slow
def test_it_prints_in_black_on_white_without_its_controls(seen: dict[str, Any]) -> None:
    for name, one in seen.items():
        assert one["printed"]["cut"] == 0, f"{name}: something is wider than the sheet"
        assert one["printed"]["tone"] == "rgb(255, 255, 255)"
        assert one["printed"]["controls"] == 0
        assert one["printed"]["bytes"] > 5_000


def test_the_sample_tells_of_each_verdict() -> None:
    findings: tuple[Finding, ...] = samples.REPORTS["whole"].findings
    assert {f.verdict for f in findings} == set(VerdictKind)
