"""[tool.onnxlint] or onnxlint.toml → frozen Settings, with the place of every mistake."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from onnxlint.records import EXPORTERS, TensorSpec, Tolerance


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """One [[models]] table. `factory` and a string `inputs` are `module:attribute`; see DESIGN §4 of the docs."""

    factory: str
    inputs: str | Mapping[str, TensorSpec] | None = None
    dynamic: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    sizes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    vary: str | None = None
    tolerance: Tolerance = Tolerance()
    timeout: float | None = None
    exporters: tuple[str, ...] | None = None
    path: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything a run depends on. `root` is the folder of the configuration file, or the working directory."""

    root: Path
    config_file: Path | None = None
    opset: int = 18
    exporters: tuple[str, ...] = EXPORTERS
    select: tuple[str, ...] = ("ONX",)
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    models: tuple[ModelConfig, ...] = ()
    static_only: bool = False
    fail_on: str = "suspected"
    jobs: int = 1
    timeout: float = 300.0
    memory: int | None = None
    source_roots: tuple[Path, ...] = ()
