"""What a run comes to, in a sentence each: the summary, the fixes, the reproductions, and what no finding means."""

import os
import shlex
from pathlib import PurePath

from onnxlint.base.records import ModelStatus, Report, Safety, VerdictKind
from onnxlint.report.common import words

_MOST_FILES = 3  # that one line names


def nothing(report: Report) -> str:
    """What a report without a finding may say: nothing was found in what was looked at, which may not be all."""
    rest = sum(model.status is ModelStatus.NOT_PROBED for model in report.models)
    if words.unexplained(report):
        return "No finding explains what failed."
    if report.interrupted or words.failed(report):
        return "Nothing was found as far as the run got."
    if rest == len(report.models):
        return "Nothing was found in the source; no model was probed."
    if rest:
        return f"Nothing was found; {words.count(rest, 'model')} {'was' if rest == 1 else 'were'} not probed."
    return "Nothing was found."


def summary(report: Report, *, show_all: bool, timed: bool = True) -> str:
    """The one line at the end: what was found, what was looked at and, where `timed`, how long it took."""
    shown = [finding for finding in report.findings if show_all or not words.hidden(finding)]
    concealed = len(report.findings) - len(shown)
    tallies = ((kind, sum(finding.verdict is kind for finding in shown)) for kind in VerdictKind)
    verdicts = ", ".join(f"{tally} {words.VERDICT_WORDS[kind]}" for kind, tally in tallies if tally) or "nothing found"
    if concealed:
        outside = sum(bool(f.outside) for f in report.findings if words.hidden(f))
        where = f", {outside} of them without effect on any export" if outside else ""
        verdicts += f" ({words.count(concealed, 'note')} hidden{where}, --show all)"
    if report.in_baseline:
        verdicts += f" ({report.in_baseline} in the baseline)"
    failures = len(words.unexplained(report))
    if failures:
        verdicts += f", {words.count(failures, 'export')} failed without a finding"
    took = f"; {words.seconds(report.seconds)}" if timed else ""
    return f"{verdicts} in {words.count(report.files, 'file')}; {_models(report)}{took}"


def headline(report: Report, *, show_all: bool) -> str:
    """The summary as a line of its own."""
    return words.capitalized(summary(report, show_all=show_all))


def fixes(report: Report, *, show_all: bool) -> str:
    """What was fixed, and what could be, in one line; empty where there is neither."""
    mended = [f for f in report.findings if f.fix is not None and f.fix.edits and (show_all or not words.hidden(f))]
    if report.captured:  # nothing but `check` fixes, and a cell of a notebook is no file
        mended = [f for f in mended if os.path.isfile(f.span.path)]
    safe = sum(f.fix is not None and f.fix.safety is Safety.SAFE for f in mended)
    unsafe = len(mended) - safe
    with_safe, with_unsafe = "--fix", "--fix --unsafe-fixes"
    if report.captured:
        files = sorted({shlex.quote(words.visible(f.span.path)) for f in mended})
        named = " ".join(files) if len(files) <= _MOST_FILES else "…"
        with_safe, with_unsafe = (f"`onnxlint check {flags} {named}`" for flags in (with_safe, with_unsafe))
    parts = []
    if report.fixed:
        codes = ", ".join(f"{number} {code}" for code, number in sorted(report.fixed.items()))
        parts.append(f"fixed {sum(report.fixed.values())} ({codes})")
    if safe:
        parts.append(f"{safe} {'fix' if safe == 1 else 'fixes'} available with {with_safe}")
    if unsafe and parts:
        parts.append(f"{unsafe} more with --unsafe-fixes")
    elif unsafe:
        parts.append(f"{unsafe} {'fix' if unsafe == 1 else 'fixes'} available with {with_unsafe}")
    return words.capitalized("; ".join(parts))


def reproductions(report: Report, *, show_all: bool) -> str:
    """How to see again what confirmed findings show, in one line; empty where no counterexample was kept."""
    shown = [f for f in report.findings if f.verdict is VerdictKind.CONFIRMED and (show_all or not words.hidden(f))]
    shown = [f for f in shown if any(e.repro for e in f.evidence)]
    if not shown:
        return ""
    scripts = list(dict.fromkeys(e.repro for f in shown for e in words.most_telling(f.evidence) if e.repro))
    folder = PurePath(scripts[0]).parent
    usual = folder.parts[-3:-1] == (".onnxlint", "repro")
    where = "" if usual else f" --repro-dir {shlex.quote(words.clean(str(folder.parent)))}"
    verb = "has a reproduction" if len(shown) == 1 else "have reproductions"
    more = f"; {len(scripts) - 1} more with `onnxlint repro`" if len(scripts) > 1 else ""
    command = f"onnxlint repro {shlex.quote(words.clean(folder.name))}{where}"
    return f"{words.count(len(shown), 'confirmed finding')} {verb}: `{command}`{more}"


def _models(report: Report) -> str:
    probed = sum(model.status is ModelStatus.PROBED for model in report.models)
    rest = len(report.models) - probed
    if not report.models:
        return "no model probed"
    models = f"{words.count(probed, 'model')} probed" + (f", {rest} not" if rest else "")
    if report.unchanged:  # what it says was found out earlier: a reader who doubts it has to know
        models += f" ({report.unchanged} unchanged since an earlier run)"
    return models
