"""Living with findings: the baseline, changed lines, comments, per-file settings, standard input, counts.

Every test runs the command as a user does, in a project of two files with one finding each.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

from onnxlint.base.records import Diagnostic, Report
from onnxlint.cli import actions, main
from onnxlint.run import session
from onnxlint.source.parse import SourceFile

GATE = """import torch


class Gate(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return x
"""
ITEM = """import torch


class Item(torch.nn.Module):
    def forward(self, x):
        return x * float(
            x.max(),
        )
"""
NO_HAZARD = """from torch import nn
from one import level
FLAG = False


class One(nn.Module):
    def forward(self, x):
        return x.dim()


class Two(nn.Module):
    def forward(self, x):
        return x.sum()


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = One()

    def forward(self, x):
        y = x
        if level(y) > 3:
            return y
        if self.part(y) > 3:
            return y
        if FLAG:
            z = y
            if z.sum() > 3:
                return y
        return x * 2


class Late(nn.Module):
    def forward(self, x):
        y = x
        if True:
            return x
        # kept
        z = y
        if z.max() > 3:
            return z
        return x


class Base(object):
    pass


class Plain(Base):
    def forward(self, x):
        y = x
        if y.min() > 3:
            return y
        return x
"""
CLEAN = "import torch\n\n\nclass Clean(torch.nn.Module):\n    def forward(self, x):\n        return x * 2\n"

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")


class Done(NamedTuple):
    """How a run ended."""

    code: int
    out: str
    err: str

    @property
    def found(self) -> list[tuple[str, str, int]]:
        """The findings of a run in JSON: code, path, line."""
        return [(f["code"], f["path"], f["line"]) for f in json.loads(self.out)["findings"]]


def run(*arguments: str, given: str | bytes | None = None) -> Done:
    done = CliRunner().invoke(main, [*arguments], input=given)
    assert "Traceback" not in done.output
    return Done(done.exit_code, done.stdout, done.stderr)


def check(*arguments: str, given: str | bytes | None = None) -> Done:
    return run("check", "--static-only", *arguments, given=given)


def found(*arguments: str) -> list[tuple[str, str, int]]:
    return check("--output-format", "json", *arguments).found


@pytest.fixture(autouse=True)
def _project(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    Path("gate.py").write_text(GATE)
    Path("pkg").mkdir()
    Path("pkg/item.py").write_text(ITEM)


AT_GATE, AT_ITEM = ("ONX101", "gate.py", 6), ("ONX401", "pkg/item.py", 6)


def test_the_project_has_two_findings() -> None:
    assert found() == [AT_GATE, AT_ITEM]


class TestPerFileIgnores:
    def test_rules_are_ignored_in_the_files_that_a_pattern_means(self) -> None:
        Path("onnxlint.toml").write_text('[per-file-ignores]\n"pkg/" = ["ONX4"]\n"gate.py" = ["ONX401"]\n')
        assert found() == [AT_GATE]
        assert found("pkg/item.py") == []

    def test_the_command_line_replaces_them_or_adds_to_them(self) -> None:
        Path("onnxlint.toml").write_text('[per-file-ignores]\n"pkg/" = ["ONX4"]\n')
        assert found("--per-file-ignores", "gate.py:tensor-branch") == [AT_ITEM]
        assert found("--extend-per-file-ignores", "gate.py:tensor-branch") == []

    def test_each_configuration_governs_the_files_below_it(self) -> None:
        Path("onnxlint.toml").write_text('ignore = ["ONX1"]\n')
        Path("pkg/onnxlint.toml").write_text('ignore = ["ONX4"]\n')
        shutil.copy("gate.py", "pkg/gate.py")
        shutil.copy("pkg/item.py", "item.py")
        assert found() == [("ONX401", "item.py", 6), ("ONX101", "pkg/gate.py", 6)]
        assert found("pkg/gate.py", "gate.py") == [("ONX101", "pkg/gate.py", 6)]
        report = json.loads(check("--output-format", "json").out)
        assert report["summary"]["files"] == 4


class TestBaseline:
    def written(self) -> list[str]:
        return [entry["code"] for entry in json.loads(Path("known.json").read_text())["findings"]]

    @pytest.fixture(autouse=True)
    def _write(self) -> None:
        done = check("--baseline", "known.json", "--write-baseline")
        assert (done.code, done.out) == (0, "Wrote 2 findings to known.json\n")

    def test_what_it_knows_is_not_reported(self) -> None:
        done = check("--baseline", "known.json", "--output-format", "json")
        assert (done.code, done.found, json.loads(done.out)["summary"]["baseline"]) == (0, [], 2)
        assert "Nothing found (2 in the baseline) in 2 files" in check("--baseline", "known.json").out

    def test_the_configuration_may_name_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        Path("onnxlint.toml").write_text('baseline = "known.json"\n')
        assert check().code == 0
        monkeypatch.chdir("pkg")
        assert check().code == 0, "its paths are relative to itself"

    def test_lines_may_move_and_other_code_come(self) -> None:
        Path("gate.py").write_text("# moved\n\n" + GATE + "\n\nclass Other(torch.nn.Module):\n    pass\n")
        assert found("--baseline", "known.json") == []

    def test_a_new_finding_is_reported(self) -> None:
        Path("gate.py").write_text(GATE.replace("return x\n", "return x * x.max().item()\n"))
        assert found("--baseline", "known.json") == [("ONX401", "gate.py", 8)]

    def test_a_fixed_one_is_reported_as_slack_at_its_line_of_the_file(self) -> None:
        Path("gate.py").write_text(CLEAN)
        done = check("--baseline", "known.json", "--output-format", "json")
        assert (done.code, done.found) == (1, [("ONX901", "known.json", 4)])
        (finding,) = json.loads(done.out)["findings"]
        assert "ONX101 in gate.py at `x.sum() > 0`, which occurs no more" in finding["message"]
        assert check("--baseline", "known.json", "--ignore", "ONX901").code == 0

    def test_one_of_a_file_that_is_gone_is_slack(self) -> None:
        Path("gate.py").unlink()
        assert found("--baseline", "known.json") == [("ONX901", "known.json", 4)]
        assert found("--baseline", "known.json", "pkg") == [("ONX901", "known.json", 4)]

    def test_pruning_removes_the_slack_and_adds_nothing(self) -> None:
        Path("gate.py").write_text(CLEAN)
        Path("new.py").write_text(GATE)
        done = check("--baseline", "known.json", "--prune-baseline", "--output-format", "json")
        assert (done.code, done.found, self.written()) == (1, [("ONX101", "new.py", 6)], ["ONX401"])
        assert done.err == "Removed 1 finding from known.json\n"
        before = Path("known.json").stat()
        assert check("--baseline", "known.json", "--prune-baseline").err == ""
        assert Path("known.json").stat() == before, "with nothing to remove it is not touched"

    @pytest.mark.parametrize(
        "arguments",
        [["pkg"], ["--select", "ONX4"], ["--ignore", "ONX1"], ["--exporter", "dynamo"]],
        ids=["other files", "other rules", "without its rule", "one exporter"],
    )
    def test_a_run_that_could_not_find_it_does_not_call_it_slack(self, arguments: list[str]) -> None:
        Path("gate.py").write_text(CLEAN)
        assert found("--baseline", "known.json", *arguments) == []
        assert check("--baseline", "known.json", "--write-baseline", *arguments).code == 0
        assert self.written() == ["ONX101", "ONX401"]

    def test_a_file_that_does_not_parse_is_not_judged(self) -> None:
        Path("gate.py").write_text("import torch\ndef f(:\n")
        done = check("--baseline", "known.json", "--output-format", "json")
        assert (done.code, done.found) == (2, [])
        done = check("--baseline", "known.json", "--write-baseline")
        assert done.code == 2
        assert "gate.py:2: the file does not parse" in done.err
        assert self.written() == ["ONX101", "ONX401"]

    @pytest.mark.parametrize(
        ("text", "words"),
        [("{", "known.json:1"), ('{"schema": "x"}', "this is no baseline"), (None, "`--write-baseline` makes one")],
    )
    def test_a_broken_one_is_one_message_and_everything_is_reported(self, text: str | None, words: str) -> None:
        Path("known.json").write_text(text) if text is not None else Path("known.json").unlink()
        done = check("--baseline", "known.json", "--output-format", "concise")
        assert done.code == 2
        assert done.out.count("error: ") == 1
        assert words in done.out
        assert "gate.py:6:12: ONX101" in done.out

    def test_a_file_that_is_no_baseline_is_never_overwritten(self) -> None:
        done = check("--baseline", "gate.py", "--write-baseline")
        assert done.code == 2
        assert "gate.py:1: the baseline is not JSON" in done.err
        assert Path("gate.py").read_text() == GATE

    def test_one_that_cannot_be_written_is_one_message(self) -> None:
        done = check("--baseline", "gate.py/known.json", "--write-baseline")
        assert done.code == 2
        assert done.err.startswith("onnxlint: gate.py/known.json: the baseline cannot be written: ")

    def test_two_configurations_may_share_one(self) -> None:
        Path("pkg/onnxlint.toml").write_text("opset = 20\n")
        assert check("--baseline", "known.json").code == 0
        Path("pkg/item.py").write_text(CLEAN)
        assert found("--baseline", "known.json") == [("ONX901", "known.json", 5)]


def git(*arguments: str) -> None:
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.invalid", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *arguments], check=True, capture_output=True)


@needs_git
class TestChangedSince:
    @pytest.fixture(autouse=True)
    def _repository(self) -> None:
        git("init", "-q")
        git("add", "-A")
        git("commit", "-q", "-m", "All of it")

    def test_nothing_changed_nothing_found(self) -> None:
        done = check("--changed-since", "HEAD", "--output-format", "json")
        assert (done.code, done.found) == (0, [])

    def test_findings_on_changed_lines_are_found_in_files_old_and_new(self) -> None:
        Path("gate.py").write_text(GATE.replace("> 0", "> 1"))
        Path("new.py").write_text(GATE)
        assert found("--changed-since", "HEAD") == [AT_GATE, ("ONX101", "new.py", 6)]

    def test_any_line_of_the_statement_counts(self) -> None:
        Path("pkg/item.py").write_text(ITEM.replace("x.max(),", "x.min(),"))
        assert found("--changed-since", "HEAD") == [AT_ITEM]

    def test_a_change_at_a_cause_far_away_counts(self) -> None:
        """The whole project is analysed: the line with the branch is old, what it branches on is new."""
        Path("helper.py").write_text("def level(x):\n    level = x.shape[-1]\n    return level\n")
        Path("gate.py").write_text(
            GATE.replace("import torch", "import torch\nfrom helper import level").replace(
                "x.sum() > 0", "level(x) > 0"
            )
        )
        git("add", "-A")
        git("commit", "-q", "-m", "By shape")
        before = {line for code, path, line in found() if path == "gate.py" and code == "ONX101"}
        Path("helper.py").write_text("def level(x):\n    level = x.sum()\n    return level\n")
        assert (before, found("--changed-since", "HEAD", "gate.py")) == (set(), [("ONX101", "gate.py", 7)])

    @pytest.mark.parametrize(
        ("was", "becomes"),
        [
            ("from one import level", "from two import level"),
            ("FLAG = False", "FLAG = True"),
            ("self.part = One()", "self.part = Two()"),
            ("class Base(object)", "class Base(nn.Module)"),
            ("        if True:\n            return x\n        # kept\n", ""),
            ("# onnxlint: ignore-file\n", ""),
        ],
    )
    def test_a_change_that_makes_an_old_line_a_hazard_counts_though_no_step_to_it_changed(
        self, was: str, becomes: str
    ) -> None:
        Path("one.py").write_text("def level(x):\n    return x.dim()\n")
        Path("two.py").write_text("def level(x):\n    return x.sum()\n")
        text = NO_HAZARD if "ignore" not in was else was + NO_HAZARD.replace("from one", "from two")
        assert was in text
        Path("gate.py").write_text(text)
        git("add", "-A")
        git("commit", "-q", "-m", "No hazard")
        assert found("gate.py") == []
        Path("gate.py").write_text(text.replace(was, becomes))
        made = found("gate.py")
        assert len(made) == 1
        assert found("--changed-since", "HEAD", "gate.py") == made

    def test_it_costs_one_more_static_pass_and_reads_the_files_that_changed(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        given_pass, given_tree = session.run_check, session.read_source
        passes: list[Mapping[Path, bytes]] = []
        trees: list[str] = []

        def run_check(*arguments: Any, **more: Any) -> Report:
            passes.append(more["overlay"])
            return given_pass(*arguments, **more)

        def read_source(path: Path) -> SourceFile | Diagnostic:
            trees.append(path.name)
            return given_tree(path)

        monkeypatch.setattr(session, "run_check", run_check)
        monkeypatch.setattr(session, "read_source", read_source)
        assert found("--changed-since", "HEAD") == []
        assert (len(passes), trees) == (1, [])
        text = Path("gate.py").read_text()
        Path("new.py").write_text(GATE.replace("Gate", "New"))
        Path("other.py").write_text("x = 1\n")
        git("add", "-A")
        git("commit", "-q", "-m", "One more")
        Path("new.py").write_text(GATE.replace("Gate", "Newer"))
        passes.clear()
        assert found("--changed-since", "HEAD") == []
        assert [{path.name for path in overlay} for overlay in passes] == [set(), {"new.py"}]
        assert (set(trees), Path("gate.py").read_text()) == ({"new.py"}, text)

    def test_what_was_found_before_is_not_found_again_where_lines_and_names_change(self) -> None:
        Path("gate.py").write_text("import os\n" + GATE.replace("Gate", "Door"))
        assert found("--changed-since", "HEAD") == []

    def test_the_slack_of_a_baseline_is_told_all_the_same(self) -> None:
        check("--baseline", "known.json", "--write-baseline")
        git("add", "-A")
        git("commit", "-q", "-m", "Live with it")
        Path("gate.py").write_text(CLEAN)
        assert found("--baseline", "known.json", "--changed-since", "HEAD") == [("ONX901", "known.json", 4)]

    @pytest.mark.parametrize("revision", ["nope", "--", "-x"])
    def test_a_revision_that_is_none_is_one_message(self, revision: str) -> None:
        done = check(f"--changed-since={revision}")
        assert (done.code, done.out) == (2, "")
        assert done.err.count("Error:") == 1
        assert "--changed-since: " in done.err


def test_changes_without_a_repository_are_one_message() -> None:
    done = check("--changed-since", "HEAD")
    assert (done.code, done.out) == (2, "")
    assert done.err.count("Error:") == 1
    assert "git" in done.err


class TestAddNoqa:
    def test_every_finding_gets_a_comment_and_the_next_run_is_clean(self) -> None:
        os.chmod("gate.py", 0o755)
        done = check("--add-noqa", "--reason", "not exported")
        assert (done.code, done.err) == (0, "")
        assert done.out == "Silenced the findings of 2 lines in 2 files with `# noqa`\n"
        assert "        if x.sum() > 0:  # noqa: ONX101 not exported\n" in Path("gate.py").read_text()
        assert "        return x * float(  # noqa: ONX401 not exported\n" in Path("pkg/item.py").read_text()
        assert Path("gate.py").stat().st_mode & 0o777 == 0o755
        assert found() == []
        texts = [Path(name).read_bytes() for name in ("gate.py", "pkg/item.py")]
        assert check("--add-noqa").out == "Silenced the findings of 0 lines in 0 files with `# noqa`\n"
        assert [Path(name).read_bytes() for name in ("gate.py", "pkg/item.py")] == texts

    def test_only_what_is_reported_is_silenced(self) -> None:
        check("--add-noqa", "--select", "ONX4")
        assert found() == [AT_GATE]

    def test_a_link_stays_one(self) -> None:
        Path("gate.py").rename("real.txt")
        os.symlink("real.txt", "gate.py")
        check("--add-noqa", "gate.py")
        assert Path("gate.py").is_symlink()
        assert "# noqa: ONX101" in Path("real.txt").read_text()

    def test_a_file_that_cannot_be_written_is_one_message_and_the_rest_is_done(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real = actions.replace_file

        def replace(path: Path, data: bytes, expected: bytes | None = None) -> None:
            if path.name == "gate.py":
                raise PermissionError(13, "Permission denied")
            real(path, data, expected)

        monkeypatch.setattr(actions, "replace_file", replace)
        done = check("--add-noqa")
        assert done.code == 2
        assert done.err == "onnxlint: gate.py: no comment is written: the file cannot be written: Permission denied\n"
        assert Path("gate.py").read_text() == GATE
        assert sorted(os.listdir()) == ["gate.py", "pkg"], "no temporary file stays"
        assert found() == [AT_GATE]


class TestStandardInput:
    def test_it_is_checked_under_the_name_that_is_given(self) -> None:
        done = check("-", "--stdin-filename", "pkg/item.py", "--output-format", "json", given=GATE)
        assert (done.code, done.found) == (1, [("ONX101", "pkg/item.py", 6)])

    def test_the_frame_shows_what_was_given_and_not_what_is_on_the_disk(self) -> None:
        done = check("-", "--stdin-filename", "gate.py", given=GATE.replace("x.sum()", "x.mean()"))
        assert "if x.mean() > 0:" in done.out
        assert "x.sum()" not in done.out

    def test_the_project_around_it_is_known(self) -> None:
        Path("helper.py").write_text("def level(x):\n    return x.sum()\n")
        text = GATE.replace("import torch", "import torch\nfrom helper import level").replace("x.sum()", "level(x)")
        Path("onnxlint.toml").write_text('ignore = ["ONX4"]\n')
        done = check("-", "--stdin-filename", "new.py", "--output-format", "json", given=text)
        assert done.found == [("ONX101", "new.py", 7)]

    def test_without_a_name_it_is_a_dash(self) -> None:
        assert check("-", "--output-format", "json", given=GATE).found == [("ONX101", "-", 6)]

    @pytest.mark.parametrize(
        ("given", "words"), [(b"import torch\ndef f(:\n", "-:2:1: error"), (b"import torch\n# \xe9\n", "not UTF-8")]
    )
    def test_what_cannot_be_read_is_one_message(self, given: bytes, words: str) -> None:
        done = check("-", "--output-format", "concise", given=given)
        assert done.code == 2
        assert words in done.out

    def test_it_is_never_run(self) -> None:
        Path("onnxlint.toml").write_text('[[models]]\nfactory = "gate:Gate"\ninputs = { x = "float32[batch, 3]" }\n')
        done = run("check", "-", "--stdin-filename", "gate.py", "--output-format", "json", given=GATE)
        assert json.loads(done.out)["models"] == []

    def test_an_excluded_name_is_passed_over_where_that_is_forced(self) -> None:
        arguments = ["-", "--stdin-filename", "gate.py", "--extend-exclude", "gate.py"]
        assert check(*arguments, given=GATE).code == 1
        assert check(*arguments, "--force-exclude", given=GATE).code == 0


class TestReport:
    def test_statistics_count_by_rule(self) -> None:
        Path("second.py").write_text(Path("gate.py").read_text().replace("x.sum()", "x.mean()"))
        done = check("--statistics")
        assert done.code == 1
        first, second, summary = done.out.splitlines()
        assert first.split()[:3] == ["2", "ONX101", "tensor-branch"]
        assert first.endswith("2 error; 2 suspected")
        assert second.split()[:2] == ["1", "ONX401"]
        assert summary.startswith("3 suspected in 3 files")

    def test_statistics_are_json_where_that_is_asked_for(self) -> None:
        rows = json.loads(check("--statistics", "--output-format", "json").out)
        assert rows[0] == {
            "code": "ONX101",
            "rule": "tensor-branch",
            "count": 1,
            "severities": {"error": 1},
            "verdicts": {"suspected": 1},
        }
        assert [row["code"] for row in rows] == ["ONX101", "ONX401"]

    def test_exit_zero_takes_findings_for_success_and_nothing_else(self) -> None:
        done = check("--exit-zero", "--output-format", "json")
        assert (done.code, done.found) == (0, [AT_GATE, AT_ITEM])
        assert check("--exit-zero", "nope.py").code == 2

    def test_quiet_leaves_findings_and_errors(self) -> None:
        done = check("--quiet", "--output-format", "concise", "gate.py", "nope.py")
        assert [line.split(":")[0] for line in done.out.splitlines()] == ["gate.py", "nope.py"]
        Path("clean.py").write_text(CLEAN)
        assert check("--quiet", "clean.py") == (0, "", "")

    @pytest.mark.parametrize(
        ("arguments", "environment", "colored"),
        [
            ([], {}, False),
            ([], {"FORCE_COLOR": "1"}, True),
            ([], {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
            (["--color", "always"], {"NO_COLOR": "1"}, True),
            (["--color", "never"], {"FORCE_COLOR": "1"}, False),
            (["--color", "always", "--output-format", "json"], {}, False),
        ],
    )
    def test_colour_is_as_asked(
        self, arguments: list[str], environment: dict[str, str], colored: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        assert (
            "\x1b[" in CliRunner().invoke(main, ["check", "--static-only", *arguments], color=True).stdout
        ) is colored

    def test_the_environment_may_set_the_format(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("ONNXLINT_OUTPUT_FORMAT", "json")
        assert check().found == [AT_GATE, AT_ITEM]
        assert check("--output-format", "concise").out.startswith("gate.py:6:12: ONX101")
