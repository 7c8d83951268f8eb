"""Draw a sample of the findings on public packages, to be judged by hand: `python draw.py REPORT... --seed N`.

Each report is the output of `onnxlint check --static-only --output-format json` over an installed package. A finding
counts where it is shown by default: errors, warnings, and such notes as the default output holds (at present none).
The scheme: of `--size` findings a package's share goes with the square root of how many it has, so that the largest
does not drown the others; within a package the draw is uniform, over rules and levels alike. Nothing is left out, and
a finding judged in an earlier draw (verdicts.json holds all of them) keeps its verdict when it is drawn again.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from collections import defaultdict
from importlib import metadata
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SAMPLE = HERE / "sample.json"
VERDICTS = HERE / "verdicts.json"

Record = dict[str, Any]


def key(finding: Record) -> tuple[str, str, int]:
    """What makes a finding of one version of a package the same in two runs: rule, path and line."""
    return finding["code"], finding["path"], finding["line"]


def findings(reports: list[Path]) -> list[Record]:
    """What the reports hold, one record for each rule and line, with paths from the packages' folder on."""
    found = {}
    for report in reports:
        for f in json.loads(report.read_text(encoding="utf-8"))["findings"]:
            path = f["path"].rpartition("site-packages/")[2]
            kept = {name: f[name] for name in ("code", "severity", "line", "message", "effects")}
            record = {"package": path.partition("/")[0], "path": path, **kept}
            found.setdefault(key(record), record)
    return [found[k] for k in sorted(found)]


def draw(found: list[Record], size: int, seed: int) -> list[Record]:
    """At least `size` findings, by the square root of each package's number of them; uniform within a package."""
    by_package: dict[str, list[Record]] = defaultdict(list)
    for f in found:
        by_package[f["package"]].append(f)
    whole = sum(math.sqrt(len(mine)) for mine in by_package.values())
    generator = random.Random(seed)
    chosen = []
    for _, mine in sorted(by_package.items()):
        chosen += generator.sample(mine, min(len(mine), math.ceil(size * math.sqrt(len(mine)) / whole)))
    return sorted(chosen, key=key)


def judged() -> dict[tuple[str, str, int], Record]:
    """Every verdict given so far, by finding."""
    return {key(f): f for f in json.loads(VERDICTS.read_text(encoding="utf-8"))["findings"]}


def main() -> None:
    """Write the sample, with a verdict of null where nobody has judged yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reports", nargs="+", type=Path)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--size", type=int, default=160)
    options = parser.parse_args()
    known = judged()
    sample = draw(findings(options.reports), options.size, options.seed)
    for f in sample:
        f["version"] = metadata.version(f["package"].replace("_", "-"))
        before = known.get(key(f))
        same = before is not None and before["version"] == f["version"]
        f["verdict"], f["reason"] = (before["verdict"], before["reason"]) if before and same else (None, None)
    SAMPLE.write_text(json.dumps({"seed": options.seed, "findings": sample}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
