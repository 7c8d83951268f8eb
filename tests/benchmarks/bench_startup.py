"""How long `onnxlint --version` takes against `import click`, the least that a command line with click can cost.

Usage: python tests/benchmarks/bench_startup.py
"""

import statistics
import subprocess
import sys
import time

LIMIT = 2.0
REPEATS = 15
COMMANDS = {
    "import click": [sys.executable, "-c", "import click"],
    "onnxlint --version": [sys.executable, "-m", "onnxlint", "--version"],
}


def seconds(command: list[str]) -> float:
    """Return the wall time of one run."""
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def main() -> int:
    """Print the median of each and their ratio; 1 if it is above the limit."""
    for command in COMMANDS.values():
        seconds(command)  # the first run reads the disk and writes byte code
    rounds = [[seconds(command) for command in COMMANDS.values()] for _ in range(REPEATS)]
    medians = dict(zip(COMMANDS, map(statistics.median, zip(*rounds, strict=True)), strict=True))
    for name, value in medians.items():
        print(f"{name:20} {value * 1000:7.0f} ms")
    least, ours = medians.values()
    print(f"{'ratio':20} {ours / least:7.2f}     limit {LIMIT}")
    return int(ours / least > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
