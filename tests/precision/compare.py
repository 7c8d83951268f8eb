"""Hold the static findings against evidence: `python compare.py STATIC.json [MODEL...]`.

STATIC.json is the output of `onnxlint check --static-only --output-format json` over the installed transformers. Each
model of zoo/ is probed by itself, one process after the other. architectures.json gets, for each exporter that does not
agree with eager, the line at fault, and the rules that object to something in the function around it. Where no rule
does, the static pass missed it: such a cell keeps the explanation that somebody wrote there.
"""

from __future__ import annotations

import json
import linecache
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from onnxlint.base.paths import package_path

HERE = Path(__file__).parent
RESULTS = HERE / "architectures.json"

Record = dict[str, Any]


def probed(name: str) -> Record:
    """What `onnxlint check` makes of one model."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "report.json")
        command = [sys.executable, "-m", "onnxlint", "check", ".", "--model", name, "--output-format", "json"]
        command += ["--output-file", str(out), "--repro-dir", folder, "--no-cache"]
        subprocess.run(command, cwd=HERE / "zoo", check=False, capture_output=True)
        report: Record = json.loads(out.read_text(encoding="utf-8"))
    (model,) = (m for m in report["models"] if m["name"] == name)
    return model


def cell(found: Record, static: list[Record], before: Record) -> Record:
    """What one exporter made of a model, and what the static pass says of the function at fault."""
    place = found["location"]
    if place is None:
        return {"outcome": found["outcome"]}
    path, function = package_path(place["path"]), place["function"]
    near = [f for f in static if package_path(f["path"]) == path and f["symbol"].endswith(f".{function}")]
    told = sorted({f["code"] for f in near})
    record = {
        "outcome": found["outcome"],
        "file": path,
        "function": function,
        "source": linecache.getline(place["path"], place["line"]).strip(),
        "static": told,
    }
    return record if told else {**record, "why": before.get("why", "")}


def main() -> None:
    """Probe the models named, or all of them, and write what was found."""
    static = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["findings"]
    names = [m["factory"] for m in tomllib.loads((HERE / "zoo/onnxlint.toml").read_text(encoding="utf-8"))["models"]]
    results: Record = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for name in sys.argv[2:] or names:
        model = probed(name)
        before = results.get(name, {})
        results[name] = {
            exporter: cell(found, static, before.get(exporter, {})) for exporter, found in model["exporters"].items()
        } or {"status": model["status"], "reason": model["reason"]}
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
