"""[tool.onnxlint] or onnxlint.toml → frozen Settings, with the place of every mistake."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onnxlint.config_file import locate
from onnxlint.config_values import (
    Converter,
    Node,
    allowance,
    axis_names,
    did_you_mean,
    memory,
    nearest,
    one_of,
    read_table,
    reference,
    seconds,
    sizes,
    some_of,
    spec,
    table_of,
    texts,
    whole_number,
)
from onnxlint.paths import display_path
from onnxlint.records import EXPORTERS, Diagnostic, TensorSpec, Tolerance

FAIL_ON = ("confirmed", "suspected")


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """One [[models]] table. `factory` and a string `inputs` are `module:attribute`; see DESIGN §4 of the docs."""

    factory: str
    inputs: str | Mapping[str, TensorSpec] | None = None
    dynamic: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    sizes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    vary: str | None = None
    tolerance: Tolerance = field(default_factory=Tolerance)
    timeout: float | None = None
    exporters: tuple[str, ...] | None = None
    path: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class Selection:
    """Which rules run: selectors are codes, prefixes of codes, or names of rules; the more specific one wins."""

    select: tuple[str, ...] = ("ONX",)
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    def matches(self, code: str, name: str = "") -> bool:
        """Tell whether the rule runs; where `select` and `ignore` are equally specific, `ignore` wins."""
        chosen = max((specificity(s, code, name) for s in (*self.select, *self.extend_select)), default=0)
        return chosen > max((specificity(s, code, name) for s in self.ignore), default=0)


def specificity(selector: str, code: str, name: str = "") -> int:
    """Return how much of `code` the selector spells out: 0 if it does not select the rule at all."""
    if name and selector.lower() == name:
        return len(code)
    return len(selector) if code.startswith(selector.upper()) else 0


def unknown_selector(selector: str, rules: Mapping[str, str]) -> str | None:
    """Return what is wrong with a selector that no rule answers to, or None; `rules` maps codes to names."""
    if any(specificity(selector, code, name) for code, name in rules.items()):
        return None
    close = nearest(selector, rules.values()) or _nearest_code(selector.upper(), rules)
    return f"no rule is called `{selector}`" + (f"; did you mean `{close}`?" if close else "; see `onnxlint rules`")


def _nearest_code(selector: str, codes: Iterable[str]) -> str | None:
    """Return the code in the same family that is closest in number; None for what is no full code."""
    if not re.fullmatch(r"[A-Z]*\d{3}", selector):
        return None
    family = [code for code in codes if code[-3] == selector[-3]]
    return min(family, key=lambda code: abs(int(code[-3:]) - int(selector[-3:])), default=None)


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything a run depends on. `root` is the folder of the configuration file, or the working directory.

    `only_models` are the names that `--model` asks for (empty: all); `memory` is in bytes, `timeout` in seconds.
    """

    root: Path
    config_file: Path | None = None
    opset: int = 20
    exporters: tuple[str, ...] = EXPORTERS
    select: tuple[str, ...] = ("ONX",)
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    models: tuple[ModelConfig, ...] = ()
    static_only: bool = False
    fail_on: str = "suspected"
    jobs: int = 0  # 0: as many as fit, two at most
    timeout: float = 300.0
    memory: int | None = None
    source_roots: tuple[Path, ...] = ()
    only_models: tuple[str, ...] = ()
    repro_dir: Path = Path(".onnxlint/repro")
    debug: bool = False

    @property
    def selection(self) -> Selection:
        """Return which rules run."""
        return Selection(self.select, self.extend_select, self.ignore)


def load_settings(
    start: Path,
    explicit: Path | None = None,
    overrides: Mapping[str, Any] | None = None,
    rules: Mapping[str, str] | None = None,
) -> tuple[Settings, tuple[Diagnostic, ...]]:
    """Read the configuration that holds for the folder `start`, and put the flags of the command line on top.

    `explicit` names the file; without it, the nearest `onnxlint.toml`, or `pyproject.toml` with `[tool.onnxlint]`,
    at `start` or above is taken. `overrides` maps fields of Settings to values. `rules` maps codes to names; where it
    is given, selectors that no rule answers to are mistakes. Every mistake is one Diagnostic; the rest is used.
    """
    file, table, problems = locate(start, explicit)
    root = file.resolve().parent if file else start.resolve()
    values: dict[str, Any] = {}
    if file is not None:
        values = read_table(Node(table, (), problems), _converters(root, rules))
    settings = dataclasses.replace(Settings(root=root, config_file=file), **values)
    return _override(settings, overrides or {}), tuple(sorted(problems.found, key=lambda found: found.line or 0))


def _converters(root: Path, rules: Mapping[str, str] | None) -> Mapping[str, Converter[Any]]:
    def selectors(node: Node) -> tuple[str, ...] | None:
        for child in node.elements("a list of rule codes or names") if rules is not None else ():
            fault = unknown_selector(child.value, rules or {}) if isinstance(child.value, str) else None
            if fault:
                child.fail(fault)
        return texts(node) if rules is None or isinstance(node.value, list) else None

    def folders(node: Node) -> tuple[Path, ...] | None:
        names = texts(node)
        if names is None:
            return None
        for name in names:
            if not (root / name).is_dir():
                node.fail(f"there is no folder `{name}` in {display_path(root)}")
        return tuple(root / name for name in names if (root / name).is_dir())

    return {
        "opset": whole_number(7),
        "exporters": some_of(*EXPORTERS),
        "select": selectors,
        "extend-select": selectors,
        "ignore": selectors,
        "exclude": _patterns,
        "fail-on": one_of(*FAIL_ON),
        "timeout": seconds,
        "memory": memory,
        "jobs": whole_number(1),
        "source-roots": folders,
        "models": _models,
    }


