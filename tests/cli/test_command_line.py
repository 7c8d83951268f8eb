"""The command line around the pipeline: flags, exit codes, where the output goes, and how failures end."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from onnxlint import __version__
from onnxlint.base.globs import Glob
from onnxlint.base.records import Finding, Report, Severity, Span, VerdictKind
from onnxlint.cli import main
from onnxlint.config.rule_selectors import FileIgnore
from onnxlint.config.settings import Settings
from onnxlint.run.scopes import Scope
from onnxlint.run.session import Session

ROOT = Path(__file__).resolve().parents[2]


def finding(severity: Severity = Severity.ERROR, verdict: VerdictKind = VerdictKind.SUSPECTED) -> Finding:
    return Finding("ONX101", "tensor-branch", severity, "`if` wählt…", Span("g.py", 1, 1, 1, 3), verdict=verdict)


class Calls(list[tuple[tuple[str, ...], Settings]]):
    """What the command asked of the session: for each scope the files, relative to where it runs, and the settings."""

    report: Report | BaseException = Report(findings=(finding(),), files=1)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch, here: Path) -> Calls:
    made = Calls()

    def run(scopes: Sequence[Scope], **_: object) -> Session:
        for scope in scopes:
            made.append((tuple(file.relative_to(here).as_posix() for file in scope.discovery.files), scope.settings))
        if isinstance(made.report, BaseException):
            raise made.report
        diagnostics = tuple(d for scope in scopes for d in (*scope.diagnostics, *scope.discovery.diagnostics))
        return Session(dataclasses.replace(made.report, diagnostics=(*diagnostics, *made.report.diagnostics)))

    monkeypatch.setattr("onnxlint.run.session.run", run)
    Path("gate.py").write_text("")
    return made


def check(*args: str) -> Result:
    return CliRunner().invoke(main, ["check", *args])


def settings_of(calls: Calls) -> Settings:
    ((_, settings),) = calls
    return settings


class TestFlags:
    def test_without_any_the_working_directory_is_checked_with_the_defaults(self, calls: Calls) -> None:
        check()
        assert calls == [(("gate.py",), Settings(root=Path.cwd()))]

    def test_all_of_them_reach_the_settings(self, calls: Calls) -> None:
        Path("b").mkdir()
        Path("b/c.py").write_text("")
        check(
            *("gate.py", "b", "--static-only", "--select", "ONX1,literal-batch", "--select", "ONX302"),
            *("--extend-select", "ONX201", "--ignore", "onx102", "--exporter", "dynamo", "--model", "m:A"),
            *("--fail-on", "confirmed", "--jobs", "2", "--timeout", "1.5", "--memory", "2GiB", "--no-cache"),
            *("--cache-dir", "kept"),
            *("--repro-dir", "proof", "--debug", "--show", "all", "--baseline", "known.json"),
            *("--per-file-ignores", "b/:ONX1,b/:ONX302,!b/:literal-batch", "--extend-exclude", "gen/,x.py"),
            *("--exclude", "out/", "--force-exclude", "--no-respect-gitignore"),
        )
        ((paths, settings),) = calls
        here = Path.cwd()
        assert paths == ("b/c.py", "gate.py")
        assert settings == Settings(
            root=Path.cwd(),
            static_only=True,
            select=("ONX1", "literal-batch", "ONX302"),
            extend_select=("ONX201",),
            ignore=("onx102",),
            exporters=("dynamo",),
            only_models=("m:A",),
            fail_on="confirmed",
            jobs=2,
            timeout=1.5,
            memory=2 * 1024**3,
            repro_dir=Path("proof"),
            debug=True,
            baseline=here / "known.json",
            per_file_ignores=(
                FileIgnore("b/", here, ("ONX1", "ONX302"), "--per-file-ignores"),
                FileIgnore("!b/", here, ("literal-batch",), "--per-file-ignores"),
            ),
            exclude=(Glob("out/", here),),
            extend_exclude=(Glob("gen/", here), Glob("x.py", here)),
            force_exclude=True,
            respect_gitignore=False,
            cache=False,
            cache_dir=here / "kept",
        )

    def test_the_file_that_config_names_is_read(self, calls: Calls) -> None:
        Path("other.toml").write_text("opset = 20\n")
        check("--config", "other.toml")
        assert settings_of(calls).opset == 20

    @pytest.mark.parametrize(
        ("args", "words"),
        [
            (["--select", "tensor-brnch"], ["--select", "`tensor-brnch`", "did you mean `tensor-branch`"]),
            (["--ignore", "ONX101,W6"], ["--ignore", "`W6`", "onnxlint rules"]),
            (["--memory", "lots"], ["--memory", "4GiB"]),
            (["--timeout", "0"], ["--timeout", "x>0"]),
            (["--jobs", "0"], ["--jobs"]),
            (["--exporter", "dynmo"], ["--exporter", "dynamo"]),
            (["--output-format", "xml"], ["--output-format", "sarif"]),
            (["--statc-only"], ["--statc-only", "--static-only"]),
            (["--config", "opset=3"], ["--config", "opset: a whole number from 7"]),
            (["--config", "opsett=18"], ["--config", "opsett: unknown key; did you mean `opset`"]),
            (["--config", "opset=", "--config", "opset=+"], ["opset=", "is not an assignment"]),
            (["--config", "a.toml", "--config", "b.toml"], ["--config", "only one file"]),
            (["--per-file-ignores", "tests/"], ["--per-file-ignores", "`PATTERN:CODE` is expected, not `tests/`"]),
            (["--per-file-ignores", "tests/:ONX199"], ["--per-file-ignores", "`ONX199`; did you mean `ONX1"]),
            (["--extend-exclude", "!"], ["--extend-exclude", "is not a pattern"]),
            (["--write-baseline"], ["no baseline to write to", "--baseline FILE"]),
            (["--write-baseline", "--prune-baseline"], ["one or the other"]),
            (["--reason", "x"], ["--reason needs --add-noqa"]),
            (["--add-noqa", "--reason", "a\nb"], ["--reason", "one line"]),
            (["--add-noqa", "--reason", "ABC12 is why"], ["--reason", "`ABC12`"]),
            (["--add-noqa", "--reason", "# type: ignore"], ["--reason", "another comment"]),
            (["--stdin-filename", "gate.py"], ["--stdin-filename needs `-`"]),
            (["-", "gate.py"], ["`-` stands alone"]),
            (["-", "--add-noqa"], ["`-` stands alone"]),
            (["--statistics", "--output-format", "sarif"], ["--statistics has the output formats"]),
            (["--color", "blue"], ["--color", "always"]),
            (["--watch", "-"], ["--watch watches files"]),
        ],
    )
    def test_a_wrong_one_is_one_message_and_nothing_runs(self, calls: Calls, args: list[str], words: list[str]) -> None:
        done = check(*args)
        assert (done.exit_code, done.stdout, calls) == (2, "", [])
        assert done.stderr.count("Error:") == 1
        assert all(word in done.stderr for word in words)

    def test_a_mistake_in_the_file_is_reported_and_the_run_goes_on(self, calls: Calls) -> None:
        Path("onnxlint.toml").write_text("opset = 20\njobbs = 3\n")
        done = check("--output-format", "concise")
        assert done.exit_code == 2
        assert "onnxlint.toml:2:1: error: jobbs: unknown key; did you mean `jobs`?" in done.stdout
        assert "ONX101" in done.stdout
        assert settings_of(calls).opset == 20


class TestOutput:
    def test_the_file_gets_the_report_and_standard_output_nothing(self, calls: Calls) -> None:
        Path("out.json").write_text("old")
        done = check("--output-format", "json", "--output-file", "out.json")
        assert (done.exit_code, done.output) == (1, "")
        assert json.loads(Path("out.json").read_text("utf-8"))["findings"][0]["message"] == "`if` wählt…"
        assert sorted(os.listdir()) == ["gate.py", "out.json"], "no temporary file stays"

    @pytest.mark.parametrize("name", ["no/such/folder/out.json", "file/out.json", "folder"])
    def test_a_file_that_cannot_be_written_loses_nothing(self, calls: Calls, name: str) -> None:
        Path("file").write_text("")
        Path("folder").mkdir()
        done = check("--output-format", "json", "--output-file", name)
        assert done.exit_code == 2
        assert json.loads(done.stdout)["findings"]
        (message,) = done.stderr.splitlines()
        assert message.startswith(f"onnxlint: {name}: the report cannot be written: ")
        assert "; name a file" in message

    def test_a_device_is_written_to_and_not_replaced(self, calls: Calls) -> None:
        assert check("--output-file", "/dev/null").exit_code == 1
        assert not Path("/dev/null").is_file()

    @pytest.mark.parametrize("place", ["file", "file/sub"])
    def test_proofs_that_cannot_be_kept_there_are_kept_elsewhere(self, calls: Calls, place: str) -> None:
        Path("file").write_text("")
        done = check("--repro-dir", place, "--output-format", "json")
        folder = settings_of(calls).repro_dir
        assert done.exit_code == 2
        assert folder.is_dir()
        (diagnostic,) = json.loads(done.stdout)["diagnostics"]
        assert diagnostic["path"] == place
        assert "is not a folder" in diagnostic["message"]
        assert str(folder) in diagnostic["message"]
        folder.rmdir()

    def test_proofs_do_not_follow_a_link_out_of_the_working_directory(
        self, calls: Calls, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        outside = tmp_path_factory.mktemp("outside")
        Path(".onnxlint").mkdir()
        Path(".onnxlint/repro").symlink_to(outside)
        done = check("--output-format", "json")
        folder = settings_of(calls).repro_dir
        assert done.exit_code == 2
        (diagnostic,) = json.loads(done.stdout)["diagnostics"]
        assert f"a link leads out of the working directory, to {outside}; they are in {folder}" in diagnostic["message"]
        folder.rmdir()
        calls.clear()
        check("--repro-dir", str(outside), "--output-format", "json")
        assert settings_of(calls).repro_dir == outside

    def test_a_static_run_keeps_no_proofs_and_minds_no_folder(self, calls: Calls) -> None:
        Path("file").write_text("")
        assert check("--repro-dir", "file", "--static-only").exit_code == 1
        assert settings_of(calls).repro_dir == Path("file")


class TestFailures:
    def test_an_internal_error_is_one_line_with_its_place(self, calls: Calls) -> None:
        calls.report = KeyError("forward")
        done = check()
        assert done.exit_code == 2
        (message,) = done.stderr.splitlines()
        assert message.startswith("onnxlint: internal error at cli/test_command_line.py:")
        assert "KeyError: 'forward'; `--debug` shows the traceback" in message

    @pytest.mark.parametrize("args", [["check", "--debug"], ["--debug", "check"]])
    def test_debug_shows_the_traceback(self, calls: Calls, args: list[str]) -> None:
        calls.report = KeyError("forward")
        done = CliRunner().invoke(main, args)
        assert done.exit_code == 2
        assert done.stderr.startswith("Traceback")

    def test_an_interrupt_is_one_line(self, calls: Calls) -> None:
        calls.report = KeyboardInterrupt()
        done = check()
        assert (done.exit_code, done.stderr.strip()) == (130, "onnxlint: interrupted")


class TestOtherCommands:
    def test_a_command_misspelt_names_the_nearest(self) -> None:
        done = CliRunner().invoke(main, ["chekc"])
        assert done.exit_code == 2
        assert "there is no command `chekc`; did you mean `check`?" in done.stderr

    def test_help_lists_every_command(self) -> None:
        done = CliRunner().invoke(main, ["--help"])
        assert done.exit_code == 0
        assert all(f"\n  {name} " in done.stdout for name in ("check", "config", "explain", "rules"))


def process(*args: str, **options: Any) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **options.pop("env", {})}
    return subprocess.Popen(
        [sys.executable, "-m", "onnxlint", *args], env=environment, stderr=subprocess.PIPE, **options
    )


class TestProcess:
    def test_the_module_answers_with_the_version(self) -> None:
        done = process("--version", stdout=subprocess.PIPE)
        assert done.communicate()[0].decode().split() == ["onnxlint", __version__]
        assert done.returncode == 0

    def test_a_pipe_that_closes_ends_it_without_a_word(self) -> None:
        read, write = os.pipe()
        os.close(read)
        done = process("explain", "ONX101", stdout=write)
        os.close(write)
        assert done.communicate()[1] == b""
        assert done.returncode == 0

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
    def test_a_full_disk_is_one_line(self) -> None:
        with open("/dev/full", "wb") as full:
            done = process("rules", stdout=full)
            error = done.communicate()[1].decode()
        assert error == "onnxlint: the report cannot be written to standard output: No space left on device\n"
        assert done.returncode == 2

    def test_an_ascii_terminal_gets_escapes(self) -> None:
        done = process("explain", "ONX101", stdout=subprocess.PIPE, env={"PYTHONIOENCODING": "ascii"})
        out, error = done.communicate()
        assert (done.returncode, error) == (0, b"")
        assert out.isascii()
        assert b"ONX101" in out

    def test_closed_standard_output_is_survived(self) -> None:
        done = process("rules", stdout=None, preexec_fn=lambda: os.close(1))
        assert done.communicate()[1] == b""
        assert done.returncode == 0


def test_opset_and_runtimes_are_read_and_a_runtime_that_is_none_ends_the_run(
    calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    arguments = ["check", "--opset", "17", "--runtime", "onnxruntime,openvino", "--runtime", "CUDAExecutionProvider"]
    CliRunner().invoke(main, arguments)
    (_, settings), *_ = calls
    assert settings.opset == 17
    assert settings.runtimes == ("onnxruntime", "openvino", "CUDAExecutionProvider")
    wrong = CliRunner().invoke(main, ["check", "--runtime", "tensorrt"])
    assert wrong.exit_code == 2
    assert "did you mean `TensorrtExecutionProvider`?" in wrong.output
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    missing = CliRunner().invoke(main, ["check", "--runtime", "openvino"])
    assert missing.exit_code == 2
    assert "pip install 'onnxlint[openvino]'" in missing.output
    assert len(calls) == 1, "nothing was checked"
