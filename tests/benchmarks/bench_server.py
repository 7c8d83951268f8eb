"""How long the language server takes to show a change of a file of 3,000 lines.

Usage: python tests/benchmarks/bench_server.py

It starts `onnxlint server` in a project of that file alone and in one of many files, opens the file, and types into it.
A change is measured from the notification to the diagnostics: CPU time of the server and the processes that it starts,
and time on the clock without the pause that the server makes in case one more key is struck. Then it asks what can be
done about all findings, as an editor does where everything is selected.
"""

import ast
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integrations"))

from bench_static import Table, children
from lsp_editor import Editor
from lsprotocol import types

from onnxlint.integrations.server.projects import DEBOUNCE

LIMITS = {"change": 0.3}  # CPU seconds
REPEATS = 9
OTHERS = 200  # files of the large project
TICKS = os.sysconf("SC_CLK_TCK")
MODULE = '''

def window{n}(mask: torch.Tensor, size: int) -> torch.Tensor:
    """Let every position see `size` earlier ones."""
    length = mask.shape[-1]
    band = torch.ones(length, length, dtype=torch.bool, device=mask.device).tril()
    return mask[:, None, None, :] & band & ~band.tril(-size)


class Attention{n}(nn.Module):
    """Self-attention with several heads."""

    def __init__(self, width: int = 64, heads: int = 4):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.project = nn.ModuleDict({{name: nn.Linear(width, width) for name in ("query", "key", "value")}})
        self.out = nn.Linear(width, width)

    def split(self, x):
        batch, length, _ = x.shape
        return x.view(batch, length, self.heads, self.size).transpose(1, 2)

    def forward(self, x, mask=None):
        query, key, value = (self.split(self.project[name](x)) for name in ("query", "key", "value"))
        scores = torch.matmul(query, key.transpose(-1, -2)) / math.sqrt(self.size)
        if mask is not None:
            scores = scores.masked_fill(~window{n}(mask, {n} + 8), torch.finfo(scores.dtype).min)
        if {test} > {n}:
            scores = scores.clamp(min=-50.0)
        context = torch.matmul(scores.softmax(dim=-1), value)
        return self.out(context.transpose(1, 2).flatten(2))


class Encoder{n}(nn.Module):
    """A stack of attention and two linear layers."""

    def __init__(self, width: int = 64, depth: int = 2, dropout: float = 0.1):
        super().__init__()
        self.attention = nn.ModuleList(Attention{n}(width) for _ in range(depth))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(depth))
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None, return_all: bool = False):
        states = []
        for attention, norm in zip(self.attention, self.norms):
            x = norm(x + self.dropout(attention(x, mask)))
            x = x + self.feed(x)
            states.append(x)
        return {{"last": x, "states": tuple(states)}} if return_all else x
'''


def source(lines: int) -> str:
    """A file of that many lines: encoders, every third with a finding."""
    text, number = "import math\n\nimport torch\nfrom torch import nn\n", 0
    while text.count("\n") < lines:
        text += MODULE.format(n=number, test="scores.dim()" if number % 3 else "scores.sum()")
        number += 1
    return text


def cpu_of(pid: int) -> float:
    """CPU seconds of a process and of all that it has started, ended or not."""
    stats = (Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split() for one in (pid, *children(pid)))
    return sum(sum(map(int, fields[11:15])) for fields in stats) / TICKS


def settle(editor: Editor) -> None:
    """Wait until nothing has been computed or published for two seconds."""
    before: tuple[int, float] | None = None
    while before != (now := (len(editor.published), cpu_of(editor.pid))):
        before = now
        time.sleep(2)


def measure(others: int, parse: float, table: Table) -> None:
    """Print the rows of one project."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "project"
        folder.mkdir()
        file, text = folder / "blocks.py", source(3000)
        file.write_text(text)
        for number in range(others):
            (folder / f"other{number}.py").write_text(source(300))
        editor = Editor(folder, resolving=True, ONNXLINT_CACHE_DIR=str(Path(name) / "cache"))
        began = time.perf_counter()
        editor.open(file)
        editor.wait(file, bool)
        print(f"a project of {others + 1} files; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
        table.row("first diagnostics", f"{time.perf_counter() - began:.2f} s on the clock")
        cpu, wall = [], []
        for number in range(REPEATS):
            settle(editor)
            used, began = cpu_of(editor.pid), time.perf_counter()
            version = editor.change(file, text.replace("min=-50.0", f"min=-{number}.0", 1))
            editor.wait(file, bool, version=version)
            wall.append(time.perf_counter() - began - DEBOUNCE)
            cpu.append(cpu_of(editor.pid) - used)
        median = statistics.median(cpu)
        table.row("a change, CPU", f"{median / parse:.1f} × ast.parse, at most {max(cpu):.2f} s", median, "s", "change")
        table.row("a change, wall", f"{statistics.median(wall):.2f} s, at most {max(wall):.2f} s")
        began = time.perf_counter()
        editor.actions(file, types.Range(types.Position(0, 0), types.Position(9999, 0)))
        table.row("list of all actions", f"{time.perf_counter() - began:.2f} s on the clock")
        editor.end()


def main() -> int:
    """Print the table; 1 if the limit does not hold."""
    text, parses = source(3000), []
    for _ in range(REPEATS):
        began = time.process_time()
        ast.parse(text)
        parses.append(time.process_time() - began)
    print(f"a file of {text.count(chr(10)):,} lines: ast.parse takes {statistics.median(parses):.3f} s CPU")
    table = Table(LIMITS)
    for others in (0, OTHERS):
        measure(others, statistics.median(parses), table)
    return table.conclude()


if __name__ == "__main__":
    sys.exit(main())
