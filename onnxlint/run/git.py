"""Git: the repository around a folder, its objects, and differences of texts, with no setting of it in force.

A setting of git can name a program to run, and a checked tree can hold settings: an embedded bare repository,
attributes, a `.git` that came in an archive. So the repository is found here, by its `.git`, and git never sees it as
one: it works in a stand-in, a temporary folder with a configuration of ours, which leads to its objects and refs.
"""

import contextlib
import os
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from onnxlint.base.files import kind, read_bytes
from onnxlint.base.lifetimes import temporary_folder

# What the stand-in takes from the folder of a working tree, and from the one that its working trees share.
_OWN = ("FETCH_HEAD", "ORIG_HEAD", "logs/HEAD")
_SHARED = ("packed-refs", "refs", "reftable", "shallow", "logs/refs")
# How objects and refs are stored, and what `@{upstream}` stands for: no other setting is taken over.
_SETTING = re.compile(r"(?s)extensions\.(?:objectformat|refstorage)|branch\..+\.(?:remote|merge)|remote\..+\.fetch")
_HARMLESS = re.compile(r"[\w./*:+@=-]+")
_OFF = ("core.fsmonitor=false", f"core.hooksPath={os.devnull}", "safe.bareRepository=explicit", "protocol.allow=never")
_SECONDS = 300
_ALTERNATES = 1 << 16
_HEADER = 4096  # the bytes of a `.git` file, of `commondir` or HEAD; they hold one line


class GitError(Exception):
    """Git cannot be asked, or fails; the message says why."""


