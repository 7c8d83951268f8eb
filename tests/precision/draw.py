"""Draw the sample of findings on public packages that is judged by hand: `python draw.py REPORT.json... [--size N]`.

Each report is the output of `onnxlint check --static-only --output-format json` over an installed package. Findings at
warning or error level are drawn by code, so that every rule that fired is there, with a fixed seed. Verdicts given
before (in sample.json) are kept for a finding that is drawn again.
"""

from __future__ import annotations

import argparse
import json
import random
from importlib import metadata
from pathlib import Path
from typing import Any

SEED = 20
SAMPLE = Path(__file__).with_name("sample.json")


def findings(reports: list[Path]) -> list[dict[str, Any]]:
    """What the reports say at warning or error level, with paths from the packages' folder on."""
    found = []
    for report in reports:
        for f in json.loads(report.read_text(encoding="utf-8"))["findings"]:
            if f["severity"] != "note":
                path = f["path"].rpartition("site-packages/")[2]
                package = path.partition("/")[0]
                kept = {key: f[key] for key in ("code", "severity", "line", "message", "effects")}
                found.append({"package": package, "path": path, **kept})
    return sorted(found, key=lambda f: (f["code"], f["path"], f["line"]))


def draw(found: list[dict[str, Any]], size: int) -> list[dict[str, Any]]:
    """As many of each code as its share of all findings, and at least four (or all) of each."""
    chosen = []
    generator = random.Random(SEED)
    for code in sorted({f["code"] for f in found}):
        mine = [f for f in found if f["code"] == code]
        chosen += generator.sample(mine, min(len(mine), max(4, round(size * len(mine) / len(found)))))
    return sorted(chosen, key=lambda f: (f["code"], f["path"], f["line"]))


def main() -> None:
    """Write the sample, with a verdict of null where nobody has judged yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reports", nargs="+", type=Path)
    parser.add_argument("--size", type=int, default=120)
    options = parser.parse_args()
    known = {}
    if SAMPLE.exists():
        for f in json.loads(SAMPLE.read_text(encoding="utf-8")):
            known[f["code"], f["path"], f["line"]] = f["verdict"], f["reason"]
    sample = draw(findings(options.reports), options.size)
    for f in sample:
        f["version"] = metadata.version(f["package"].replace("_", "-"))
        f["verdict"], f["reason"] = known.get((f["code"], f["path"], f["line"]), (None, None))
    SAMPLE.write_text(json.dumps(sample, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
