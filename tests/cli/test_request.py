"""What a command line asks of a check: flags that go together, the settings they make, and the files they name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest

from onnxlint.cli.options import check_options, config_options
from onnxlint.cli.request import STDIN, Asked


def asked(*arguments: str) -> Asked:
    """What is asked for by the arguments of a check."""
    made: list[Asked] = []

    @click.command()
    @click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
    @config_options
    @check_options()
    def command(paths: tuple[Path, ...], **flags: Any) -> None:
        made.append(Asked(paths or (Path(),), flags))

    command.main(list(arguments), standalone_mode=False)
    return made[0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--fix", "--add-noqa"), "--fix and --diff go without"),
        (("--add-noqa", "--write-baseline"), "one or the other"),
        (("-", "gate.py"), "`-` stands alone"),
        (("-", "--changed-since", "HEAD"), "`-` stands alone"),
        (("--open",), "--open needs --report"),
        (("--add-noqa", "--reason", "a\nb"), "--reason: "),
    ],
)
def test_flags_that_contradict_each_other_end_the_run(arguments: tuple[str, ...], words: str, here: Path) -> None:
    with pytest.raises(click.UsageError, match=words):
        asked(*arguments).require_sense()


def test_flags_that_go_together_pass(here: Path) -> None:
    asked("--fix", "--unsafe-fixes", "gate.py").require_sense()
    asked("--add-noqa", "--reason", "it never is").require_sense()


def test_only_what_is_given_overrides_the_file(here: Path) -> None:
    Path("gate.py").write_text("")
    Path("onnxlint.toml").write_text("opset = 18\nrespect-gitignore = false\n")
    (scope,) = asked("--no-cache", "--select", "ONX1").scopes()
    assert (scope.settings.opset, scope.settings.respect_gitignore, scope.settings.static_only) == (18, False, False)
    assert (scope.settings.cache, scope.settings.select) == (False, ("ONX1",))
    (other,) = asked("--opset", "20", "--respect-gitignore").scopes()
    assert (other.settings.opset, other.settings.respect_gitignore) == (20, True)


def test_standard_input_is_never_imported(here: Path) -> None:
    one = asked("--stdin-filename", "net.py", "-")
    (scope,) = one.scopes()
    assert one.stdin
    assert one.paths == (STDIN,)
    assert scope.settings.static_only
    assert [file.name for file in scope.discovery.files] == ["net.py"]


def test_a_wrong_assignment_and_an_unknown_revision_end_the_run(here: Path) -> None:
    with pytest.raises(click.UsageError, match="opsett"):
        asked("--config", "opsett=18").scopes()
    with pytest.raises(click.UsageError, match="--changed-since: "):
        asked("--changed-since", "no-such-revision").base()
    assert asked().base() is None
