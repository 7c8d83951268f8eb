"""The static pass over a whole library, in one run: its time against a bare `ast.parse`, the cache, memory, the rivals.

With `--against REV` also its time against an earlier revision of this repository, taken from its history.
A cold run and `ast.parse` take turns of half a second, since machines change their speed within seconds: one took 7.9
to 13.0 s for the same files in five minutes.

The library is copied, since files of it are changed. Times are of the command line with all of its output; CPU time is
that of all processes. TorchFix needs an older libcst than ours and gets a virtual environment of its own; where that
cannot be made, it is left out. Being slower, it reads a sample of the files (`--rival-files`), and so do ruff (all of
its rules that need no type checker) and the static pass once more.
Usage: python tests/benchmarks/bench_static.py [FOLDER ...]     (default: the installed transformers)
"""

import argparse
import contextlib
import importlib.util
import os
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import venv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

RIVAL = "torchfix"
RIVAL_FILES = 60
REPEATS = 3  # cold runs; the median counts
TURN = 0.5  # seconds
# Ratios: cold CPU to ast.parse, to that of an earlier revision (3a286b9 took 5.3 where 7.5 was set for transformers),
# cold wall to its CPU, then CPU to cold CPU; and GB of all processes together.
LIMITS = {"cold": 7.5, "earlier": 1.5, "earlier, large": 7.5 / 5.3, "wall": 0.6, "warm": 0.05}
LIMITS |= {"one leaf": 0.2, "one central": 0.2, "memory": 1.2}
LARGE = 50_000  # lines
CENTRAL = "modeling_utils.py"  # of transformers; elsewhere the file that most others name
CHECK = [sys.executable, "-m", "onnxlint", "check", "--static-only", "--isolated", "--output-format", "concise"]
PARSE = """
import ast, os, signal, sys, time, warnings
from pathlib import Path
warnings.simplefilter("ignore")
files = [*Path(sys.argv[1]).rglob("*.py")]
whole, parsed, began = sum(path.stat().st_size for path in files), 0, time.process_time()
def tell(*_):
    print((time.process_time() - began) * whole / parsed, flush=True)
    os._exit(0)
signal.signal(signal.SIGTERM, tell)
print("begun", flush=True)
while True:
    for path in files:
        text = path.read_bytes()
        ast.parse(text)
        parsed += len(text)
"""


@dataclass
class Took:
    """CPU seconds of a command and its children, user and system, and seconds on the clock."""

    cpu: float
    wall: float
    said: str


def took(
    command: list[str],
    folder: Path | None = None,
    cache: Path | None = None,
    code: Path | None = None,
    meanwhile: Callable[[], None] | None = None,
) -> Took:
    """Run a command, with the `onnxlint` of a folder of code where one is given; it pauses for what is `meanwhile`."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.monotonic()
    environment = {**os.environ, **({"ONNXLINT_CACHE_DIR": str(cache)} if cache is not None else {})}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # what is installed is compiled
    environment |= {"PYTHONPATH": str(code)} if code is not None else {}
    paused = 0.0
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            command, stdout=output, stderr=errors, cwd=folder, env=environment, start_new_session=True
        )
        try:
            while meanwhile is not None and process.poll() is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(TURN)
                    break
                at = time.monotonic()
                os.killpg(process.pid, signal.SIGSTOP)
                meanwhile()
                os.killpg(process.pid, signal.SIGCONT)
                paused += time.monotonic() - at
            process.wait()
        finally:  # Ctrl-C does not come to what has a session of its own
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        wall = time.monotonic() - began - paused
        output.seek(0)
        errors.seek(0)
        said = output.read()
        if process.returncode not in (0, 1, 2) or "Traceback" in said:  # linters say 1 when they have found much
            raise RuntimeError(f"{command[0]} failed with {process.returncode}: {errors.read()[-2000:]}")
    return Took(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall, said)


def beside_parsing(
    tree: Path, command: list[str], cache: Path | None = None, code: Path | None = None
) -> tuple[Took, float]:
    """Run a command on a tree in turns with `ast.parse`; return also what that took, CPU seconds for all files once."""
    with subprocess.Popen([sys.executable, "-c", PARSE, str(tree)], stdout=subprocess.PIPE, text=True) as parsing:
        assert parsing.stdout is not None
        parsing.stdout.readline()
        parsing.send_signal(signal.SIGSTOP)

        def turn() -> None:
            parsing.send_signal(signal.SIGCONT)
            time.sleep(TURN)
            parsing.send_signal(signal.SIGSTOP)

        try:
            result = took(command, tree.parent, cache, code, turn)
            parsing.send_signal(signal.SIGTERM)
            parsing.send_signal(signal.SIGCONT)
            return result, float(parsing.stdout.readline())
        finally:
            parsing.kill()


def peak_memory(command: list[str], folder: Path) -> int:
    """Run a command; return the most that it and its children took together, shared pages counted once."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)
    peak = 0

    def watch() -> None:
        nonlocal peak
        while process.poll() is None:
            peak = max(peak, sum(proportional(pid) for pid in (process.pid, *children(process.pid))))
            time.sleep(0.1)

    watcher = threading.Thread(target=watch)
    watcher.start()
    process.wait()
    watcher.join()
    return peak


