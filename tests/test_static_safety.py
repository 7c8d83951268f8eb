"""`--static-only` reads the checked tree and does nothing else with it: the mode for pull requests from strangers."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# Every way a file gets to act when it is imported, compiled or run, each told by a file it would leave behind.
HOSTILE = """\
import pathlib
import sys

import torch

pathlib.Path({ran!r}).write_text("imported")
exec("pathlib.Path({ran!r}).write_text('executed')")


class Meta(type):
    def __new__(cls, name, bases, body):
        pathlib.Path({ran!r}).write_text("built a class")
        return super().__new__(cls, name, bases, body)


class Gate(torch.nn.Module, metaclass=Meta):
    example_input_array = pathlib.Path({ran!r}).write_text("evaluated an attribute")

    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return x


def build(width=pathlib.Path({ran!r}).write_text("evaluated a default")):
    pathlib.Path({ran!r}).write_text("called a factory")
    return Gate()


def onnx_example():
    pathlib.Path({ran!r}).write_text("asked for an example")
    return (torch.ones(2, 4),)


torch.onnx.export(build(), (torch.ones(2, 4),), "gate.onnx")
sys.exit("left")
"""
BENIGN = """\
import torch


class Gate(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return x


torch.onnx.export(Gate(), (torch.ones(2, 4),), "gate.onnx")
"""
FAKE_TORCH = 'raise ImportError("the static pass imported torch")\n'
CONFIGURATION = """\
[[models]]
factory = "hostile:build"
inputs = { x = "float32[batch, 4]" }
vary = "hostile:build"

[[models]]
factory = "package.model:build"
inputs = "package.model:onnx_example"
"""
# Packages that onnxlint itself imports, as a stranger's pull request could bring them along.
SHADOWS = ("ast", "click", "libcst", "msgspec", "rich", "tomllib")

# Runs one command in a tree without harm, so that all that is imported late has been, then watches another.
WATCHED = """\
import ast, builtins, json, os, sys

warm_up, tree, command = sys.argv[1:]
events, watching, parsing = [], False, 0
compile_source = builtins.compile


def counted(source, filename, mode, flags=0, *rest, **named):
    global parsing
    only_tree = bool(flags & ast.PyCF_ONLY_AST)
    parsing += only_tree
    try:
        return compile_source(source, filename, mode, flags, *rest, **named)
    finally:
        parsing -= only_tree


def hook(event, args):
    if not watching:
        return
    if event == "compile" and not parsing:
        events.append(f"compiled {args[1]!r}")
    elif event in ("import", "exec", "os.system", "os.exec", "os.fork", "os.posix_spawn", "subprocess.Popen"):
        events.append(f"{event} {args[0]!r}")
    elif event.startswith(("socket.", "ctypes.", "marshal.", "pickle.")):
        events.append(event)
    elif event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR):
        if not str(args[0]).startswith(os.environ["ONNXLINT_CACHE_DIR"]):  # the user's, not the tree's
            events.append(f"opened {args[0]!r} for writing")


def lint():
    from onnxlint.cli import main

    sys.argv[0] = "onnxlint"
    try:
        main(["check", "--static-only", "--output-format", "concise"])
    except SystemExit as leaving:
        return leaving.code


def control():
    sys.path.insert(0, tree)
    try:
        import hostile
    except ImportError as error:
        return str(error)