@dataclass(frozen=True, slots=True)
class Git:
    """Git, at work in a stand-in of a repository."""

    program: str
    folder: Path
    environment: Mapping[str, str]

    def __call__(
        self, *arguments: str, stdin: bytes = b"", fine: tuple[int, ...] = (0,)
    ) -> subprocess.CompletedProcess[bytes]:
        """Run git. Raises GitError where its exit code is not `fine`."""
        command = [self.program, *(part for setting in _OFF for part in ("-c", setting)), *arguments]
        try:
            done = subprocess.run(
                command, input=stdin, capture_output=True, check=False, cwd=self.folder, env=self.environment,
                timeout=_SECONDS,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise GitError(f"`git {arguments[0]}` has not ended after {_SECONDS} seconds") from error
        except (OSError, ValueError) as error:
            raise GitError(f"git cannot be run: {error}") from error
        if done.returncode not in fine:
            lines = done.stderr.decode("utf-8", "replace").splitlines()
            raise GitError(f"git failed: {(lines or [f'exit code {done.returncode}'])[0]}")
        return done

    def commit(self, revision: str) -> str | None:
        """The id of the commit that a revision means; None where there is none.

        Raises GitError where it may mean several: whoever is fetched from can send a tag that is called like a branch.
        """
        done = self("rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}", fine=(0, 1, 128))
        key = done.stdout.decode().strip()
        if b"is ambiguous" in done.stderr and revision not in ("HEAD", key):  # these two mean what they say
            raise GitError(f"`{revision}` is ambiguous; name it in full, such as `refs/remotes/origin/main`")
        return key if key.isalnum() else None  # a range is two, or has a `^`

    def merge_base(self, one: str, other: str) -> str | None:
        """The last commit that is in the history of two; None where they have none in common."""
        return next(iter(self("merge-base", one, other, fine=(0, 1)).stdout.decode().split()), None)

    def tree(self, commit: str) -> dict[str, tuple[str, str]]:
        """Mode and id of every file of a commit, by its path with slashes; a submodule counts as a file."""
        files = {}
        for entry in self("ls-tree", "-r", "-z", "--full-tree", commit).stdout.split(b"\0")[:-1]:
            kind, _, name = entry.partition(b"\t")
            mode, _, key = kind.decode().split(" ")
            files[os.fsdecode(name)] = (mode, key)
        return files

    def blobs(self, keys: Iterable[str]) -> dict[str, bytes]:
        """The contents of files as they are stored, by id; what the repository has not got is left out."""
        wanted = "".join(f"{key}\n" for key in dict.fromkeys(keys))
        output = self("cat-file", "--batch", stdin=wanted.encode()).stdout if wanted else b""
        contents, at = {}, 0
        while at < len(output):
            end = output.index(b"\n", at)
            key, *rest = output[at:end].decode().split(" ")
            at = end + 1
            if len(rest) == 2:  # its type and size, and not `missing`
                contents[key] = output[at : at + int(rest[1])]
                at += int(rest[1]) + 1
        return contents

    def diff(self, old: Mapping[str, bytes], new: Mapping[str, bytes]) -> str:
        """The differences, without context, from the `old` texts to the `new`; those alike may have other names."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            for side, texts in (("old", old), ("new", new)):
                Path(folder, side).mkdir()
                for name, text in texts.items():
                    Path(folder, side, name).write_bytes(text)
            here = os.path.relpath(folder, self.folder)
            flags = ("--unified=0", "--text", "--find-renames", "--no-ext-diff", "--no-textconv", "--no-color")
            done = self("diff", "--no-index", *flags, "--", f"{here}/old", f"{here}/new", fine=(0, 1))
        return done.stdout.decode("utf-8", "surrogateescape")


@dataclass(frozen=True, slots=True)
class Repository:
    """A working tree of git: its top, the folder of its HEAD, and the one of the objects and refs, all resolved."""

    top: Path
    own: Path
    shared: Path

    @contextmanager
    def git(self) -> Iterator[Git]:
        """Set up the stand-in, and git in it. Raises GitError."""
        program = _program(self.top)
        with temporary_folder("onnxlint-git-") as name:
            folder = Path(name).resolve()
            git = Git(program, folder, _environment(folder, self.shared / "objects"))
            linked = {part: self.own / part for part in _OWN} | {part: self.shared / part for part in _SHARED}
            _refuse_endless([*linked.values(), *_stores(self.shared / "objects")])
            (folder / "HEAD").write_bytes(_first(self.own / "HEAD"))
            (folder / "logs").mkdir()
            for part, place in linked.items():
                os.symlink(place, folder / part)
            (folder / "config").write_text(_configuration({}))
            if (self.shared / "config").is_file():
                done = git("config", "--file", str(self.shared / "config"), "--no-includes", "--list", "-z")
                settings = dict(part.partition("\n")[::2] for part in os.fsdecode(done.stdout).split("\0"))
                (folder / "config").write_text(_configuration(settings))
            yield git


def repository_of(paths: Iterable[Path]) -> Repository | None:
    """The repository of the working directory; where that does not hold the first path, the one around this."""
    first = next(iter(paths), Path())
    here = repository_around(Path.cwd())
    real = Path(os.path.realpath(first))
    return here if here is not None and real.is_relative_to(here.top) else repository_around(real)


def repository_around(start: Path) -> Repository | None:
    """The nearest repository at a resolved path or above it. No commit can bring a `.git` into a tree."""
    for folder in (start, *start.parents):
        entry = folder / ".git"
        if entry.is_file():  # of a further working tree, or of a submodule
            named = _first(entry)
            if not named.startswith(b"gitdir:"):
                continue
            entry = folder / os.fsdecode(named.removeprefix(b"gitdir:").strip())
        if (entry / "HEAD").is_file():
            shared = _first(entry / "commondir") if (entry / "commondir").is_file() else b""
            return Repository(folder, entry.resolve(), (entry / os.fsdecode(shared.strip())).resolve())
    return None


def _stores(objects: Path, depth: int = 5) -> Iterator[Path]:
    """The folder of the objects, and those that it names for more: as deep as git follows them."""
    yield objects
    try:
        names = read_bytes(objects / "info" / "alternates", _ALTERNATES)
    except OSError:
        names = b""
    for line in names.splitlines() if depth else ():
        if line.startswith(b'"'):  # as a string of C
            line = line[1:-1].decode("unicode_escape", "replace").encode("latin-1", "replace")
        if line and b"\0" not in line and not line.startswith(b"#"):
            yield from _stores(objects / os.fsdecode(line), depth - 1)


def _refuse_endless(places: Iterable[Path]) -> None:
    """Raise GitError where there is a pipe or a device among the files of git, which it would wait for."""
    waiting: list[str] = [str(place) for place in places]
    seen: set[tuple[int, int]] = set()
    while waiting:
        place = waiting.pop()
        try:
            status = os.stat(place)
        except OSError:  # there is none, or git cannot read it either
            continue
        if stat.S_ISREG(status.st_mode) or (status.st_dev, status.st_ino) in seen:
            continue
        if not stat.S_ISDIR(status.st_mode):
            raise GitError(f"`{place}` is no file but {kind(status.st_mode)}, so git is not asked")
        seen.add((status.st_dev, status.st_ino))
        with contextlib.suppress(OSError), os.scandir(place) as entries:
            waiting += [entry.path for entry in entries if not entry.is_file(follow_symlinks=False)]


def _first(file: Path) -> bytes:
    """The line that a file holds; nothing where it cannot be read, or holds no text."""
    try:
        line = read_bytes(file, _HEADER)
    except OSError:
        return b""
    return b"" if b"\0" in line else line


def _program(top: Path) -> str:
    """The git that PATH means, but for one of the checked tree: it is named in full, and lies outside."""
    for folder in os.get_exec_path():
        program = shutil.which("git", path=folder) if os.path.isabs(folder) else None
        if program is not None and not any(Path(p).is_relative_to(top) for p in (program, os.path.realpath(program))):
            return program
    raise GitError("git is not installed (one in the checked tree is not run), so nothing is known about changes")


def _environment(folder: Path, objects: Path) -> dict[str, str]:
    """The user's environment, with variables for git that keep it to the stand-in, and from the network."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return inherited | {
        "GIT_DIR": str(folder),
        "GIT_OBJECT_DIRECTORY": str(objects),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ALLOW_PROTOCOL": "",
        "LC_ALL": "C",
        **dict.fromkeys(("GIT_CONFIG_NOSYSTEM", "GIT_ATTR_NOSYSTEM"), "1"),
        **dict.fromkeys(("GIT_NO_LAZY_FETCH", "GIT_NO_REPLACE_OBJECTS"), "1"),
        **dict.fromkeys(("GIT_TERMINAL_PROMPT", "GIT_OPTIONAL_LOCKS"), "0"),
    }


def _configuration(settings: Mapping[str, str]) -> str:
    """The text of the stand-in's configuration, with those of a repository's settings that say where things are."""
    rows = ["[core]", "repositoryformatversion = 1", "bare = false"]
    for key, value in settings.items():
        section, _, rest = key.partition(".")
        between, _, name = rest.rpartition(".")
        if _SETTING.fullmatch(key) and _HARMLESS.fullmatch(value) and _HARMLESS.fullmatch(between or "-"):
            rows += [f'[{section} "{between}"]' if between else f"[{section}]", f'{name} = "{value}"']
    return "\n".join(rows) + "\n"
