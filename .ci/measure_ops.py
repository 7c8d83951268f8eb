"""Measure which operators each exporter lowers, and whether ONNX Runtime then agrees with eager.

    pip install expecttest                       # torch's own operator samples need it
    nice -n 19 python .ci/measure_ops.py         # an estimated half hour on an idle core; resumes
    python .ci/measure_ops.py --only linalg.inv  # print one operator's samples

Every operator of torch's `op_db`, its in-place form and every module of `module_db` is called on a few of torch's own
samples, and on those of `ops_samples.py`; then exported, loaded and run, in one child process that is replaced when an
operator crashes it or runs out of time. Raw results go to `--cache`, one JSON line per operator; what
`.ci/generate_ops.py` needs of them goes to `.ci/ops_measured/VERSION.json`, in which a row that is as with an earlier
torch names that version instead.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import select
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
CACHE = Path(tempfile.gettempdir()) / "onnxlint_ops_measured.jsonl"
MEASURED = HERE / "ops_measured"
LITERAL = re.compile(r"True|False|None|'[\w-]+'")  # arguments worth a condition of their own
UNKNOWN = ("UnsupportedOperatorError", "No decompositions registered")  # no dtype changes these
WHY = 200  # characters kept of a reason
TIMEOUT = 120.0  # seconds for all the samples of one operator
TYPED = ("int64:", "bool:")  # identities of the samples with other dtypes than an operator's first


# ---------------------------------------------------------------- the parent


def supervise(wanted: list[str], cache: Path, timeout: float) -> None:
    """Measure every operator of `wanted` that `cache` lacks, one child at a time, and append to `cache`."""
    done = {row["id"]: row for row in read(cache)} if cache.exists() else {}
    queue = [name for name in wanted if name not in done]
    child: subprocess.Popen[str] | None = None
    with cache.open("a") as out:
        for position, name in enumerate(queue):
            if name.startswith(TYPED) and not dtype_matters(done.get(f"op:{name.partition(':')[2]}")):
                continue
            child = child if child is not None and child.poll() is None else start()
            row = ask(child, name, timeout)
            if row is None:
                cause = "timeout" if child.poll() is None else f"exit {child.returncode}"
                child.kill()
                child.wait()
                row = {"id": name, "crash": cause, "samples": []}
            done[name] = row
            out.write(json.dumps(row) + "\n")
            out.flush()
            sys.stderr.write(f"{position + 1}/{len(queue)} {name}\n")
    if child is not None:
        child.kill()
        child.wait()


def read(cache: Path) -> list[dict[str, Any]]:
    """The raw results so far."""
    return [json.loads(line) for line in cache.read_text(encoding="utf-8").splitlines()]


def dtype_matters(row: dict[str, Any] | None) -> bool:
    """Whether an exporter failed on every sample of an operator's first dtype, and not for not knowing the operator."""
    samples = row["samples"] if row else []
    for exporter in ("torchscript", "dynamo"):
        seen = [s[exporter] for s in samples if exporter in s]
        if all(s[0] != "ok" for s in seen) and not all(any(u in s[1] for u in UNKNOWN) for s in seen):
            return True
    return False


def start() -> subprocess.Popen[str]:
    """Start a child that reads names of operators and writes a line of JSON for each."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", __file__, "--child"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment, bufsize=1,
    )  # fmt: skip


def ask(child: subprocess.Popen[str], name: str, timeout: float) -> dict[str, Any] | None:
    """The child's answer for one operator; None if it died or took longer than `timeout` seconds."""
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        child.stdin.write(name + "\n")
        child.stdin.flush()
    except BrokenPipeError:
        return None
    ready, _, _ = select.select([child.stdout], [], [], timeout)
    line = child.stdout.readline() if ready else ""
    if not line:
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(1 if ready else 0.01)
        return None
    answer: dict[str, Any] = json.loads(line)
    return answer


# ---------------------------------------------------------------- the summary


def summarise(cache: Path) -> dict[str, Any]:
    """Public name → what was seen of it: flags, and per exporter the outcomes, the lowest opset, conditions."""
    samples: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in read(cache):
        shaped = [s for s in row["samples"] if "rank 0>" not in next(iter(s["call"].values()), "")]
        for name in row.get("names", ()):
            samples[name] += shaped or row["samples"]  # a scalar tensor is a corner case, unless all are
    return {name: summary(found) for name, found in sorted(samples.items()) if found}


def write(rows: dict[str, Any], version: str) -> None:
    """Write what was seen with a torch, one public name to a line: the version before where that saw the same."""
    earlier = rows_until(version, itself=False)
    for name, row in rows.items():
        if name in earlier and outcomes(earlier[name]) == outcomes(row):
            rows[name] = earlier[name]["with"]
    text = ",\n".join(f" {json.dumps(n)}: {json.dumps(plain(row), sort_keys=True)}" for n, row in rows.items())
    (MEASURED / f"{minor(version)}.json").write_text("{\n" + text + "\n}\n", encoding="utf-8")


def plain(row: Any) -> Any:
    """A row without the version that it was measured with; that is the file's."""
    return {key: value for key, value in row.items() if key != "with"} if isinstance(row, dict) else row


