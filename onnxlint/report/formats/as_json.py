"""The JSON report, version `onnxlint/1`: others read it, so it only ever grows. Its schema is schema.json."""

from __future__ import annotations

import json
import math
from typing import Any

from onnxlint.base.records import (
    OPENVINO,
    Evidence,
    ExporterResult,
    Finding,
    Fix,
    Location,
    ModelReport,
    ModelStatus,
    Report,
    Tried,
    VerdictKind,
    to_json,
)

SCHEMA = "onnxlint/1"


def as_json(report: Report, whole: Report) -> str:
    """Render `report`; the summary counts the findings of `whole`, hidden ones included."""
    data = {
        "schema": SCHEMA,
        "tool": {
            "version": report.tool.get("onnxlint"),
            **{name: report.tool.get(name) for name in ("torch", "onnx", "onnxruntime")},
            **({OPENVINO: report.tool[OPENVINO]} if OPENVINO in report.tool else {}),
        },
        "findings": [_finding(finding) for finding in report.findings],
        "models": [_model(model) for model in report.models],
        "diagnostics": [to_json(diagnostic) for diagnostic in report.diagnostics],
        "summary": _summary(whole),
    }
    return json.dumps(data, indent=2, ensure_ascii=True, allow_nan=False) + "\n"


def _finding(finding: Finding) -> dict[str, Any]:
    span = finding.span
    return {
        "code": finding.code,
        "rule": finding.rule,
        "severity": finding.severity.value,
        "verdict": finding.verdict.value,
        "message": finding.message,
        "path": span.path,
        "line": span.line,
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
        "symbol": finding.symbol,
        "trace": to_json(finding.trace),
        "effects": to_json(finding.effects),
        "evidence": [_evidence(evidence) for evidence in finding.evidence],
        "fix": _fix(finding.fix) if finding.fix is not None else None,
        "fingerprint": finding.fingerprint,
        **({"outside": finding.outside} if finding.outside else {}),
        **({"also": to_json(finding.also)} if finding.also else {}),
    }


def _evidence(evidence: Evidence) -> dict[str, Any]:
    return {
        "model": evidence.model,
        "exporter": evidence.exporter,
        "variation": evidence.variation,
        "symptom": evidence.symptom.value,
        "max_abs": _finite(evidence.max_abs),
        "max_rel": _finite(evidence.max_rel),
        "repro": evidence.repro,
        **({"runtime": evidence.runtime} if evidence.runtime else {}),
        **({"reduced": True} if evidence.reduced else {}),
        **({"sides": to_json(evidence.sides)} if evidence.sides is not None else {}),
        **({"inputs": to_json(evidence.inputs)} if evidence.inputs else {}),
        **({"graphs": to_json(evidence.graphs)} if evidence.graphs is not None else {}),
        "cause": evidence.cause.value,
        "detail": evidence.detail,
        "frames": [_location(frame) for frame in evidence.frames],
    }


def _finite(value: float | None) -> float | None:
    """JSON has no infinity: a difference that is not finite is null, `detail` says what it was."""
    return value if value is not None and math.isfinite(value) else None


def _fix(fix: Fix) -> dict[str, Any]:
    return {
        "title": fix.title,
        "safety": fix.safety.value,
        "edits": [
            {"path": edit.path, "start": list(edit.start), "end": list(edit.end), "text": edit.text}
            for edit in fix.edits
        ],
    }


def _location(location: Location) -> dict[str, Any]:
    return {"path": location.path, "line": location.line, "function": location.function}


def _model(model: ModelReport) -> dict[str, Any]:
    return {
        "name": model.name,
        "path": model.path,
        "line": model.line,
        "status": model.status.value,
        "reason": model.reason,
        "remedy": model.remedy,
        "declared": model.declared,
        **({"way": model.way} if model.way else {}),
        **({"assumed": to_json(model.assumed)} if model.assumed is not None else {}),
        "exporters": {name: _exporter(result) for name, result in model.exporters.items()},
    }


def _exporter(result: ExporterResult) -> dict[str, Any]:
    return {
        "outcome": result.outcome.value,
        "detail": result.detail,
        "location": _location(result.location) if result.location is not None else None,
        "seconds": round(result.seconds, 3),
        **({"latency": to_json(result.latency)} if result.latency is not None else {}),
        **({"tried": [_tried(tried) for tried in result.tried]} if result.tried else {}),
    }


def _tried(tried: Tried) -> dict[str, Any]:
    return {**to_json(tried), "max_abs": _finite(tried.max_abs), "allowed": _finite(tried.allowed)}


def _summary(report: Report) -> dict[str, Any]:
    def tally(kind: VerdictKind) -> int:
        return sum(finding.verdict is kind for finding in report.findings)

    return {
        "files": report.files,
        "models": len(report.models),
        "probed": sum(model.status is ModelStatus.PROBED for model in report.models),
        "confirmed": tally(VerdictKind.CONFIRMED),
        "suspected": tally(VerdictKind.SUSPECTED),
        "not_reproduced": tally(VerdictKind.NOT_REPRODUCED),
        "baseline": report.known,
        "fixed": sum(report.fixed.values()),
        "seconds": round(report.seconds, 3),
    }
