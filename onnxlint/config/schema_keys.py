"""The keys of a configuration file and how each is read; the same keys, in words, are in schema.json."""

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from onnxlint import __version__
from onnxlint.base.globs import fault_of, parse_glob
from onnxlint.base.paths import display_path
from onnxlint.base.records import EXPORTERS
from onnxlint.config import typed_values as typed
from onnxlint.config.declared_models import models
from onnxlint.config.rule_selectors import FileIgnore, unknown_selector


def converters(root: Path, rules: Mapping[str, str] | None) -> Mapping[str, typed.Converter[Any]]:
    """Return a reader for each key; `root` is the absolute folder that paths and patterns are relative to."""
    selectors = partial(_selectors, rules=rules)
    globs = typed.list_of("strings", typed.parsed(partial(parse_glob, base=root)))

    def file_ignores(node: typed.Node) -> tuple[FileIgnore, ...]:
        read = []
        for pattern, child in node.items():
            chosen = selectors(child)
            bare = pattern.removeprefix("!")
            fault = fault_of(bare) if bare else "it is empty"
            if fault is not None:
                child.fail(f"`{pattern}` is not a pattern as .gitignore spells it: {fault}")
            elif chosen:
                read.append(FileIgnore(pattern, root, chosen, node.problems.path, node.problems.line(child.at)))
        return tuple(read)

    def folders(node: typed.Node) -> tuple[Path, ...] | None:
        names = typed.texts(node)
        missing = [name for name in names or () if not os.path.isdir(root / name)]
        for name in missing:
            node.fail(f"there is no folder `{name}` in {display_path(root)}")
        return None if names is None else tuple(root / name for name in names if name not in missing)

    def file(node: typed.Node) -> Path | None:
        name = typed.text(node)
        if name is not None and "\0" in name:
            node.fail("a path holds no null byte")
            return None
        return None if name is None else root / name

    return {
        "opset": typed.whole_number(7),
        "torch": typed.release,
        "exporters": typed.some_of(*EXPORTERS),
        "runtimes": typed.runtimes,
        "latency": typed.truth,
        **dict.fromkeys(("select", "extend-select", "ignore"), selectors),
        **dict.fromkeys(("per-file-ignores", "extend-per-file-ignores"), file_ignores),
        **dict.fromkeys(("exclude", "extend-exclude", "include"), globs),
        **dict.fromkeys(("force-exclude", "respect-gitignore"), typed.truth),
        "baseline": file,
        "fail-on": typed.one_of(*typed.FAIL_ON),
        "timeout": typed.seconds,
        "memory": typed.memory,
        "jobs": typed.whole_number(1),
        "max-models": typed.whole_number(0),
        "source-roots": folders,
        "models": models,
        "extend": lambda node: None,  # what it names has been read before: see config_files.py
        "required-version": _required_version,
    }


def _selectors(node: typed.Node, rules: Mapping[str, str] | None) -> tuple[str, ...] | None:
    for child in node.elements("a list of rule codes or names") if rules is not None else ():
        fault = unknown_selector(child.value, rules or {}) if isinstance(child.value, str) and child.value else None
        if fault:
            child.fail(fault)
    return typed.texts(node) if rules is None or isinstance(node.value, list) else None


def _required_version(node: typed.Node) -> None:
    """Check a specifier such as `>=0.2,<1` against the version that runs; nothing is kept of it."""
    from packaging.specifiers import SpecifierSet

    wanted = typed.text(node)
    if wanted is None:
        return
    try:
        fits = SpecifierSet(wanted if wanted[0] in "<>=!~" else f"=={wanted}").contains(__version__, prereleases=True)
    except ValueError:  # InvalidSpecifier is one; a number of 5,000 digits is another
        node.fail(f"a version such as `>={__version__}` is expected, not `{wanted}`")
        return
    if not fits:
        node.fail(f"this is onnxlint {__version__}, and `{wanted}` is required; install a version that fits")
