"""Which files run under which configuration: the nearest one above each file, as ruff has it."""

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from onnxlint.base.paths import keep_inside, unwritable
from onnxlint.base.records import Diagnostic
from onnxlint.config.config_files import in_folder
from onnxlint.config.settings import Settings, load_settings
from onnxlint.source.discover import Discovery, discover, excluded


@dataclass(frozen=True, slots=True)
class Request:
    """How settings are found: `explicit` names the file for everything, `isolated` asks for none; see load_settings."""

    explicit: Path | None = None
    isolated: bool = False
    inline: Sequence[str] = ()
    overrides: Mapping[str, Any] = field(default_factory=dict)
    rules: Mapping[str, str] | None = None

    def load(self, folder: Path) -> tuple[Settings, tuple[Diagnostic, ...]]:
        """Return the settings for a folder, and what is wrong with them."""
        given = self.explicit, self.overrides, self.rules
        return load_settings(folder, *given, inline=self.inline, isolated=self.isolated)


@dataclass(frozen=True, slots=True)
class Scope:
    """The files that one configuration governs; `diagnostics` are the mistakes in it."""

    settings: Settings
    discovery: Discovery
    diagnostics: tuple[Diagnostic, ...] = ()


def scopes(paths: Sequence[Path], request: Request) -> tuple[Scope, ...]:
    """Part the files under `paths` by the configuration that governs them; without one, by none. Never empty.

    A folder below with a configuration of its own is a scope of its own: it has its own models, opset and rules.
    """
    if request.explicit is not None or request.isolated:
        settings, diagnostics = request.load(Path.cwd())
        discovery = discover(paths, settings)
        return (Scope(settings, discovery, (*diagnostics, *_idle_patterns(paths, settings, discovery))),)
    folders: dict[Path, Path | None] = {}
    waiting: dict[Path | None, list[Path]] = {}
    for path in paths:
        absolute = Path(os.path.abspath(path))
        waiting.setdefault(_governing(absolute if path.is_dir() else absolute.parent, folders), []).append(path)
    done: list[Scope] = []
    while waiting:
        folder = next(iter(waiting))
        here = waiting.pop(folder)
        settings, diagnostics = request.load(folder or Path.cwd())
        discovery = discover(here, settings, lambda below: in_folder(below) is not None)
        done.append(Scope(settings, discovery, (*diagnostics, *_idle_patterns(here, settings, discovery))))
        for nested in discovery.nested:
            waiting.setdefault(nested, []).append(nested)
    return tuple(done)


def governing(path: Path, request: Request) -> tuple[Settings, tuple[Diagnostic, ...]]:
    """Return the settings that hold for one file or folder, which need not exist, and the mistakes in them."""
    absolute = Path(os.path.abspath(path))
    if request.explicit is not None or request.isolated:
        return request.load(Path.cwd())
    return request.load(_governing(absolute if absolute.is_dir() else absolute.parent, {}) or Path.cwd())


def single(file: Path, request: Request) -> tuple[Scope, ...]:
    """Return the scope of one file that need not exist; none is checked where `force-exclude` leaves it out."""
    settings, diagnostics = governing(file, request)
    absolute = Path(os.path.abspath(file))
    left_out = settings.force_exclude and excluded(absolute, settings)
    return (Scope(settings, Discovery(() if left_out else (absolute,)), diagnostics),)


def _governing(folder: Path, folders: dict[Path, Path | None]) -> Path | None:
    above = (folder, *folder.parents)
    at = next((place for place in above if place in folders or in_folder(place) is not None), None)
    nearest = folders.get(at, at) if at is not None else None
    folders.update(dict.fromkeys(above[: above.index(at) + 1] if at is not None else above, nearest))
    return nearest


def _idle_patterns(paths: Sequence[Path], settings: Settings, discovery: Discovery) -> list[Diagnostic]:
    """Name the patterns of `per-file-ignores` that mean no file, where all files that they could mean were found."""
    root = os.path.abspath(settings.root)
    if not any(os.path.isdir(path) and Path(root).is_relative_to(os.path.abspath(path)) for path in paths):
        return []
    message = "per-file-ignores: `{}` means no file; mend or remove it"
    idle = settings.file_ignores.unused(map(str, discovery.files))
    ours = (entry for entry in idle if os.path.abspath(entry.base) == root and entry.line is not None)
    return [Diagnostic("warning", message.format(entry.pattern), entry.path, entry.line) for entry in ours]


def with_writable_repro_dir(scopes: tuple[Scope, ...]) -> tuple[tuple[Scope, ...], tuple[Diagnostic, ...]]:
    """Make sure that counterexamples can be kept: elsewhere, and said so, if not where they should go."""
    settings = scopes[0].settings  # a flag alone sets it
    reason = None if settings.static_only else unwritable(settings.repro_dir.absolute())
    try:
        if not settings.static_only:
            keep_inside(settings.repro_dir)
    except OSError as error:
        reason = error.strerror
    if reason is None:
        return scopes, ()
    other = Path(tempfile.mkdtemp(prefix="onnxlint-repro-"))
    message = f"counterexamples cannot be kept: {reason}; they are in {other}: give another --repro-dir"
    moved = tuple(replace(scope, settings=replace(scope.settings, repro_dir=other)) for scope in scopes)
    return moved, (Diagnostic("error", message, str(settings.repro_dir)),)
