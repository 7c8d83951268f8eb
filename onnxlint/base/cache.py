"""What a run keeps for the next one: bytes by a key that names all they depend on, in files that anyone may break.

The folder belongs to the user, not to the checked tree: a pull request must not bring along the answers to it. Nothing
that is read from it is trusted: an entry that is cut short, altered or of another kind is no entry. What an entry means
is up to its reader, who decodes it into the type that he expects and into nothing else.
"""

import contextlib
import hashlib
import os
import secrets
import stat
import sys
from collections.abc import Iterable
from functools import cache, partial
from pathlib import Path

import platformdirs

import onnxlint
from onnxlint.base import files

FOLDER = "ONNXLINT_CACHE_DIR"  # the environment variable that moves it
LIMIT = 512 * 1024 * 1024  # bytes that the folder may take; the entries used last stay
SHARE = LIMIT // 64
ENTRY_LIMIT = 64 * 1024 * 1024
_MAGIC = b"onnxlint-cache-1\n"
_DIGEST = 16
_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# A cache of onnxlint; `onnxlint cache clean` empties it.\n"


def default_folder() -> Path:
    """Where the cache is, unless a run says otherwise."""
    return Path(os.environ.get(FOLDER) or platformdirs.user_cache_dir("onnxlint", appauthor=False))


def digest(*parts: bytes | str) -> bytes:
    """A hash of some texts, in which none can pass for a part of another."""
    state = hashlib.blake2b(digest_size=_DIGEST)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "little"))
        state.update(data)
    return state.digest()


@cache
def version() -> bytes:
    """A hash of everything of onnxlint's own that a result may depend on: code, tables, texts, rules, Python."""
    package = Path(onnxlint.__file__).parent
    parts: list[bytes | str] = [onnxlint.__version__, sys.version, sys.implementation.cache_tag or ""]
    for path in sorted(p for p in package.rglob("*") if p.suffix in (".py", ".json", ".toml", ".txt")):
        parts += [path.relative_to(package).as_posix(), path.read_bytes()]
    return digest(*parts)


class Store:
    """Entries in a folder, by kind and key; with no folder it holds nothing. `problem` says why it could not write."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._base = folder / version().hex()[:16] if folder is not None else None
        self._wrote = 0  # bytes
        self.problem = ""

    @property
    def usable(self) -> bool:
        """True where something may be found or kept."""
        return self._base is not None

    def get(self, kind: str, key: bytes) -> bytes | None:
        """The bytes of an entry; None where there is none, or none that is whole."""
        if self._base is None:
            return None
        try:
            data = files.read_bytes(self._path(self._base, kind, key), ENTRY_LIMIT, follow=False)
        except OSError:
            return None
        head = len(_MAGIC) + _DIGEST
        payload = data[head:]
        return payload if data[:head] == _MAGIC + digest(kind, key, payload) else None

    def put(self, kind: str, key: bytes, payload: bytes) -> None:
        """Keep an entry. It appears whole or not at all; a folder that cannot be written is told of once."""
        if self._base is None or self.problem or len(payload) + 64 > ENTRY_LIMIT:
            return
        path = self._path(self._base, kind, key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if not self._wrote:
                self._mark()
            self._write(path, _MAGIC + digest(kind, key, payload) + payload)
            self._wrote += len(payload)
        except OSError as error:
            self.problem = f"{self._folder}: {error.strerror or error}"

    def close(self) -> None:
        """Bring the folder back to its limit, once for each `SHARE` that runs have written: looking takes its time."""
        if self._folder is None or not self._wrote:
            return
        counter = self._folder / "written"  # bytes since the entries were counted last
        before = b"" if os.path.lexists(counter) else b"0"
        with contextlib.suppress(OSError):
            before = files.read_bytes(counter, 20, follow=False)
        wrote = self._wrote + (int(before) if before.isdigit() else SHARE)
        if wrote >= SHARE:
            prune(self._folder, LIMIT)
            wrote = 0
        with contextlib.suppress(OSError):  # a folder that cannot be written has been told of, or will be
            self._write(counter, b"%d" % wrote)

    def _mark(self) -> None:
        assert self._folder is not None
        for name, text in ((".gitignore", "*\n"), ("CACHEDIR.TAG", _TAG)):
            if not (self._folder / name).exists():
                self._write(self._folder / name, text.encode())

    @staticmethod
    def _path(base: Path, kind: str, key: bytes) -> Path:
        return Path(base, kind, (name := key.hex())[:2], name[2:])

    @staticmethod
    def _write(path: Path, data: bytes) -> None:
        name = path.with_name(f".new-{os.getpid()}-{secrets.token_hex(4)}")
        try:
            with open(name, "xb", opener=partial(os.open, mode=0o600)) as file:
                file.write(data)
            name.replace(path)
        except BaseException:
            name.unlink(missing_ok=True)
            raise


def prune(folder: Path, limit: int) -> int:
    """Delete the entries written longest ago until the rest takes `limit` bytes at most; return how many went."""
    entries = sorted(_entries(folder), key=lambda e: e[0])
    total = sum(size for _, size, _ in entries)
    gone = 0
    for _, size, path in entries:
        if total <= limit:
            break
        with contextlib.suppress(OSError):  # another run may have been faster
            path.unlink()
            gone += 1
        total -= size
    return gone


def clean(folder: Path) -> int:
    """Delete every entry, of whatever version; return how many there were. Files that are none of ours stay."""
    return prune(folder, -1)


def usage(folder: Path) -> tuple[int, int]:
    """How many entries there are, and how many bytes they take."""
    sizes = [size for _, size, _ in _entries(folder)]
    return len(sizes), sum(sizes)


def _entries(folder: Path) -> Iterable[tuple[float, int, Path]]:
    """Modification time, size and path of every entry: `<16 hex digits>/<kind>/<2 hex digits>/<name>`."""
    for base in folder.glob("[0-9a-f]" * 16):
        for shelf, _, names in os.walk(base) if not base.is_symlink() else ():
            for path in (Path(shelf, name) for name in names if Path(shelf).parent.parent == base):
                with contextlib.suppress(OSError):
                    status = path.lstat()
                    if stat.S_ISREG(status.st_mode):
                        yield status.st_mtime, status.st_size, path
