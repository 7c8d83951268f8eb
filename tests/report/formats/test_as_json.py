"""The JSON report fits its own schema, and holds what others rely on."""

from __future__ import annotations

import json

import jsonschema
import report_samples as samples
from format_readers import OUR_SCHEMA, OURS, REPORTS, as_json


def test_our_own_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(OUR_SCHEMA)


@REPORTS
def test_json_fits_its_schema(name: str) -> None:
    report = samples.REPORTS[name]
    data = as_json(report)
    assert [f["code"] for f in data["findings"]] == [
        f.code for f in sorted(report.findings, key=lambda f: (f.span.path, f.span.line, f.span.column))
    ]


def test_json_holds_every_key_that_others_rely_on() -> None:
    data = as_json(samples.REPORTS["whole"])
    assert set(data) == {"schema", "tool", "findings", "models", "diagnostics", "summary"}
    (finding,) = (f for f in data["findings"] if f["code"] == "ONX101")
    assert (finding["path"], finding["line"], finding["column"]) == ("src/models/gate.py", 10, 12)
    assert (finding["end_line"], finding["end_column"]) == (10, 17)
    assert finding["effects"] == {"torchscript": "wrong-values", "dynamo": "export-error"}
    assert finding["evidence"][0]["max_abs"] == 0.43
    assert finding["fix"]["edits"][0]["start"] == [10, 9]
    assert finding["fingerprint"] == samples.CONFIRMED.fingerprint
    (model,) = (m for m in data["models"] if m["name"] == "src.models.gate:Gate")
    assert model["exporters"]["dynamo"]["location"]["line"] == 10
    assert data["summary"]["not_reproduced"] == 1


def test_json_of_a_static_run_says_null_for_what_was_not_used() -> None:
    assert as_json(samples.REPORTS["static-nothing"])["tool"] == {
        "version": "0.1.0",
        "torch": None,
        "onnx": None,
        "onnxruntime": None,
    }


def test_json_writes_null_for_numbers_that_are_not_finite() -> None:
    (finding,) = as_json(samples.REPORTS["unexplained"])["findings"]
    assert finding["evidence"][0]["max_abs"] is None


def test_the_schema_refuses_what_it_should() -> None:
    data = as_json(samples.REPORTS["whole"])
    for path, value in ((("verdict",), "sure"), (("line",), 0), (("fingerprint",), "x"), (("evidence",), None)):
        broken = json.loads(json.dumps(data))
        broken["findings"][0][path[0]] = value
        assert not OURS.is_valid(broken)
    confirmed = next(i for i, f in enumerate(data["findings"]) if f["verdict"] == "confirmed")
    data["findings"][confirmed]["severity"] = "warning"
    assert not OURS.is_valid(data)
