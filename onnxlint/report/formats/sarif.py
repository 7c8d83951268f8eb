"""SARIF 2.1.0 as GitHub code scanning reads it: rules with help, relative places, code flows, fingerprints, fixes."""

from collections.abc import Mapping
from itertools import groupby
from operator import attrgetter
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from onnxlint.base.catalogue import Contract
from onnxlint.base.records import Edit, Finding, Fix, ModelStatus, Report, Severity, Span
from onnxlint.report.common import words
from onnxlint.report.common.checkout import GITHUB, in_checkout

SCHEMA_URI = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
_ROOT = "%SRCROOT%"
_TOP = "The top of the checkout, else the directory that onnxlint ran in."
_MOST_RESULTS = 25_000  # what GitHub accepts in one run
_MOST_STEPS = 1_000  # likewise, locations of one code flow


def sarif(report: Report, whole: Report, catalogue: Mapping[str, Contract]) -> dict[str, Any]:
    """Render `report` as one run; rules are those that have a finding, notifications those of `whole`."""
    codes = sorted({finding.code for finding in report.findings if finding.code in catalogue})
    index = {code: i for i, code in enumerate(codes)}
    rules = [_rule(catalogue[code]) for code in codes]
    driver = {"name": "onnxlint", "version": report.tool.get("onnxlint", "0"), "rules": rules}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"description": {"text": _TOP}}},
        "invocations": [_invocation(report, whole)],
        "results": [_result(finding, index) for finding in report.findings[:_MOST_RESULTS]],
    }
    return {"$schema": SCHEMA_URI, "version": "2.1.0", "runs": [run]}


def _rule(rule: Contract) -> dict[str, Any]:
    problem = "recommendation" if rule.severity is Severity.NOTE else rule.severity.value
    return {
        "id": rule.code,
        "name": "".join(part.capitalize() for part in rule.name.split("-")),
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": words.cut(" ".join(rule.what.split()), 1000)},
        "defaultConfiguration": {"level": rule.severity.value},
        "help": {"text": rule.text.strip(), "markdown": rule.text.strip()},
        "properties": {"tags": ["onnx", "pytorch"], "precision": "high", "problem.severity": problem},
    }


def _result(finding: Finding, index: Mapping[str, int]) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "level": finding.severity.value,
        "message": {"text": words.sentence_of(finding)},
        "locations": [_location(finding.span, symbol=finding.symbol)],
        "partialFingerprints": {"onnxlint/v1": finding.fingerprint},
        "properties": {"verdict": finding.verdict.value},
    }
    if finding.code in index:
        result["ruleIndex"] = index[finding.code]
    if finding.also:
        result["relatedLocations"] = [_location(span, message="the same cause") for span in finding.also]
    if finding.trace:
        result["codeFlows"] = [_code_flow(finding)]
    if finding.fix is not None and finding.fix.edits:
        result["fixes"] = [_fix(finding.fix)]
    return result


def _code_flow(finding: Finding) -> dict[str, Any]:
    steps = ((Span(s.path, s.line, 1, s.line, 1), s.message) for s in finding.trace[-(_MOST_STEPS - 1) :])
    flow = (*steps, (finding.span, finding.message))
    locations = [{"location": _location(span, message=words.clean(message))} for span, message in flow]
    return {"threadFlows": [{"locations": locations}]}


def _location(span: Span, *, symbol: str = "", message: str = "") -> dict[str, Any]:
    start, end = (span.line, span.column), (span.end_line, span.end_column)
    region = {"startLine": max(1, span.line)} if start >= end else _between(start, end)  # an empty one is a whole line
    location: dict[str, Any] = {"physicalLocation": {"artifactLocation": _artifact(span.path), "region": region}}
    if symbol:
        location["logicalLocations"] = [{"fullyQualifiedName": symbol}]
    if message:
        location["message"] = {"text": message}
    return location


def _between(start: tuple[int, int], end: tuple[int, int]) -> dict[str, int]:
    """SARIF columns count from 1; a column 0 of ours means the same."""
    return {"startLine": start[0], "startColumn": max(1, start[1]), "endLine": end[0], "endColumn": max(1, end[1])}


def _artifact(path: str) -> dict[str, str]:
    """A URI relative to the checkout or the working directory; an absolute path becomes a file URI."""
    pure = PurePath(in_checkout(path, GITHUB))
    if pure.is_absolute():
        return {"uri": "file://" + _as_uri(pure.as_posix())}
    return {"uri": _as_uri(pure.as_posix()), "uriBaseId": _ROOT}


def _fix(fix: Fix) -> dict[str, Any]:
    by_file = groupby(sorted(fix.edits, key=attrgetter("path")), key=attrgetter("path"))
    replaced = ((_artifact(name), [*map(_replacement, edits)]) for name, edits in by_file)
    changes = [{"artifactLocation": artifact, "replacements": replacements} for artifact, replacements in replaced]
    return {"description": {"text": words.clean(fix.title)}, "artifactChanges": changes}


def _replacement(edit: Edit) -> dict[str, Any]:
    return {"deletedRegion": _between(edit.start, edit.end), "insertedContent": {"text": edit.text}}


def _invocation(report: Report, whole: Report) -> dict[str, Any]:
    notifications = [
        _notification("error" if d.level == "error" else "warning", d.message, d.path, d.line)
        for d in report.diagnostics
    ]
    for model in report.models:
        if model.status is ModelStatus.NOT_PROBED:
            message = f"{model.name} was not probed: {model.reason or words.NO_REASON}"
            notifications.append(_notification("note", message, model.path, model.line))
    notifications += [_notification("error", text, place.path, place.line) for place, text in words.failures(whole)]
    if len(report.findings) > _MOST_RESULTS:
        message = f"{len(report.findings) - _MOST_RESULTS} findings are left out of this file."
        notifications.append(_notification("warning", message, None, None))
    return {"executionSuccessful": not words.failed(report), "toolExecutionNotifications": notifications}


def _notification(level: str, message: str, path: str | None, line: int | None) -> dict[str, Any]:
    notification: dict[str, Any] = {"level": level, "message": {"text": words.clean(message)}}
    if path:
        notification["locations"] = [_location(Span(path, line or 1, 1, line or 1, 1))]
    return notification


def _as_uri(path: str) -> str:
    """A path as part of a URI: its bytes where it stands for bytes, escapes for what no path on a disk can hold."""
    try:
        return quote(path, errors="surrogateescape")
    except UnicodeEncodeError:  # such as the name of a file that a model gave its code
        return quote(path, errors="backslashreplace")
