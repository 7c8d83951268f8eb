"""`--fix`, `--unsafe-fixes`, `--diff`: what is written, what is undone, and how files are kept as they were."""

from __future__ import annotations

import json
import os
import resource
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from onnxlint.base.atomic import replace_file
from onnxlint.base.records import Fix, Safety
from onnxlint.cli import main
from onnxlint.cli.commands import init
from onnxlint.rules.engine.site import Site
from onnxlint.rules.onx411_data_attribute import DataAttribute
from onnxlint.run.fixing.fix_writing import Change, write

MODEL = """\
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x):
        x = x * x.data  # keep this
        if x.max() > 1.0:
            x = x / 255.0
        return F.dropout(x, 0.5)
"""
SAFE = MODEL.replace("x.data", "x.detach()")
WHOLE = (
    SAFE.replace(
        "        if x.max() > 1.0:\n            x = x / 255.0\n",
        "        x = torch.where(x.max() > 1.0, x / 255.0, x)\n",
    )
).replace("F.dropout(x, 0.5)", "F.dropout(x, 0.5, training=self.training)")


@pytest.fixture
def folder(here: Path) -> Path:
    (here / "model.py").write_text(MODEL)
    return here


def check(*flags: str) -> tuple[int, str, str]:
    """Run `onnxlint check`, statically; the exit code, what it prints and what it says on the side."""
    done = subprocess.run(
        [sys.executable, "-m", "onnxlint", "check", "--static-only", "--no-cache", "--isolated", *flags],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def test_without_a_flag_fixes_are_shown_and_counted(folder: Path) -> None:
    code, out, _ = check()
    assert code == 1
    assert "+         x = x * x.detach()  # keep this" in out
    assert out.rstrip().endswith("1 fix available with --fix; 2 more with --unsafe-fixes")
    assert (folder / "model.py").read_text() == MODEL


def test_fix_writes_safe_fixes_only(folder: Path) -> None:
    code, out, _ = check("--fix")
    assert code == 1, "the others are still there"
    assert (folder / "model.py").read_text() == SAFE
    assert out.rstrip().endswith("Fixed 1 (1 ONX411); 2 more with --unsafe-fixes")


@pytest.mark.skipif(sys.platform == "win32", reason="there is no pseudo-terminal")
@pytest.mark.parametrize("quiet", [True, False], ids=["quiet", "not quiet"])
def test_progress_is_shown_unless_it_is_to_be_quiet(folder: Path, quiet: bool) -> None:
    ours, theirs = os.openpty()
    subprocess.run(
        [*(sys.executable, "-m", "onnxlint", "check", "--static-only", "--fix"), *(["--quiet"] if quiet else [])],
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm"},
        timeout=120,
        check=False,
    )
    os.set_blocking(ours, False)
    try:
        said = os.read(ours, 10_000)
    except BlockingIOError:
        said = b""
    assert bool(said) is not quiet
    os.close(ours)
    os.close(theirs)


def test_unsafe_fixes_are_written_when_asked_for(folder: Path) -> None:
    code, out, _ = check("--fix", "--unsafe-fixes")
    assert code == 0
    assert (folder / "model.py").read_text() == WHOLE
    assert out.rstrip().endswith("Fixed 3 (1 ONX101, 1 ONX302, 1 ONX411)")


@pytest.mark.parametrize(("flags", "count"), [([], 0), (["--fix"], 1), (["--fix", "--unsafe-fixes"], 3)])
def test_json_counts_what_was_fixed(folder: Path, flags: list[str], count: int) -> None:
    _, out, _ = check(*flags, "--output-format", "json")
    assert json.loads(out)["summary"]["fixed"] == count


def test_diff_changes_nothing_and_applies(folder: Path) -> None:
    code, out, err = check("--diff", "--unsafe-fixes")
    assert code == 1
    assert (folder / "model.py").read_text() == MODEL
    assert err.strip() == "Would fix 3 (1 ONX101, 1 ONX302, 1 ONX411)"
    applied = subprocess.run(["patch", "-p0"], input=out, text=True, capture_output=True, check=False)
    assert applied.returncode == 0, applied.stdout + applied.stderr
    assert (folder / "model.py").read_text() == WHOLE


def test_diff_of_a_clean_file_exits_with_zero(folder: Path) -> None:
    (folder / "model.py").write_text(WHOLE)
    assert check("--diff", "--unsafe-fixes") == (0, "", "")


@pytest.mark.parametrize(
    ("given", "expected", "code"),
    [
        (MODEL.encode(), WHOLE.encode(), 0),
        (WHOLE.encode(), WHOLE.encode(), 0),
        (
            b"\xef\xbb\xbf" + MODEL.replace("\n", "\r\n").encode(),
            b"\xef\xbb\xbf" + WHOLE.replace("\n", "\r\n").encode(),
            0,
        ),
        (MODEL.rstrip("\n").encode(), WHOLE.rstrip("\n").encode(), 0),
        (b"import torch\ndef f(:", b"import torch\ndef f(:", 2),
        (b"import torch  # \xe9", b"import torch  # \xe9", 2),
        (b"", b"", 0),
    ],
    ids=["to fix", "clean", "a mark and windows newlines", "no newline", "does not parse", "is not UTF-8", "nothing"],
)
@pytest.mark.parametrize("name", [[], ["--stdin-filename", "model.py"]], ids=["without a name", "with a name"])
def test_standard_input_is_fixed_onto_standard_output(
    folder: Path, given: bytes, expected: bytes, code: int, name: list[str]
) -> None:
    (folder / "model.py").write_text("x = 1\n")
    command = [sys.executable, "-m", "onnxlint", "check", "--isolated", "--fix", "--unsafe-fixes", "-", *name]
    done = subprocess.run(command, input=given, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (code, expected)
    assert (b"Fixed 3" in done.stderr) is (given != expected)
    assert b"Traceback" not in done.stderr
    assert (folder / "model.py").read_text() == "x = 1\n"


def test_what_is_left_in_standard_input_is_told_aside(folder: Path) -> None:
    command = [sys.executable, "-m", "onnxlint", "check", "--isolated", "--fix", "-", "--output-format", "concise"]
    done = subprocess.run(command, input=MODEL, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, SAFE)
    assert done.stderr.startswith("-:9:12: ONX101 ")


def test_the_difference_of_standard_input_is_shown(folder: Path) -> None:
    (folder / "model.py").write_text("x = 1\n")
    command = [sys.executable, "-m", "onnxlint", "check", "--diff", "-", "--stdin-filename", "model.py"]
    done = subprocess.run(command, input=MODEL, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout.startswith("--- model.py\n+++ model.py\n@@ ")
    assert "\n-        x = x * x.data  # keep this\n+        x = x * x.detach()  # keep this\n" in done.stdout


def test_a_suppressed_finding_is_not_fixed(folder: Path) -> None:
    kept = MODEL.replace("# keep this", "# noqa: ONX411")
    (folder / "model.py").write_text(kept)
    check("--fix")
    assert (folder / "model.py").read_text() == kept


def test_selection_selects_fixes(folder: Path) -> None:
    check("--fix", "--unsafe-fixes", "--select", "ONX302")
    assert (folder / "model.py").read_text() == MODEL.replace("(x, 0.5)", "(x, 0.5, training=self.training)")


def test_nested_fixes_are_made_round_after_round(folder: Path) -> None:
    nested = "F.dropout(F.dropout(F.dropout(x)))"
    (folder / "model.py").write_text(MODEL.replace("F.dropout(x, 0.5)", nested))
    check("--fix", "--unsafe-fixes", "--select", "ONX302")
    expected = (
        "F.dropout(F.dropout(F.dropout(x, training=self.training), training=self.training), training=self.training)"
    )
    assert expected in (folder / "model.py").read_text()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (MODEL.replace("\n", "\r\n").encode(), SAFE.replace("\n", "\r\n").encode()),
        (b"\xef\xbb\xbf" + MODEL.encode(), b"\xef\xbb\xbf" + SAFE.encode()),
        (
            ("# -*- coding: latin-1 -*-\n" + MODEL.replace("keep", "kéep")).encode("latin-1"),
            ("# -*- coding: latin-1 -*-\n" + SAFE.replace("keep", "kéep")).encode("latin-1"),
        ),
        (MODEL.rstrip("\n").encode(), SAFE.rstrip("\n").encode()),
        (MODEL.replace("x * x", "é * é").replace("(self, x)", "(self, é, x)").encode(), None),
    ],
    ids=["windows newlines", "a byte order mark", "latin-1", "no newline at the end", "letters of two bytes"],
)
def test_a_file_keeps_its_bytes_elsewhere(folder: Path, before: bytes, after: bytes | None) -> None:
    (folder / "model.py").write_bytes(before)
    check("--fix")
    expected = after if after is not None else before.replace(b".data", b".detach()")
    assert (folder / "model.py").read_bytes() == expected


def test_mode_and_link_are_kept_and_nothing_is_left_beside(folder: Path) -> None:
    (folder / "real").mkdir()
    real = folder / "real" / "model.py"
    os.replace(folder / "model.py", real)
    real.chmod(0o750)
    (folder / "model.py").symlink_to(real)
    check("--fix", "model.py")
    assert (folder / "model.py").is_symlink()
    assert real.read_text() == SAFE
    assert stat.S_IMODE(real.stat().st_mode) == 0o750
    assert sorted(os.listdir(folder / "real")) == ["model.py"]


def test_a_read_only_file_is_left_and_said_to_be(folder: Path) -> None:
    (folder / "model.py").chmod(0o444)
    code, out, _ = check("--fix")
    assert code == 2
    assert "model.py: the file is read-only; its findings are not fixed" in out
    assert (folder / "model.py").read_text() == MODEL
    assert check("--diff")[0] == 1, "a difference can be shown all the same"


def on_a_full_disk(*flags: str, room: int = 100) -> tuple[int, str, str]:
    """Run where no file can grow beyond some bytes."""
    done = subprocess.run(
        [sys.executable, "-m", "onnxlint", "check", "--static-only", "--no-cache", "--isolated", *flags],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (room, room)),
    )
    return done.returncode, done.stdout, done.stderr


