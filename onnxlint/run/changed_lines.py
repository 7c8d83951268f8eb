"""Which lines changed since a revision: files as they are now, held against those of a commit, byte for byte.

Nothing in the tree has a say in it: no attributes, no index, no list of ignored files.
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from onnxlint.base.paths import display_path, package_path
from onnxlint.base.records import Diagnostic, Finding
from onnxlint.run.git import Git, GitError, Repository, repository_around, repository_of
from onnxlint.source.parse import lines_of_bytes, read_bytes

Lines = Sequence[tuple[int, int]]
EVERY_LINE: Lines = ((1, 2**31),)
_FILES = ("100644", "100755")
_LINK = "120000"
_SUBMODULE = "160000"
_RENAMED = 1000  # removed files that a new one may have been, as git itself limits it


class ChangedError(Exception):
    """What changed cannot be told; the message says why."""


@dataclass(frozen=True, slots=True)
class Changed:
    """Ranges of changed lines (first, last) by resolved path; a file that is not named did not change.

    The diagnostics are of files that could not be compared.
    """

    lines: Mapping[Path, Lines]
    diagnostics: tuple[Diagnostic, ...] = ()
    real: Callable[[str], Path] = field(default_factory=lambda: cache(_real), repr=False, compare=False)

    def ranges(self, path: str) -> Lines:
        """The changed lines of a file."""
        return self.lines.get(self.real(path), ())

    def touches(self, path: str, first: int, last: int) -> bool:
        """Tell whether a line from `first` to `last` of the file changed."""
        return any(low <= last and first <= high for low, high in self.ranges(path))

    def concerns(self, finding: Finding, first: int, last: int) -> bool:
        """Tell whether a finding, in a statement from line `first` to `last`, or a step that led to it changed."""
        span = finding.span
        if self.touches(span.path, min(first, span.line), max(last, span.end_line)):
            return True
        return any(self.touches(step.path, step.line, step.line) for step in finding.trace)


@dataclass(frozen=True, slots=True)
class Base:
    """What files are compared with: those of a commit."""

    repository: Repository
    commit: str
    files: Mapping[str, tuple[str, str]]  # mode and id by path
    head: str | None  # what is checked out, if anything was committed yet

    def changed(self, paths: Iterable[str], passed: Iterable[str] = ()) -> Changed:
        """Compare files as they are now. Those `passed` on the way to a finding count where they lie in the tree.

        A file that the commit has not got is new as a whole, unless it was renamed. Where lines were only removed,
        those on both sides of the gap count. The end of a line is no part of it. What cannot be compared counts as
        changed, and is a diagnostic.
        """
        real = cache(_real)
        wanted: dict[Path, set[str]] = {}
        for path in (*paths, *(path for path in dict.fromkeys(passed) if self._name(real(path)) is not None)):
            wanted.setdefault(real(path), set()).add(path)
        try:
            with self.repository.git() as git:
                return replace(self._compared(git, wanted), real=real)
        except GitError as error:
            fault = Diagnostic("error", f"--changed-since: {error}; all lines of all files count as changed")
            return Changed(dict.fromkeys(wanted, EVERY_LINE), (fault,))

    def before(self) -> dict[Path, bytes]:
        """The Python files of the commit that are otherwise now, as they were. Raises GitError."""
        differing: dict[Path, str] = {}
        for name, (mode, key) in self.files.items():
            path = self.repository.top / name
            if mode in _FILES and path.suffix == ".py" and path.is_file():
                data = read_bytes(path)
                if isinstance(data, Diagnostic) or _key(data, key) != key:
                    differing[_real(str(path))] = key
        with self.repository.git() as git:
            stored = git.blobs(differing.values())
        return {path: stored[key] for path, key in differing.items() if key in stored}

    def _compared(self, git: Git, wanted: Mapping[Path, set[str]]) -> Changed:
        lines: dict[Path, Lines] = {}
        keys: dict[Path, str] = {}
        texts: dict[Path, bytes] = {}
        is_as_recorded = cache(self._is_as_recorded)
        committed = cache(lambda: git.tree(self.head) if self.head else {})
        for real, ways in wanted.items():
            mode, key = self.files.get(self._name(real) or "", ("", ""))
            if not real.is_file() or (mode not in _FILES and self._is_library(real, committed)):
                continue
            above = (parent.as_posix() for parent in Path(self._name(real) or "").parents)
            if any(self.files.get(name, ("", ""))[0] == _SUBMODULE and is_as_recorded(name) for name in above):
                continue
            data = read_bytes(real)
            relinked = (self._is_relinked(git, path) for path in ways)
            if isinstance(data, Diagnostic) or b"\0" in data or self._name(real) is None or any(relinked):
                lines[real] = EVERY_LINE
                continue
            if mode in _FILES and _key(data, key) == key:
                continue
            texts[real] = _text(data)
            if mode in _FILES:
                keys[real] = key
        gone = self._gone(texts.keys() - keys.keys())
        stored = git.blobs([*keys.values(), *gone.values()])
        missing = {real for real, key in keys.items() if key not in stored}
        numbers = {str(number): real for number, real in enumerate(texts) if real not in missing}
        old = {n: _text(stored[keys[real]]) for n, real in numbers.items() if real in keys}
        old |= {f"gone{n}": _text(stored[key]) for n, key in enumerate(gone.values()) if key in stored}
        ranges = _ranges(git.diff(old, {n: texts[real] for n, real in numbers.items()}))
        lines |= {numbers[n]: changed for n, changed in ranges.items()} | dict.fromkeys(missing, EVERY_LINE)
        fault = f"the repository has not got this file as it was at {self.commit[:12]}, so all of its lines count as "
        fault += "changed; fetch it: a partial clone leaves out files"
        return Changed(lines, tuple(Diagnostic("error", fault, display_path(real)) for real in sorted(missing)))

    def _name(self, real: Path) -> str | None:
        """What the commit would call a file; None for one outside of the tree."""
        top = self.repository.top
        return real.relative_to(top).as_posix() if real.is_relative_to(top) else None

    def _is_library(self, real: Path, committed: Callable[[], Mapping[str, object]]) -> bool:
        """Whether a file was installed, perhaps below the tree, and not committed."""
        if package_path(str(real)) == str(real):
            return False
        name = self._name(real)
        return name is None or committed().keys().isdisjoint((name, *(p.as_posix() for p in Path(name).parents)))

    def _is_as_recorded(self, name: str) -> bool:
        repository = repository_around(self.repository.top / name)
        if repository is None or repository.top == self.repository.top:
            return False
        with repository.git() as git:
            return git.commit("HEAD") == self.files[name][1]

    def _is_relinked(self, git: Git, path: str) -> bool:
        """Whether a symbolic link of the tree that a path leads through is new, or leads elsewhere than it did."""
        links = {name: os.fsencode(target) for name, target in self._links(path)}
        keys = {name: self.files[name][1] for name in links if self.files.get(name, ("", ""))[0] == _LINK}
        stored = git.blobs(keys.values())
        return any(name not in keys or stored.get(keys[name]) != target for name, target in links.items())

    def _links(self, path: str, depth: int = 40) -> Iterator[tuple[str, str]]:
        """The links on the way, as the commit would call them, and where each leads now."""
        absolute = Path(os.path.abspath(path))
        for part in reversed((absolute, *absolute.parents)):
            if depth and part.is_symlink():
                target = os.readlink(part)
                name = self._name(_real(str(part.parent)) / part.name)
                if name is not None:
                    yield name, target
                yield from self._links(os.path.join(part.parent, target, absolute.relative_to(part)), depth - 1)
                return

    def _gone(self, new: Iterable[Path]) -> dict[str, str]:
        """Id by path of files that there were, and that the new ones may be under another name."""
        kinds = {real.suffix for real in new}
        names = {real.name for real in new}
        alike = (name for name, (mode, _) in self.files.items() if mode in _FILES and Path(name).suffix in kinds)
        gone = [name for name in alike if not os.path.lexists(self.repository.top / name)]
        gone.sort(key=lambda name: Path(name).name not in names)
        return {name: self.files[name][1] for name in gone[:_RENAMED]}


def changed_since(revision: str, paths: Iterable[Path]) -> Base:
    """Find what the working tree is to be compared with: the commit at which it left `revision`, their merge base.

    The repository is that of the working directory, or of the first path where it lies in another. Raises ChangedError.
    """
    try:
        repository = repository_of(paths)
        if repository is None:
            raise ChangedError("this is no working tree of git, so nothing is known about changes")
        if revision.startswith("-"):
            raise ChangedError(f"`{revision}` is no revision")
        with repository.git() as git:
            commit, head = git.commit(revision), git.commit("HEAD")
            if commit is None:
                raise ChangedError(f"git knows no commit `{revision}`; in a shallow clone, fetch it first")
            commit = (git.merge_base(commit, head) if head else None) or commit
            return Base(repository, commit, git.tree(commit), head)
    except GitError as error:
        raise ChangedError(str(error)) from error


def _real(path: str) -> Path:
    return Path(os.path.realpath(path))


def _key(data: bytes, like: str) -> str:
    """The id that a file has in git, by the hash function that another was made with."""
    return hashlib.new("sha1" if len(like) == 40 else "sha256", b"blob %d\0" % len(data) + data).hexdigest()


def _text(data: bytes) -> bytes:
    """The lines of a file as they are counted in a finding, whatever ends them; as they are, if it is no text."""
    lines = lines_of_bytes(data)
    return "\n".join(lines).encode("utf-8", "surrogatepass") if lines else data


def _ranges(diff: str) -> dict[str, Lines]:
    from unidiff.errors import UnidiffParseError
    from unidiff.patch import PatchSet

    try:
        patches = PatchSet(diff)
    except UnidiffParseError as error:
        raise GitError(f"the diff of git cannot be read: {error}") from error
    ranges: dict[str, Lines] = {}
    for patch in (patch for patch in patches if patch.target_file != "/dev/null"):
        starts = [(hunk.target_start, hunk.target_length) for hunk in patch]
        ranges[patch.target_file.rpartition("/")[2]] = [(at, at + max(n - 1, int(not n))) for at, n in starts]
    return ranges
