"""Which lines changed since a revision: git knows, and its diff is read without a line of the checked code."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from onnxlint.records import Finding

Lines = Sequence[tuple[int, int]]
EVERY_LINE: Lines = ((1, 2**31),)


class ChangedError(Exception):
    """What changed cannot be told; the message says why."""


@dataclass(frozen=True, slots=True)
class Changed:
    """Ranges of changed lines (first, last) by resolved path; a file that is not named did not change."""

    lines: Mapping[Path, Lines]

    def touches(self, path: str, first: int, last: int) -> bool:
        """Tell whether a line from `first` to `last` of the file changed."""
        ranges = self.lines.get(Path(os.path.realpath(path)), ())
        return any(low <= last and first <= high for low, high in ranges)

    def concerns(self, finding: Finding, first: int, last: int) -> bool:
        """Tell whether a finding, in a statement from line `first` to `last`, or a step that led to it changed."""
        span = finding.span
        if self.touches(span.path, min(first, span.line), max(last, span.end_line)):
            return True
        return any(self.touches(step.path, step.line, step.line) for step in finding.trace)


def changed_since(revision: str, folder: Path) -> Changed:
    """Ask git what changed in the working tree around `folder` since `revision` was left: since the merge base.

    Renamed files keep their unchanged lines; files that git does not know yet are new as a whole. Where lines were
    only removed, those on both sides of the gap count as changed. Raises ChangedError.
    """
    top = toplevel(folder)
    if revision.startswith("-"):
        raise ChangedError(f"`{revision}` is no revision")
    commit = _git(top, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}").strip()
    base = _git(top, "merge-base", commit, "HEAD", none_is_fine=True).split()
    diff = _git(top, *_DIFF, base[0] if base else commit, "--")
    lines = _ranges(diff, top)
    for name in _git(top, "ls-files", "--others", "--exclude-standard", "-z").split("\0"):
        if name:
            lines[Path(os.path.realpath(top / name))] = EVERY_LINE
    return Changed(lines)


def toplevel(folder: Path) -> Path:
    """The root of git's working tree around a folder. Raises ChangedError where there is none."""
    return Path(_git(folder, "rev-parse", "--show-toplevel").rstrip("\n"))


_DIFF = (
    *("-c", "core.quotePath=false", "diff", "--no-color", "--no-ext-diff", "--no-textconv", "--no-relative"),
    *("--unified=0", "--inter-hunk-context=0", "--find-renames", "--src-prefix=a/", "--dst-prefix=b/"),
    "--ignore-submodules",
)


def _git(folder: Path, *arguments: str, none_is_fine: bool = False) -> str:
    """Run git and return what it says; with `none_is_fine` nothing where it fails."""
    environment = {**os.environ, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"}
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), "-c", "core.fsmonitor=false", *arguments],  # which may name a command to run
            capture_output=True,
            check=False,
            env=environment,
            timeout=300,
        )
    except FileNotFoundError as error:
        raise ChangedError("git is not installed, so nothing is known about changes") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ChangedError(f"git cannot be run: {error}") from error
    if done.returncode and not none_is_fine:
        raise ChangedError(_reason(done.stderr.decode("utf-8", "replace"), arguments))
    return done.stdout.decode("utf-8", "surrogateescape") if not done.returncode else ""


def _reason(error: str, arguments: Sequence[str]) -> str:
    if "--show-toplevel" in arguments:
        place = "this is no working tree of git, so nothing is known about changes"
        return place if "not a git repository" in error or not error else f"{place}: {error.splitlines()[0]}"
    if "--verify" in arguments:
        revision = arguments[-1].removesuffix("^{commit}")
        return f"git knows no commit `{revision}`; in a shallow clone, fetch it first"
    return f"git failed: {(error.splitlines() or ['without a word'])[0]}"


def _ranges(diff: str, top: Path) -> dict[Path, Lines]:
    """Read a diff without context."""
    from unidiff.errors import UnidiffParseError
    from unidiff.patch import PatchSet

    try:
        patches = PatchSet(diff)
    except UnidiffParseError as error:
        raise ChangedError(f"the diff of git cannot be read: {error}") from error
    found: dict[Path, Lines] = {}
    for patch in patches:
        if patch.target_file == "/dev/null":  # its own `is_removed_file` is also true where the first lines went
            continue
        file = Path(os.path.realpath(top / _target(patch.target_file)))
        if patch.is_binary_file:
            found[file] = EVERY_LINE
            continue
        found[file] = tuple(
            (hunk.target_start, hunk.target_start + hunk.target_length - 1)
            if hunk.target_length
            else (hunk.target_start, hunk.target_start + 1)
            for hunk in patch
        )
    return found


def _target(name: str) -> str:
    """Take the prefix, and the quotes that git puts around unusual characters, off a path."""
    if name.startswith('"') and name.endswith('"'):
        name = name[1:-1].encode("latin-1", "backslashreplace").decode("unicode_escape")
    return name.removeprefix("b/")