sys.addaudithook(hook)
builtins.compile = counted
os.chdir(warm_up)
lint()
os.chdir(tree)
watching = True
result = {"lint": lint, "control": control}[command]()
watching = False
print(json.dumps({"result": result, "events": events}))
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A project that writes `ran.txt` as soon as anything of it runs; returns its folder."""
    folder = tmp_path / "tree"
    folder.mkdir()
    hostile = HOSTILE.format(ran=str(tmp_path / "ran.txt"))
    for name in ("hostile.py", "conftest.py", "sitecustomize.py", "setup.py", *(f"{name}.py" for name in SHADOWS)):
        (folder / name).write_text(hostile)
    (folder / "package").mkdir()
    (folder / "package" / "__init__.py").write_text(hostile)
    other = hostile.replace("x.sum()", "x.mean()")  # equal definitions are told in one finding
    (folder / "package" / "model.py").write_text("from . import *\nfrom hostile import Gate\n" + other)
    (folder / "onnxlint.toml").write_text(CONFIGURATION)
    return folder


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An environment in which a torch that raises comes first on the path."""
    fake = tmp_path / "fake" / "torch"
    fake.mkdir(parents=True)
    (fake / "__init__.py").write_text(FAKE_TORCH)
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(fake.parent), str(ROOT)]), "PYTHONDONTWRITEBYTECODE": "1"}


def watched(command: str, tree: Path, environment: dict[str, str]) -> tuple[object, list[str], str]:
    """Run `lint` or `control` on the tree; return its result, the events that count, and what it printed."""
    warm_up = tree.parent / "warm_up"
    warm_up.mkdir()
    (warm_up / "gate.py").write_text(BENIGN)
    (warm_up / "onnxlint.toml").write_text(CONFIGURATION)
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, str(warm_up), str(tree), command],
        cwd=tree.parent,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    *printed, last = done.stdout.splitlines()
    told = json.loads(last)
    return told["result"], told["events"], "\n".join(printed)


def test_nothing_is_imported_compiled_run_or_written(tree: Path, environment: dict[str, str]) -> None:
    before = sorted(tree.rglob("*"))
    result, events, printed = watched("lint", tree, environment)
    assert events == []
    assert sorted(tree.rglob("*")) == before
    assert not (tree.parent / "ran.txt").exists()
    assert result == 1
    assert "hostile.py:20" in printed, "the run has to look at the files, or it proves nothing"
    assert "model.py:22:12: ONX101" in printed


def test_the_watch_sees_an_import(tree: Path, environment: dict[str, str]) -> None:
    result, events, _ = watched("control", tree, environment)
    assert result == "the static pass imported torch"
    assert "import 'hostile'" in events
    assert "import 'torch'" in events
    assert any(event.startswith("compiled") and "hostile.py" in event for event in events)
    assert any(event.startswith("exec") for event in events)


def test_the_hostile_file_acts_once_it_is_run(tree: Path, tmp_path: Path) -> None:
    assert not (tmp_path / "ran.txt").exists()
    stub = "import sys, types; sys.modules['torch'] = types.SimpleNamespace(nn=types.SimpleNamespace(Module=object))"
    subprocess.run([sys.executable, "-P", "-c", f"{stub}; import runpy; runpy.run_path('hostile.py')"], cwd=tree)
    assert (tmp_path / "ran.txt").exists()


def test_the_command_takes_no_module_from_the_folder_it_stands_in(tree: Path, environment: dict[str, str]) -> None:
    done = subprocess.run(
        [str(Path(sys.executable).parent / "onnxlint"), "check", "--static-only", "--output-format", "concise"],
        cwd=tree,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "click.py:20" in done.stdout
    assert not (tree.parent / "ran.txt").exists()


STARTS_THE_USERS_PROGRAM = {"script.py"}  # `onnxlint run`, as `python SCRIPT` does


def test_python_is_never_started_so_that_it_imports_from_the_working_directory() -> None:
    started = {}
    for path in sorted((ROOT / "onnxlint").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.List) and node.elts and ast.unparse(node.elts[0]) == "sys.executable":
                started[path, node.lineno] = [ast.unparse(part) for part in node.elts[1:2]]
        assert path.read_text(encoding="utf-8").count("sys.executable") == sum(p == path for p, _ in started)
    ours = {place: flags for place, flags in started.items() if place[0].name not in STARTS_THE_USERS_PROGRAM}
    assert len(ours) >= 4
    assert set(map(tuple, ours.values())) <= {("'-P'",), ("'-I'",)}  # the second is the first and more
