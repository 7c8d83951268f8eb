"""CPU time of the static pass over whole libraries against a bare `ast.parse` of the same files, and against TorchFix.

TorchFix needs an older libcst than ours and gets a virtual environment of its own; where that cannot be made, it is
left out. Being slower, it reads a part of the tree (`--rival-files`), and so does the static pass once more.
Usage: python tests/benchmarks/bench_static.py [FOLDER ...]     (default: the installed transformers and timm)
"""

import argparse
import importlib.util
import resource
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

LIMIT = 12.0
RIVAL = "torchfix"
RIVAL_FILES = 60
# What runs in a process of its own, with the folders as arguments.
LINT = """
import sys
from pathlib import Path
from onnxlint.config import Settings
from onnxlint.pipeline import run_check
report = run_check([Path(p) for p in sys.argv[1:]], Settings(root=Path.cwd(), static_only=True))
print(report.files, len(report.findings), len(report.diagnostics))
"""
PARSE = """
import ast, sys, warnings
from pathlib import Path
warnings.simplefilter("ignore")
for folder in sys.argv[1:]:
    for path in Path(folder).rglob("*.py"):
        ast.parse(path.read_bytes())
"""


def cpu_seconds(command: list[str]) -> tuple[float, str]:
    """Run a command; return the CPU time of it and its children, user and system, and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryFile("w+") as errors:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        if done.returncode not in (0, 1):  # linters say 1 when they have found something
            errors.seek(0)
            raise RuntimeError(f"{command[0]} failed with {done.returncode}: {errors.read()[-2000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def lines_of(folder: Path) -> tuple[int, int]:
    """Return how many Python files a folder holds, and how many lines."""
    files = list(folder.rglob("*.py"))
    return len(files), sum(path.read_bytes().count(b"\n") for path in files)


def installed(name: str) -> Path | None:
    """Return the folder of an installed package, which is not imported."""
    spec = importlib.util.find_spec(name)
    return Path(spec.origin).parent if spec is not None and spec.origin else None


def install_rival(folder: Path) -> Path | None:
    """Install TorchFix into a new virtual environment; return its command, or None where that fails."""
    venv.create(folder, with_pip=True)
    command = [str(folder / "bin" / "python"), "-m", "pip", "install", "-q", RIVAL]
    if subprocess.run(command, capture_output=True).returncode != 0:
        return None
    return folder / "bin" / RIVAL


def sample(folder: Path, count: int, target: Path) -> None:
    """Copy the files of a folder that mention torch, evenly over the tree, `count` of them at most."""
    files = [path for path in sorted(folder.rglob("*.py")) if b"torch" in path.read_bytes()]
    for path in files[:: max(len(files) // count, 1)][:count]:
        place = target / path.relative_to(folder)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, place)


def row(name: str, seconds: float, lines: int, base: float, note: str = "") -> str:
    """Return one line of the table."""
    return f"{name:24} {seconds:8.1f} {lines / seconds:12,.0f} {seconds / base:8.2f}  {note}"


def main() -> int:
    """Print CPU seconds, lines a second and the ratio to `ast.parse`; 1 if the static pass is above its limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--rival-files", type=int, default=RIVAL_FILES, help="0 leaves the rival out")
    options = parser.parse_args()
    folders = options.folders or [path for name in ("transformers", "timm") if (path := installed(name))]
    worst = 0.0
    print(f"{'':24} {'CPU s':>8} {'lines/CPU s':>12} {'ratio':>8}")
    for folder in folders:
        files, lines = lines_of(folder)
        base, _ = cpu_seconds([sys.executable, "-c", PARSE, str(folder)])
        ours, said = cpu_seconds([sys.executable, "-c", LINT, str(folder)])
        read, findings, diagnostics = said.split()
        print(f"{folder.name}: {files} files, {lines:,} lines")
        print(row("  ast.parse", base, lines, base))
        print(row("  onnxlint", ours, lines, base, f"{read} files, {findings} findings, {diagnostics} diagnostics"))
        worst = max(worst, ours / base)
    if options.rival_files:
        compare(folders[0], options.rival_files)
    print(f"worst ratio {worst:.2f}, limit {LIMIT:g}")
    return int(worst > LIMIT)


def compare(folder: Path, count: int) -> None:
    """Print the same for a sample of the folder, with the rival."""
    with tempfile.TemporaryDirectory() as scratch:
        rival = install_rival(Path(scratch) / "venv")
        part = Path(scratch) / folder.name
        sample(folder, count, part)
        files, lines = lines_of(part)
        print(f"{folder.name}, a sample: {files} files, {lines:,} lines")
        base, _ = cpu_seconds([sys.executable, "-c", PARSE, str(part)])
        print(row("  ast.parse", base, lines, base))
        print(row("  onnxlint", cpu_seconds([sys.executable, "-c", LINT, str(part)])[0], lines, base))
        if rival is None:
            print(f"  {RIVAL} cannot be installed here")
        else:
            print(row(f"  {RIVAL}", cpu_seconds([str(rival), "--select=ALL", str(part)])[0], lines, base))


if __name__ == "__main__":
    sys.exit(main())
