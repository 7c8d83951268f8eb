"""No text of what is checked steers a terminal, or is a command to the log of a CI, in any format."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess
import sys
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import report_samples as samples
from hypothesis import given, settings
from hypothesis import strategies as st

from onnxlint.base.records import Report
from onnxlint.report import FORMATS, MACHINE_FORMATS, render
from onnxlint.report.common.printed import in_json, in_xml, printed
from onnxlint.report.formats.tally import statistics

UNSEEN = "\u034f\u115f\u1160\u200b\u200c\u200d\u200e\u200f\u2060\u3164\ufeff\uffa0"
STEERING = re.compile(f"[^\n\t\x20-\x7e\xa0-\U0010ffff]|[\ud800-\udfff\u2028\u2029\u202a-\u202e\u2066-\u2069{UNSEEN}]")
OURS = re.compile(r"\x1b\[[0-9;]*m")
EVIL = [
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "\x1b]8;;https://example.org\x1b\\link",
    "\x9b31m\x90q\x9d0;t\x9c",
    "a\u202eb\u2066c\u200fd",
    "\ud800\x00\x7f\x08\x0b\x0c\x85\u2028\u2029\ufeff",
    "\n::stop-commands::x",
    "\r  \u3000::set-output name=a::b",
    "\n\u200d\ufe0f::add-mask::e",
    "##[stop-commands]x",
    "#\ufe0f#[add-mask]x",
    "##vso[task.setvariable variable=a]b",
]
NAMES = "add-mask|add-matcher|add-path|debug|echo|endgroup|error|group|notice|save-state|set-env|set-output|"
NAMES += "remove-matcher|stop-commands|warning"


def commands(log: str) -> list[str]:
    """What GitHub's runner takes for commands, by its own rules, and Azure's by theirs."""
    found = []
    for line in re.split(r"\r\n|\r|\n", log):
        seen = "".join(c for c in OURS.sub("", line) if unicodedata.category(c) not in {"Cf", "Mn"} and c not in UNSEEN)
        match = re.match(rf"\s*::({NAMES})(?: [^\n]*?)?::", seen) or re.search(rf"##\[({NAMES})|##(vso)\[", seen)
        if match is not None:
            found.append(match[1] or match[2])
    return found


@given(st.lists(st.sampled_from([*EVIL, *"\n \t:#[]|", "plain", "ä"])).map("".join))
@settings(deadline=None)
def test_whatever_is_printed_steers_nothing_and_says_the_rest(text: str) -> None:
    shown = printed(text)
    assert STEERING.search(shown) is None
    assert commands(shown) == []
    assert printed(shown) == shown
    assert shown.count("\n") == text.count("\n")


@pytest.mark.parametrize("text", ["x[::2]", "  | ::", "a: ::b", "# # [x]", "##", "## [x]\n\tä ✓ ⚠️", "std::vector"])
def test_ordinary_text_is_printed_as_it_is(text: str) -> None:
    assert printed(text) == text


def test_a_command_inside_a_line_keeps_its_columns() -> None:
    assert printed("x = 1  ##[debug]y") == "x = 1  # [debug]y"


def test_documents_hold_what_they_held() -> None:
    text = "".join(EVIL[-3:])
    assert commands(in_json(json.dumps(text))) == []
    assert json.loads(in_json(json.dumps(text))) == text
    element = ET.Element("a", {"b": text})
    element.text = text
    document = in_xml(ET.tostring(element, encoding="unicode"))
    assert commands(document) == []
    assert (ET.fromstring(document).text, ET.fromstring(document).get("b")) == (text, text)


def tainted(value: Any, evil: str) -> Any:
    """A record with something evil before and behind each of its texts."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: tainted(getattr(value, f.name), evil) for f in dataclasses.fields(value)}
        return type(value)(**fields)
    if type(value) is str:
        return f"{evil}{value}{evil}"
    if isinstance(value, Mapping):
        return {key: tainted(one, evil) for key, one in value.items()}
    return tuple(tainted(one, evil) for one in value) if isinstance(value, tuple) else value


def tainted_report(name: str, evil: str) -> Report:
    report = samples.REPORTS[name]
    return dataclasses.replace(
        report, **{key: tainted(getattr(report, key), evil) for key in ("findings", "models", "diagnostics")}
    )


