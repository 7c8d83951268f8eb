"""Which file configures a run, and onnxlint's table in it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from onnxlint.config_values import Problems
from onnxlint.paths import display_path
from onnxlint.toml_lines import Key, key_lines

FILE_NAMES = ("onnxlint.toml", "pyproject.toml")  # in this order within a folder


def locate(start: Path, explicit: Path | None) -> tuple[Path | None, dict[str, Any], Problems]:
    """Return the configuration file, onnxlint's table in it, and where to note its mistakes."""
    if explicit is not None:
        table, problems = read_file(explicit)
        if table is None and not problems.found:
            problems.add("there is no [tool.onnxlint] table in this file; add one, or name another file")
        return explicit, table or {}, problems
    for folder in (start.resolve(), *start.resolve().parents):
        for name in FILE_NAMES:
            candidate = folder / name
            if candidate.is_file():
                table, problems = read_file(candidate)
                if table is not None or problems.found:
                    return candidate, table or {}, problems
    return None, {}, Problems("")


def read_file(file: Path) -> tuple[dict[str, Any] | None, Problems]:
    """Read one file; the table is None where it has none for onnxlint, or cannot be read (which is then noted)."""
    problems = Problems(display_path(file))
    pyproject = file.name == "pyproject.toml"
    try:
        content = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        problems.add(
            f"the configuration cannot be read: {error.strerror or error}; check the path and the rights on it"
        )
        return None, problems
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        problems.add("the configuration is not UTF-8; save it as UTF-8", line=line)
        return None, problems
    try:
        data = tomllib.loads(content)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        # A broken pyproject.toml that never mentions onnxlint is other tools' business.
        if not pyproject or "onnxlint" in content:
            found = re.search(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$", str(error))
            line = int(found[1]) if found and found[1] else len(content.splitlines()) or 1
            where = f" at column {found[2]}" if found and found[2] else ""
            reason = str(error)[: found.start()] if found else str(error)
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
