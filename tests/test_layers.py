"""Imports run one way, torch stays in the workers, and the static path runs where torch cannot be imported."""

from __future__ import annotations

import ast
import graphlib
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "onnxlint"

# From the bottom up. Rooms of one floor are strangers; a file that stands in the package itself is a room of its name.
FLOORS: tuple[tuple[str, ...], ...] = (
    ("base",),
    ("config",),
    ("source",),
    ("project",),
    ("flow",),
    ("rules",),
    ("report", "verdicts", "probes"),
    ("run",),
    ("api", "testing"),
    ("integrations",),
    ("cli",),
    ("__main__", "__init__"),
)
FLOOR = {room: number for number, floor in enumerate(FLOORS) for room in floor}
MOST_IN_A_FOLDER = 15
HEAVY = {"torch", "onnx", "onnxruntime", "onnxscript", "onnx_ir", "numpy", "torchvision", "transformers"}
MAIN_PROCESS_PROBES = {
    "onnxlint.probes",
    "onnxlint.probes.live.script",
    "onnxlint.probes.live.snapshot_client",
    "onnxlint.probes.schedule.plan",
    "onnxlint.probes.schedule.pool",
}
FROM_THE_ROOT = {"EXAMPLE", "__version__", "__file__"}  # what any room may take from onnxlint/__init__.py
WORKERS_KNOW = {f"onnxlint.base.{name}" for name in ("records", "probe_records", "specs", "paths")}  # beside each other

