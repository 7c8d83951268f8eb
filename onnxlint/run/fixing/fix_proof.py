"""Whether fixes hold where a model is at hand: eager gives what it gave, and the exporters no longer disagree there."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from onnxlint.base.lifetimes import temporary_folder
from onnxlint.base.probe_records import Probe, ProbeResult
from onnxlint.base.records import Finding, ModelStatus, Report, Safety, VerdictKind
from onnxlint.probes.schedule.pool import ProbePool
from onnxlint.rules.engine.registry import rules_of


class Proof(contextlib.AbstractContextManager["Proof"]):
    """Runs every probed model in eager mode, with the source on the disk and with the fixed one, on the same inputs."""

    def __init__(self, overlay: Mapping[Path, bytes]) -> None:
        self._overlay = {str(path): data.decode("latin-1") for path, data in overlay.items()}
        self._opened = contextlib.ExitStack()
        self._folder: Path | None = None
        self._count = 0
        self.results: list[tuple[ProbeResult, ProbeResult]] = []

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def __call__(self, pool: ProbePool, probes: Sequence[Probe]) -> None:
        """Compare, one model after the other."""
        for probe in probes:
            self._count += 1
            self._folder = self._folder or Path(self._opened.enter_context(temporary_folder()))
            outputs = str(self._folder / f"{self._count}.pt")
            before = replace(probe, overlay={}, compare=outputs)
            after = replace(probe, overlay=self._overlay, compare=outputs)
            results = [result for one in (before, after) for result in pool.run([one], jobs=1)]
            if len(results) == 2 and all(result.report.status is ModelStatus.PROBED for result in results):
                self.results.append((results[0], results[1]))

    def changed(self, fixed: Sequence[Finding]) -> dict[str, tuple[Finding, str]]:
        """The fixes that may have changed a model's output and were not meant to, with the reason, by fingerprint.

        Where unsafe ones ran in that model, the safe ones are not suspected.
        """
        suspects: dict[str, tuple[Finding, str]] = {}
        for before, after in self.results:
            if not after.evidence:
                continue
            reason = f"eager's output changes ({after.report.name}, {after.evidence[0].variation})"
            ran = [f for f in fixed if not _meant(f) and _reached(before, f)]
            unsafe = [f for f in ran if f.fix is not None and f.fix.safety is Safety.UNSAFE]
            for finding in unsafe or ran:
                suspects.setdefault(finding.fingerprint, (finding, reason))
        return suspects


def unhelpful(fixed: Sequence[Finding], before: Report, after: Report) -> dict[str, tuple[Finding, str]]:
    """The fixes in whose function an exporter is now seen to disagree with eager, where it was not before."""
    before_fixes = {f.fingerprint for f in before.findings}
    fresh = [f for f in after.findings if f.verdict is VerdictKind.CONFIRMED and f.fingerprint not in before_fixes]
    places = {(f.span.path, f.symbol.rpartition(".")[2]) for f in fresh}
    there = (f for f in fixed if (f.span.path, f.symbol.rpartition(".")[2]) in places)
    return {f.fingerprint: (f, "an exporter still disagrees with eager there") for f in there}


def _reached(result: ProbeResult, finding: Finding) -> bool:
    span = finding.span
    return any(span.line <= line <= span.end_line for line in result.reached.get(span.path, ()))


def _meant(finding: Finding) -> bool:
    rule = rules_of([finding.code])[0].get(finding.code)
    return rule is not None and rule.changes_output
