"""The flags of `onnxlint check`, and how the value of each is read."""

import importlib.util
import os
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click

from onnxlint.base.catalogue import load_catalogue
from onnxlint.base.files import own_text
from onnxlint.base.globs import Glob, parse_glob
from onnxlint.base.records import EXPORTERS, OPENVINO
from onnxlint.config.rule_selectors import FileIgnore, unknown_selector
from onnxlint.config.typed_values import FAIL_ON, parse_memory, parse_release, parse_runtime
from onnxlint.report import FORMATS

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
Configuration = tuple[Path | None, tuple[str, ...]]  # what `--config` says: the one file, and the assignments

PLAIN = ("static_only", "debug")  # flags for settings that cannot be denied: not given, they say nothing


def _codes(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """Split comma-separated selectors; an unknown one ends the run, before anything is probed for nothing."""
    codes = tuple(code for part in value for code in (piece.strip() for piece in part.split(",")) if code)
    rules = {rule.code: rule.name for rule in load_catalogue().values()} if codes else {}
    faults = [fault for code in codes if (fault := unknown_selector(code, rules))]
    if faults:
        raise click.BadParameter("; ".join(faults), ctx, param)
    return codes


def _globs(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> tuple[Glob, ...]:
    one = _read_by(partial(parse_glob, base=Path.cwd()))
    globs = (one(ctx, param, pattern) for part in value for pattern in part.split(",") if pattern)
    return tuple(glob for glob in globs if glob is not None)


def _file_ignores(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> tuple[FileIgnore, ...]:
    """Read `PATTERN:CODE`, several of them with commas between; several codes of one pattern are one entry."""
    by_pattern: dict[str, list[str]] = {}
    for pair in (piece.strip() for part in value for piece in part.split(",")):
        pattern, colon, code = pair.rpartition(":")
        if not colon or not pattern or not code:
            raise click.BadParameter(f"`PATTERN:CODE` is expected, not `{pair}`", ctx, param)
        _globs(ctx, param, (pattern.removeprefix("!"),))
        by_pattern.setdefault(pattern, []).extend(_codes(ctx, param, (code,)))
    return tuple(FileIgnore(pattern, Path.cwd(), tuple(codes), param.opts[0]) for pattern, codes in by_pattern.items())


def _read_by(parse: Callable[[str], T]) -> Callable[[click.Context, click.Parameter, str | None], T | None]:
    def read(ctx: click.Context, param: click.Parameter, value: str | None) -> T | None:
        try:
            return None if value is None else parse(value)
        except ValueError as error:
            raise click.BadParameter(str(error), ctx, param) from error

    return read


def _runtimes(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    one = _read_by(parse_runtime)
    names = [name for part in value for text in part.split(",") if (name := one(ctx, param, text)) is not None]
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


def read_config(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> Configuration:
    """Split the values of `--config` into the one file and the assignments."""
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


def rule_items(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
    """Codes and names of rules for one that is begun, behind a comma or not, each with what it is called."""
    from click.shell_completion import CompletionItem

    head, comma, last = incomplete.rpartition(",")
    items = []
    for rule in load_catalogue().values():
        if rule.code.startswith(last.upper()):
            items.append(CompletionItem(f"{head}{comma}{rule.code}", help=f"{rule.name}: {rule.title}"))
        elif last and rule.name.startswith(last.lower()):
            items.append(CompletionItem(f"{head}{comma}{rule.name}", help=f"{rule.code}: {rule.title}"))
    return items


def _option(*names: str, **settings: Any) -> tuple[str, Callable[[F], F]]:
    """The name that click gives the value of an option, and what adds the option to a command."""
    name = str(click.Option(names, **settings).name)
    return name, click.option(*names, help=_TABLES["help"].get(name), **settings)


def config_options(command: F) -> F:
    """Add the flags that say where the configuration comes from."""
    for _, option in reversed(_CONFIG):
        command = option(command)
    return command


def torch_option(command: F) -> F:
    """Add the flag that chooses the operator table."""
    return dict(_CHECK)["torch"](command)


def check_options(without: frozenset[str] = frozenset()) -> Callable[[F], F]:
    """Add the flags of `check` but those of the configuration, and but these, in the order that `--help` shows."""

    def add(command: F) -> F:
        for name, option in reversed(_CHECK):
            command = command if name in without else option(command)
        return command

    return add


_TABLES = tomllib.loads(own_text(__file__, "options.toml"))
CHECK_ALONE, REVIEW_LACKS = frozenset(_TABLES["check-alone"].split()), frozenset(_TABLES["review-lacks"].split())

_SELECTORS = {"callback": _codes, "shell_complete": rule_items, "multiple": True, "metavar": "CODE[,CODE]"}
_FILE_CODES = {"callback": _file_ignores, "multiple": True, "metavar": "GLOB:CODE"}
_PATTERNS = {"callback": _globs, "multiple": True, "metavar": "GLOB"}
_FILE_OR_KEY = {"multiple": True, "callback": read_config, "metavar": "FILE|KEY=VALUE"}
_TORCH = {"callback": _read_by(parse_release), "metavar": "VERSION"}
_RUNTIMES = {"multiple": True, "callback": _runtimes, "metavar": "NAME[,NAME]"}
_FORMAT = {"type": click.Choice(FORMATS), "default": "full", "show_default": True}
_NUMBER = {"type": click.IntRange(min=0), "metavar": "N"}
_ADDRESS = {"metavar": "ADDRESS", "callback": _scheduler}
_PAGE = {"type": click.Path(path_type=Path), "callback": _report, "metavar": "FILE"}
_SIZE = {"callback": _read_by(parse_memory), "metavar": "SIZE"}
_PATH = click.Path(path_type=Path)
_ABSOLUTE = {"type": _PATH, "callback": lambda ctx, param, value: None if value is None else Path.cwd() / value}

_flag = partial(_option, is_flag=True)

_CONFIG = (_option("--config", **_FILE_OR_KEY), _flag("--isolated"))

_CHECK = (
    _flag("--static-only"),
    *(_option(name, **_SELECTORS) for name in ("--select", "--extend-select", "--ignore")),
    *(_option(name, **_FILE_CODES) for name in ("--per-file-ignores", "--extend-per-file-ignores")),
    *(_option(name, **_PATTERNS) for name in ("--exclude", "--extend-exclude")),
    _option("--force-exclude/--no-force-exclude", default=None),
    _option("--respect-gitignore/--no-respect-gitignore", default=None),
    _option("--exporter", "exporters", multiple=True, type=click.Choice(EXPORTERS)),
    _option("--opset", type=click.IntRange(min=7)),
    _option("--torch", **_TORCH),
    _option("--runtime", "runtimes", **_RUNTIMES),
    _option("--latency/--no-latency", default=None),
    _option("--model", "only_models", multiple=True, metavar="NAME"),
    _option("--max-models", **_NUMBER),
    _option("--changed-since", metavar="REV"),
    _option("--cache/--no-cache", default=None),
    *(_option(name, **_ABSOLUTE) for name in ("--cache-dir", "--baseline")),
    *map(_flag, ("--write-baseline", "--prune-baseline", "--fix", "--unsafe-fixes", "--diff", "--add-noqa")),
    _option("--reason", metavar="TEXT"),
    _option("--output-format", **_FORMAT, envvar="ONNXLINT_OUTPUT_FORMAT"),
    _option("--output-file", type=_PATH, envvar="ONNXLINT_OUTPUT_FILE"),
    _option("--report", **_PAGE),
    _flag("--open", "open_report"),
    _flag("--statistics"),
    _option("--fail-on", type=click.Choice(FAIL_ON)),
    _flag("-e", "--exit-zero"),
    _option("--show", type=click.Choice(["findings", "all"]), default="findings", show_default=True),
    _flag("-q", "--quiet"),
    _option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True),
    _flag("-w", "--watch"),
    _option("--stdin-filename", type=_PATH, metavar="FILE"),
    _option("--jobs", type=click.IntRange(min=1)),
    _option("--scheduler", **_ADDRESS),
    _option("--timeout", type=click.FloatRange(min=0, min_open=True)),
    _option("--memory", **_SIZE),
    _option("--repro-dir", type=_PATH),
    _flag("--debug"),
)
