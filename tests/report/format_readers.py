"""Reports as other programs read them: rendered, parsed and held against the published schema of the format."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import report_samples as samples
from lxml import etree

import onnxlint.report
from onnxlint.base.records import Finding, Report, Span
from onnxlint.report import render

OUR_SCHEMA = json.loads((Path(onnxlint.report.__file__).parent / "schema.json").read_text(encoding="utf-8"))
SARIF_SCHEMA = json.loads((Path(__file__).parent / "schemas" / "sarif-2.1.0-rtm.5.json").read_text(encoding="utf-8"))
OURS = jsonschema.Draft202012Validator(OUR_SCHEMA)
SARIF = jsonschema.Draft4Validator(SARIF_SCHEMA)
SCHEMAS = Path(__file__).parent / "schemas"
RDJSON = jsonschema.Draft4Validator(json.loads((SCHEMAS / "rdjson.json").read_text(encoding="utf-8")))
GITLAB = jsonschema.Draft202012Validator(json.loads((SCHEMAS / "gitlab-code-quality.json").read_text(encoding="utf-8")))
JUNIT = etree.XMLSchema(etree.parse(SCHEMAS / "junit-10.xsd"))
REPORTS = pytest.mark.parametrize("name", sorted(samples.REPORTS))


def machine(report: Report, format: str) -> str:
    return render(
        report, format, color=False, width=80, show_all=True, sources=samples.sources, catalogue=samples.catalogue()
    )


def as_sarif(report: Report) -> dict[str, Any]:
    log: dict[str, Any] = json.loads(machine(report, "sarif"))
    SARIF.validate(log)
    (run,) = log["runs"]
    return dict(run)


def as_json(report: Report) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(machine(report, "json"))
    OURS.validate(data)
    return data


def placed(path: str) -> Report:
    return Report((at(path, Span(path, 3, 1, 3, 5)),))


def as_rdjson(report: Report) -> list[dict[str, Any]]:
    result = json.loads(machine(report, "rdjson"))
    RDJSON.validate(result)
    return list(result["diagnostics"])


def as_gitlab(report: Report) -> list[dict[str, Any]]:
    issues: list[dict[str, Any]] = json.loads(machine(report, "gitlab"))
    GITLAB.validate(issues)
    return issues


def as_junit(report: Report) -> etree._Element:
    root = etree.fromstring(machine(report, "junit").encode())
    JUNIT.assertValid(root)
    return root


def at(path: str, span: Span) -> Finding:
    return dataclasses.replace(samples.CONFIRMED, span=span, fix=None, trace=())
