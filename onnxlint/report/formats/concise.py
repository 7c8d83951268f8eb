"""One line per finding, in the form that editors' problem matchers read, then one summary line."""

from collections.abc import Iterator

from onnxlint.base.records import ModelStatus, Report
from onnxlint.report.common import run_summary, words


def concise(report: Report, whole: Report, *, show_all: bool, quiet: bool = False) -> str:
    """`path:line:column: CODE message [verdict]`; diagnostics and models that were not probed likewise."""
    return "".join(f"{line}\n" for line in _lines(report, whole, show_all=show_all, quiet=quiet))


def _lines(report: Report, whole: Report, *, show_all: bool, quiet: bool) -> Iterator[str]:
    for finding in report.findings:
        at = place(finding.span.path, finding.span.line, finding.span.column)
        also = f"; also at {words.also(finding)}" if finding.also else ""
        outside = f"; {words.clean(finding.outside)}" if finding.outside else ""
        yield f"{at}{finding.code} {words.clean(finding.message)}{also} [{finding.verdict}{outside}]"
    for model in report.models:
        if model.status is ModelStatus.NOT_PROBED and (model.declared or not quiet):
            yield f"{place(model.path, model.line)}note: {words.unprobed_sentence(model)}"
    for model, exporter, result in words.unexplained(whole):
        yield f"{place(model.path, model.line)}error: {words.failure_sentence(model, exporter, result)}"
    for diagnostic in report.diagnostics:
        yield f"{place(diagnostic.path, diagnostic.line)}{diagnostic.level}: {words.clean(diagnostic.message)}"
    if not quiet:
        yield run_summary.headline(whole, show_all=show_all)
        more = (say(whole, show_all=show_all) for say in (run_summary.reproductions, run_summary.fixes))
        yield from filter(None, more)


def place(path: str | None, line: int | None, column: int = 1) -> str:
    """Where a line speaks of; in the log of GitHub Actions, two colons at its beginning would make it a command."""
    if not path:
        return ""
    path = f"./{path}" if path.startswith("::") else path
    return f"{words.visible(path)}:{line or 1}:{column}: "
