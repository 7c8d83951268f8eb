"""How the values of flags are read, and what is offered for one that is begun."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from onnxlint.cli.options import CHECK_ALONE, check_options, config_options, rule_items


def read(*arguments: str, without: frozenset[str] = frozenset()) -> tuple[Result, dict[str, Any]]:
    """What a command with the flags of a check gets for some arguments."""
    values: dict[str, Any] = {}

    @click.command()
    @config_options
    @check_options(without)
    def command(**flags: Any) -> None:
        values.update(flags)

    return CliRunner().invoke(command, arguments), values


def test_one_file_of_configuration_and_any_number_of_assignments(here: Path) -> None:
    Path("odd=name").write_text("")
    assert read("--config", "opset=18", "--config", "a.toml", "--config", "jobs=2")[1]["config"] == (
        Path("a.toml"),
        ("opset=18", "jobs=2"),
    )
    assert read("--config", "odd=name")[1]["config"] == (Path("odd=name"), ())
    assert read("--config", "a.toml", "--config", "b.toml")[0].exit_code == 2


def test_codes_of_one_pattern_are_one_entry(here: Path) -> None:
    entries = read("--per-file-ignores", "a/:ONX101,b/:ONX1", "--per-file-ignores", "a/:tensor-branch")[1]
    assert [(e.pattern, e.selectors) for e in entries["per_file_ignores"]] == [
        ("a/", ("ONX101", "tensor-branch")),
        ("b/", ("ONX1",)),
    ]


@pytest.mark.parametrize(
    ("arguments", "name", "value"),
    [
        (("--select", " ONX101 , ,ONX2"), "select", ("ONX101", "ONX2")),
        (("--memory", "2GiB"), "memory", 2 * 1024**3),
        (("--runtime", "onnxruntime,onnxruntime"), "runtimes", ("onnxruntime",)),
        ((), "respect_gitignore", None),
        (("--no-respect-gitignore",), "respect_gitignore", False),
    ],
)
def test_a_value_is_read(arguments: tuple[str, ...], name: str, value: object) -> None:
    assert read(*arguments)[1][name] == value


def test_a_page_that_could_not_be_written_at_the_end_is_refused_at_the_start(here: Path) -> None:
    pytest.importorskip("jinja2")
    assert read("--report", "none/page.html")[0].exit_code == 2
    assert read("--report", "page.html")[1]["report"] == here / "page.html"


def test_a_command_has_not_got_the_flags_that_it_leaves_out() -> None:
    done, values = read("--fix", without=CHECK_ALONE)
    assert done.exit_code == 2
    assert "--fix" in done.stderr
    assert not CHECK_ALONE & read(without=CHECK_ALONE)[1].keys()
    assert values == {}


def test_what_is_begun_behind_a_comma_is_completed() -> None:
    command = click.Command("c")
    context, option = click.Context(command), click.Option(["--select"])
    assert [item.value for item in rule_items(context, option, "ONX302,onx101")] == ["ONX302,ONX101"]
    assert [item.value for item in rule_items(context, option, "tensor-bran")] == ["tensor-branch"]
    assert rule_items(context, option, "none-of-them") == []
