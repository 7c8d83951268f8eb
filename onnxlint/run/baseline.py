"""The baseline: findings that a project has agreed to live with, kept in a file by fingerprint and count."""

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import msgspec

from onnxlint.base import files
from onnxlint.base.atomic import replace_file
from onnxlint.base.paths import keep_inside
from onnxlint.base.records import Finding, from_json, grouped, to_json

SCHEMA = "onnxlint-baseline/1"
MAX_BYTES = 50_000_000
Judged = Callable[["Entry"], bool]  # whether a run would have found what is still there of an entry


class BaselineError(Exception):
    """A baseline cannot be read: the message says why, `line` where, if that is known."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True, slots=True)
class Entry:
    """`count` findings of one fingerprint. `path` is relative to the folder of the baseline, `line` is its own there.

    Only `fingerprint` and `count` decide; the rest lets a person read the file, and says which runs could find it.
    """

    path: str
    code: str
    symbol: str
    text: str
    count: Annotated[int, msgspec.Meta(ge=1)]
    fingerprint: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{16}$")]
    line: int = 0


@dataclass(frozen=True, slots=True)
class _File:
    """What a baseline holds; each of `findings` is read by itself, as an Entry, so that a message can name it."""

    schema: Annotated[str, msgspec.Meta(pattern=f"^{SCHEMA}$")]
    findings: list[Any]


@dataclass(frozen=True, slots=True)
class Settled:
    """What a baseline makes of findings: those it does not know, how many it does, and its slack.

    `slack` holds entries of which fewer findings occur than they allow, with the number that is too many.
    """

    new: tuple[Finding, ...]
    matched: int
    slack: tuple[tuple[Entry, int], ...]


def fingerprint(finding: Finding, folder: Path) -> str:
    """Return the fingerprint that a finding has in a baseline in `folder`, wherever onnxlint is started."""
    return replace(finding, span=replace(finding.span, path=_relative(finding.span.path, folder))).fingerprint


def entries(findings: Iterable[Finding], folder: Path) -> list[Entry]:
    """Return one entry for each fingerprint among the findings."""
    alike = ((key, same[0], len(same)) for key, same in grouped(findings, lambda f: fingerprint(f, folder)).items())
    return [Entry(_relative(f.span.path, folder), f.code, f.symbol, f.text, count, key) for key, f, count in alike]


def settle(allowed: Sequence[Entry], findings: Sequence[Finding], folder: Path, judged: Judged) -> Settled:
    """Hold findings against a baseline.

    Of more findings with one fingerprint than the baseline allows, the first ones of the file are taken as known.
    """
    left = Counter({entry.fingerprint: entry.count for entry in allowed})
    new = []
    for finding in sorted(findings, key=lambda f: (f.span.path, f.span.line, f.span.column, f.code)):
        key = fingerprint(finding, folder)
        if left[key] > 0:
            left[key] -= 1
        else:
            new.append(finding)
    slack = tuple((e, left[e.fingerprint]) for e in allowed if left[e.fingerprint] > 0 and judged(e))
    return Settled(tuple(new), len(findings) - len(new), slack)


def merged(allowed: Sequence[Entry], current: Sequence[Entry], judged: Judged) -> list[Entry]:
    """Return what to write: what was found, and the entries that this run cannot speak about."""
    fresh = {entry.fingerprint for entry in current}
    return [*current, *(entry for entry in allowed if entry.fingerprint not in fresh and not judged(entry))]


def without(allowed: Sequence[Entry], slack: Iterable[tuple[Entry, int]]) -> list[Entry]:
    """Return the entries without their slack."""
    spare = {entry.fingerprint: number for entry, number in slack}
    remaining = [replace(entry, count=entry.count - spare.get(entry.fingerprint, 0)) for entry in allowed]
    return [entry for entry in remaining if entry.count > 0]


def read(file: Path) -> list[Entry]:
    """Read a baseline. Raises BaselineError."""
    try:
        text = files.read_bytes(file, MAX_BYTES).decode("utf-8-sig")
    except FileNotFoundError as error:
        raise BaselineError("there is no baseline here; `--write-baseline` makes one") from error
    except (files.NotAFile, files.TooLong) as error:
        raise BaselineError(f"the baseline cannot be read: {error.strerror}; name another file") from error
    except OSError as error:
        raise BaselineError(f"the baseline cannot be read: {error.strerror}; check the path and the rights") from error
    except UnicodeDecodeError as error:
        raise BaselineError("the baseline is not UTF-8; write it anew with `--write-baseline`") from error
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise BaselineError(f"the baseline is not JSON: {error.msg} at column {error.colno}", error.lineno) from error
    except (RecursionError, ValueError) as error:  # such as an integer of a million digits
        raise BaselineError(f"the baseline is not JSON that can be read: {error}") from error
    return _entries(data, text)


def write(file: Path, allowed: Iterable[Entry]) -> None:
    """Write a baseline: one line for each entry, in an order that never changes. Raises OSError."""
    ordered = sorted(allowed, key=lambda e: (e.path, e.code, e.symbol, e.text, e.fingerprint))
    rows = [{key: v for key, v in to_json(entry).items() if key != "line"} for entry in ordered]
    lines = ",\n".join(f"    {json.dumps(row, ensure_ascii=False)}" for row in rows)
    body = f"[\n{lines}\n  ]" if lines else "[]"
    text = f'{{\n  "schema": "{SCHEMA}",\n  "findings": {body}\n}}\n'
    keep_inside(file)
    file.parent.mkdir(parents=True, exist_ok=True)
    replace_file(file, text.encode("utf-8", "backslashreplace"))


def _entries(data: Any, text: str) -> list[Entry]:
    try:
        file = from_json(_File, data)
    except ValueError as error:
        raise BaselineError(f'this is no baseline: it lacks `"schema": "{SCHEMA}"` or the list `findings`') from error
    rows = enumerate(text.split("\n"), 1)
    lines = {key: number for number, row in rows for key in re.findall(r'"([0-9a-f]{16})"', row)}
    read: dict[str, Entry] = {}
    for number, row in enumerate(file.findings, 1):
        line = lines.get(str(row.get("fingerprint"))) if isinstance(row, dict) else None
        try:
            entry = replace(from_json(Entry, row), line=line or 0)
        except ValueError as error:
            raise BaselineError(f"entry {number} of the baseline cannot be read: {error}", line) from error
        if entry.fingerprint in read:
            raise BaselineError(f"entry {number} of the baseline occurs twice; leave one, with the sum of counts", line)
        read[entry.fingerprint] = entry
    return list(read.values())


def _relative(path: str, folder: Path) -> str:
    return Path(os.path.relpath(path, folder)).as_posix()
