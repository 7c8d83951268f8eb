"""Find the models that nobody described, learn in workers how to feed them, and write it as configuration."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tomlkit

from onnxlint import __version__
from onnxlint.base.cache import Store
from onnxlint.base.paths import display_path
from onnxlint.base.records import Diagnostic, ModelReport, ModelStatus
from onnxlint.config.config_files import read_text
from onnxlint.config.settings import Settings
from onnxlint.probes.schedule.plan import described, remedy
from onnxlint.probes.schedule.pool import ProbePool
from onnxlint.report.progress import SILENT, Progress
from onnxlint.run.probing import Probing
from onnxlint.run.scopes import Scope
from onnxlint.run.static_pass import find_candidates

SURVEY = "onnxlint.probes.guess.synthesise:survey"


@dataclass(frozen=True, slots=True)
class Declared:
    """What one scope's configuration gets: `text` to add to `file`; `fed` models in it, and `unfed` in comments.

    `lacking` could not be fed because something is missing that no configuration gives, such as a package. `described`
    counts the models that are declared, or that the source says how to feed.
    """

    file: Path
    text: str
    fed: tuple[ModelReport, ...]
    unfed: tuple[ModelReport, ...]
    lacking: tuple[ModelReport, ...]
    described: int
    diagnostics: tuple[Diagnostic, ...] = ()


def declare(scope: Scope, progress: Progress = SILENT) -> Declared:
    """Find and feed the models of a scope that its configuration does not name."""
    settings = scope.settings
    candidates, diagnostics = find_candidates(scope.discovery, settings, progress)
    file = configuration_file(settings)
    before = read_text(file) if file.is_file() else ""
    declared = {model.factory for model in settings.models}
    probes, remedies = [], {}
    for candidate in candidates:
        if not candidate.source and candidate.factory not in declared:
            probes.append(described(settings, candidate))
            remedies[candidate.factory] = remedy(candidate)
    with ProbePool(SURVEY) as pool:
        reports = [result.report for result in Probing(pool, settings, Store(None), progress).run(probes)]
    fed = tuple(r for r in reports if r.status is ModelStatus.PROBED and r.assumed is not None)
    lacking = tuple(r for r in reports if r not in fed and r.remedy is not None and not r.remedy.startswith("[["))
    unfed = tuple(r for r in reports if r not in (*fed, *lacking))
    own = file.name != "pyproject.toml"
    blocks = [_table(r.assumed.config, own) for r in fed if r.assumed is not None]
    untold = [report for report in unfed if f"`{report.name}`" not in before]  # a comment of an earlier run stays
    blocks += [_comment(r, _table(r.remedy or remedies[r.name], own)) for r in untold]
    count = len(declared.union(candidate.factory for candidate in candidates)) - len(probes)
    return Declared(file, "\n".join(blocks), fed, unfed, lacking, count, (*scope.diagnostics, *diagnostics))


def configuration_file(settings: Settings) -> Path:
    """Where the tables go: the file that holds already, else `pyproject.toml` where there is one."""
    if settings.config_file is not None and settings.config_file.parent == settings.root:
        return settings.config_file
    pyproject = settings.root / "pyproject.toml"
    return pyproject if pyproject.is_file() else settings.root / "onnxlint.toml"


def added(before: str, text: str) -> str:
    """Return a configuration with tables added, the rest of it untouched. Raises ValueError where it is no TOML."""
    if not before.strip():
        return text
    joined = before.rstrip("\n") + "\n\n" + text
    old = tomllib.loads(before)
    try:
        tomllib.loads(joined)
    except tomllib.TOMLDecodeError:
        return _into_array(before, text)
    if _models(tomllib.loads(joined))[: len(_models(old))] != _models(old):
        return _into_array(before, text)
    return joined


def _into_array(before: str, text: str) -> str:
    """Add the tables to `models = [{…}]`, the other way of writing a list of tables."""
    document = tomlkit.parse(before)
    table = document["tool"]["onnxlint"] if "tool" in document else document
    for model in _models(tomllib.loads(text)):
        inline = tomlkit.inline_table()
        inline.update(model)
        table["models"].append(inline)
    comments = "\n".join(line for line in text.splitlines() if line.startswith("#"))
    return tomlkit.dumps(document) + (f"\n{comments}\n" if comments else "")


def _models(table: dict[str, object]) -> Sequence[dict[str, object]]:
    inner = table.get("tool", {})
    own = inner.get("onnxlint", table) if isinstance(inner, dict) else table
    models = own.get("models", [])
    return models if isinstance(models, list) else []


def _table(config: str, own: bool) -> str:
    return (config.replace("[[tool.onnxlint.models]]", "[[models]]", 1) if own else config) + "\n"


def _comment(report: ModelReport, table: str) -> str:
    place = f" ({display_path(Path(report.path))}:{report.line})" if report.path else ""
    reason = " ".join((report.reason or "it could not be fed").split())
    lines = [f"onnxlint {__version__} could not feed `{report.name}`{place}: {reason}", *table.rstrip().splitlines()]
    return "".join(f"# {line}\n" for line in lines)