def children(pid: int) -> list[int]:
    """Return the processes that a process has started."""
    try:
        own = [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
    return own + [deeper for child in own for deeper in children(child)]


def proportional(pid: int) -> int:
    """Return the memory of a process in bytes; a page that several share counts for each in part."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


def lines_of(folder: Path) -> tuple[int, int]:
    """Return how many Python files a folder holds, and how many lines."""
    files = list(folder.rglob("*.py"))
    return len(files), sum(path.read_bytes().count(b"\n") for path in files)


def installed(name: str) -> Path | None:
    """Return the folder of an installed package, which is not imported."""
    spec = importlib.util.find_spec(name)
    return Path(spec.origin).parent if spec is not None and spec.origin else None


def copied(folder: Path, target: Path, count: int = 0) -> Path:
    """Copy the Python files of a folder; with `count` as many of those that mention torch, evenly over the tree."""
    files = sorted(folder.rglob("*.py"))
    if count:
        files = [path for path in files if b"torch" in path.read_bytes()]
        files = files[:: max(len(files) // count, 1)][:count]
    for path in files:
        place = target / folder.name / path.relative_to(folder)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, place)
    return target / folder.name


def leaf_and_central(folder: Path) -> tuple[Path, Path]:
    """Return a file in the middle of those with a forward, and the one whose module most others name."""
    texts = {path: path.read_text(encoding="utf-8", errors="replace") for path in sorted(folder.rglob("*.py"))}
    leaves = [path for path, text in texts.items() if "def forward(" in text]
    known = folder / CENTRAL
    if known not in texts:
        stems = {path: f".{path.stem} import" for path in leaves}
        known = max(leaves, key=lambda path: sum(stems[path] in text for text in texts.values()))
    return leaves[len(leaves) // 2], known


def change(path: Path) -> None:
    """Change the body of one function: the last one of a file."""
    lines = path.read_text(encoding="utf-8").split("\n")
    at = max(n for n, line in enumerate(lines) if line.startswith((" ", "\t")) and " return " in f" {line.strip()} ")
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    lines.insert(at, f"{indent}changed = True")
    path.write_text("\n".join(lines), encoding="utf-8")


def grow(path: Path) -> None:
    """Put a comment at the top of a file, so that all of it moves, and a function at its end."""
    text = path.read_text(encoding="utf-8")
    path.write_text(f"# changed\n{text}\n\ndef changed(x):\n    return x\n", encoding="utf-8")


class Table:
    """What is printed, and which limits do not hold."""

    def __init__(self, limits: dict[str, float]) -> None:
        self.limits = limits
        self.broken: list[str] = []

    def row(self, name: str, value: str, ratio: float | None = None, of: str = "", limit: str = "") -> None:
        """Print one line; `limit` names the limit that the ratio has."""
        verdict = ""
        if ratio is not None and limit:
            verdict = f"limit {self.limits[limit]:g}"
            if ratio > self.limits[limit]:
                verdict += ", broken"
                self.broken.append(name)
        told = f"{ratio:8.3f} {of}" if ratio is not None else ""
        print(f"  {name:22} {value:34} {told:26} {verdict}".rstrip(), flush=True)

    def conclude(self) -> int:
        """Print which limits do not hold; return 1 if there are any."""
        print(f"limits that do not hold: {', '.join(self.broken)}" if self.broken else "every limit holds")
        return int(bool(self.broken))


def code_of(revision: str, folder: Path) -> Path:
    """Unpack `onnxlint/` and `rules/` of a revision. Raises CalledProcessError where the history does not have it."""
    folder.mkdir()
    here = Path(__file__).parents[2]
    archive = subprocess.run(
        ["git", "archive", revision, "onnxlint", "rules"], cwd=here, capture_output=True, check=True
    )
    subprocess.run(["tar", "-x"], cwd=folder, input=archive.stdout, check=True)
    return folder


def measure(folder: Path, scratch: Path, table: Table, against: str | None) -> None:
    """Print the table of one library."""
    tree = copied(folder, scratch / "tree")
    files, lines = lines_of(tree)
    print(
        f"{folder.name}: {files} files, {lines:,} lines; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors"
    )
    cache, command = scratch / "cache", [*CHECK, tree.name]
    runs = []
    for _ in range(REPEATS):
        shutil.rmtree(cache, ignore_errors=True)
        runs.append(beside_parsing(tree, command, cache))
    runs.sort(key=lambda run: run[0].cpu / run[1])
    (cold, base), ratios = runs[REPEATS // 2], [run.cpu / parsed for run, parsed in runs]
    table.row("ast.parse", f"{min(b for _, b in runs):.1f} to {max(b for _, b in runs):.1f} s CPU, then {base:.1f}")
    spread = f"{cold.cpu:.1f} s, {lines / cold.cpu:,.0f} lines/s; {ratios[0]:.2f} to {ratios[-1]:.2f}"
    table.row("cold, CPU", spread, cold.cpu / base, "ast.parse", "cold")
    if against is not None:
        code, uncached = code_of(against, scratch / "earlier"), [*command, "--no-cache"]
        took(uncached, tree.parent, code=code)  # compiles it
        then = statistics.median(
            run.cpu / parsed for run, parsed in (beside_parsing(tree, uncached, code=code) for _ in range(REPEATS))
        )
        limit = "earlier, large" if lines > LARGE else "earlier"
        table.row(f"cold, {against}", f"{then:.2f} ast.parse", ratios[REPEATS // 2] / then, "now to then", limit)
    table.row("cold, wall", f"{cold.wall:.1f} s", cold.wall / cold.cpu, "of its CPU", "wall")
    warm = took(command, tree.parent, cache)
    table.row("warm, unchanged", f"{warm.cpu:.1f} s CPU, {warm.wall:.1f} s", warm.cpu / cold.cpu, "of cold", "warm")
    leaf, central = leaf_and_central(tree)
    # One row has no limit: every model runs that function, so all that depends on it is analysed again.
    for name, path, edit, limit in (
        ("one leaf changed", leaf, change, "one leaf"),
        ("one central changed", central, change, ""),
        ("one central grown", central, grow, "one central"),
    ):
        edit(path)
        again = took(command, tree.parent, cache)
        print(f"    {path.relative_to(tree)}:")
        table.row(name, f"{again.cpu:.1f} s CPU, {again.wall:.1f} s", again.cpu / cold.cpu, "of cold", limit)
    if sys.platform == "linux":
        peak = peak_memory([*command, "--no-cache"], tree.parent)
        table.row("memory, all processes", "", peak / 1e9, "GB", "memory")


def compare(folder: Path, count: int, scratch: Path) -> None:
    """Print lines per CPU second for a sample of the library, with the rivals."""
    part = copied(folder, scratch / "sample", count)
    files, lines = lines_of(part)
    print(f"{folder.name}, a sample: {files} files, {lines:,} lines")
    rivals = {
        "onnxlint": [*CHECK, "--no-cache", str(part)],
        "ruff": [shutil.which("ruff") or "", "check", "--isolated", "--no-cache", "--select", "ALL", "-q", str(part)],
        RIVAL: [str(install_rival(scratch / "venv") or ""), "--select=ALL", str(part)],
    }
    for name, command in rivals.items():
        if not command[0]:
            print(f"  {name} cannot be had here")
            continue
        cpu = took(command).cpu
        print(f"  {name:22} {cpu:.1f} s CPU, {lines / cpu:,.0f} lines/s", flush=True)


def install_rival(folder: Path) -> Path | None:
    """Install TorchFix into a new virtual environment; return its command, or None where that fails."""
    venv.create(folder, with_pip=True)
    command = [str(folder / "bin" / "python"), "-m", "pip", "install", "-q", RIVAL]
    return folder / "bin" / RIVAL if subprocess.run(command, capture_output=True).returncode == 0 else None


def main() -> int:
    """Print the tables; 1 if a limit does not hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--against", metavar="REV", help="an earlier revision to compare with")
    parser.add_argument("--rival-files", type=int, default=RIVAL_FILES, help="0 leaves the rivals out")
    options = parser.parse_args()
    folders = options.folders or [path for name in ("transformers",) if (path := installed(name))]
    table = Table(LIMITS)
    for folder in folders:
        with tempfile.TemporaryDirectory() as scratch:
            measure(folder.resolve(), Path(scratch), table, options.against)
            if options.rival_files:
                compare(folder.resolve(), options.rival_files, Path(scratch))
    return table.conclude()


if __name__ == "__main__":
    sys.exit(main())
