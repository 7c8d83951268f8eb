"""Hostile input on the command line and in configurations: it ends, with one message, and without a traceback."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

GATE = """import torch


class Gate(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return x
"""


@pytest.fixture(autouse=True)
def _project(here: Path) -> None:
    Path("gate.py").write_text(GATE)


def check(*arguments: str | bytes, form: str = "concise") -> tuple[int, str, str]:
    """Run in a process of its own, since that is where bytes that are no text come in."""
    done = subprocess.run(
        [sys.executable, "-m", "onnxlint", "check", "--static-only", "--output-format", form, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        timeout=120,
        check=False,
    )
    out, err = done.stdout.decode("utf-8"), done.stderr.decode("utf-8", "backslashreplace")
    assert "Traceback" not in out + err
    assert "internal error" not in out + err
    return done.returncode, out, err


def errors(out: str) -> list[str]:
    return [line for line in out.splitlines() if ": error: " in line]


class TestArguments:
    def test_a_path_that_is_no_text_is_checked(self) -> None:
        os.rename("gate.py", b"caf\xe9.py")
        code, out, _ = check(b"caf\xe9.py", form="json")
        assert code == 1
        (finding,) = json.loads(out)["findings"]
        assert os.fsencode(finding["path"]) == b"caf\xe9.py"

    def test_it_is_found_in_a_folder_and_shown_in_text(self) -> None:
        os.rename("gate.py", b"caf\xe9.py")
        code, out, _ = check(form="full")
        assert code == 1
        assert "caf\\xe9.py:6" in out or "caf\\udce9.py:6" in out

    @pytest.mark.parametrize(
        "arguments",
        [
            [b"\xff\xfe"],
            ["--select", b"\xff"],
            ["--config", b"\xff"],
            ["--config", b"opset=\xff"],
            ["--baseline", b"\xff"],
            ["--changed-since", b"\xff"],
            ["--per-file-ignores", b"\xff:ONX1", "--select", "\x1b[31m"],
            ["--config", "=" * 10_000],
            ["--config", "x=" + "[" * 10_000],
            ["--select", "ONX" * 10_000],
            ["--exclude", "[" * 100 + "!"],
            ["--config", "opset=" + "9" * 5000],
        ],
        ids=range(12),
    )
    def test_a_value_that_is_no_text_or_has_no_end_is_one_message(self, arguments: list[str | bytes]) -> None:
        code, out, err = check(*arguments)
        assert code in (1, 2)
        assert len(errors(out)) + err.count("Error: ") == (code == 2)


# A terminal's title, colours, a line of its own, an 8-bit sequence, and text that runs backwards.
NAMES = [
    "a\x1b]0;title\x07.py",
    "b\x1b[31m.py",
    "c\nd.py",
    "e\x9b31m.py",
    "f\u202e.py",
    'g "\\h.py',
    "i j.py",
    "k\t\r.py",
]
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")


class TestNames:
    @pytest.fixture(autouse=True)
    def _named(self) -> None:
        for name in NAMES:
            Path(name).write_text(GATE)
        Path("bad\x1b]0;title\x07.py").write_text("import torch\ndef f(:\n")

    @pytest.mark.parametrize("form", ["full", "concise", "json", "sarif", "github"])
    def test_no_report_steers_the_terminal(self, form: str) -> None:
        code, out, err = check(form=form)
        assert (code, err) == (2, "")
        assert STEERING.search(out) is None

    @pytest.mark.parametrize(
        "flags",
        [
            ["--diff", "--unsafe-fixes"],
            ["--fix", "--unsafe-fixes"],
            ["--statistics"],
            ["--add-noqa"],
            ["--baseline", "\x1b]0;title\x07.json", "--write-baseline"],
            ["--baseline", "/nowhere/\x1b]0;title\x07.json", "--write-baseline"],
            ["--output-file", "nowhere/\x1b]0;title\x07"],
            ["--config", "\x1b]0;title\x07=1"],
            ["--select", "\x1b]0;title\x07"],
            ["--changed-since", "\x1b]0;title\x07"],
            ["nope\x1b]0;title\x07.py"],
        ],
        ids=" ".join,
    )
    def test_nothing_else_that_is_said_does(self, flags: list[str]) -> None:
        code, out, err = check(*flags, form="full")
        assert code == 2
        assert STEERING.search(out + err) is None

    @pytest.mark.parametrize("program", [["patch", "-p0"], ["git", "apply", "-p0"]], ids=lambda words: words[0])
    def test_the_difference_can_be_applied_to_every_name(self, program: list[str]) -> None:
        if shutil.which(program[0]) is None:
            pytest.skip(f"there is no {program[0]}")
        os.rename("gate.py", b"caf\xe9.py")
        _, diff, _ = check("--diff", "--unsafe-fixes")
        done = subprocess.run(program, input=diff.encode(), capture_output=True, timeout=60, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
        assert all("torch.where" in Path(os.fsdecode(name)).read_text() for name in (*NAMES, b"caf\xe9.py"))


class TestConfiguration:
    @pytest.mark.parametrize(
        ("content", "words"),
        [
            (b"x = " + b"[" * 100_000, "not valid TOML"),
            (b"x = " + b"{a=" * 50_000, "not valid TOML"),
            (b"\x00\x01", "not valid TOML"),
            (b"\xff\xfeo\x00", "not UTF-8"),
            (b"opset = " + b"9" * 5000, "not valid TOML"),
            (b"#" * 1_000_001, "the limit is 1 MB"),
            (b'extend = "/dev/zero"', "no file"),
            (b'extend = "."', "no file"),
            (b'extend = "' + b"a" * 5000 + b'"', "extend"),
            (b'extend = "a\\u0000b"', "extend"),
            (b'baseline = "a\\u0000b"', "baseline"),
            (b'baseline = "/dev/zero"', "no file"),
            (b'source-roots = ["a\\u0000b"]', "source-roots"),
            (b'exclude = ["' + b"[" * 50 + b'"]', "a `[` lacks its `]`"),
            (b'exclude = ["' + b"[[]" * 50 + b'"]\nopset = 1', "opset"),
            (b"a." * 400_000 + b"a = 1", "nested more than 100 levels"),
            (b"[" + b"a." * 200_000 + b"a]\n" + b"".join(b"b%d=1\n" % n for n in range(60_000)), "nested more than"),
            (b'[per-file-ignores]\n"\\u0000" = ["ONX9999"]\n', "per-file-ignores"),
            (b'required-version = "' + b"9" * 5000 + b'"', "required-version"),
        ],
        ids=range(19),
    )
    def test_one_that_makes_no_sense_is_one_message_and_the_rest_is_done(self, content: bytes, words: str) -> None:
        Path("onnxlint.toml").write_bytes(content)
        code, out, err = check()
        assert (code, err) == (2, "")
        (message,) = errors(out)
        assert words in message
        assert len(message) < 20_000
        assert "gate.py:6:12: ONX101" in out

    def test_a_long_one_is_read(self) -> None:
        rows = "".join(f'"f{n}.py" = ["ONX1"]\n' for n in range(20_000))
        Path("onnxlint.toml").write_text(f'[per-file-ignores]\n{rows}"gate.py" = ["ONX1"]\n')
        code, out, _ = check("gate.py")
        assert (code, errors(out)) == (0, [])

    @pytest.mark.parametrize("name", ["onnxlint.toml", "pyproject.toml", ".onnxlint.toml"])
    def test_a_folder_of_its_name_is_none(self, name: str) -> None:
        Path(name).mkdir()
        code, out, _ = check()
        assert (code, errors(out)) == (1, [])

    def test_a_pipe_of_its_name_is_none(self) -> None:
        os.mkfifo("onnxlint.toml")
        assert check()[0] == 1

    @pytest.mark.parametrize("name", [".", "/dev/zero", "pipe", "gate.py"])
    def test_one_that_is_named_and_is_none_is_one_message(self, name: str) -> None:
        os.mkfifo("pipe")
        code, out, _ = check("--config", name, "gate.py")
        assert code == 2
        assert len(errors(out)) == 1
        assert "gate.py:6:12: ONX101" in out

    def test_links_that_loop_are_none(self) -> None:
        os.symlink("onnxlint.toml", "onnxlint.toml")
        assert check()[0] == 1
        code, out, _ = check("--config", "onnxlint.toml")
        assert (code, len(errors(out))) == (2, 1)

    def test_a_chain_of_extensions_that_comes_back_ends(self) -> None:
        for n in range(50):
            Path(f"{n}.toml").write_text(f'extend = "{(n + 1) % 50}.toml"\n')
        code, out, _ = check("--config", "0.toml", "gate.py")
        assert code == 2
        (message,) = errors(out)
        assert message.startswith("49.toml:1:1: error: extend: ")


class TestStandardInput:
    @pytest.mark.parametrize(
        ("given", "words"),
        [(b"", None), (b"\x00", "null byte"), (b"(" * 100_000, "parse"), (b"import torch\n" + b"\xff", "UTF-8")],
    )
    def test_whatever_comes_is_answered(self, given: bytes, words: str | None) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "onnxlint", "check", "-", "--output-format", "concise"],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            input=given,
            capture_output=True,
            timeout=120,
            check=False,
        )
        out = done.stdout.decode()
        assert done.stderr == b""
        assert (done.returncode, len(errors(out))) == ((0, 0) if words is None else (2, 1))
        assert words is None or words in out