@pytest.mark.parametrize("name", sorted(samples.REPORTS))
@pytest.mark.parametrize("format", [*FORMATS, "statistics"])
@pytest.mark.parametrize("color", [False, True], ids=["plain", "coloured"])
def test_no_text_of_a_report_steers(name: str, format: str, color: bool) -> None:
    if color and format != "full":
        pytest.skip("only one format has colours")
    for evil in EVIL:
        report = tainted_report(name, evil)

        def sources(path: str, evil: str = evil) -> list[str]:
            return [f"{evil} = {line}{evil}" for line in [*samples.sources(path), *EVIL * 20]]

        if format == "statistics":
            shown = statistics(report, show_all=True, machine=False)
        else:
            shown = render(
                report,
                format,
                color=color,
                width=100,
                show_all=True,
                sources=lambda path, evil=evil: [
                    f"{evil} = {line}{evil}" for line in [*samples.sources(path), *EVIL * 20]
                ],
                catalogue=samples.catalogue(),
            )
        assert STEERING.search(OURS.sub("", shown) if color else shown) is None
        made = {"error", "warning", "notice"} if format == "github" else set()
        assert set(commands(shown)) <= made
        if format in MACHINE_FORMATS - {"junit"}:
            json.loads(shown)
        elif format == "junit":
            ET.fromstring(shown)


SOURCE = """import torch
X = '''
::stop-commands::x
  ::add-mask::secret
'''
class Gate(torch.nn.Module):
    def forward(self, x):
        # ##[stop-commands]x EVIL
        y = x * x.data  # ##[add-mask]x EVIL
        if x.sum() > 0:  # EVIL
            return x * 2
        return torch.cat([y,
::2
])
"""


@pytest.fixture(scope="module")
def evil_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evil")
    evil = "".join(EVIL[:5]) + "\x7f\u2028\ufeff ##vso[task.complete]"
    source = SOURCE.replace("EVIL", evil).replace("torch.cat([y,\n::2\n])", "y[\n::2\n]")
    (folder / "::stop-commands::x.py").write_text(source, encoding="utf-8")
    (folder / " ##[add-mask]y\u202e.py").write_text(source, encoding="utf-8")
    (folder / "::warning::\x1b[2J.py").write_text("import torch\ndef f(:\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize("flags", [*FORMATS, "diff", "fix", "statistics", "report", "add_noqa", "baseline"])
@pytest.mark.parametrize("color", ["never", "always"])
def test_no_run_prints_what_steers(evil_project: Path, tmp_path: Path, flags: str, color: str) -> None:
    for path in evil_project.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    arguments = {
        "diff": ["--diff", "--unsafe-fixes"],
        "fix": ["--fix", "--unsafe-fixes"],
        "statistics": ["--statistics"],
        "report": ["--report", "::error::x/y.html"],
        "add_noqa": ["--add-noqa"],
        "baseline": ["--write-baseline", "--baseline", "::error::x.json"],
    }.get(flags, ["--output-format", flags])
    done = subprocess.run(
        [sys.executable, "-m", "onnxlint", "check", "--static-only", "--no-cache", f"--color={color}", *arguments],
        env={**os.environ, "GITHUB_ACTIONS": "true"},
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    shown = (done.stdout + done.stderr).decode("utf-8")
    assert done.returncode == 2
    assert len(shown) > 100
    assert STEERING.search(OURS.sub("", shown) if color == "always" else shown) is None
    assert set(commands(shown)) <= ({"error", "warning", "notice"} if flags == "github" else set())


@pytest.mark.parametrize(
    ("line", "in_ci", "fault"),
    [
        ("# \x1b[31m", False, "the character U+001B"),
        ("# \u202e", False, "the character U+202E"),
        ("# \x0c", False, "the character U+000C"),
        ("# ##[group]x", True, "a command to the log of the CI"),
        ("# ##[group]x", False, None),
        ("# tab\tand ä ⚠️", True, None),
    ],
)
def test_a_difference_that_would_steer_is_not_shown_and_others_are(
    tmp_path: Path, line: str, in_ci: bool, fault: str | None
) -> None:
    model = "import torch\n\n\nclass M(torch.nn.Module):\n    def forward(self, x):\n        return x * x.data\n"
    (tmp_path / "good.py").write_text(model)
    (tmp_path / "model.py").write_text(f"{model}{line}\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "onnxlint", "check", "--static-only", "--no-cache", "--isolated", "--diff"],
        env={k: v for k, v in os.environ.items() if k != "CI"} | ({"GITHUB_ACTIONS": "true"} if in_ci else {}),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "--- good.py\n" in done.stdout
    told = f"onnxlint: model.py:1: the difference is not shown, since it holds {fault}; --fix writes the file\n"
    assert (fault is None) == ("--- model.py\n" in done.stdout)
    assert (told in done.stderr, done.returncode) == ((False, 1) if fault is None else (True, 2))
