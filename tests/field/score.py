"""What maintainers would make of the static pass: findings on public repositories, held against labels of a reader.

`labels.jsonl` judges findings: `true` (a hazard on an exported path, at the right line, for the right reason),
`unhelpful` (literally so, but in training, dead or never exported code, or one cause told again) or `false`.
`missed.jsonl` lists hazards that were not reported when the labels were made. The repositories, at the commits of
`repositories.jsonl`, are not kept here: check each out as `FOLDER/NAME`. Labels with `drawn` are of draws of
repositories that nothing had been mended for: 75 of 109 shown findings true in the first, 23 of 62 in the second, 15 of
30 in the third, 52 of 91 in the fourth, 27 of 40 in the fifth, 16 of 53 in the sixth (17 false, most of them of two
causes), 41 of 130 in the seventh (71 unhelpful, 52 of the 130 in one repository), each made after most classes of those
before it had been mended. Of the eighth, eight repositories of vision have 16 of 32 true (14 unhelpful, 2 false), eight
of speech, audio, robotics, video, text, point clouds and recommendation 10 of 54 (31 unhelpful, 13 false, 25 of the 54
in one repository). Of the ninth, four of vision have 5 of 16 (11 unhelpful, 10 of them in one vendored folder), four of
speech, medicine and time series 12 of 26 (11 unhelpful, 3 false). Of the tenth, ten repositories of vision, speech and
detection have 19 of 69 true (34 unhelpful, 16 false), ten more 36 of 160 (77 unhelpful, 47 false, 116 of the 160 in two
repositories of speech synthesis). Of the eleventh, 25 repositories have 132 of 283 true (122 unhelpful, 29 false). Of
the twelfth, 28 repositories have 108 of 248 true (103 unhelpful, 37 false; 140 of the 248 in one repository of point
clouds), and 71 hazards missed, most of which an export showed. Of the thirteenth, made after these were mended as far
as they are, 15 repositories have 18 of 47 true (24 unhelpful, 5 false), and 5 hazards missed. Of the fourteenth, 16
repositories have 50 of 247 true (162 unhelpful, 35 false; 119 of the 247 in one repository of speech recognition). Of
the fifteenth, twelve repositories have 22 of 59 true (32 unhelpful, 18 of them in one repository, 5 false). Of the
seventeenth, thirteen repositories have 50 of 79 true (27 unhelpful, 2 false), two toolkits of speech and of text 42 of
143 (86 unhelpful, 15 false). Of the eighteenth, 16 repositories have 42 of 101 true (45 unhelpful, 17 of them losses in
one repository, 14 false), and 20 hazards missed. Of the nineteenth, 22 repositories have 41 of 56 true (11 unhelpful,
4 false), and 16 hazards missed. Of the twentieth, 15 repositories have 19 of 40 true (13 unhelpful, 8 false), and 13
hazards missed. Of the twenty-first, 16 repositories have 22 of 47 true (22 unhelpful, 7 of one cause, 3 false), and 20
hazards missed. Of the twenty-second, 15 repositories have 29 of 58 true (23 unhelpful, 6 false), and 12 hazards missed;
six of them show nothing. Of the twenty-third, twelve repositories have 15 of 26 true (9 unhelpful, 2 false), and were
not searched for what is missed; four of them show nothing. Of the twenty-fourth, eleven repositories have 16 of 26 true
(5 unhelpful, 5 false, 3 of them of one cause), and 10 hazards missed; four of them show nothing. Of the twenty-fifth,
25 repositories (some of them without most of their code) have 25 of 53 true (23 unhelpful, 15 of them
in one layer that only training calls, 5 false); they were judged by reading alone, and not searched for what is missed.
So were all that follow: of the twenty-sixth, ten repositories have 18 of 37 true (17 unhelpful, 2 false of one
cause); of the twenty-seventh, nine have 16 of 40 (16 unhelpful, 8 false, 6 of them of one cause); of the twenty-eighth,
eight have 17 of 25 (8 unhelpful). Ten of the 27 show nothing. From the twenty-ninth on, repositories are drawn that
hold an export script, from the list of all that have a file of such a name (`export_onnx.py`, `tools/export_onnx.py`,
`torch2onnx.py`, ...), and from the thirtieth on each finding is judged by somebody who has no part in the rules. Of
the twenty-ninth, 21 have 31 of 40 true (9 unhelpful); of the thirtieth, 20 have 37 of 97 (51 unhelpful, 9 false, 23
of the 97 in one repository); of the thirty-first, 16 have 30 of 80 (45 unhelpful, 5 false); of the thirty-second, 19
have 13 of 31 (17 unhelpful, 8 of them of one cause, 1 false); of the thirty-third, 14 have 18 of 22 (4 unhelpful); of
the thirty-fourth, 17 have 36 of 67 (26 unhelpful, 5 false); of the thirty-fifth, 16 have 27 of 48 (19 unhelpful, 2
false, 28 of the 48 in one repository). Of these 123, 26 show nothing.

    python tests/field/score.py FOLDER [--onnxlint COMMAND]
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
NEAR = 3  # lines that a finding may have moved
LABELS = ("true", "unhelpful", "false")
Row = dict[str, Any]


def rows(name: str) -> list[Row]:
    """The rows of a file beside this one."""
    return [json.loads(line) for line in (HERE / name).read_text(encoding="utf-8").splitlines()]


def shown(folder: Path, command: Sequence[str]) -> list[Row]:
    """The findings of a repository that a run shows. Raises ValueError where the run prints no JSON."""
    asked = [*command, "check", "--static-only", "--isolated", "--output-format", "json", "."]
    done = subprocess.run(asked, cwd=folder, capture_output=True, text=True, check=False)
    return [f for f in json.loads(done.stdout)["findings"] if f["severity"] != "note"]


def judged(findings: Sequence[Row], labels: Sequence[Row]) -> tuple[Counter[str], list[Row]]:
    """How many findings have each label, nearest lines first and each label once; and those without one."""
    pairs = [
        (abs(f["line"] - label["line"]), i, j)
        for i, f in enumerate(findings)
        for j, label in enumerate(labels)
        if (f["path"], f["code"]) == (label["file"], label["code"]) and abs(f["line"] - label["line"]) <= NEAR
    ]
    match: dict[int, int] = {}
    for _, i, j in sorted(pairs):
        if i not in match and j not in match.values():
            match[i] = j
    return Counter(labels[j]["label"] for j in match.values()), [f for i, f in enumerate(findings) if i not in match]


def hit(missed: Row, findings: Iterable[Row]) -> bool:
    """True where a finding stands at a hazard that was missed."""
    last = missed.get("end_line", missed["line"])
    return any(f["path"] == missed["file"] and missed["line"] - NEAR <= f["line"] <= last + NEAR for f in findings)


def main() -> None:
    """Print a row for each repository, and the sums."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--onnxlint", default="onnxlint")
    asked = parser.parse_args()
    labels, missed = rows("labels.jsonl"), rows("missed.jsonl")
    total: Counter[str] = Counter()
    print(f"{'':36}{'shown':>7}{'true':>6}{'unhelpful':>11}{'false':>7}{'unjudged':>10}   missed, now found")
    for name in [row["name"] for row in rows("repositories.jsonl")]:
        if not (asked.folder / name).is_dir():
            print(f"{name:36} not in {asked.folder}")
            continue
        findings = shown(asked.folder / name, shlex.split(asked.onnxlint))
        count, new = judged(findings, [row for row in labels if row["repo"] == name])
        hazards = [row for row in missed if row["repo"] == name]
        count += Counter(shown=len(findings), unjudged=len(new), missed=len(hazards))
        count["reported"] = sum(hit(row, findings) for row in hazards)
        total += count
        _print(name, count)
    _print("all", total)


def _print(name: str, count: Counter[str]) -> None:
    known = "".join(f"{count[label]:>{width}}" for label, width in zip(LABELS, (6, 11, 7), strict=True))
    print(f"{name:36}{count['shown']:>7}{known}{count['unjudged']:>10}   {count['reported']} of {count['missed']}")


if __name__ == "__main__":
    main()
