"""Fixes from the cache: those of a file are written anew where its text or a finding in it is new."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain

import msgspec

from onnxlint.base.cache import Store, digest
from onnxlint.base.catalogue import Contract
from onnxlint.base.records import Diagnostic, Finding, Safety, grouped
from onnxlint.base.workers import ALONE, Workers
from onnxlint.rules.engine.findings import Written, by_file

KIND = "fixes"


def with_cached_fixes(
    findings: Sequence[Finding],
    text_of: Callable[[str], str | None],
    store: Store,
    catalogue: Mapping[str, Contract],
    workers: Workers = ALONE,
    wanted: Callable[[Finding], bool] = lambda _: True,
    failures: list[Diagnostic] | None = None,
) -> tuple[Finding, ...]:
    """The findings, each that is `wanted` with the fix that its rule writes, if any; see `with_fixes`.

    The fixes of a file with an error in one are not kept, so that the next run reports the error again.
    """
    mended = {code for code, rule in catalogue.items() if rule.fix not in (None, Safety.MANUAL)}
    numbers = (n for n, finding in enumerate(findings) if finding.code in mended and wanted(finding))
    by_path = grouped(numbers, lambda n: findings[n].span.path)
    texts = {path: text for path in by_path if (text := text_of(path)) is not None}

    def asked(finding: Finding) -> tuple[bytes, bytes]:
        return catalogue[finding.code].version, _as_bytes(finding)

    mine = {path: [findings[n] for n in by_path[path]] for path in texts}
    wholes = {path: digest(text, *chain.from_iterable(map(asked, mine[path]))) for path, text in texts.items()}

    def work(path: str) -> Written:
        # libcst takes its time: a run with all cached need not wait.
        from onnxlint.rules.engine.fixes import with_fixes
        from onnxlint.rules.engine.source_page import Page

        broken: list[Diagnostic] = []
        fixed = with_fixes(mine[path], Page(path, texts[path]), None if failures is None else broken)
        return Written(wholes[path], [finding.fix for finding in fixed], tuple(broken))

    def fits(path: str, written: Written) -> bool:
        return written.whole == wholes[path]

    fixed = list(findings)
    workers = workers if failures is not None else ALONE
    results = by_file(KIND, texts, Written, lambda p: digest(os.path.abspath(p).encode()), work, fits, store, workers)
    for path, written in results.items():
        for n, fix in zip(by_path[path], written.fixes, strict=True):
            fixed[n] = replace(findings[n], fix=fix)
        if failures is not None:
            failures += written.broken
    return tuple(fixed)


def _as_bytes(finding: Finding) -> bytes:
    try:
        return msgspec.msgpack.encode(finding)
    except UnicodeEncodeError:  # its path is no text
        return repr(finding).encode("utf-8", "surrogatepass")
