"""The flags of `onnxlint check`, and how the value of each is read."""

from __future__ import annotations

import importlib.util
import os
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from onnxlint.base.catalogue import load_catalogue
from onnxlint.base.globs import Glob, fault_of
from onnxlint.base.records import EXPORTERS, OPENVINO
from onnxlint.config.runtime_names import parse_runtime
from onnxlint.config.settings import FAIL_ON, FileIgnore, unknown_selector
from onnxlint.config.typed_values import RELEASE, parse_memory
from onnxlint.report import FORMATS

F = TypeVar("F", bound=Callable[..., Any])

COLORS = ("auto", "always", "never")
_LIST = "CODE[,CODE]"
_SECONDS = click.FloatRange(min=0, min_open=True)
_PATH = click.Path(path_type=Path)

# Flags that are fields of Settings; the others say what becomes of the report.
SETTINGS = (
    *("static_only", "select", "extend_select", "ignore", "per_file_ignores", "extend_per_file_ignores", "exclude"),
    *("extend_exclude", "force_exclude", "respect_gitignore", "exporters", "only_models", "fail_on", "jobs"),
    *("opset", "torch", "runtimes", "latency"),
    *("timeout", "memory", "repro_dir", "baseline", "debug", "cache", "cache_dir", "scheduler"),
    "max_models",
)
PLAIN = ("static_only", "debug")  # of these, those that cannot be denied: not given, they say nothing


