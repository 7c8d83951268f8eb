"""What other programs read: each format against its published schema, GitHub's commands parsed back."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import jsonschema
import pytest
import report_samples as samples
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lxml import etree

import onnxlint.report
from onnxlint.base.records import Diagnostic, Evidence, Finding, Fix, Report, Severity, Span, Step, VerdictKind
from onnxlint.report import FORMATS, render

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


@REPORTS
def test_sarif_fits_the_published_schema_and_what_github_reads(name: str) -> None:
    run = as_sarif(samples.REPORTS[name])
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["message"]["text"]
        assert result["partialFingerprints"]
        for location in result["locations"]:
            artifact = location["physicalLocation"]["artifactLocation"]
            assert artifact["uriBaseId"] in run["originalUriBaseIds"]
            assert not re.match(r"[a-z]+:|/", artifact["uri"])
    for rule in rules:
        assert rule["help"]["markdown"]
        assert rule["shortDescription"]["text"]


def test_sarif_carries_the_trace_the_fix_and_the_contract() -> None:
    run = as_sarif(samples.REPORTS["whole"])
    (result,) = (r for r in run["results"] if r["ruleId"] == "ONX101")
    ((flow,),) = ([f["threadFlows"][0]["locations"] for f in result["codeFlows"]],)
    lines = [step["location"]["physicalLocation"]["region"]["startLine"] for step in flow]
    assert lines == [6, 3, 10, 10]
    (change,) = result["fixes"][0]["artifactChanges"]
    assert change["replacements"][0]["deletedRegion"] == {
        "startLine": 10,
        "startColumn": 9,
        "endLine": 12,
        "endColumn": 21,
    }
    assert "max abs error 0.43" in result["message"]["text"]
    assert "torch.where" in run["tool"]["driver"]["rules"][result["ruleIndex"]]["help"]["markdown"]


def test_sarif_tells_of_the_run_itself() -> None:
    (invocation,) = as_sarif(samples.REPORTS["diagnostics"])["invocations"]
    assert invocation["executionSuccessful"] is False
    levels = [note["level"] for note in invocation["toolExecutionNotifications"]]
    assert levels == ["error", "warning", "warning", "note"]


def test_sarif_paths_are_uris() -> None:
    odd = dataclasses.replace(samples.SUSPECTED, span=dataclasses.replace(samples.SUSPECTED.span, path="a b/ü%#?.py"))
    (result,) = as_sarif(Report(findings=(odd,)))["results"]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri.isascii()
    assert unquote(uri) == "a b/ü%#?.py"


def test_sarif_gives_an_absolute_path_as_a_file_uri() -> None:
    far = dataclasses.replace(samples.SUSPECTED, span=dataclasses.replace(samples.SUSPECTED.span, path="/opt/x.py"))
    (result,) = as_sarif(Report(findings=(far,)))["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": "file:///opt/x.py"}


def test_sarif_stays_within_the_number_of_results_that_github_takes() -> None:
    log = json.loads(machine(Report(findings=(samples.SUSPECTED,) * 25_003), "sarif"))
    (run,) = log["runs"]
    assert len(run["results"]) == 25_000
    (note,) = run["invocations"][0]["toolExecutionNotifications"]
    assert note["message"]["text"] == "3 findings are left out of this file."


COMMAND = re.compile(r"::(error|warning|notice) ([^\n]*?)::([^\n]*)")


def unescape(text: str) -> str:
    for code, char in (("%0A", "\n"), ("%0D", "\r"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, char)
    return text


@REPORTS
def test_github_commands_parse_back(name: str) -> None:
    report = samples.REPORTS[name]
    *commands, last = machine(report, "github").splitlines()
    assert not last.startswith("::")
    for command in commands:
        parsed = COMMAND.fullmatch(command)
        assert parsed is not None
        fields = dict(field.split("=", 1) for field in parsed[2].split(","))
        assert set(fields) <= {"file", "line", "endLine", "col", "endColumn", "title"}
        assert parsed[3]
    assert len(commands) >= len(report.findings) + len(report.diagnostics)


def test_github_escapes_what_would_end_a_field() -> None:
    path = "a,b:c%.py"
    odd = dataclasses.replace(samples.SUSPECTED, span=dataclasses.replace(samples.SUSPECTED.span, path=path))
    command = machine(Report(findings=(odd,)), "github").splitlines()[0]
    parsed = COMMAND.fullmatch(command)
    assert parsed is not None
    assert unescape(dict(field.split("=", 1) for field in parsed[2].split(","))["file"]) == path


@REPORTS
def test_concise_lines_match_an_editors_pattern(name: str) -> None:
    report = samples.REPORTS[name]
    pattern = re.compile(
        r"(?P<file>.+?):(?P<line>\d+):(?P<column>\d+): (?P<code>ONX\d{3}) (?P<message>.+) \[(?P<v>[a-z-]+)\]"
    )
    matched = [m for line in machine(report, "concise").splitlines() if (m := pattern.fullmatch(line))]
    assert len(matched) == len(report.findings)
    assert {m["v"] for m in matched} <= set(VerdictKind)


anything = st.text(max_size=20)
odd = st.text(st.characters(exclude_categories=()), max_size=20)  # lone surrogates as well


@settings(max_examples=150, deadline=None)
@given(odd, anything, odd, odd, st.floats(), st.sampled_from(FORMATS))
@example("\ufffe\U0001ffff\ufdd0", "\uffff", "\uffff", "\uffff", 1.0, "junit")
def test_no_text_from_outside_breaks_a_format(
    message: str, path: str, symbol: str, detail: str, size: float, format: str
) -> None:
    seen: Evidence = dataclasses.replace(samples.UNEXPLAINED.evidence[0], detail=detail, variation=detail, max_abs=size)
    finding: Finding = dataclasses.replace(
        samples.UNEXPLAINED,
        message=message,
        span=dataclasses.replace(samples.UNEXPLAINED.span, path=path or "m.py"),
        symbol=symbol,
        trace=(Step(path or "m.py", 1, message),),
        fix=Fix(message),
        evidence=(seen,),
    )
    report = Report(findings=(finding,), files=1)
    page = machine(report, format)
    page.encode()
    readers: dict[str, Callable[[Report], object]] = {
        **{"json": as_json, "sarif": as_sarif, "rdjson": as_rdjson, "gitlab": as_gitlab, "junit": as_junit}
    }
    if format in readers:
        readers[format](report)
    else:
        assert page.endswith("no model probed; 0.0 s\n")
        assert "\x1b" not in page
        assert "\r" not in page


SPACED = "a  b\t%0A: ,\u00fc.py"


def placed(path: str) -> Report:
    return Report((at(path, Span(path, 3, 1, 3, 5)),))


def test_a_path_is_the_name_of_the_file_whatever_is_in_it() -> None:
    assert as_gitlab(placed(SPACED))[0]["location"]["path"] == SPACED
    assert as_rdjson(placed(SPACED))[0]["location"]["path"] == SPACED
    assert as_gitlab(placed("a\udcff.py"))[0]["location"]["path"] == "a\\udcff.py"
    assert machine(placed("a  b.py"), "concise").startswith("a  b.py:3:1: ONX101 ")
    assert "--> a  b.py:3:1" in machine(placed("a  b.py"), "full")


def test_no_path_is_a_command_of_a_log_on_github() -> None:
    path = "::error file=x,line=1::forged.py"
    for format in ("concise", "full"):
        assert not re.search(r"^\s*::", machine(placed(path), format), re.MULTILINE)
    assert machine(placed(path), "concise").startswith(f"./{path}:3:1: ")


@pytest.mark.parametrize(("format", "variable"), [("github", "GITHUB_WORKSPACE"), ("gitlab", "CI_PROJECT_DIR")])
def test_a_path_begins_at_the_checkout(
    format: str, variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "packages/a").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "packages/a")
    monkeypatch.setenv(variable, str(tmp_path))
    path = "packages/a/src/m.py"
    assert path in machine(placed("src/m.py"), format)
    assert path in machine(placed(str(tmp_path / path)), format)
    far = machine(placed("/opt/m.py"), format)
    assert "/opt/m.py" in far
    assert "../" not in far
    if format == "github":
        (result,) = as_sarif(placed("src/m.py"))["results"]
        assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == path
    monkeypatch.setenv(variable, str(tmp_path / "elsewhere"))
    assert path not in machine(placed("src/m.py"), format)


def test_github_shows_the_worst_and_says_that_it_does_not_show_all() -> None:
    mild = [dataclasses.replace(samples.SUSPECTED, span=Span(f"a{i}.py", 1, 1, 1, 2)) for i in range(12)]
    worst = dataclasses.replace(samples.CONFIRMED, span=Span("z.py", 1, 1, 1, 2))
    fault = Diagnostic("error", "the file does not parse", "zz.py", 1)
    first, *rest = machine(Report((*mild, worst), diagnostics=(fault,)), "github").splitlines()
    assert (
        first
        == "::notice title=onnxlint::GitHub shows 10 errors and 10 warnings of a step; all 14 lines are in its log."
    )
    assert ["file=zz.py" in line for line in rest[:2]] == [True, False]
    assert "file=z.py" in rest[1]
    few = machine(Report(tuple(mild[:10])), "github")
    assert "GitHub shows" not in few


def as_rdjson(report: Report) -> list[dict[str, Any]]:
    result = json.loads(machine(report, "rdjson"))
    RDJSON.validate(result)
    return list(result["diagnostics"])


@REPORTS
def test_rdjson_fits_the_published_schema(name: str) -> None:
    told = as_rdjson(samples.REPORTS[name])
    assert all(d["message"] and d["severity"] in ("ERROR", "WARNING", "INFO") for d in told)
    assert len([d for d in told if "code" in d]) == len(samples.REPORTS[name].findings)


def test_rdjson_counts_columns_in_bytes() -> None:
    (found,) = (d for d in as_rdjson(Report((at("src/models/wide.py", Span("src/models/wide.py", 3, 13, 3, 22)),))))
    line = samples.sources("src/models/wide.py")[2].encode()
    where = found["location"]["range"]
    assert line[where["start"]["column"] - 1 : where["end"]["column"] - 1].decode() == "view(4, -"
    (found,) = as_rdjson(Report((at("gone.py", Span("gone.py", 3, 10, 3, 14)),)))
    assert found["location"]["range"] == {"start": {"line": 3}}


def test_rdjson_suggests_the_lines_of_a_fix() -> None:
    (found,) = (d for d in as_rdjson(samples.REPORTS["whole"]) if d.get("code", {}).get("value") == "ONX101")
    (suggestion,) = found["suggestions"]
    assert suggestion["range"] == {"start": {"line": 10}, "end": {"line": 12}}
    assert suggestion["text"] == "        return torch.where(n > 0, h * 2, h * 3)"
    assert [place["location"]["range"]["start"]["line"] for place in found["related_locations"]] == [6, 3, 10]


def as_gitlab(report: Report) -> list[dict[str, Any]]:
    issues: list[dict[str, Any]] = json.loads(machine(report, "gitlab"))
    GITLAB.validate(issues)
    return issues


@REPORTS
def test_gitlab_gets_what_it_documents(name: str) -> None:
    issues = as_gitlab(samples.REPORTS[name])
    assert len({issue["fingerprint"] for issue in issues}) == len(issues)
    assert all(not issue["location"]["path"].startswith(("/", "./")) for issue in issues)


def test_gitlab_tells_alike_findings_apart_and_keeps_what_it_called_them() -> None:
    one = at("m.py", Span("m.py", 3, 1, 3, 5))
    alone, both = as_gitlab(Report((one,))), as_gitlab(Report((one, at("m.py", Span("m.py", 9, 1, 9, 5)))))
    assert alone[0]["fingerprint"] == both[0]["fingerprint"] != both[1]["fingerprint"]


def test_gitlab_says_how_bad_it_is() -> None:
    severities = {issue["check_name"]: issue["severity"] for issue in as_gitlab(samples.REPORTS["whole"])}
    assert severities["ONX101"] == "critical"


def as_junit(report: Report) -> etree._Element:
    root = etree.fromstring(machine(report, "junit").encode())
    JUNIT.assertValid(root)
    return root


@REPORTS
def test_junit_fits_the_schema_of_jenkins(name: str) -> None:
    report = samples.REPORTS[name]
    root = as_junit(report)
    cases = root.findall("testsuite/testcase")
    assert int(root.get("tests")) == len(cases) > 0
    assert int(root.get("failures")) == len(root.findall("testsuite/testcase/failure"))
    for finding in report.findings:
        failed = [c for c in cases if str(c.get("name")).startswith(f"{finding.code} ")]
        assert any(c.find("failure") is not None for c in failed) or finding.severity is Severity.NOTE


def test_junit_has_a_case_for_each_model_and_exporter() -> None:
    models = as_junit(samples.REPORTS["whole"]).find("testsuite[@name='models']")
    assert models is not None
    found = {(c.get("classname"), c.get("name")): [child.tag for child in c] for c in models}
    assert found["src.models.gate:Gate", "TorchScript"] == ["failure"]
    assert ["skipped"] in found.values()


def test_hostile_text_stays_text_in_xml() -> None:
    hostile = dataclasses.replace(samples.CONFIRMED, message="]]><x>&\x1b[31m\x00\ud800", symbol="<a b='\u2028'>")
    (case,) = as_junit(Report((hostile,))).findall("testsuite[1]/testcase")
    assert "<x>&" in str(case.find("failure").get("message"))


def at(path: str, span: Span) -> Finding:
    return dataclasses.replace(samples.CONFIRMED, span=span, fix=None, trace=())
