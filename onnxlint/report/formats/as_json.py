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
    ModelReport,
    ModelStatus,
    Report,
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


def _fields(record: Any, *names: str, rare: tuple[str, ...] = ()) -> dict[str, Any]:
    """Fields of a record, and those of the `rare` ones that are set. JSON has no infinity: such a number is null."""
    fields = {name: to_json(getattr(record, name)) for name in names}
    fields |= {name: to_json(getattr(record, name)) for name in rare if getattr(record, name)}
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in fields.items()}


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        **_fields(finding, "code", "rule", "severity", "verdict", "message"),
        **to_json(finding.span),
        **_fields(finding, "symbol", "trace", "effects"),
        "evidence": [_evidence(evidence) for evidence in finding.evidence],
        **_fields(finding, "fix", "fingerprint", rare=("outside", "also")),
    }


def _evidence(evidence: Evidence) -> dict[str, Any]:
    rare = ("runtime", "reduced", "sides", "inputs", "graphs")
    return {
        **_fields(evidence, "model", "exporter", "variation", "symptom", "max_abs", "max_rel", "repro", rare=rare),
        **_fields(evidence, "cause", "detail", "frames"),
    }


def _model(model: ModelReport) -> dict[str, Any]:
    names = ("name", "path", "line", "status", "reason", "remedy", "declared")
    exporters = {name: _exporter(result) for name, result in model.exporters.items()}
    return {**_fields(model, *names, rare=("way", "assumed")), "exporters": exporters}


def _exporter(result: ExporterResult) -> dict[str, Any]:
    tried = [_fields(one, "variation", "result", "max_abs", "allowed", "output", "runtime") for one in result.tried]
    return {
        **_fields(result, "outcome", "detail", "location"),
        "seconds": round(result.seconds, 3),
        **_fields(result, rare=("latency",)),
        **({"tried": tried} if tried else {}),
    }


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
