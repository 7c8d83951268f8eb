"""How long the language server takes to show a change of a file of 3,000 lines, against `ast.parse` of that file.

Usage: python tests/benchmarks/bench_server.py

It types into the first of many modules, in a project of nothing else, and in one of many files; the time is that from
the notification to the diagnostics, without the pause that the server makes in case one more key is struck. Then it
asks what can be done about all findings, as an editor does where everything is selected.
"""

import ast
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integrations"))

from lsp_editor import Editor
from lsprotocol import types

from onnxlint.integrations.server.projects import DEBOUNCE

LIMIT = 15.0  # times ast.parse
REPEATS = 9
OTHERS = 200  # files of the large project
MODULE = '''

class Block{n}(nn.Module):
    """Block {n}."""

    def __init__(self, width=16):
        super().__init__()
        self.first = nn.Linear(width, width)
        self.second = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x, mask=None):
        y = self.first(self.norm(x))
        if mask is not None:
            y = y * mask.unsqueeze(-1)
        if {test} > {n}:
            y = y.relu()
        return x + self.second(y)
'''


def source(lines: int) -> str:
    """A file of that many lines: blocks, every tenth with a finding."""
    text = "import torch\nfrom torch import nn\n"
    number = 0
    while text.count("\n") < lines:
        text += MODULE.format(n=number, test="y.dim()" if number % 10 else "y.sum()")
        number += 1
    return text


def measure(others: int) -> tuple[float, float, float, float]:
    """Seconds of the first diagnostics, the median of a change, the slowest one, and a list of all actions."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "project"
        folder.mkdir()
        file = folder / "blocks.py"
        text = source(3000)
        file.write_text(text)
        for number in range(others):
            (folder / f"other{number}.py").write_text(source(300))
        editor = Editor(folder, resolving=True, ONNXLINT_CACHE_DIR=str(Path(name) / "cache"))
        began = time.perf_counter()
        editor.open(file)
        editor.wait(file, bool)
        first = time.perf_counter() - began
        time.sleep(1)
        editor.save(file, text)
        wait_quiet(editor)
        times = []
        for number in range(REPEATS):
            began = time.perf_counter()
            version = editor.change(file, text.replace("y.relu()", f"y.relu() + {number}", 1))
            editor.wait(file, bool, version=version)
            times.append(time.perf_counter() - began - DEBOUNCE)
        began = time.perf_counter()
        editor.actions(file, types.Range(types.Position(0, 0), types.Position(9999, 0)))
        actions = time.perf_counter() - began
        editor.end()
        return first, statistics.median(times), max(times), actions


def wait_quiet(editor: Editor) -> None:
    """Wait until nothing has been published for two seconds."""
    seen = -1
    while seen != len(editor.published):
        seen = len(editor.published)
        time.sleep(2)


def main() -> int:
    """Print the times and the ratio; 1 if it is above the limit."""
    text = source(3000)
    parses = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        ast.parse(text)
        parses.append(time.perf_counter() - began)
    parse = statistics.median(parses)
    print(f"ast.parse of {text.count(chr(10))} lines {parse * 1000:22.0f} ms")
    worst = 0.0
    for others in (0, OTHERS):
        first, change, slowest, actions = measure(others)
        worst = max(worst, change / parse)
        told = f"a project of {1 + others} files"
        print(
            f"{told}: first {first * 1000:.0f} ms, change {change * 1000:.0f} ms (slowest {slowest * 1000:.0f}), "
            f"actions {actions * 1000:.0f} ms"
        )
    print(f"ratio {worst:.1f}, limit {LIMIT}")
    return int(worst > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
