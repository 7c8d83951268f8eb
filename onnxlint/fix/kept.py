"""Fixes from the cache: one is written anew where the text of its file or the finding itself is new."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import msgspec

from onnxlint.cache import Store, digest
from onnxlint.fix.registry import all_remedies, with_fixes
from onnxlint.records import Finding, Fix

KIND = "fixes"
_fixes = msgspec.msgpack.Decoder(list[Fix | None])


def with_kept_fixes(
    findings: Sequence[Finding], text_of: Callable[[str], str | None], store: Store
) -> tuple[Finding, ...]:
    """The findings, each with the fix that its rule's remedy writes, if it writes one; see `with_fixes`."""
    if not store.usable:
        return with_fixes(findings, text_of)
    remedies = all_remedies()
    by_path: dict[str, list[int]] = {}
    for number, finding in enumerate(findings):
        if finding.code in remedies:
            by_path.setdefault(finding.span.path, []).append(number)
    told = list(findings)
    for path, numbers in by_path.items():
        text = text_of(path)
        if text is None:
            continue
        for number, fixed in zip(numbers, _of_file([told[n] for n in numbers], path, text, store), strict=True):
            told[number] = fixed
    return tuple(told)


def _of_file(findings: Sequence[Finding], path: str, text: str, store: Store) -> Sequence[Finding]:
    """The findings of one file with their fixes."""
    try:
        key = digest(path, text, msgspec.msgpack.encode(findings))
    except UnicodeEncodeError:  # a path that is no text
        return with_fixes(findings, lambda _: text)
    held = _decoded(store.get(KIND, key))
    own = held is not None and all(e.path == path for fix in held if fix is not None for e in fix.edits)
    if held is not None and own and len(held) == len(findings):
        return [replace(finding, fix=fix) for finding, fix in zip(findings, held, strict=True)]
    fixed = with_fixes(findings, lambda _: text)
    store.put(KIND, key, msgspec.msgpack.encode([f.fix for f in fixed]))
    return fixed


def _decoded(data: bytes | None) -> list[Fix | None] | None:
    if data is None:
        return None
    try:
        return _fixes.decode(data)
    except (msgspec.MsgspecError, RecursionError):
        return None
