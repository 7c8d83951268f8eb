"""The analysis in parts: groups of files whose entry points run by themselves, and what that gives.

A part knows of the others what its files mention of them and no more, so parts run in any order and in any process, and
what one gave in an earlier run is good as long as nothing that it read has changed. Which files make a part depends on
their names alone.
"""

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from onnxlint.base.probe_records import TensorSpec
from onnxlint.flow.state.constructor_calls import IN_TEST
from onnxlint.project.classes import ClassInfo, FunctionUnit, ModuleInfo

MODULE_LEVEL = "<module>"
WHOLE = 60  # as many files are one part: a small project is analysed as one
LEAST, MOST, ONE_IN = 110, 160, 36  # files of a part in a larger one; past the least, one in so many starts another


@dataclass(frozen=True, slots=True)
class Declared:
    """A model of the configuration, as the static pass needs it."""

    factory: str
    inputs: str | Mapping[str, TensorSpec] | None
    dynamic: Mapping[str, Mapping[int, str]]


@dataclass(frozen=True, slots=True)
class Part:
    """What to analyse: entry points of `modules`, and declared models.

    Classes and functions are named by path and qualified name. `foreign` are classes of the part that others mention:
    they may be built and called there. `built` and `run` are classes and functions that the declared models built and
    ran before. With `only`, nothing but the forward of these classes runs. `outside` are classes and scripts that no
    export comes to, with the reason; `callers` are functions that export or call such, what calls another first;
    `exports` those that export, and `origin` names the calls, where the part is all of the project. `called` are the
    methods that scripts call on whatever they export. `set_length` are classes whose sequences have a set length.
    `inferring` are names of methods for inference that something calls, `configured` classes that
    YAML files name, or all where whole models come out of files. `flags` are keys of dicts that hold flags alone, and
    `settings` what all YAML files say alike that set a name.
    """

    modules: tuple[ModuleInfo, ...]
    declared: tuple[Declared, ...] = ()
    foreign: frozenset[str] = frozenset()
    built: frozenset[str] = frozenset()
    run: frozenset[str] = frozenset()
    only: tuple[str, ...] | None = None
    outside: Mapping[str, str] = field(default_factory=dict)
    callers: tuple[str, ...] = ()
    exports: tuple[str, ...] = ()
    origin: str = ""
    called: tuple[str, ...] = ()
    set_length: frozenset[str] = frozenset()
    inferring: tuple[str, ...] = ()
    configured: frozenset[str] = frozenset()
    flags: frozenset[str] = frozenset()
    settings: Mapping[str, bool | str | None] = field(default_factory=dict)


def name_of(definition: ClassInfo | FunctionUnit) -> str:
    """A class or function of the project by its path and qualified name."""
    return f"{definition.module.source.path}:{definition.qualname}"


def source_of(info: ModuleInfo, name: str) -> str:
    """The source of a definition, without its decorators; of the module level, all but functions and classes."""
    if name == MODULE_LEVEL:
        lines = info.source.lines
        rest: list[str] = []
        at = 0
        spans = [(f.first, f.last) for f in info.outline.functions] + [(c.first, c.last) for c in info.outline.classes]
        for first, last in sorted(spans):
            rest += lines[at : max(first - 1, at)]
            at = max(at, last)
        return "\n".join([*rest, *lines[at:]])
    if name in info.functions:
        return info.functions[name].text
    if name in info.classes:
        return info.classes[name].text
    outline = info.outline.values.get(name)
    if outline is not None:
        return info.source.rows(outline.first, outline.last)
    return name  # an alias: it leads on by itself


def in_order(modules: Iterable[ModuleInfo]) -> list[ModuleInfo]:
    """Modules by their paths: in whatever order files are named, their entry points run in one."""
    return sorted(modules, key=lambda m: m.source.path.as_posix())


def partition(modules: Sequence[ModuleInfo]) -> Iterator[tuple[ModuleInfo, ...]]:
    """Group modules in the order of their paths, so that adding or removing a file leaves most groups as they were."""
    if len(modules) <= WHOLE:
        yield tuple(modules)
        return
    top = common_folder([m.source.path for m in modules])
    group: list[ModuleInfo] = []
    for info in modules:
        starts = zlib.crc32(info.source.path.relative_to(top).as_posix().encode()) % ONE_IN == 0
        if len(group) >= MOST or (len(group) >= LEAST and starts):
            yield tuple(group)
            group = []
        group.append(info)
    yield tuple(group)


def common_folder(paths: Iterable[Path]) -> Path:
    """The deepest folder that holds every path."""
    folder: Path | None = None
    for path in paths:
        folder = path.parent if folder is None else folder
        while not path.is_relative_to(folder):
            folder = folder.parent
    assert folder is not None
    return folder


def mentioned(groups: Sequence[Sequence[ModuleInfo]]) -> list[frozenset[str]]:
    """For each group, the classes in it that code of another one calls, assigns or has for a default, tests aside."""
    group_of = {info: number for number, group in enumerate(groups) for info in group}
    by_group: list[set[str]] = [set() for _ in groups]
    for info, number in group_of.items():
        for name in () if IN_TEST.search(info.path) else info.outline.mentions:
            cls = info.project.lookup_class(name, info) if "." in name else info.lookup(name)
            if isinstance(cls, ClassInfo) and group_of.get(cls.module, number) != number:
                by_group[group_of[cls.module]].add(name_of(cls))
    return [frozenset(names) for names in by_group]