def test_what_cannot_be_written_is_not_said_to_be_fixed(folder: Path) -> None:
    before = check()[1].partition("Found")[0]
    code, out, _ = on_a_full_disk("--fix")
    assert code == 2
    assert "model.py: the file cannot be written: File too large; its findings are not fixed" in out
    assert "Fixed" not in out
    assert "ONX411" in before
    assert "ONX411" in out
    assert (folder / "model.py").read_text() == MODEL
    assert os.listdir(folder) == ["model.py"]


def test_what_was_written_is_counted_and_the_rest_is_reported(folder: Path) -> None:
    short = "import torch\n\n\nclass Short(torch.nn.Module):\n    def forward(self, x):\n        return x * x.data\n"
    (folder / "short.py").write_text(short)
    code, out, _ = on_a_full_disk("--fix", "--output-format", "json", room=150)
    assert code == 2
    report = json.loads(out)
    assert report["summary"]["fixed"] == 1
    assert [f["path"] for f in report["findings"] if f["code"] == "ONX411"] == ["model.py"]
    assert (folder / "short.py").read_text() == short.replace(".data", ".detach()")


def test_files_that_have_changed_meanwhile_are_reported_as_they_are(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edited = MODEL.replace("return F.", "y = x.data\n        return y + F.")

    def edit_and_write(change: Change) -> str | None:
        change.target.write_text(edited)
        return write(change)

    monkeypatch.setattr("onnxlint.cli.apply_fixes.write", edit_and_write)
    out = in_process("--fix", "--output-format", "json")
    report = json.loads(out)
    assert report["summary"]["fixed"] == 0
    (data,) = (f for f in report["findings"] if f["code"] == "ONX411")
    assert [data["line"], *(other["line"] for other in data["also"])] == [8, 11]
    assert (folder / "model.py").read_text() == edited


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_standard_streams_may_be_closed(folder: Path, closed: str) -> None:
    command = f'"{sys.executable}" -m onnxlint check --static-only --no-cache --isolated --fix --output-file out.txt'
    code = subprocess.run(["sh", "-c", f"{command} {closed}"], check=False).returncode
    assert code == 1
    assert "Fixed 1" in (folder / "out.txt").read_text()
    assert (folder / "model.py").read_text() == SAFE


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_what_was_written_before_a_signal_is_reported(
    folder: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    for name in ("other.py", "third.py"):
        (folder / name).write_text(MODEL)

    def write_and_end(change: Change) -> str | None:
        os.kill(os.getpid(), number)
        return write(change)

    monkeypatch.setattr("onnxlint.cli.apply_fixes.write", write_and_end)
    done = CliRunner().invoke(
        main, ["check", "--static-only", "--isolated", "--no-cache", "--fix", "--output-format", "json"]
    )
    report = json.loads(done.stdout)
    assert done.exit_code == 128 + number
    assert report["summary"]["fixed"] == 1
    told = "the run was interrupted before the file was written; its findings are not fixed"
    assert [d["path"] for d in report["diagnostics"] if d["message"] == told] == ["other.py", "third.py"]
    assert [(folder / name).read_text() for name in ("model.py", "other.py", "third.py")] == [SAFE, MODEL, MODEL]


def test_comments_that_were_written_before_a_signal_are_counted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "other.py").write_text(MODEL)

    def write_and_end(path: Path, data: bytes, expected: bytes | None = None) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        replace_file(path, data, expected)

    monkeypatch.setattr("onnxlint.cli.actions.replace_file", write_and_end)
    done = CliRunner().invoke(main, ["check", "--static-only", "--isolated", "--no-cache", "--add-noqa"])
    assert done.exit_code == 130
    assert "in 1 file with" in done.stdout
    assert "other.py: no comment is written: the run was interrupted before the file was written" in done.stderr
    assert [(folder / name).read_text() == MODEL for name in ("model.py", "other.py")] == [False, True]


@pytest.mark.parametrize(
    "flags", [("--output-file",), ("--report",), ("--write-baseline", "--baseline"), ("--prune-baseline", "--baseline")]
)
@pytest.mark.parametrize("name", ["out", "linked/out"])
def test_no_file_is_written_through_a_link_out_of_the_working_directory(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, flags: tuple[str, ...], name: str
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    slack = '{"schema": "onnxlint-baseline/1", "findings": []}'
    row = '{"path": "a", "code": "ONX101", "symbol": "", "text": "", "count": 1, "fingerprint": "0123456789abcdef"}'
    precious = slack.replace("[]", f"[{row}]") if "--baseline" in flags else "precious"
    (outside / "out").write_text(precious)
    (folder / "linked").symlink_to(outside)
    (folder / "out").symlink_to(outside / "out")
    code, out, err = check(*flags, name)
    assert code == 2
    assert f"a link leads out of the working directory, to {outside / 'out'}" in out + err
    assert (outside / "out").read_text() == precious
    assert check("--output-file", str(outside / "out"))[0] == 1
    assert (outside / "out").read_text() != precious


def test_init_writes_no_configuration_through_such_a_link(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "settings.toml"
    outside.write_text("precious")
    (folder / "onnxlint.toml").symlink_to(outside)
    fault = init._write(Path("onnxlint.toml"), "opset = 20", lambda before, text: before + text)
    told = f"a link leads out of the working directory, to {outside}"
    assert fault == f"onnxlint.toml cannot be written: {told}; --stdout prints the tables"
    assert outside.read_text() == "precious"


@pytest.mark.parametrize("flags", [("--fix",), ("--add-noqa",)], ids=" ".join)
def test_a_link_that_leads_out_of_the_checked_tree_is_not_followed(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, flags: tuple[str, ...]
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "theirs.py"
    outside.write_text(MODEL)
    (folder / "link.py").symlink_to(outside)
    for paths in ((), ("link.py", "model.py")):
        (folder / "model.py").write_text(MODEL)
        code, out, err = check(*flags, *paths)
        assert code == 2
        told = f"only a link leads to {outside}, which is outside of the checked folders: name that file to change it"
        assert " ".join((out + err).split()).count(told) == 1
        assert outside.read_text() == MODEL
        assert (folder / "model.py").read_text() != MODEL
    assert check(*flags, str(outside.parent), "link.py")[0] != 2, "the target is checked"
    assert outside.read_text() != MODEL


@pytest.mark.parametrize("flags", [("--fix", "--add-noqa"), ("--diff", "--add-noqa"), ("--fix", "--watch")])
def test_what_does_not_go_together_is_refused(folder: Path, flags: tuple[str, ...]) -> None:
    code, _, err = check(*flags)
    assert code == 2
    assert "Error: --" in err


def in_process(*flags: str) -> str:
    done = CliRunner().invoke(main, ["check", "--static-only", "--no-cache", "--isolated", *flags])
    return done.output


def broken_remedy(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Let the remedy of ONX411 write `text` in the place of the span."""

    def wrong(_: DataAttribute, site: Site) -> Fix:
        return site.fix("wrong", Safety.SAFE, site.splice(site.start, site.end, text))

    monkeypatch.setattr(DataAttribute, "fix", wrong)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("(x.data)", "the finding is still there"),
        ("x.flatten().sum().tolist()", "what it writes has the finding ONX401"),
    ],
)
def test_a_fix_that_does_not_help_is_undone(
    folder: Path, monkeypatch: pytest.MonkeyPatch, text: str, reason: str
) -> None:
    broken_remedy(monkeypatch, text)
    out = in_process("--fix")
    assert f"the fix of ONX411 was undone: {reason}" in out
    assert (folder / "model.py").read_text() == MODEL


def test_a_fix_that_does_not_parse_is_never_offered(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken_remedy(monkeypatch, "x.(")
    out = in_process("--fix")
    assert "undone" not in out
    assert (folder / "model.py").read_text() == MODEL


def test_torch_is_imported_where_it_is_not(folder: Path) -> None:
    text = "from torch import nn\n\n\nclass Model(nn.Module):\n    def forward(self, x):\n"
    text += "        return x if x.sum() > 0 else -x\n"
    (folder / "model.py").write_text(text)
    check("--fix", "--unsafe-fixes")
    assert (folder / "model.py").read_text().startswith("from torch import nn\nimport torch\n")
    renamed = text.replace("from torch import nn\n", "import torch as th\nfrom torch import nn\n")
    (folder / "model.py").write_text(renamed)
    check("--fix", "--unsafe-fixes")
    assert "return th.where(x.sum() > 0, x, -x)" in (folder / "model.py").read_text()
