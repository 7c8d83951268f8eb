"""The README's commands, transcript, configuration and versions are those of the repository."""

from __future__ import annotations

import importlib.util
import re
import shlex
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
from click import Command, Context

from onnxlint.base.catalogue import load_catalogue
from onnxlint.cli import main
from onnxlint.config.settings import load_settings

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
SECTIONS = {part.partition("\n")[0]: part.partition("\n")[2] for part in re.split(r"^## ", README, flags=re.MULTILINE)}
TIMING = re.compile(
    r"(?:\d+ min )?\d+(?:\.\d+)? s\b|─+| +"
)  # durations, and what the width of a column of them changes


def blocks(language: str, text: str = README) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)


def transcript() -> ModuleType:
    spec = importlib.util.spec_from_file_location("readme_transcript", ROOT / ".ci" / "readme_transcript.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_the_transcript_is_what_onnxlint_prints() -> None:
    pytest.importorskip("torch")
    script = transcript()
    assert TIMING.sub(" ", script.shown()) == TIMING.sub(" ", script.produce()), "run .ci/readme_transcript.py"


@pytest.mark.parametrize("heading", ["Try it", "Run the tests"])
def test_a_command_to_paste_is_one_block_of_one_line(heading: str) -> None:
    (command,) = blocks("sh", SECTIONS[heading])
    assert len(command.splitlines()) == 1
    assert "-c .ci/constraints.txt" in command, "without it pip takes whatever is newest"


def test_every_option_and_rule_that_the_readme_names_exists() -> None:
    context = Context(main)
    shown = [line for block in blocks("console", SECTIONS["Use"]) for line in block.splitlines()]
    lines = [line.removeprefix("$ ") for line in shown if line.startswith("$ onnxlint ")]
    lines += re.findall(r"`(onnxlint (?:check|config|explain|rules)\b[^`]*)`", README)
    assert len(lines) > 8
    for line in lines:
        _, name, *arguments = shlex.split(line, comments=True)
        command = main.get_command(context, name)
        assert isinstance(command, Command), line
        known = {option for parameter in command.params for option in parameter.opts}
        assert {a for a in arguments if a.startswith("--")} <= known, line
    rules = load_catalogue()
    assert set(re.findall(r"ONX\d{3}", README)) <= set(rules)
    assert {"tensor-assert", "tensor-branch"} <= {rule.name for rule in rules.values()}


@pytest.mark.parametrize("text", blocks("toml"), ids=[str(n) for n in range(len(blocks("toml")))])
def test_the_configuration_in_the_readme_is_valid(text: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    settings, diagnostics = load_settings(tmp_path)
    assert diagnostics == ()
    assert len(settings.models) == text.count("models]]")


def test_the_versions_in_the_readme_are_those_of_the_constraints() -> None:
    pinned = dict(re.findall(r"^([\w-]+)==(\S+)$", (ROOT / ".ci" / "constraints.txt").read_text(), flags=re.MULTILINE))
    names, _, values = (row.strip("|\n ").split("|") for row in re.findall(r"^\|.*\|$", SECTIONS["Tested with"], re.M))
    for name, value in zip(names, values, strict=True):
        assert value.split()[0] == pinned[name.strip()]


def test_every_dependency_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pinned = set(re.findall(r"^([\w-]+)==", (ROOT / ".ci" / "constraints.txt").read_text(), flags=re.MULTILINE))
    wanted = [*project["dependencies"], *(d for extra in project["optional-dependencies"].values() for d in extra)]
    assert {re.split(r"[><=~!\[; ]", d)[0] for d in wanted} <= pinned