def outcomes(row: dict[str, Any]) -> dict[str, Any]:
    """A row without the words of the exporters and the number of the samples, which change from version to version."""
    cells: dict[str, Any] = {key: cell for key, cell in row.items() if key != "with"}
    for key in ("torchscript", "dynamo"):
        if key in cells:
            cells[key] = {n: sorted(v) if n == "outcomes" else v for n, v in cells[key].items() if n != "why"}
    return cells


def rows_until(version: str, itself: bool = True) -> dict[str, Any]:
    """The newest row of each public name up to a version of torch, `with` the version that it was measured with."""
    rows: dict[str, Any] = {}
    for path in sorted(MEASURED.glob("*.json"), key=lambda path: number(path.stem)):
        if number(path.stem) < number(version) or (itself and path.stem == minor(version)):
            found = json.loads(path.read_text(encoding="utf-8"))
            rows.update({name: row | {"with": path.stem} for name, row in found.items() if isinstance(row, dict)})
    return rows


def minor(version: str) -> str:
    """`2.13` of `2.13.0+cpu`."""
    return ".".join(version.split(".")[:2])


def number(version: str) -> tuple[int, ...]:
    """Major and minor number, which sort."""
    return tuple(map(int, minor(version).split(".")))


def summary(samples: list[dict[str, Any]]) -> dict[str, Any]:
    """What the samples of one public name amount to."""
    out: dict[str, Any] = {flag: True for flag in ("complex", "random") if any(s.get(flag) for s in samples)}
    if all(s.get("view") for s in samples):
        out["view"] = True
    for exporter in ("torchscript", "dynamo"):
        seen = [(s["call"], *s[exporter]) for s in samples if exporter in s]
        if not seen:
            continue
        outcomes = Counter(outcome for _, outcome, _, _ in seen)
        cell: dict[str, Any] = {"outcomes": dict(sorted(outcomes.items()))}
        lowest = [opset for _, outcome, _, opset in seen if outcome == "ok"] or [o for *_, o in seen if o is not None]
        cell["lowest"] = min(lowest, default=None)
        if failures := [(outcome, detail) for _, outcome, detail, _ in seen if outcome != "ok"]:
            outcome, detail = Counter(failures).most_common(1)[0][0]
            cell["why"] = f"{outcome}: {' '.join(detail.split())}"[:WHY]
        if found := conditions([(s["call"], s[exporter][0]) for s in samples if exporter in s and not s.get("apart")]):
            cell["unless"] = found
        out[exporter] = cell
    return out


def conditions(seen: list[tuple[dict[str, str], str]]) -> list[list[str]]:
    """[argument, outcome] for the arguments that alone tell a failing sample from all that worked.

    Calls name the arguments that differ from their defaults. An argument that no working sample gives is told by
    name, or as `name=value` where it always had that literal; one that they do give, as `name=value` only. Where a
    call fails for reasons that no argument shows, it says nothing about calls that add arguments to it.
    """
    good = [call for call, outcome in seen if outcome == "ok"]
    if not good:
        return []
    given = {name for call in good for name in call}
    fine = {pair for call in good for pair in call.items()}
    bad = []
    for call, outcome in seen:
        if outcome != "ok":
            novel = {n for n, v in call.items() if n not in given or (LITERAL.fullmatch(v) and (n, v) not in fine)}
            bad.append((call, outcome, {n for n in novel if " " not in n and n not in (next(iter(call)), "module")}))
    unexplained = [call for call, _, suspects in bad if not suspects]
    values: dict[str, set[str]] = defaultdict(set)
    outcomes: dict[str, str] = {}
    for call, outcome, suspects in bad:
        for name in suspects:
            values[name].add(call[name])
        if len(suspects) == 1 and not any(other.items() <= call.items() for other in unexplained):
            outcomes.setdefault(min(suspects), outcome)
    found = []
    for name, outcome in outcomes.items():
        literal = all(LITERAL.fullmatch(v) for v in values[name]) and (len(values[name]) == 1 or name in given)
        found += [[f"{name}={v}", outcome] for v in sorted(values[name])] if literal else [[name, outcome]]
    return sorted(found)


# ---------------------------------------------------------------- the command line


def main() -> int:
    """Measure everything, or with --only print what one operator does."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--timeout", type=float, default=TIMEOUT, help="seconds for one operator")
    parser.add_argument("--only", help="an operator's name as torch's op_db spells it, or a module's")
    parser.add_argument("--summary", action="store_true", help="only summarise what the cache holds")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.summary:
        write(summarise(arguments.cache), version("torch"))
        return 0
    import ops_export

    if arguments.child:
        ops_export.serve()
        return 0
    known = ops_export.subjects()
    if arguments.only:
        ops_export.prepare()
        chosen = [i for i in known if i.partition(":")[2].split("..")[0] == arguments.only]
        for identity in chosen:
            sys.stdout.write(json.dumps(ops_export.measure(identity, known[identity]), indent=1) + "\n")
        return 0 if chosen else 1
    supervise(list(known), arguments.cache, arguments.timeout)
    write(summarise(arguments.cache), version("torch"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
