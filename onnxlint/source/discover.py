"""Paths → Python files, as .gitignore, `include` and `exclude` allow, in an order that never changes."""

import errno
import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from onnxlint.base.files import kind, own_text, read_bytes
from onnxlint.base.globs import Matcher, Patterns
from onnxlint.base.paths import below, display_path
from onnxlint.base.records import Diagnostic
from onnxlint.config.config_files import FILE_NAMES
from onnxlint.config.settings import Settings

# What `exclude` is unless it is set: folders that never hold a project's own source.
DEFAULT_EXCLUDES = frozenset(own_text(__file__, "default_excludes.txt").split())
IGNORE_BYTES = 500_000  # of a .gitignore: some 10,000 patterns
NEVER = frozenset({".git", ".onnxlint"})  # left out whatever is set, like every virtual environment


@dataclass(frozen=True, slots=True)
class Discovery:
    """The files to read, sorted, and what was wrong with the paths that were asked for."""

    files: tuple[Path, ...]
    diagnostics: tuple[Diagnostic, ...] = ()
    nested: tuple[Path, ...] = ()  # folders with a configuration of their own, which were not entered

    @property
    def folder(self) -> Path:
        """The folder that all files are in."""
        parents = {os.path.dirname(path) for path in self.files}
        return Path(os.path.commonpath(map(os.path.abspath, parents))) if parents else Path.cwd()


@dataclass(frozen=True, slots=True)
class _Rules:
    """The patterns of one .gitignore, relative to the folder they stand in."""

    base: str
    patterns: Patterns

    def verdict(self, path: str, folder: bool) -> bool | None:
        relative = below(path, self.base)
        return None if relative is None else self.patterns.verdict(relative, folder)


class _Walk:
    """One walk; `exclude` speaks before any .gitignore."""

    def __init__(self, settings: Settings, boundary: Callable[[Path], bool] | None) -> None:
        self.files: list[str] = []
        self.nested: list[str] = []
        self.diagnostics: list[Diagnostic] = []
        self._names = NEVER if settings.exclude is not None else DEFAULT_EXCLUDES
        self._excluded = Matcher((*(settings.exclude or ()), *settings.extend_exclude))
        self._include = Matcher(settings.include) if settings.include else None
        self._gitignore = settings.respect_gitignore
        self._boundary = boundary
        self._root = os.path.abspath(settings.root)

    def say(self, level: str, path: str, message: str) -> None:
        self.diagnostics.append(Diagnostic(level, message, display_path(Path(path))))

    def refused(self, path: str) -> bool:
        relative = os.path.relpath(path, self._root).split(os.sep)
        return self._excluded.matches(path) or not self._names.isdisjoint(relative[:-1])

    def ignored(self, path: str, folder: bool, rules: Sequence[_Rules]) -> bool:
        """Tell whether a path is left out; the .gitignore nearest to it speaks first, as in git."""
        return self._excluded.matches(path, folder) or _git_ignores(path, folder, rules)

    def folder(self, start: str, rules: tuple[_Rules, ...]) -> None:
        """Collect the Python files below `start`. Symbolic links to folders are not followed."""
        waiting = [(start, rules)]
        while waiting:
            path, above = waiting.pop()
            try:
                with os.scandir(path) as content:
                    entries = sorted(content, key=lambda entry: entry.name)
            except OSError as error:
                remedy = "check the rights on it" if error.errno == errno.EACCES else "leave it out with `exclude`"
                self.say("error", path, f"the folder cannot be read: {error.strerror}; {remedy}")
                continue
            names = {entry.name for entry in entries}
            if path != start and not names.isdisjoint(FILE_NAMES) and self._boundary and self._boundary(Path(path)):
                self.nested.append(path)
                continue
            own = self.gitignore(path) if self._gitignore and ".gitignore" in names else None
            here = (*above, own) if own is not None else above
            waiting += [(folder, here) for entry in entries if (folder := self.entry(entry, path, here)) is not None]

    def entry(self, entry: os.DirEntry[str], parent: str, rules: Sequence[_Rules]) -> str | None:
        """Take a file, or return a folder that is to be walked."""
        try:
            if entry.is_dir():
                if entry.is_symlink():
                    if Path(os.path.realpath(parent)).is_relative_to(os.path.realpath(entry.path)):
                        self.say("warning", entry.path, "this symbolic link loops back; it is not followed: remove it")
                    return None
                skipped = entry.name in self._names or os.path.exists(os.path.join(entry.path, "pyvenv.cfg"))
                return None if skipped or self.ignored(entry.path, True, rules) else entry.path
            if self.included(entry) and not self.ignored(entry.path, False, rules):
                if entry.is_file():
                    self.files.append(entry.path)
                elif os.path.exists(entry.path):  # a link that leads nowhere may be the lock of an editor
                    what = kind(os.stat(entry.path).st_mode)
                    self.say("warning", entry.path, f"this is no file but {what}; it is left out: remove it")
        except OSError as error:
            self.say("warning", entry.path, f"this cannot be read: {error.strerror}; it is left out: remove or mend it")
        return None

    def included(self, entry: os.DirEntry[str]) -> bool:
        return entry.name.endswith(".py") if self._include is None else self._include.matches(entry.path)

    def start(self, path: str) -> None:
        before = len(self.files) + len(self.nested)
        self.folder(path, self.rules_above(path) if self._gitignore else ())
        if len(self.files) + len(self.nested) == before:
            self.say("warning", path, "there is no Python file here, or all of them are excluded")

    def gitignore(self, folder: str, name: str = ".gitignore") -> _Rules | None:
        """Read the patterns for a folder. As in git, a .gitignore that is a link is none; say why it is not used."""
        path = os.path.join(folder, name)
        try:
            text = read_bytes(path, IGNORE_BYTES, follow=name != ".gitignore").decode("utf-8-sig", "surrogateescape")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            if not os.path.isdir(path):
                self.say("warning", path, f"the patterns in it are not used: {error.strerror}; mend or remove it")
            return None
        return _Rules(folder, Patterns(line.removesuffix("\r") for line in text.split("\n")))

    def rules_above(self, start: str) -> tuple[_Rules, ...]:
        """The rules around `start`, outermost first; none if they exclude it: a folder that is named is wanted."""
        chain = (start, *map(str, Path(start).parents))
        repository = next((path for path in chain if os.path.exists(os.path.join(path, ".git"))), None)
        if repository is None:
            return ()
        above = chain[1 : chain.index(repository) + 1]
        read = [self.gitignore(repository, os.path.join(".git", "info", "exclude")), *map(self.gitignore, above[::-1])]
        rules = tuple(rule for rule in read if rule is not None)
        return () if any(_git_ignores(path, True, rules) for path in chain[: len(above)]) else rules


