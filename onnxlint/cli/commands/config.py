"""`onnxlint config`: the settings that hold for a path and where each comes from, and the schema of the files."""

import dataclasses
import json
import os
from importlib.resources import files
from pathlib import Path
from typing import Any

import click

from onnxlint.base.globs import Glob
from onnxlint.base.paths import display_path
from onnxlint.cli import FAILED
from onnxlint.cli.options import Configuration, config_options, torch_option
from onnxlint.cli.output import deliver, tell
from onnxlint.cli.request import settings_request
from onnxlint.config.declared_models import ModelConfig
from onnxlint.config.schema_keys import converters
from onnxlint.config.settings import Settings
from onnxlint.report.common.words import visible

NOT_KEPT = ("extend", "required-version")  # keys that say how the others are read


@click.group("config")
def command() -> None:
    """Show the effective settings or their schema."""


@command.command("schema")
def schema() -> int:
    """Print the JSON schema of `onnxlint.toml`, and of `[tool.onnxlint]` in `pyproject.toml`."""
    return deliver(files("onnxlint.config").joinpath("schema.json").read_text(encoding="utf-8"), "json")


@command.command("show")
@click.argument("path", type=click.Path(path_type=Path), default=Path())
@config_options
@torch_option
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
def show(path: Path, config: Configuration, isolated: bool, torch: str | None, output_format: str) -> int:
    """Print the settings for the file or folder PATH, each with the place that it comes from."""
    from onnxlint.run.scopes import governing

    asked = {} if torch is None else {"torch": torch}
    settings, mistakes = governing(path, settings_request(config, isolated, **asked))
    for mistake in mistakes:
        place = f"{mistake.path}:{mistake.line}" if mistake.line else mistake.path
        tell(f"onnxlint: {place}: {mistake.message}")
    rows = _rows(settings, path)
    if output_format == "json":
        file = None if settings.config_file is None else display_path(settings.config_file)
        table = {key: {"value": value, "origin": origin} for key, value, origin in rows}
        text = json.dumps({"file": file, "root": display_path(settings.root), "settings": table}, indent=2) + "\n"
    else:
        lines = [(f"{key} = {json.dumps(value, ensure_ascii=False)}", origin) for key, value, origin in rows]
        column = min(60, max(len(line) for line, _ in lines))
        text = "".join(f"{visible(f'{line:<{column}}  # {origin}')}\n" for line, origin in lines)
    return max(deliver(text, output_format), FAILED if mistakes else 0)


def _rows(settings: Settings, path: Path) -> list[tuple[str, Any, str]]:
    """Return key, value and origin of every setting that a file can make; of `torch`, those of the table at `path`."""
    from onnxlint.flow.tables.torch_versions import choose

    absolute = Path(os.path.abspath(path))
    choice = choose(settings.torch, settings.origins.get("torch", ""), absolute if path.is_dir() else absolute.parent)
    settings = dataclasses.replace(settings, torch=choice.torch)
    origins = {**settings.origins, "torch": choice.notice or choice.origin}
    fields = {key: key.replace("-", "_") for key in converters(settings.root, None) if key not in NOT_KEPT}
    return [(key, _plain(getattr(settings, name), key), origins.get(name, "default")) for key, name in fields.items()]


def _plain(value: Any, key: str = "") -> Any:
    if key.endswith("per-file-ignores"):
        return {entry.pattern: list(entry.selectors) for entry in value}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Glob):
        return value.pattern
    if isinstance(value, Path):
        return display_path(value)
    return value.factory if isinstance(value, ModelConfig) else value
