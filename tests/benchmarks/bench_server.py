"""How long the language server takes to show a change of a file of 3,000 lines.

Usage: python tests/benchmarks/bench_server.py

It starts `onnxlint server` in a project of one file and in one of many files, opens the file, and types into it. The
files are those of the installed transformers that have 2,700 to 3,300 lines, each as the file of a project of its own,
and a generated one: of copies without a comment or a blank line too many, it takes `ast.parse` three times as long as
theirs, so it is held to a multiple of that. A change is measured from the notification to the diagnostics: CPU time of
the server and the processes that it starts, and time on the clock without the pause that the server makes in case one
more key is struck. Then it asks what can be done about all findings, as an editor does where everything is selected.
"""

import ast
import contextlib
import importlib.util
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

LIMITS = {"change": 0.3, "dense": 10.0}  # CPU seconds in a real file; × ast.parse in the generated one
REPEATS = 5
LINES = range(2700, 3301)  # of a real file
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
    ticks = 0
    for one in (pid, *children(pid)):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # ended meanwhile: its parent has its time
            ticks += sum(map(int, Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()[11:15]))
    return ticks / TICKS


def settle(editor: Editor) -> None:
    """Wait until nothing has been computed or published for two seconds."""
    before: tuple[int, float] | None = None
    while before != (now := (len(editor.published), cpu_of(editor.pid))):
        before = now
        time.sleep(2)


def real_files() -> list[Path]:
    """The models of the installed transformers that are as long as that."""
    spec = importlib.util.find_spec("transformers")
    folders = spec.submodule_search_locations if spec is not None else None
    files = [path for folder in folders or () for path in Path(folder).glob("models/*/modeling_*.py")]
    return sorted(path for path in files if path.read_text(encoding="utf-8").count("\n") in LINES)


def edited(text: str, number: int) -> str:
    """A text with one more statement in the middle, another one for each number."""
    lines = text.splitlines(keepends=True)
    at = next(n for n in range(len(lines) // 2, len(lines)) if lines[n].lstrip().startswith("return "))
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    return "".join((*lines[:at], f"{indent}edited = {number}\n", *lines[at:]))


def parse_seconds(text: str) -> float:
    """CPU seconds of a bare `ast.parse`."""
    parses = []
    for _ in range(REPEATS):
        began = time.process_time()
        ast.parse(text)
        parses.append(time.process_time() - began)
    return statistics.median(parses)


def measure(text: str, others: int, table: Table, limit: str) -> None:
    """Print the rows of one project."""
    parse = parse_seconds(text)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "project"
        folder.mkdir()
        file = folder / "blocks.py"
        file.write_text(text)
        for number in range(others):
            (folder / f"other{number}.py").write_text(source(300))
        editor = Editor(folder, resolving=True, ONNXLINT_CACHE_DIR=str(Path(name) / "cache"))
        began = time.perf_counter()
        editor.open(file)
        editor.wait(file)
        print(f"a project of {others + 1} files; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
        table.row("first diagnostics", f"{time.perf_counter() - began:.2f} s on the clock")
        cpu, wall = [], []
        for number in range(REPEATS):
            settle(editor)
            used, began = cpu_of(editor.pid), time.perf_counter()
            version = editor.change(file, edited(text, number))
            editor.wait(file, version=version)
            wall.append(time.perf_counter() - began - DEBOUNCE)
            cpu.append(cpu_of(editor.pid) - used)
        median = statistics.median(cpu)
        said = f"{median / parse:.1f} × ast.parse, at most {max(cpu):.2f} s"
        figure = (median / parse, "×") if limit == "dense" else (median, "s")
        table.row("a change, CPU", said, *figure, limit)
        table.row("a change, wall", f"{statistics.median(wall):.2f} s, at most {max(wall):.2f} s")
        began = time.perf_counter()
        editor.actions(file, types.Range(types.Position(0, 0), types.Position(9999, 0)))
        table.row("list of all actions", f"{time.perf_counter() - began:.2f} s on the clock")
        editor.end()


def main() -> int:
    """Print the table; 1 if a limit does not hold."""
    table = Table(LIMITS)
    texts = [(path.name, path.read_text(encoding="utf-8"), "change") for path in real_files()]
    for name, text, limit in (*texts, ("generated", source(3000), "dense")):
        print(f"{name}: {text.count(chr(10)):,} lines, ast.parse takes {parse_seconds(text):.3f} s CPU")
        for others in (0, OTHERS):
            measure(text, others, table, limit)
    return table.conclude()


if __name__ == "__main__":
    sys.exit(main())
