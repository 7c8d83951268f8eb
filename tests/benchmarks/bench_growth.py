"""How the cost of the static pass grows with what it reads: families of programs at several sizes, one process each.

Each line: CPU seconds at every size (those of an empty file taken off), the exponent between the two largest sizes that
take long enough to tell, and the most memory. A family is marked where exponent or memory is above its limit, or
where the process was ended; one that the analysis cut, and said so, is within its limits whatever its exponent.
Usage: python tests/benchmarks/bench_growth.py [--sizes 300,1200,5000] [--format full,json,diff,baseline] [FAMILY ...]
"""

import argparse
import math
import os
import re
import resource
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from families import FAMILIES, Family

EXPONENT, MEMORY = 1.25, 500  # n log n is n to the 1.13 between 1200 and 5000; MB
NOISE = 0.25  # CPU seconds past those of an empty file, below which a size tells nothing
CPU, SPACE = 60, 2_000_000_000  # at most so many seconds and bytes for one run
CHECK = [sys.executable, "-m", "onnxlint", "check", "--static-only", "--isolated", "--no-cache", "--jobs", "1"]
FORMATS = {
    "full": [],
    "json": ["--output-format", "json"],
    "sarif": ["--output-format", "sarif"],
    "diff": ["--fix", "--unsafe-fixes", "--diff"],
    "baseline": ["--baseline", "baseline.json"],
}
CUT = re.compile(
    r"too many steps|too deeply|(?:is|are) left out|not analysed|could not be read in full|followed once only"
)


@dataclass(frozen=True)
class Took:
    """CPU seconds and MB of one run; `ended` where it did not come to its end, `cut` where it says what is left out."""

    cpu: float
    memory: float
    ended: str
    cut: bool


def run(family: Family, n: int, form: str) -> Took:
    """Check the program of one size."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path, text in family.program(n).items():
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
        command = [*CHECK, *FORMATS[form], *family.options(n), "."]
        if form == "baseline":
            _measured([*command, "--write-baseline"], folder)
        return _measured(command, folder)


def _measured(command: list[str], folder: Path) -> Took:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (CPU, CPU + 1))
        resource.setrlimit(resource.RLIMIT_AS, (SPACE, SPACE))

    with open(folder / ".said", "w+b") as said:
        started = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT, cwd=folder, preexec_fn=limit)
        _, status, usage = os.wait4(started.pid, 0)
        started.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        text = said.read().decode("utf-8", "replace")
    ended = f"ended by signal {-started.returncode}" if started.returncode < 0 else ""
    if started.returncode not in (0, 1, 2) or "Traceback" in text or "internal error" in text or "MemoryError" in text:
        ended = ended or "failed"
    return Took(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, ended, bool(CUT.search(text)))


def row(family: Family, sizes: list[int], form: str, empty: float) -> tuple[str, bool]:
    """Measure a family in one format: the line of the table, and whether it is within its limits."""
    took: dict[int, Took] = {}
    for n in sorted({min(n, family.most) for n in sizes}):
        took[n] = run(family, n, form)
        if took[n].ended:
            break
    told = {n: max(t.cpu - empty, 0.01) for n, t in took.items()}
    loud = [n for n in told if told[n] > NOISE or n == max(told)]
    pairs = [(a, b) for a, b in zip(told, list(told)[1:], strict=False) if a in loud or told[b] > 4 * NOISE]
    exponents = [math.log(told[b] / max(told[a], NOISE / 4)) / math.log(b / a) for a, b in pairs]
    last = took[max(took)]
    faults = [last.ended] if last.ended else []
    if exponents and exponents[-1] > EXPONENT and not last.cut and told[max(told)] > NOISE:
        faults.append("grows faster than n log n")
    if last.memory > MEMORY:
        faults.append("memory")
    times = " ".join(f"{n:>5}: {told[n]:6.2f}" for n in told)
    exponent = f"{exponents[-1]:5.2f}" if exponents else "    -"
    verdict = ", ".join(faults) or ("cut, and says so" if last.cut else "")
    return f"{family.name:38} {form:8} {times:42} {exponent} {last.memory:6.0f} MB  {verdict}", not faults


def main() -> int:
    """Print the table; 1 if a family is not within its limits."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("families", nargs="*", metavar="FAMILY")
    parser.add_argument("--sizes", default="300,1200,5000")
    parser.add_argument("--format", default="full,json,diff,baseline", help="but for full, of some families only")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    sizes = [int(n) for n in options.sizes.split(",")]
    chosen = [FAMILIES[name] for name in options.families] or list(FAMILIES.values())
    todo = [(f, form) for f in chosen for form in options.format.split(",") if form == "full" or f.formats]
    empty = min(run(Family("", lambda n: {"m.py": "import torch\n"}), 0, "full").cpu for _ in range(3))
    if subprocess.run([*CHECK, "--help"], capture_output=True, check=False).returncode:
        sys.exit("onnxlint does not run here: install it in the environment of this Python")
    print(f"{len(chosen)} families, {empty:.2f} s CPU for an empty file; exponent at most {EXPONENT}, {MEMORY} MB")
    broken = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for line, good in pool.map(lambda one: row(one[0], sizes, one[1], empty), todo):
            print(line, flush=True)
            broken += not good
    print(f"{broken} of {len(todo)} are not within their limits" if broken else "every family is within its limits")
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
