"""Fixes from the cache: one is written anew where the text of its file or the finding itself is new."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import msgspec

from onnxlint.base.cache import Store, digest
from onnxlint.base.catalogue import Contract
from onnxlint.base.records import Diagnostic, Finding, Safety
from onnxlint.rules.engine.findings import Written, by_file

KIND = "fixes"


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
    texts = {path: text for path in by_path if (text := text_of(path)) is not None}

    def key(path: str) -> bytes:
        mine = [findings[n] for n in by_path[path]]
        return digest(path, texts[path], msgspec.msgpack.encode(mine), *(catalogue[f.code].version for f in mine))

    def work(path: str) -> Written:
        from onnxlint.rules.engine.fixes import with_fixes  # libcst takes its time: a run with all cached need not wait

        broken: list[Diagnostic] = []
        fixed = with_fixes([findings[n] for n in by_path[path]], texts.get, None if failures is None else broken)
        return Written([f.fix for f in fixed], tuple(broken))

    def fits(path: str, written: Written) -> bool:
        edits = (edit for fix in written.fixes if fix is not None for edit in fix.edits)
        return len(written.fixes) == len(by_path[path]) and all(edit.path == path for edit in edits)

    fixed = list(findings)
    results = by_file(KIND, texts, Written, key, work, fits, store, processes if failures is not None else 1)
    for path, written in results.items():
        for n, fix in zip(by_path[path], written.fixes, strict=True):
            fixed[n] = replace(findings[n], fix=fix)
        if failures is not None:
            failures += written.broken
    return tuple(fixed)