def discover(paths: Sequence[Path], settings: Settings, boundary: Callable[[Path], bool] | None = None) -> Discovery:
    """Find the Python files under `paths`. A file that is named is taken, but with `force-exclude`.

    A folder below that holds a file called like a configuration, and for which `boundary` says that it is one, is not
    entered but named. What is wrong with a path is a Diagnostic.
    """
    walk = _Walk(settings, boundary)
    for path in paths:
        absolute = os.path.abspath(path)
        try:
            mode = os.stat(absolute).st_mode
        except OSError as error:
            walk.say("error", absolute, f"the path cannot be read: {error.strerror}; check its spelling")
            continue
        if settings.force_exclude and walk.refused(absolute):
            continue
        if stat.S_ISDIR(mode):
            walk.start(absolute)
        elif not stat.S_ISREG(mode):
            walk.say("error", absolute, "this is neither a file nor a folder; name a Python file")
        elif absolute.endswith(".ipynb"):
            message = "notebooks are not read; convert it with `jupyter nbconvert --to script` first"
            walk.say("warning", absolute, message)
        else:
            walk.files.append(absolute)
    unique = sorted(dict.fromkeys(walk.files), key=lambda name: name.split(os.sep))
    return Discovery(tuple(map(Path, unique)), tuple(walk.diagnostics), tuple(map(Path, sorted(walk.nested))))


def excluded(file: Path, settings: Settings) -> bool:
    """Tell whether the settings exclude a file that is named, as `force-exclude` wants to know."""
    return _Walk(settings, None).refused(os.path.abspath(file))


def _git_ignores(path: str, folder: bool, rules: Sequence[_Rules]) -> bool:
    verdicts = (rule.verdict(path, folder) for rule in reversed(rules))
    return next((verdict for verdict in verdicts if verdict is not None), False)
