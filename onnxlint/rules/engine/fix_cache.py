"""Fixes from the cache: one is written anew where the text of its file or the finding itself is new."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import msgspec

from onnxlint.base import workers
from onnxlint.base.cache import Store, digest
from onnxlint.base.catalogue import Contract
from onnxlint.base.records import Diagnostic, Finding, Fix, Safety

KIND = "fixes"
WORTH_PROCESSES = 40  # files to write fixes for before other processes are worth their start
_fixes = msgspec.msgpack.Decoder(list[Fix | None])


def with_kept_fixes(
    findings: Sequence[Finding],
    text_of: Callable[[str], str | None],
    store: Store,
    catalogue: Mapping[str, Contract],
    processes: int = 1,
    wanted: Callable[[Finding], bool] = lambda _: True,
    failures: list[Diagnostic] | None = None,
) -> tuple[Finding, ...]:
    """The findings, each that is `wanted` with the fix that its rule writes, if any; see `with_fixes`.

    The fixes of a file with an error in one are not kept, so that the next run reports the error again.
    """
    mended = {code for code, rule in catalogue.items() if rule.fix not in (None, Safety.MANUAL)}
    by_path: dict[str, list[int]] = {}
    for number, finding in enumerate(findings):
        if finding.code in mended and wanted(finding):
            by_path.setdefault(finding.span.path, []).append(number)
    told = list(findings)
    texts: dict[str, str] = {}
    keys: dict[str, bytes] = {}
    for path, numbers in by_path.items():
        text = text_of(path)
        if text is None:
            continue
        keys[path] = _key(path, text, [findings[n] for n in numbers], catalogue) if store.usable else b""
        kept = _decoded(store.get(KIND, keys[path])) if keys[path] else None
        if kept is not None and len(kept) == len(numbers) and _own(kept, path):
            for number, fix in zip(numbers, kept, strict=True):
                told[number] = replace(findings[number], fix=fix)
        else:
            texts[path] = text
    left = list(texts)

    def work(number: int) -> tuple[list[Fix | None], list[Diagnostic]]:
        from onnxlint.rules.engine.fixes import (
            with_fixes,  # libcst takes its time: who knows all fixes need not wait for it
        )

        own = [findings[n] for n in by_path[left[number]]]
        broken: list[Diagnostic] = []
        fixed = with_fixes(own, lambda path: texts[path], None if failures is None else broken)
        return [f.fix for f in fixed], broken

    worth = len(left) >= WORTH_PROCESSES and failures is not None
    for number, (fixes, broken) in workers.run(work, range(len(left)), processes if worth else 1):
        path = left[number]
        for n, fix in zip(by_path[path], fixes, strict=True):
            told[n] = replace(findings[n], fix=fix)
        if broken and failures is not None:
            failures += broken
        elif keys[path]:
            store.put(KIND, keys[path], msgspec.msgpack.encode(fixes))
    return tuple(told)


def _key(path: str, text: str, findings: Sequence[Finding], catalogue: Mapping[str, Contract]) -> bytes:
    """What the fixes of a file hang on; b"" for a path that is no text."""
    try:
        return digest(path, text, msgspec.msgpack.encode(findings), *(catalogue[f.code].version for f in findings))
    except UnicodeEncodeError:
        return b""


def _own(fixes: Sequence[Fix | None], path: str) -> bool:
    """True where every edit is of that file."""
    return all(edit.path == path for fix in fixes if fix is not None for edit in fix.edits)


def _decoded(data: bytes | None) -> list[Fix | None] | None:
    if data is None:
        return None
    try:
        return _fixes.decode(data)
    except (msgspec.MsgspecError, RecursionError):
        return None
