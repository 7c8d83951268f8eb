"""The JSON report, version `onnxlint/1`: others read it, so it only ever grows. Its schema is schema.json."""

import math
from collections import Counter
from typing import Any

from onnxlint.base.records import OPENVINO, Finding, ModelReport, ModelStatus, Report, VerdictKind, to_json

SCHEMA = "onnxlint/1"

# The fields of a record that are public, in their order; one with a `?` is left out where it is empty.
_FINDING = """code rule severity verdict message path line column end_line end_column symbol trace effects evidence fix
    fingerprint outside? also?"""
_EVIDENCE = """model exporter variation symptom max_abs max_rel repro runtime? reduced? sides? inputs? graphs? cause
    detail frames proof?"""
_MODEL = "name path line status reason remedy declared way? assumed? exporters"
_RESULT = "outcome detail location seconds latency? tried?"
_TRIED = "variation result max_abs allowed output runtime"


def as_json(report: Report, whole: Report) -> dict[str, Any]:
    """Render `report`; the summary counts the findings of `whole`, hidden ones included."""
    return {
        "schema": SCHEMA,
        "tool": {
            "version": report.tool.get("onnxlint"),
            **{name: report.tool.get(name) for name in ("torch", "onnx", "onnxruntime")},
            **({OPENVINO: report.tool[OPENVINO]} if OPENVINO in report.tool else {}),
        },
        "findings": [_finding(finding) for finding in report.findings],
        "models": [_model(model) for model in report.models],
        "diagnostics": to_json(report.diagnostics),
        "summary": _summary(whole),
    }


def _finding(finding: Finding) -> dict[str, Any]:
    data = to_json(finding)
    data |= data["span"] | {"fingerprint": finding.fingerprint}
    data["evidence"] = [_public(evidence, _EVIDENCE) for evidence in data["evidence"]]
    return _public(data, _FINDING)


def _model(model: ModelReport) -> dict[str, Any]:
    data = to_json(model)
    for result in data["exporters"].values():
        result |= {"seconds": round(result["seconds"], 3), "tried": [_public(t, _TRIED) for t in result["tried"]]}
    data["exporters"] = {name: _public(result, _RESULT) for name, result in data["exporters"].items()}
    return _public(data, _MODEL)


def _public(data: dict[str, Any], fields: str) -> dict[str, Any]:
    """The named fields of a record. JSON has no infinity: a difference that is not finite is null there."""
    names = ((field.removesuffix("?"), field.endswith("?")) for field in fields.split())
    public = ((name, data[name]) for name, optional in names if data[name] or not optional)
    return {name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in public}


def _summary(report: Report) -> dict[str, Any]:
    tally = Counter(finding.verdict for finding in report.findings)
    return {
        "files": report.files,
        "models": len(report.models),
        "probed": sum(model.status is ModelStatus.PROBED for model in report.models),
        **{kind.value.replace("-", "_"): tally[kind] for kind in VerdictKind},
        "baseline": report.in_baseline,
        "fixed": sum(report.fixed.values()),
        "seconds": round(report.seconds, 3),
    }
