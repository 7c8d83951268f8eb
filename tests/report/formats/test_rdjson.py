"""What reviewdog reads: columns in bytes, and the lines of a fix."""

from __future__ import annotations

import report_samples as samples
from format_readers import REPORTS, as_rdjson, at

from onnxlint.base.records import Diagnostic, Report, Span


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


def test_models_and_faults_are_told_with_their_places() -> None:
    faults = (Diagnostic("error", "does not parse", "two words.py", 3), Diagnostic("warning", "no torch"))
    models = (samples.GOOD, samples.UNPROBED, *samples.REPORTS["failures"].models)
    told = as_rdjson(Report(models=models, diagnostics=faults))
    assert [(d["severity"], d["location"].get("path")) for d in told] == [
        ("INFO", "src/models/wide.py"),
        ("ERROR", "src/models/huge.py"),
        ("ERROR", "src/models/huge.py"),
        ("ERROR", "two words.py"),
        ("WARNING", None),
    ]
    assert told[2]["location"]["range"] == {"start": {"line": 31}}
