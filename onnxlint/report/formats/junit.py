"""JUnit's XML as CI servers read it: every finding a failed case, every model and exporter a case of its own."""

from collections.abc import Iterable
from itertools import groupby
from xml.etree import ElementTree as ET

from onnxlint.base.records import Finding, ModelReport, ModelStatus, Outcome, Report, Severity
from onnxlint.report.common import run_summary, words


def junit(report: Report, whole: Report) -> str:
    """One suite for each file with findings, one for the models, one for the run, which is never empty. A note is a
    case that passes and says something. The attributes are those of the schema of Jenkins' xunit plugin."""
    files = groupby(report.findings, lambda f: f.span.path)
    suites = [_suite(path, map(_finding, findings)) for path, findings in files]
    cases = [case for model in report.models for case in _model(model)]
    if cases:
        suites.append(_suite("models", cases))
    suites.append(_suite("onnxlint", _run(report, whole)))
    root = ET.Element("testsuites", {"name": "onnxlint", "time": _time(report.seconds)})
    for attribute in ("tests", "failures", "errors"):
        root.set(attribute, str(sum(int(suite.get(attribute, "0")) for suite in suites)))
    root.extend(suites)
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _suite(name: str, cases: Iterable[ET.Element]) -> ET.Element:
    suite = ET.Element("testsuite", {"name": words.clean(name)})
    suite.extend(cases)
    suite.set("tests", str(len(suite)))
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(attribute, str(len(suite.findall(f"testcase/{tag}"))))
    return suite


def _finding(finding: Finding) -> ET.Element:
    place = f"{words.visible(finding.span.path)}:{finding.span.line}:{finding.span.column}"
    case = _case(words.clean(finding.symbol or finding.span.path), f"{finding.code} {finding.rule} at {place}")
    sentence = words.sentence_of(finding)
    if finding.severity is Severity.NOTE:
        ET.SubElement(case, "system-out").text = sentence
    else:
        kind = f"{finding.severity.value} ({words.VERDICT_WORDS[finding.verdict]})"
        failure = ET.SubElement(case, "failure", {"type": kind, "message": words.clean(finding.message)})
        failure.text = f"{place}: {sentence}"
    return case


def _model(model: ModelReport) -> list[ET.Element]:
    name = words.clean(model.name)
    if model.status is ModelStatus.NOT_PROBED:
        case = _case(name, "probe")
        ET.SubElement(case, "skipped", {"message": words.clean(model.reason or "")})
        return [case]
    cases = []
    for exporter, result in model.exporters.items():
        cases.append(case := _case(name, words.exporter_name(exporter), result.seconds))
        message = words.plain(result.detail) or words.OUTCOME_SENTENCES[result.outcome]
        if result.outcome is Outcome.SKIPPED:
            ET.SubElement(case, "skipped", {"message": message})
        elif result.outcome is not Outcome.OK:
            failure = ET.SubElement(case, "failure", {"type": result.outcome.value, "message": message})
            if result.location is not None:
                failure.text = f"{words.visible(result.location.path)}:{result.location.line}: {message}"
    return cases


def _run(report: Report, whole: Report) -> list[ET.Element]:
    """What went wrong with the run itself, or one case that says that it ended well."""
    errors = [d for d in report.diagnostics if d.level == "error"]
    cases = []
    for diagnostic in errors:
        case = _case("onnxlint", words.clean(f"{diagnostic.path or 'run'}:{diagnostic.line or 1}"))
        ET.SubElement(case, "error", {"type": "error", "message": words.clean(diagnostic.message)})
        cases.append(case)
    last = _case("onnxlint", "run", report.seconds)
    warnings = [words.clean(d.message) for d in report.diagnostics if d.level != "error"]
    ET.SubElement(last, "system-out").text = "\n".join([*warnings, run_summary.summary(whole, show_all=True)])
    return [*cases, last]


def _case(classname: str, name: str, seconds: float | None = None) -> ET.Element:
    case = ET.Element("testcase", {"classname": classname, "name": name})
    if seconds is not None:
        case.set("time", _time(seconds))
    return case


def _time(seconds: float) -> str:
    return f"{seconds:.3f}"
