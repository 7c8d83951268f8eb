"""Configuration files, `--config KEY=VALUE` and flags → frozen Settings, with the place of every mistake."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onnxlint.base.globs import Glob
from onnxlint.base.records import EXPORTERS, ONNX_RUNTIME, Diagnostic
from onnxlint.config.config_files import Layer, inline_layers, locate
from onnxlint.config.declared_models import ModelConfig
from onnxlint.config.rule_selectors import FileIgnore, FileIgnores, specificity
from onnxlint.config.schema_keys import converters
from onnxlint.config.typed_values import Node, read_table

TYPED = "command line"


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything a run depends on. `root` is the folder of the configuration file, or the working directory.

    `exclude` is None where the folders that tools make are left out, and no others; an empty `include` means `*.py`.
    `only_models` are the names that `--model` asks for (empty: all); `memory` is in bytes, `timeout` in seconds.
    `origins` says for each field where its value comes from; a field that is missing there has its default.
    """

    root: Path
    config_file: Path | None = None
    opset: int = 20
    torch: str | None = None  # whose operators the static pass reckons with; None: see flow/tables/torch_versions.py
    exporters: tuple[str, ...] = EXPORTERS
    runtimes: tuple[str, ...] = (ONNX_RUNTIME,)
    latency: bool = True
    select: tuple[str, ...] = ("ONX",)
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: tuple[FileIgnore, ...] = ()
    extend_per_file_ignores: tuple[FileIgnore, ...] = ()
    exclude: tuple[Glob, ...] | None = None
    extend_exclude: tuple[Glob, ...] = ()
    include: tuple[Glob, ...] = ()
    force_exclude: bool = False
    respect_gitignore: bool = True
    baseline: Path | None = None
    models: tuple[ModelConfig, ...] = ()
    static_only: bool = False
    fail_on: str = "suspected"
    jobs: int = 0  # 0: as many as fit, two at most
    max_models: int = 8  # that nobody declared: each costs seconds
    timeout: float = 300.0
    memory: int | None = None
    source_roots: tuple[Path, ...] = ()
    only_models: tuple[str, ...] = ()
    repro_dir: Path = Path(".onnxlint/repro")
    debug: bool = False
    scheduler: str | None = None  # of a Dask cluster; None: probes run on this machine
    cache: bool = True
    cache_dir: Path | None = None  # None: the user's
    origins: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def file_ignores(self) -> FileIgnores:
        """Return what is ignored in some files only."""
        return FileIgnores((*self.per_file_ignores, *self.extend_per_file_ignores))

    def selects(self, code: str, name: str = "") -> bool:
        """Tell whether a rule runs: selectors are codes, prefixes of codes, or names; the more specific one wins.

        Where `select` and `ignore` are equally specific, `ignore` wins.
        """
        chosen = max((specificity(s, code, name) for s in (*self.select, *self.extend_select)), default=0)
        return chosen > max((specificity(s, code, name) for s in self.ignore), default=0)


def load_settings(
    start: Path,
    explicit: Path | None = None,
    overrides: Mapping[str, Any] | None = None,
    rules: Mapping[str, str] | None = None,
    *,
    inline: Sequence[str] = (),
    isolated: bool = False,
) -> tuple[Settings, tuple[Diagnostic, ...]]:
    """Read the configuration that holds for the folder `start`, and put the flags of the command line on top.

    `explicit` names the file; without it, the nearest `.onnxlint.toml`, `onnxlint.toml`, or `pyproject.toml` with
    `[tool.onnxlint]`, at `start` or above is taken, else the user's own; with `isolated` none. `inline` are
    assignments as in the file, `overrides` maps fields of Settings to values. `rules` maps codes to names; where it
    is given, selectors that no rule answers to are mistakes. Every mistake is one Diagnostic; the rest is used.
    """
    file, layers = locate(start, explicit, isolated)
    root = file.parent if file is not None and not layers[-1].of_user else start.resolve()
    settings = Settings(root=root, config_file=file)
    diagnostics: list[Diagnostic] = []
    for number, layer in enumerate([*layers, *inline_layers(inline, root)]):
        inherited = layer.file is not None and layer.file != file
        values = read_table(Node(layer.table, (), layer.problems), converters(layer.root or root, rules))
        if inherited:
            values.pop("models", None)  # they belong to the project that declares them
        diagnostics += sorted(layer.problems.diagnostics, key=lambda problem: problem.line or 0)
        settings = _put(settings, values, _places(layer), restart=number == 0)
    typed = dict(overrides or {})
    return _put(settings, typed, dict.fromkeys(typed, TYPED), typed=True), tuple(dict.fromkeys(diagnostics))


def _places(layer: Layer) -> dict[str, str]:
    keys = layer.table if isinstance(layer.table, dict) else {}
    lines = {key: layer.problems.line((key,)) for key in keys}
    path = layer.problems.path
    return {key.replace("-", "_"): f"{path}:{line}" if line else path for key, line in lines.items()}


_ADDED = ("extend_select", "extend_exclude", "extend_per_file_ignores")


def _put(
    settings: Settings, values: Mapping[str, Any], places: Mapping[str, str], restart: bool = False, typed: bool = False
) -> Settings:
    """Put the values of one layer on top: lists that extend grow, and a new `select` starts the selection afresh."""
    new = dict(values)
    if "select" in new and not restart:
        settings = dataclasses.replace(settings, extend_select=(), ignore=())
    if "per_file_ignores" in new:
        settings = dataclasses.replace(settings, extend_per_file_ignores=())
    extend = tuple(new.get("extend_select", ()))
    for name in _ADDED:
        if name in new:
            new[name] = (*getattr(settings, name), *new[name])
    own = tuple(new.get("ignore", ()))
    new["ignore"] = (*(name for name in settings.ignore if restart or name not in extend), *own)
    if typed and ("exporters" in new or "timeout" in new):
        dropped: dict[str, Any] = {name: None for name in ("exporters", "timeout") if name in new}
        new["models"] = tuple(dataclasses.replace(model, **dropped) for model in settings.models)
    origins = {**settings.origins, **{name: places[name] for name in values if name in places}}
    return dataclasses.replace(settings, origins=origins, **new)
