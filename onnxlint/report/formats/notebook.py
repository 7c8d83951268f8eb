"""A report as a small piece of HTML for notebooks: no script, no link, and everything that was read is escaped."""

from collections.abc import Sequence
from html import escape

from onnxlint.base.records import Evidence, Finding, ModelReport, ModelStatus, Outcome, Report
from onnxlint.report.common import words

_CELL = "text-align:left;vertical-align:top;padding:2px 12px 2px 0"
_MOST = 100  # findings shown; a notebook keeps its outputs in the file


def html(report: Report, findings: Sequence[Finding], ok: bool, sentence: str) -> str:
    """Return the `sentence`, then the models, the findings with counterexample and fix, what is wrong with the run."""
    parts = [f"<p><b>onnxlint: {'✓' if ok else '✗'} {_text(sentence)}</b></p>"]
    parts += [_model(model) for model in report.models]
    parts += [_finding(finding) for finding in findings[:_MOST]]
    if len(findings) > _MOST:
        parts.append(f"<p>and {len(findings) - _MOST} more</p>")
    parts += [f"<p>{_text(d.level)}: {_text(d.message)}</p>" for d in report.diagnostics]
    return f'<div class="onnxlint">{"".join(parts)}</div>'


def _text(value: str) -> str:
    return escape(words.clean(value))


def _model(model: ModelReport) -> str:
    if model.status is ModelStatus.NOT_PROBED:
        return f"<p>{_text(model.name)} was not probed: {_text(model.reason or words.NO_REASON)}</p>"
    rows = ""
    for name, result in model.exporters.items():
        mark = "✓" if result.outcome is Outcome.OK else "✗"
        cells = (words.exporter_name(name), f"{mark} {words.OUTCOME_LABELS[result.outcome]}", result.detail)
        rows += "<tr>" + "".join(f'<td style="{_CELL}">{_text(cell)}</td>' for cell in cells) + "</tr>"
    return f"<p>{_text(model.name)}</p><table>{rows}</table>"


def _finding(finding: Finding) -> str:
    place = f"{finding.span.path}:{finding.span.line}"
    verdict = words.VERDICT_WORDS[finding.verdict]
    head = f"<b>{_text(finding.code)}</b> {_text(finding.message)} <i>({_text(verdict)})</i>"
    code = f"<pre>{_text(place)}  {_text(finding.text)}</pre>" if finding.text else f"<pre>{_text(place)}</pre>"
    evidence = "".join(_evidence(e) for e in words.most_telling(finding.evidence)[:2])
    help_ = f"<p>help: {_text(finding.fix.title)}</p>" if finding.fix is not None else ""
    return f"<div>{head}{code}{evidence}{help_}</div>"


def _evidence(evidence: Evidence) -> str:
    circumstances = ", ".join(part for part in (words.variation(evidence), words.error_size(evidence)) if part)
    text = f"on {circumstances}: {words.observed(evidence)}" if circumstances else words.observed(evidence)
    again = f"<br>re-run: <code>python {_text(evidence.repro)}</code>" if evidence.repro else ""
    return f"<p>{_text(words.exporter_name(evidence.exporter))}: {_text(text)}{again}</p>"
