"""Which files configure a run, what they extend, and onnxlint's table in each."""

import os
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onnxlint.base.files import NotAFile, TooLong, read_bytes
from onnxlint.base.paths import display_path
from onnxlint.config.toml_positions import DEEPEST, Key, key_lines, too_deep
from onnxlint.config.typed_values import Problems

FILE_NAMES = (".onnxlint.toml", "onnxlint.toml", "pyproject.toml")  # in this order within a folder
MAX_BYTES = 1_000_000
INLINE = "--config"  # the place of a mistake in `--config KEY=VALUE`


@dataclass(frozen=True, slots=True)
class Layer:
    """One source of settings: a file, or an assignment typed on the command line (`file` is None).

    `root` is the folder that its paths are relative to; None: that of the run.
    """

    table: Any
    problems: Problems
    file: Path | None = None
    root: Path | None = None
    of_user: bool = False


def locate(start: Path, explicit: Path | None, isolated: bool) -> tuple[Path | None, list[Layer]]:
    """Return the configuration file that holds for the folder `start`, and its layers: first what it extends."""
    if explicit is not None:
        explicit = Path(os.path.abspath(explicit))
        table, problems = read_file(explicit)
        if table is None and not problems.diagnostics:
            problems.add("there is no [tool.onnxlint] table in this file; add one, or name another file")
        return explicit, _chain(explicit, table or {}, problems)
    if isolated:
        return None, []
    for folder in (start.resolve(), *start.resolve().parents):
        if (layer := in_folder(folder)) is not None and layer.file is not None:
            return layer.file, _chain(layer.file, layer.table, layer.problems)
    user = user_file()
    if not user.is_file():
        return None, []
    table, problems = read_file(user)
    return user, [Layer(table or {}, problems, user, None, of_user=True)]


def in_folder(folder: Path) -> Layer | None:
    """Return the configuration that stands in `folder` itself, or None."""
    for name in FILE_NAMES:
        candidate = folder / name
        if os.path.isfile(candidate):  # False in a folder that may not be entered, where `is_file` raises
            table, problems = read_file(candidate)
            if table is not None or problems.diagnostics:
                return Layer(table or {}, problems, candidate, folder)
    return None


def user_file() -> Path:
    """Return where a user's own configuration stands; it holds where a project has none."""
    from platformdirs import user_config_path  # where a project has a file, nobody waits for this

    return user_config_path("onnxlint", appauthor=False) / "onnxlint.toml"


def inline_layers(assignments: Sequence[str], root: Path) -> Iterator[Layer]:
    """Read assignments such as `opset=18`, written as in a file."""
    for assignment in assignments:
        problems = Problems(INLINE)
        try:
            table = _loaded(assignment)
        except (ValueError, RecursionError) as error:  # ValueError alone: such as an integer of 5,000 digits
            problems.add(f"`{assignment[:80]}` is not an assignment as in the file, such as `opset = 18`: {error}")
            table = {}
        yield Layer(table, problems, None, root)


def _chain(file: Path, table: Any, problems: Problems) -> list[Layer]:
    """Return the layers of a file: those of the file that it extends, and so on, then its own."""
    layers = [Layer(table, problems, file, _folder(file))]
    seen = {os.path.realpath(file)}
    while isinstance(table, dict) and "extend" in table:
        named = table["extend"]
        if not isinstance(named, str) or not named or "\0" in named:
            problems.add("the path of another configuration file is expected", ("extend",))
            break
        other = Path(os.path.abspath(file.parent / os.path.expanduser(os.path.expandvars(named))))
        if os.path.realpath(other) in seen:
            problems.add(f"`{named}` extends this file in turn; break the circle", ("extend",))
            break
        seen.add(os.path.realpath(other))
        below, faults = read_file(other)
        if below is None and not faults.diagnostics:
            problems.add(f"there is no [tool.onnxlint] table in `{named}`", ("extend",))
            break
        if not os.path.isfile(other):
            problems.add(f"there is no file `{named}`", ("extend",))
            break
        file, table, problems = other, below or {}, faults
        layers.insert(0, Layer(table, problems, file, _folder(file)))
    return layers


def _folder(file: Path) -> Path:
    """Return the folder that the paths in a file are relative to; of a link, that of the file it leads to."""
    return Path(os.path.realpath(file)).parent


def read_text(file: Path) -> str:
    """Return the text of a configuration file, without a BOM. Raises OSError and UnicodeDecodeError."""
    return read_bytes(file, MAX_BYTES).decode("utf-8-sig")


def _loaded(text: str) -> dict[str, Any]:
    """Read TOML, whose whole numbers have 64 bits. Raises ValueError and RecursionError."""
    data = tomllib.loads(text)
    waiting: list[Any] = [data]
    while waiting:
        value = waiting.pop()
        if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
            raise ValueError("a whole number has more than 64 bits")
        waiting += value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return data


def read_file(file: Path) -> tuple[dict[str, Any] | None, Problems]:
    """Read one file; the table is None where it has none for onnxlint, or cannot be read (which is then noted)."""
    problems = Problems(display_path(file))
    pyproject = file.name == "pyproject.toml"
    try:
        content = read_text(file)
    except OSError as error:
        ours = isinstance(error, (NotAFile, TooLong))
        then = "nothing of this file is used" if ours else "check the path and the rights on it"
        problems.add(f"the configuration cannot be read: {error.strerror or error}; {then}")
        return None, problems
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        problems.add("the configuration is not UTF-8; save it as UTF-8", line=line)
        return None, problems
    try:
        if (deep := too_deep(content)) is not None:
            raise ValueError(f"it is nested more than {DEEPEST} levels deep (at line {deep}, column 1)")
        data = _loaded(content)
    except (ValueError, RecursionError) as error:
        # A broken pyproject.toml that never mentions onnxlint is other tools' business.
        if not pyproject or "onnxlint" in content:
            match = re.search(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$", str(error))
            line = int(match[1]) if match and match[1] else len(content.splitlines()) or 1
            where = f" at column {match[2]}" if match and match[2] else ""
            reason = str(error)[: match.start()] if match else str(error)
            problems.add(f"this is not valid TOML{where}: {reason}; nothing of this file is used", line=line)
        return None, problems
    prefix: Key = ("tool", "onnxlint") if pyproject else ()
    table: Any = data
    for part in prefix:
        table = table.get(part) if isinstance(table, dict) else None
    if table is None:
        return None, problems
    problems.lines, problems.prefix = key_lines(content), prefix
    if not pyproject and isinstance(table.get("tool"), dict) and "onnxlint" in table["tool"]:
        problems.add("in this file the keys stand at the top level, without [tool.onnxlint]", ("tool",))
        problems.prefix, table = ("tool", "onnxlint"), table["tool"]["onnxlint"]
    return table, problems