MODULES = {
    ".".join(("onnxlint", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}


def room_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def imports(module: str) -> Iterator[tuple[str, int]]:
    """Yield every module that `module` imports, in a function or not, as an absolute name, with the line."""
    path = MODULES[module]
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names if alias.name != "onnxlint")
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "onnxlint":
            if node.attr not in FROM_THE_ROOT:
                yield f"onnxlint.{node.attr}", node.lineno
        elif isinstance(node, ast.ImportFrom):
            base = package.rsplit(".", node.level - 1)[0] if node.level else ""
            source = ".".join(part for part in (base, node.module or "") if part)
            for alias in node.names:
                if source == "onnxlint" and alias.name in FROM_THE_ROOT:
                    continue
                longer = f"{source}.{alias.name}"
                yield (longer if longer in MODULES else source), node.lineno
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
            named = node.args[0] if node.args else None
            if isinstance(named, ast.Constant) and isinstance(named.value, str):
                yield named.value, node.lineno


@pytest.mark.parametrize("module", MODULES)
def test_imports_run_one_way(module: str) -> None:
    room = room_of(module)
    assert room in FLOOR, f"{module}: give the room `{room}` a floor in this test, and in the design"
    wrong = []
    for target, line in imports(module):
        other = room_of(target)
        if target.split(".")[0] != "onnxlint" or other == room:
            continue
        if other not in FLOOR or FLOOR[other] >= FLOOR[room]:
            wrong.append(f"{MODULES[module]}:{line}: {room} imports {target}")
    assert not wrong


# Who opens files without base/files.py, and what: of the tree none but what a worker or a script of the user's reads.
OPENERS = {
    "onnxlint.base.files": "the reader",
    "onnxlint.base.atomic": "writes what it made itself",
    "onnxlint.base.cache": "its own package, and what it writes",
    "onnxlint.base.catalogue": "its own package",
    "onnxlint.cli": "/dev/null",
    "onnxlint.cli.commands.check": "standard input",
    "onnxlint.cli.commands.config": "its own package",
    "onnxlint.cli.commands.review": "the event that GitHub Actions names",
    "onnxlint.flow.tables.operator_table": "its own package",
    "onnxlint.integrations.server.start": "standard input and output",
    "onnxlint.base.plugins": "what is installed beside it",
    "onnxlint.report.html": "its own package",
}
READS = {"open", "read_text", "read_bytes", "fdopen", "fromfile"}


def openers(module: str) -> list[int]:
    """The lines on which a module opens a file, or reads one, by itself."""
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    ours = {"files.read_bytes", "read_bytes", "read_text"}  # as they are imported
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [
        call.lineno
        for call in calls
        if (name := ast.unparse(call.func)) not in ours
        and (name.rpartition(".")[2] in READS or name.startswith(("linecache.", "tokenize.open", "fileinput.")))
        and not name.startswith(("self.", "server.", "projects.", "engine."))
    ]


@pytest.mark.parametrize("module", [module for module in MODULES if room_of(module) != "probes"])
def test_files_of_the_tree_are_read_by_one_module(module: str) -> None:
    assert module in OPENERS or not openers(module), f"{module}: read it with onnxlint.base.files"


def test_every_opener_opens_something() -> None:
    assert [module for module in OPENERS if not openers(module) and module != "onnxlint.cli.commands.check"] == []


def test_no_modules_import_each_other_in_a_circle_not_even_for_types() -> None:
    needed = {m: {target for target, _ in imports(m) if target in MODULES} - {m} for m in MODULES}
    graphlib.TopologicalSorter(needed).prepare()  # raises CycleError, which names the circle


def test_folders_import_one_way() -> None:
    needed: dict[Path, set[Path]] = {MODULES[m].parent: set() for m in MODULES}
    for module, path in MODULES.items():
        if path.parent != PACKAGE:
            needed[path.parent] |= {MODULES[target].parent for target, _ in imports(module) if target in MODULES}
    for folder, others in needed.items():
        others -= {folder, PACKAGE}
    graphlib.TopologicalSorter(needed).prepare()  # raises CycleError, which names the folders


def test_the_top_level_holds_what_belongs_there() -> None:
    git = ["git", "-C", str(PACKAGE.parent), "ls-files"]
    kept = subprocess.run(git, capture_output=True, text=True, check=True).stdout.splitlines()
    top = {path.partition("/")[0] for path in kept}
    allowed = {"pyproject.toml", "README.md", "LICENSE", "action.yml", "onnxlint", "rules", "tests", "fixtures"}
    assert {name for name in top if not name.startswith(".")} == allowed


def test_no_rule_imports_another() -> None:
    rules = {module for module in MODULES if re.fullmatch(r"onnxlint\.rules\.onx\w+", module)}
    assert len(rules) > 80
    assert {module: shared for module in rules if (shared := rules.intersection(dict(imports(module))))} == {}


def test_a_folder_holds_few_files_and_no_two_have_one_name() -> None:
    files = [path for path in MODULES.values() if not path.name.startswith("onx")]
    count = Counter(path.parent for path in files)
    assert {folder.name: n for folder, n in count.items() if n > MOST_IN_A_FOLDER} == {}
    names = Counter(path.stem for path in files if path.stem != "__init__" and path.parent.name != "commands")
    assert [name for name, n in names.items() if n > 1] == []


@pytest.mark.parametrize("module", MODULES)
def test_torch_is_imported_by_worker_modules_alone(module: str) -> None:
    heavy = [(name, line) for name, line in imports(module) if name.split(".")[0] in HEAVY]
    if not heavy:
        return
    assert room_of(module) == "probes", f"{module} imports {heavy}"
    assert module not in MAIN_PROCESS_PROBES, f"{module} runs in the main process and imports {heavy}"
    ours = {name for name, _ in imports(module) if name.split(".")[0] == "onnxlint" and room_of(name) != "probes"}
    assert ours <= WORKERS_KNOW, f"{module} runs in a worker and imports {sorted(ours - WORKERS_KNOW)}"


def test_every_import_is_seen_by_this_test() -> None:
    seen = dict(imports("onnxlint.cli.running"))
    assert "onnxlint.run.session" in seen, "an import within a function counts"
    assert "onnxlint.base.records" in seen


BAN = f"""
import sys


class Ban:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {sorted(HEAVY)!r}:
            raise AssertionError("imported " + name)


sys.meta_path.insert(0, Ban())
sys.path.insert(0, {str(PACKAGE.parent)!r})
"""


def run(code: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", BAN + code],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(
    "module", ["onnxlint.cli", "onnxlint.cli.commands.check", "onnxlint.run.pipeline", *sorted(MAIN_PROCESS_PROBES)]
)
def test_the_main_process_imports_no_torch(module: str, tmp_path: Path) -> None:
    done = run(f"import {module}", tmp_path)
    assert done.returncode == 0, done.stderr


GATE = """\
import torch


class Gate(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return x
"""


def test_a_static_run_needs_no_torch(tmp_path: Path) -> None:
    (tmp_path / "gate.py").write_text(GATE)
    done = run(
        "from onnxlint.cli import main; main(['check', '--static-only', '--output-format', 'concise'])", tmp_path
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "gate.py:6" in done.stdout
    assert "ONX101" in done.stdout


def test_a_run_over_unchanged_files_needs_neither_the_interpreter_nor_libcst(tmp_path: Path) -> None:
    (tmp_path / "gate.py").write_text(GATE)
    code = (
        "import atexit\nfrom onnxlint.cli import main\n"
        "slow = {'libcst', 'onnxlint.flow.interpreter.interpret', 'onnxlint.rules.engine.look_through'}\n"
        "atexit.register(lambda: print('imported', *sorted(slow & sys.modules.keys())))\n"
        f"os.environ['ONNXLINT_CACHE_DIR'] = {str(tmp_path / 'cache')!r}\n"
        "main(['check', '--static-only', '--output-format', 'concise', 'gate.py'])"
    )
    first, second = (run(f"import os\n{code}", tmp_path).stdout.splitlines() for _ in range(2))
    assert first[-1].split() == [
        "imported",
        "libcst",
        "onnxlint.flow.interpreter.interpret",
        "onnxlint.rules.engine.look_through",
    ]
    assert second[-1].split() == ["imported"]
    assert second[0] == first[0] != ""


def test_the_version_is_answered_without_the_rest(tmp_path: Path) -> None:
    done = run(
        "import atexit\nfrom onnxlint.cli import main\n"
        "ours = ('onnxlint', 'libcst', 'rich')\n"
        "atexit.register(lambda: print(*sorted(m for m in sys.modules if m.startswith(ours))))\n"
        "main(['--version'])",
        tmp_path,
    )
    version, loaded = done.stdout.splitlines()
    assert version.startswith("onnxlint ")
    ours = ["", ".base", ".base.files", ".base.interrupts", ".cli"]  # the commands stand in a file
    assert loaded.split() == [f"onnxlint{name}" for name in ours]
