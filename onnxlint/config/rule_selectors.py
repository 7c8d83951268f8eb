"""Which rules run, where: selectors, and what is wrong with one that names no rule."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from onnxlint.base.globs import Glob, Matcher
from onnxlint.config.typed_values import nearest


@dataclass(frozen=True, slots=True)
class FileIgnore:
    """Rules that are ignored in the files that a pattern means; `!` in front of it: in all other files.

    `path` and `line` are where it is written: the file and line of the configuration, or the flag.
    """

    pattern: str
    base: Path
    selectors: tuple[str, ...]
    path: str = ""
    line: int | None = None


class FileIgnores:
    """The `per-file-ignores` of a run, held against the findings and the files of it."""

    def __init__(self, entries: Sequence[FileIgnore]) -> None:
        self._entries = [(entry, Matcher((Glob(entry.pattern.removeprefix("!"), entry.base),))) for entry in entries]
        self._of_path: tuple[str, list[FileIgnore]] = "", []  # of the file asked about last: findings come by file

    def ignores(self, path: str, code: str, name: str) -> bool:
        """Tell whether the rule is ignored in the file at an absolute path."""
        if self._of_path[0] != path:
            self._of_path = path, [entry for entry, matcher in self._entries if _means(entry, matcher, path)]
        return any(specificity(s, code, name) for entry in self._of_path[1] for s in entry.selectors)

    def unused(self, paths: Iterable[str]) -> list[FileIgnore]:
        """Return the entries whose pattern means none of the files at these absolute paths."""
        waiting = list(self._entries)
        for path in paths:
            if not waiting:
                break
            waiting = [(entry, matcher) for entry, matcher in waiting if not _means(entry, matcher, path)]
        return [entry for entry, _ in waiting]


def _means(entry: FileIgnore, matcher: Matcher, path: str) -> bool:
    return matcher.matches(path) is not entry.pattern.startswith("!")


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


_LOOK_ALIKES = str.maketrans("OQIL", "0011")


def _nearest_code(selector: str, codes: Iterable[str]) -> str | None:
    """Return the code that is meant: with letters that look like digits, or the closest number of the family."""
    codes = list(codes)
    match = re.match(r"ONX\d{3}", selector[:3] + selector[3:].translate(_LOOK_ALIKES))
    if match and match[0] in codes:
        return match[0]
    if not re.fullmatch(r"[A-Z]*\d{3}", selector):
        return None
    family = [code for code in codes if code[-3] == selector[-3]]
    return min(family, key=lambda code: abs(int(code[-3:]) - int(selector[-3:])), default=None)
