"""What the static pre-commit hook costs: the size of its environment, and its time on one file with nothing cached.

Usage: python tests/benchmarks/bench_hook.py

The environment is made as pre-commit makes it: a virtual environment, and `pip install` of this tree. Its size is that
of site-packages without pip and setuptools, with the byte code that pip compiles.
"""

import statistics
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MOST_BYTES = 60e6
LIMIT = 12.0  # times `import click`, as in bench_startup.py
REPEATS = 7
TOOLS = ("pip", "setuptools", "wheel", "_distutils_hack", "pkg_resources")


def size(folder: Path) -> int:
    """Bytes of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def seconds(command: list[str], cwd: Path) -> float:
    """Wall time of one run; findings are no failure."""
    began = time.perf_counter()
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.DEVNULL, check=False)
    assert done.returncode in (0, 1), command
    return time.perf_counter() - began


def main() -> int:
    """Print the size and the times; 1 if one of them is above its limit."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        began = time.perf_counter()
        venv.create(folder / "venv", with_pip=True)
        python = str(folder / "venv" / "bin" / "python")
        subprocess.run([python, "-m", "pip", "install", "-q", str(ROOT)], check=True)
        print(f"made in {time.perf_counter() - began:.0f} s")
        (packages,) = (folder / "venv" / "lib").glob("python*/site-packages")
        sizes = {
            path.name: size(path) for path in packages.iterdir() if path.is_dir() and not path.name.startswith(TOOLS)
        }
        total = sum(sizes.values())
        largest = sorted(sizes.items(), key=lambda item: -item[1])[:4]
        print(f"installed {total / 1e6:.1f} MB: " + ", ".join(f"{n} {b / 1e6:.1f}" for n, b in largest))
        file = folder / "gate.py"
        file.write_text((ROOT / "fixtures" / "readme" / "gate.py").read_text())
        hook = [python, "-m", "onnxlint", "check", "--static-only", "--force-exclude", "--no-cache", "gate.py"]
        least = [python, "-c", "import click"]
        first = seconds(hook, folder)
        rounds = [(seconds(least, folder), seconds(hook, folder)) for _ in range(REPEATS)]
        click, cold = (statistics.median(times) for times in zip(*rounds, strict=True))
        print(f"the very first run {first:.2f} s, then {cold:.2f} s; import click {click:.2f} s")
        print(f"ratio {cold / click:.1f}, limit {LIMIT}")
        return int(total > MOST_BYTES or cold / click > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