def _codes(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """Split comma-separated selectors; an unknown one ends the run, before anything is probed for nothing."""
    codes = tuple(code for part in value for code in (piece.strip() for piece in part.split(",")) if code)
    rules = {rule.code: rule.name for rule in load_catalogue().values()} if codes else {}
    faults = [fault for code in codes if (fault := unknown_selector(code, rules))]
    if faults:
        raise click.BadParameter("; ".join(faults), ctx, param)
    return codes


def _release(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Read a version of torch."""
    if value is not None and RELEASE.fullmatch(value) is None:
        raise click.BadParameter(f"a version such as `2.14` is expected, not `{value[:80]}`", ctx, param)
    return value


def _globs(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> tuple[Glob, ...]:
    """Read patterns; on the command line they are relative to the working directory."""
    patterns = [pattern for part in value for pattern in part.split(",") if pattern]
    for pattern in patterns:
        fault = fault_of(pattern)
        if fault is not None:
            raise click.BadParameter(f"`{pattern}` is not a pattern as .gitignore spells it: {fault}", ctx, param)
    return tuple(Glob(pattern, Path.cwd()) for pattern in patterns)


def _file_ignores(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> tuple[FileIgnore, ...]:
    """Read `PATTERN:CODE`, several of them with commas between; several codes of one pattern are one entry."""
    by_pattern: dict[str, list[str]] = {}
    for pair in (piece.strip() for part in value for piece in part.split(",")):
        pattern, colon, code = pair.rpartition(":")
        if not colon or not pattern or not code:
            raise click.BadParameter(f"`PATTERN:CODE` is expected, not `{pair}`", ctx, param)
        _globs(ctx, param, (pattern.removeprefix("!"),))
        by_pattern.setdefault(pattern, []).extend(_codes(ctx, param, (code,)))
    name = param.opts[0]
    return tuple(FileIgnore(pattern, Path.cwd(), tuple(codes), name) for pattern, codes in by_pattern.items())


def _memory(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    try:
        return None if value is None else parse_memory(value)
    except ValueError as error:
        raise click.BadParameter(str(error), ctx, param) from error


def _runtimes(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """Read the names of runtimes; one that is not installed ends the run, as far as that is known without torch."""
    try:
        names = [parse_runtime(name) for part in value for name in part.split(",")]
    except ValueError as error:
        raise click.BadParameter(str(error), ctx, param) from error
    if OPENVINO in names and importlib.util.find_spec("openvino") is None:
        raise click.BadParameter("OpenVINO is not installed: pip install 'onnxlint[openvino]'", ctx, param)
    return tuple(dict.fromkeys(names))


def _report(ctx: click.Context, param: click.Parameter, value: Path | None) -> Path | None:
    """Refuse what could not be written at the end of a long run: without the packages, or into no folder."""
    from onnxlint.report.html import NEEDED

    if value is None:
        return None
    if not all(map(importlib.util.find_spec, NEEDED)):
        raise click.BadParameter("it needs Jinja: pip install 'onnxlint[report]'", ctx, param)
    if value.is_dir() or not value.absolute().parent.is_dir():
        raise click.BadParameter(f"`{value}` is no file in a folder that exists", ctx, param)
    return value.absolute()


def _scheduler(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    if value is not None and importlib.util.find_spec("distributed") is None:
        raise click.BadParameter("it needs Dask: pip install 'onnxlint[distributed]'", ctx, param)
    return value


def _absolute(ctx: click.Context, param: click.Parameter, value: Path | None) -> Path | None:
    return None if value is None else Path.cwd() / value


def read_config(
    ctx: click.Context, param: click.Parameter, value: tuple[str, ...]
) -> tuple[Path | None, tuple[str, ...]]:
    """Part what `--config` was given into the one file and the assignments."""
    files = [text for text in value if not _is_assignment(text)]
    if len(files) > 1:
        raise click.BadParameter(f"only one file can be named, not {len(files)}", ctx, param)
    return Path(files[0]) if files else None, tuple(text for text in value if _is_assignment(text))


def _is_assignment(text: str) -> bool:
    """Tell `opset=18` from the path of a file; what does not parse is a path where such a file exists."""
    if "=" not in text:
        return False
    try:
        tomllib.loads(text)
    except (ValueError, RecursionError):
        return not os.path.exists(text)
    return True


def config_options(command: F) -> F:
    """Add the flags that say where the configuration comes from."""
    for option in reversed(_CONFIG):
        command = option(command)
    return command


def check_options(command: F) -> F:
    """Add all flags of `check` but those of the configuration, in the order that `--help` shows."""
    for option in reversed(_CHECK):
        command = option(command)
    return command


# Flags of `check` that `run` has not got.
CHECK_ALONE = frozenset(
    {
        *("static_only", "exclude", "extend_exclude", "force_exclude", "respect_gitignore", "changed_since"),
        *("write_baseline", "prune_baseline", "fix", "unsafe_fixes", "diff", "add_noqa", "reason", "watch"),
        *("stdin_filename", "max_models", "opset", "torch"),
    }
)


# Flags of `check` that `review` has not got: what changed, the pull request tells, and it writes no files.
REVIEW_LACKS = frozenset(
    {
        *("changed_since", "write_baseline", "prune_baseline", "fix", "unsafe_fixes", "diff", "add_noqa", "reason"),
        *("watch", "stdin_filename", "statistics"),
    }
)


def options_without(names: frozenset[str]) -> Callable[[F], F]:
    """Add the flags of `check` but these, for a command that has other ones beside them."""

    def add(command: F) -> F:
        for option, name in zip(reversed(_CHECK), reversed(_names(_CHECK)), strict=True):
            if name not in names:
                command = option(command)
        return command

    return add


def _names(options: Sequence[Callable[[Any], Any]]) -> list[str]:
    """Return the names that click gives the values of these options."""

    def bare() -> None:
        """Have no options of its own."""

    for option in reversed(options):
        option(bare)
    return [str(param.name) for param in reversed(bare.__click_params__)]  # type: ignore[attr-defined]


def _rules(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
    """Complete rules; what that needs is imported when a shell asks."""
    from onnxlint.cli.completion import rule_list

    return list(rule_list(ctx, param, incomplete))


_CONFIG = (
    click.option(
        "--config",
        multiple=True,
        callback=read_config,
        metavar="FILE|KEY=VALUE",
        help="The configuration file [that nearest to each file], or one setting as in it.",
    ),
    click.option("--isolated", is_flag=True, help="Read no configuration file."),
)

_CHECK = (
    click.option("--static-only", is_flag=True, help="Read the source only: nothing of it is imported or run."),
    click.option(
        "--select", callback=_codes, shell_complete=_rules, help="Run only these rules.", multiple=True, metavar=_LIST
    ),
    click.option(
        "--extend-select",
        callback=_codes,
        shell_complete=_rules,
        help="Run these rules as well.",
        multiple=True,
        metavar=_LIST,
    ),
    click.option(
        "--ignore", callback=_codes, shell_complete=_rules, help="Do not run these rules.", multiple=True, metavar=_LIST
    ),
    click.option(
        "--per-file-ignores",
        callback=_file_ignores,
        multiple=True,
        metavar="GLOB:CODE",
        help="Ignore these rules in these files, whatever the configuration ignores in some.",
    ),
    click.option(
        "--extend-per-file-ignores",
        callback=_file_ignores,
        multiple=True,
        metavar="GLOB:CODE",
        help="Ignore these rules in these files as well.",
    ),
    click.option("--exclude", callback=_globs, multiple=True, metavar="GLOB", help="Leave out these files, no others."),
    click.option(
        "--extend-exclude", callback=_globs, multiple=True, metavar="GLOB", help="Leave out these files as well."
    ),
    click.option(
        "--force-exclude/--no-force-exclude", default=None, help="Leave out excluded files even where PATHS name them."
    ),
    click.option(
        "--respect-gitignore/--no-respect-gitignore", default=None, help="Leave out what .gitignore does [yes]."
    ),
    click.option(
        "--exporter", "exporters", multiple=True, type=click.Choice(EXPORTERS), help="Check this exporter only."
    ),
    click.option("--opset", type=click.IntRange(min=7), help="Export to this ONNX opset [20]."),
    click.option(
        "--torch",
        callback=_release,
        metavar="VERSION",
        help="Take the operators of this torch in the static pass [the one pinned, or installed].",
    ),
    click.option(
        "--runtime",
        "runtimes",
        multiple=True,
        callback=_runtimes,
        metavar="NAME[,NAME]",
        help="Run the exports in these: onnxruntime, openvino, or an execution provider [onnxruntime].",
    ),
    click.option("--latency/--no-latency", default=None, help="Compare the speed of the exports with eager's [yes]."),
    click.option("--model", "only_models", multiple=True, metavar="NAME", help="Probe only this model."),
    click.option(
        "--max-models",
        type=click.IntRange(min=0),
        metavar="N",
        help="Probe at most so many models that nobody declared [8].",
    ),
    click.option("--changed-since", metavar="REV", help="Report only what changed since this revision of git."),
    click.option("--cache/--no-cache", default=None, help="Take over what an equal run found [yes]."),
    click.option("--cache-dir", type=_PATH, callback=_absolute, help="Where that is kept [a folder of the user]."),
    click.option("--baseline", type=_PATH, callback=_absolute, help="Report only what this file does not know."),
    click.option("--write-baseline", is_flag=True, help="Write all findings to the baseline; report none of them."),
    click.option("--prune-baseline", is_flag=True, help="Remove from the baseline what occurs no more."),
    click.option("--fix", is_flag=True, help="Fix what can be fixed without changing what PyTorch computes."),
    click.option("--unsafe-fixes", is_flag=True, help="Count fixes that may change it as well; with --fix or --diff."),
    click.option("--diff", is_flag=True, help="Show what --fix would change, and change nothing."),
    click.option("--add-noqa", is_flag=True, help="Write a `# noqa` comment for every finding."),
    click.option("--reason", metavar="TEXT", help="What --add-noqa writes behind the codes."),
    click.option(
        "--output-format",
        type=click.Choice(FORMATS),
        default="full",
        show_default=True,
        envvar="ONNXLINT_OUTPUT_FORMAT",
    ),
    click.option("--output-file", type=_PATH, envvar="ONNXLINT_OUTPUT_FILE", help="Write the report to this file."),
    click.option(
        "--report",
        type=_PATH,
        callback=_report,
        metavar="FILE",
        help="Write the report as a page for the browser as well, all in one file of HTML.",
    ),
    click.option("--open", "open_report", is_flag=True, help="Open the page that --report writes in the browser."),
    click.option("--statistics", is_flag=True, help="Count the findings of each rule instead of showing them."),
    click.option("--fail-on", type=click.Choice(FAIL_ON), help="What makes the exit code 1; default: suspected."),
    click.option("-e", "--exit-zero", is_flag=True, help="Exit with 0 though there are findings."),
    click.option("--show", type=click.Choice(["findings", "all"]), default="findings", show_default=True),
    click.option("-q", "--quiet", is_flag=True, help="Show findings and errors only."),
    click.option("--color", type=click.Choice(COLORS), default="auto", show_default=True),
    click.option("-w", "--watch", is_flag=True, help="Check again whenever a file changes."),
    click.option(
        "--stdin-filename", type=_PATH, metavar="FILE", help="The name of the file that `-` reads; implies static only."
    ),
    click.option("--jobs", type=click.IntRange(min=1), help="How many models are probed at a time."),
    click.option(
        "--scheduler",
        metavar="ADDRESS",
        callback=_scheduler,
        help="Probe on this Dask cluster, such as tcp://host:8786.",
    ),
    click.option("--timeout", type=_SECONDS, help="Seconds that one model may take."),
    click.option("--memory", callback=_memory, metavar="SIZE", help="Memory that one model may take, such as 4GiB."),
    click.option("--repro-dir", type=_PATH, help="Where counterexamples go [.onnxlint/repro]."),
    click.option("--debug", is_flag=True, help="Show the traceback of an internal error."),
)