def _patterns(node: Node) -> tuple[str, ...] | None:
    """Read patterns as .gitignore spells them."""
    found = texts(node)
    if not found:
        return found
    from pathspec import GitIgnoreSpec  # 20 ms that a run without `exclude` need not pay

    valid = []
    for pattern in found:
        try:
            GitIgnoreSpec.from_lines([pattern])
        except ValueError as error:
            node.fail(f"`{pattern}` is not a pattern as .gitignore spells it: {error}")
        else:
            valid.append(pattern)
    return tuple(valid)


def _models(node: Node) -> tuple[ModelConfig, ...] | None:
    if isinstance(node.value, dict):
        node.fail("each model is a table in double brackets: write [[models]] (in pyproject [[tool.onnxlint.models]])")
        return None
    return tuple(model for child in node.elements("a list of tables") if (model := _model(child)) is not None)


_MODEL: Mapping[str, Converter[Any]] = {
    "factory": reference,
    "inputs": lambda node: reference(node) if isinstance(node.value, str) else _specs(node),
    "dynamic": table_of(axis_names),
    "sizes": table_of(sizes),
    "vary": reference,
    "tolerance": lambda node: Tolerance(**read_table(node, {"absolute": allowance, "relative": allowance})),
    "timeout": seconds,
    "exporters": some_of(*EXPORTERS),
}


def _model(node: Node) -> ModelConfig | None:
    """Read one model; one whose factory or inputs are mistaken is left out, since its verdicts would mean nothing."""
    values = read_table(node, _MODEL)
    given = node.value.keys() if isinstance(node.value, dict) else {"factory"}
    if "factory" not in given:
        node.problems.add('`factory` is missing; add `factory = "module:callable"`', node.at)
    if not ({"factory"} | (given & {"inputs", "dynamic"})) <= values.keys():
        return None
    model = ModelConfig(path=node.problems.path, line=node.problems.line(node.at) or 0, **values)
    return model if _dims_agree(model, node) else None


def _specs(node: Node) -> dict[str, TensorSpec] | None:
    """Read a table of spec strings; None if any is mistaken, or if two disagree on the size of a dim."""
    if not isinstance(node.value, dict):
        node.expected("a table of spec strings, or `module:callable`,")
        return None
    if not node.value:
        node.fail("the table is empty; give one spec string for each parameter of forward")
        return None
    found = table_of(spec)(node)
    if found is None:
        return None
    seen: dict[str, tuple[str, int]] = {}
    agree = True
    for parameter, tensor in found.items():
        for dim in tensor.dims:
            if dim.name is None or dim.size is None:
                continue
            other, size = seen.setdefault(dim.name, (parameter, dim.size))
            if size != dim.size:
                node.problems.add(f"`{dim.name}` is {dim.size} here and {size} in `{other}`", (*node.at, parameter))
                agree = False
    return found if agree else None


def _dims_agree(model: ModelConfig, node: Node) -> bool:
    """Check `dynamic` and `sizes` against the declared inputs."""
    problems = node.problems
    before = len(problems.found)
    specs = None if isinstance(model.inputs, str) or model.inputs is None else model.inputs
    for parameter, axes in model.dynamic.items() if specs is not None else ():
        assert specs is not None
        at = (*node.at, "dynamic", parameter)
        if parameter not in specs:
            problems.add(f"`{parameter}` is no input of this model{did_you_mean(parameter, specs)}", at)
            continue
        rank = len(specs[parameter].dims)
        for axis in axes:
            if not -rank <= axis < rank:
                problems.add(f"axis {axis} is outside `{parameter}`, which has {rank} axes", (*at, str(axis)))
    names = {name for axes in model.dynamic.values() for name in axes.values()}
    names |= {dim.name for tensor in (specs or {}).values() for dim in tensor.dims if dim.name is not None}
    for name in model.sizes:
        if name not in names:
            hint = did_you_mean(name, sorted(names)) if names else "; this model has no dynamic dim"
            problems.add(f"`{name}` is no dynamic dim of this model{hint}", (*node.at, "sizes", name))
    return len(problems.found) == before


def _override(settings: Settings, overrides: Mapping[str, Any]) -> Settings:
    """Put the command line on top of the file: what the user typed now wins over what stands in the file."""
    values = dict(overrides)
    extend = tuple(values.pop("extend_select", ()))
    ignore = tuple(values.pop("ignore", ()))
    if "select" in values:
        settings = dataclasses.replace(settings, extend_select=(), ignore=())
    values["extend_select"] = (*settings.extend_select, *extend)
    values["ignore"] = (*_without(settings.ignore, extend), *ignore)
    models = settings.models
    if "exporters" in values:
        models = tuple(dataclasses.replace(model, exporters=None) for model in models)
    if "timeout" in values:
        models = tuple(dataclasses.replace(model, timeout=None) for model in models)
    return dataclasses.replace(settings, models=models, **values)


def _without(names: Iterable[str], dropped: Iterable[str]) -> tuple[str, ...]:
    gone = set(dropped)
    return tuple(name for name in names if name not in gone)
